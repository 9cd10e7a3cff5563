"""Export a checkpoint of a training run as a Hugging Face model folder, and prove that it is the trained model.

    .venv/bin/python scripts/export_checkpoint.py outputs/RUN model/NAME
    .venv/bin/python scripts/export_checkpoint.py outputs/RUN/checkpoints/global_step_4 model/NAME --dtype bfloat16

It reads verl's FSDP shards of any number of ranks, with or without LoRA (which is merged), and writes weights,
tokenizer, a card (README.md) and export.json. The folder appears only when its log-probs are the trainer's. A second
call verifies the folder and does nothing. See docs/export.md.
"""

import argparse
import logging
import sys
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible
from spider.download import NoSpaceError

logger = logging.getLogger("export_checkpoint")


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Export a training run's checkpoint as a Hugging Face model folder.")
    parser.add_argument(
        "checkpoint", type=Path, help="a run's folder (its newest checkpoint), or a global_step_N in it"
    )
    parser.add_argument("out", type=Path, help="folder of the model to write")
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        help="type of the weights (what the run's rollouts were made with)",
    )
    parser.add_argument(
        "--base", type=Path, metavar="FOLDER", help="the model before training (the one in the run's run.json)"
    )
    parser.add_argument("--quiet", action="store_true", help="say only what goes wrong")
    return parser.parse_args(argv)


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    level = logging.WARNING if options.quiet else logging.INFO
    for name in ("export_checkpoint", "spider"):
        logging.getLogger(name).setLevel(level)
    try:
        from spider.checkpoint.export import export

        if export(options.checkpoint, options.out, options.dtype, options.base):
            logger.info("%s is ready: bash scripts/serve.sh %s", options.out, options.out)
        else:
            logger.info("%s is complete: nothing to do", options.out)
    except (NoSpaceError, OSError, ValueError, RuntimeError) as error:
        logger.error("error: %s", error)
        return 1
    except KeyboardInterrupt:
        logger.error("interrupted; run it again to go on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
