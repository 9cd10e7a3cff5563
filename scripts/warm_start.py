"""Warm start: teach a small model the agent's prompts by supervised learning, before GRPO goes on from there.

    python scripts/warm_start.py rows                # gold queries -> training rows (data/README.md: where from)
    python scripts/warm_start.py train               # rows -> LoRA adapter, on a GPU if there is one
    python scripts/warm_start.py evaluate --label before
    python scripts/warm_start.py evaluate --label after --adapter model/warm-start-smollm2
    python scripts/warm_start.py card                # the adapter's README.md, from the figures of the steps above

Each step takes `--limit` for a short trial. `scripts/get_model.py smollm2 --base` makes the model to start from.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible, positive
from spider.run_logging import hide_bars

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ROOT = Path(__file__).resolve().parents[1]
BASE = ROOT / "model" / "SmolLM2-135M-Instruct-base"
ADAPTER = ROOT / "model" / "warm-start-smollm2"
ROWS = ROOT / "outputs" / "warm-start" / "rows.parquet"
SAMPLE_TASKS = ROOT / "data" / "sample" / "test_dev.parquet"
RESULTS = "results.json"

logger = logging.getLogger("warm_start")


def make_rows(options: argparse.Namespace) -> None:
    """Write training rows for the questions of the given files."""
    from spider.data import data_dir
    from spider.warm_start.rows import build_rows, read_tasks, write_rows

    files: list[Path] = options.train_files or [data_dir() / "train_spider.parquet"]
    by_file = {f"{path.parent.name}/{path.name}": read_tasks(path, options.limit) for path in files}
    tasks = [task for found in by_file.values() for task in found]
    sources = {name: len(found) for name, found in by_file.items()}
    count = write_rows(build_rows(tasks, options.epochs, options.seed), options.out, sources)
    logger.info("%d rows of %d questions in %s", count, len(tasks), options.out)


def train_adapter(options: argparse.Namespace) -> None:
    """Train an adapter on the rows and write it with what the run was."""
    import torch

    from spider.warm_start.rows import load_rows, read_sources
    from spider.warm_start.training import Settings, add_lora, train

    chosen = {name: value for name, value in vars(options).items() if value is not None}
    settings = Settings(
        **{field.name: chosen[field.name] for field in dataclasses.fields(Settings) if field.name in chosen}
    )
    rows = load_rows(options.rows)[: options.limit]
    model, tokenizer = load_model(options.model, None, pick_device(options.device))
    adapted = add_lora(model, settings)
    report = train(adapted, tokenizer, rows, settings)
    for parameter in adapted.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    adapted.peft_config["default"].base_model_name_or_path = options.model.name
    adapted.save_pretrained(str(options.out), save_embedding_layers=False)
    (options.out / "README.md").unlink(missing_ok=True)  # peft's template; ours comes from the step `card`
    training = {
        "settings": dataclasses.asdict(settings),
        "report": dataclasses.asdict(report),
        "sources": read_sources(options.rows),
        "turns": {turn: sum(row.turn == turn for row in rows) for turn in ("write", "check", "rewrite")},
        "environment": environment(model.device),
    }
    update_results(options.out / RESULTS, "training", training)
    logger.info("Adapter in %s: %d steps, %.0f s, loss %s", options.out, report.steps, report.seconds, report.losses)


def evaluate(options: argparse.Namespace) -> None:
    """Measure a model on each task file and keep the figures under `label`."""
    from spider.warm_start.evaluation import greedy_accuracy, sampled_accuracy
    from spider.warm_start.rows import read_tasks

    task_sets = {name: read_tasks(path, options.limit) for name, path in options.tasks}
    device = pick_device(options.device)
    model, tokenizer = load_model(options.model, options.adapter, device)
    batch = options.batch_rows or (256 if device.type == "cuda" else 16)
    figures: dict[str, object] = {"environment": environment(device)}
    for name, tasks in task_sets.items():
        greedy = greedy_accuracy(model, tokenizer, tasks, batch, name)
        found = {"greedy": dataclasses.asdict(greedy)}
        if options.samples:
            sampled = sampled_accuracy(
                model, tokenizer, tasks, batch, options.samples, options.temperature, options.seed, f"{name} sampled"
            )
            found["sampled"] = dataclasses.asdict(sampled)
        logger.info("%s %s: %s", options.label, name, json.dumps(found))
        figures[name] = found
    update_results(options.results or (options.adapter or ADAPTER) / RESULTS, options.label, figures)


def write_card(options: argparse.Namespace) -> None:
    """Write the adapter's README.md from its results file."""
    from spider.warm_start.card import model_card

    results = json.loads((options.adapter / RESULTS).read_text(encoding="utf-8"))
    card = options.adapter / "README.md"
    card.write_text(model_card(results), encoding="utf-8")
    logger.info("Wrote %s", card)


def load_model(
    folder: Path, adapter: Path | None, device: torch.device
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model, with an adapter merged in float32 as `scripts/get_model.py` does; bfloat16 on a GPU, else float32.

    Raises:
        FileNotFoundError: there is no model or no adapter at the path.
    """
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"no model in {folder}: make it with `python scripts/get_model.py smollm2 --base`")
    if adapter and not (adapter / "adapter_config.json").is_file():
        raise FileNotFoundError(f"no adapter in {adapter}: train it with `python scripts/warm_start.py train`")
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    torch.nn.Module.to(model, device, torch.bfloat16 if device.type == "cuda" else torch.float32)
    return model, tokenizer


def pick_device(name: str | None) -> torch.device:
    """The named device, or the first GPU, or else the CPU."""
    import torch

    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def environment(device: torch.device) -> dict[str, str]:
    """Hardware and versions of this run."""
    import platform

    import peft
    import torch
    import transformers

    hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{platform.machine()} CPU"
    return {
        "hardware": hardware,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "transformers": transformers.__version__,
        "peft": peft.__version__,
    }


def update_results(path: Path, key: str, value: object) -> None:
    """Set one entry of a results file and keep the others."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**results, key: value}, indent=2) + "\n", encoding="utf-8")


def named_file(text: str) -> tuple[str, Path]:
    """`NAME=FILE` as a pair."""
    name, separator, path = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(path)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line's options; `run` holds the step to do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    steps = parser.add_subparsers(required=True, metavar="STEP")

    step = steps.add_parser("rows", help="write training rows for gold queries")
    step.set_defaults(run=make_rows)
    step.add_argument("--train-files", type=Path, nargs="+", metavar="FILE", help="default: train_spider.parquet")
    step.add_argument("--epochs", type=int, default=4, help="how many epochs of different rows (default: 4)")
    step.add_argument("--seed", type=int, default=0)
    step.add_argument("--out", type=Path, default=ROWS, metavar="FILE")

    step = steps.add_parser("train", help="train an adapter on rows")
    step.set_defaults(run=train_adapter)
    step.add_argument("--rows", type=Path, default=ROWS, metavar="FILE")
    step.add_argument("--out", type=Path, default=ADAPTER, metavar="DIR")
    for name, kind in {"epochs": int, "lr": float, "rank": int, "alpha": int, "batch-rows": int, "micro-tokens": int,
                       "max-tokens": int, "seed": int, "max-minutes": float}.items():  # fmt: skip
        step.add_argument(f"--{name}", type=kind, help="see spider/warm_start/training.py: Settings")

    measure = steps.add_parser("evaluate", help="accuracy of the write turn on task files")
    measure.set_defaults(run=evaluate)
    measure.add_argument("--adapter", type=Path, metavar="DIR", help="merged into the model first")
    measure.add_argument("--label", choices=("before", "after"), required=True, help="entry of the results file")
    measure.add_argument("--results", type=Path, metavar="FILE", help="default: results.json beside the adapter")
    measure.add_argument("--tasks", type=named_file, nargs="+", default=[("sample", SAMPLE_TASKS)], metavar="NAME=FILE")
    measure.add_argument("--samples", type=int, default=0, help="also this many sampled replies a task")
    measure.add_argument("--temperature", type=float, default=1.0, help="of the sampled replies")
    measure.add_argument("--batch-rows", type=int, help="replies generated together (default: 256 on a GPU, else 16)")
    measure.add_argument("--seed", type=int, default=0)

    for each in (step, measure):
        each.add_argument("--model", type=Path, default=BASE, metavar="DIR", help="the model to start from")
        each.add_argument("--device", help="default: cuda if there is one, else cpu")
    for each in steps.choices.values():
        each.add_argument("--limit", type=positive, help="only the first so many questions of each file, or rows")

    step = steps.add_parser("card", help="write the adapter's README.md from its results.json")
    step.set_defaults(run=write_card)
    step.add_argument("--adapter", type=Path, default=ADAPTER, metavar="DIR")
    for each in steps.choices.values():
        each.add_argument("--quiet", action="store_true", help="show errors alone")
    return parser.parse_args(argv)


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse(argv)
    logging.basicConfig(level=logging.ERROR if options.quiet else logging.INFO, format="%(message)s", stream=sys.stderr)
    if options.quiet:
        hide_bars()
    try:
        options.run(options)
    except (OSError, RuntimeError, ValueError) as error:
        logger.error("warm_start: %s", error)
        return 1
    except KeyboardInterrupt:
        logger.error("warm_start: interrupted; nothing was written")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
