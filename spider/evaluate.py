"""Measure a model on Spider's questions, or compare two measurements.

    python -m spider.evaluate --model PATH [--split dev_500] [--max-turns 1,3] [--samples N]
    python -m spider.evaluate --endpoint URL [--model NAME] …
    python -m spider.evaluate --compare A/results.json B/results.json

It asks the agent every question, many at a time, and writes a table, ``results.json`` and ``report.html``. It can be
stopped and run again: what is answered is kept in ``answers.jsonl``. See docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible, positive, positives, temperature


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(prog="spider.evaluate", description=(__doc__ or "").partition("\n")[0])
    model = options.add_argument_group("what is measured")
    model.add_argument(
        "--model",
        metavar="PATH",
        help="folder or name of the model; with --endpoint, its name there (first served)",
    )
    model.add_argument("--endpoint", metavar="URL", help="a running server's base URL; without it, one is started")
    model.add_argument("--checker-model", metavar="PATH", help="a second model, whose checker was trained too")
    model.add_argument(
        "--split",
        default="dev_500",
        metavar="NAME",
        help="dev_500 (default), dev, train, or another task file",
    )
    model.add_argument("--limit", type=positive, metavar="N", help="N of its questions, evenly spread over the file")
    model.add_argument("--max-turns", type=positives, default=[3], metavar="N,…", help="turns of a question (3)")
    model.add_argument(
        "--context-chars",
        "--context",
        type=positives,
        default=[2048],
        metavar="N,…",
        help="most characters of schema and of result in a prompt (2048)",
    )
    model.add_argument("--samples", type=positive, default=1, metavar="N", help="answers a question, for pass@k (1)")
    model.add_argument("--temperature", type=temperature, metavar="T", help="0 is greedy (0; 1 with several samples)")
    model.add_argument("--max-tokens", type=positive, default=512, metavar="N", help="longest reply (512)")
    model.add_argument(
        "--published-table",
        action="store_true",
        help="contexts 2048 and 4096 with 1 and 3 turns, beside the published figures",
    )
    run = options.add_argument_group("how")
    run.add_argument("--workers", type=positive, default=16, metavar="N", help="questions at a time (16)")
    run.add_argument(
        "--output", type=Path, metavar="FOLDER", help="where to (outputs/evaluate/MODEL-SPLIT, and what sets it apart)"
    )
    run.add_argument("--fresh", action="store_true", help="forget the answers that are there")
    run.add_argument("--quiet", action="store_true", help="nothing but the tables and what goes wrong")
    options.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="compare two results.json, with McNemar's exact test; FILE#PART names one of several settings",
    )
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = parser().parse_args(arguments)
    from spider.evaluation.command import main as run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
