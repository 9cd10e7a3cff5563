"""The flags that start, continue and end a run, and what they mean: its folder, verl's settings, its lock."""

import argparse
import logging
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TextIO, cast

from spider.data import ROOT
from spider.verl_bridge.processes import mark_run, start_reaper
from spider.verl_bridge.run_folder import (
    RunFolderError,
    hold,
    holds_a_run,
    latest_checkpoint,
    newest_run,
    remove_unfinished,
    resume_settings,
    save_config,
    step_of,
    value_at,
)
from spider.verl_bridge.tracking import wandb_mode
from spider.verl_bridge.watchdog import register_stacks

logger = logging.getLogger(__name__)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this module to a command."""
    parser.add_argument("--output-dir", type=Path, help="folder of the run (default: outputs/PRESET-TIME)")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue a run at its last checkpoint: the run in --output-dir, or else the preset's newest",
    )
    parser.add_argument("--val-only", action="store_true", help="validate the model and stop")
    parser.add_argument(
        "--wandb",
        action=argparse.BooleanOptionalAction,
        help="log to wandb: online with a key, else into the run's folder (default: when WANDB_API_KEY is set)",
    )


def run_folder(args: argparse.Namespace) -> Path:
    """Return the folder of the run that the command line asks for.

    Raises:
        RunFolderError: If a new run was to be made in the folder of another one.
    """
    newest = newest_run(ROOT / "outputs", args.preset) if args.resume and not args.output_dir else None
    fresh = ROOT / "outputs" / f"{args.preset}-{datetime.now():%Y%m%d-%H%M%S}"
    folder = Path(args.output_dir or newest or fresh).resolve()
    if holds_a_run(folder) and not (args.resume or args.dry_run):
        raise RunFolderError(f"{folder} holds a run: give --resume to continue it, or another --output-dir")
    return folder


def with_course(
    overrides: dict[str, object], args: argparse.Namespace, folder: Path, use_wandb: bool
) -> dict[str, object]:
    """Return overrides of verl's configuration with what the command line says of the run's course.

    Args:
        overrides: Overrides of verl's configuration, all other flags taken in.
        args: The command line.
        folder: Folder of the run.
        use_wandb: Whether the preset logs to wandb when a key is there.

    Raises:
        RunFolderError: If the run in the folder cannot be continued with these settings.
    """
    given = value_at(overrides, "trainer.logger")
    loggers = [given] if isinstance(given, str) else list(cast("list[str] | None", given) or [])
    wanted = args.wandb
    if wanted is None and any(setting.startswith("trainer.logger=") for setting in args.set):
        wanted = "wandb" in loggers
    elif wanted is None and not use_wandb:
        wanted = False
    mode = wandb_mode(wanted, os.environ)
    trainer: dict[str, object] = {
        "logger": [name for name in loggers if name != "wandb"] + (["wandb"] if mode else []),
        "val_only": bool(args.val_only or value_at(overrides, "trainer.val_only")),
    }
    if args.resume:
        trainer |= resume_settings(folder, overrides)
    return merged(overrides, {"agentlightning": {"wandb_offline": mode == "offline"}, "trainer": trainer})


def merged(base: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    """Return a nested dictionary with another one's values in it."""
    result = dict(base)
    for key, value in changes.items():
        inner = result.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            value = merged(cast("Mapping[str, object]", inner), value)
        result[key] = value
    return result


def is_complete(config: Mapping[str, object], questions: int) -> bool:
    """Return whether the run to be resumed has all its steps behind it.

    Args:
        config: Overrides of verl's configuration, as `with_course` returns them.
        questions: Number of training questions.
    """
    trainer = cast("Mapping[str, object]", config["trainer"])
    checkpoint, steps = trainer.get("resume_from_path"), trainer["total_training_steps"]
    if checkpoint is None or trainer["val_only"]:
        return False
    if steps is None:
        steps = questions // int(str(value_at(config, "data.train_batch_size"))) * int(str(trainer["total_epochs"]))
    return step_of(Path(str(checkpoint))) >= int(str(steps))


def take_folder(folder: Path) -> TextIO:
    """Mark this run, take its folder, and see to it that its processes end with this one, however it ends.

    Raises:
        RunFolderError: If another run is going on there, or the folder can't be written to.
    """
    run_id = mark_run()
    lock = hold(folder, run_id)
    start_reaper(run_id)
    register_stacks(folder / "stacks.txt")
    return lock


def begin(folder: Path, config: Mapping[str, object], resume: bool) -> None:
    """Keep what a new run begins with; of one to be resumed, clear away the checkpoint that it did not finish."""
    if not resume:
        save_config(folder, config)
        return
    checkpoint = latest_checkpoint(folder / "checkpoints")
    remove_unfinished(folder / "checkpoints", checkpoint)
    if checkpoint is None:
        logger.info("there is no checkpoint to resume from: the run starts anew")
        save_config(folder, config)
