"""A run's folder: who holds it, which checkpoint is its last, and whether a run may continue in it.

The driver locks ``run.lock`` for as long as it lives and writes the mark of the run's processes there;
``verl_config.json`` is what the run began with, ``checkpoints/global_step_N`` are verl's checkpoints.
"""

import contextlib
import fcntl
import json
import logging
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from spider.files import make_folder
from spider.verl_bridge.processes import end_run

logger = logging.getLogger(__name__)

FIXED = (
    "actor_rollout_ref.model.path",
    "actor_rollout_ref.model.lora_rank",
    "algorithm.adv_estimator",
    "data.seed",
    "data.train_batch_size",
)
"""Keys that a resumed run may not change: the model would not load, or the order of the data would be another."""


class RunFolderError(ValueError):
    """The folder cannot be used as asked; the message names the fix."""


def hold(folder: Path, run_id: str) -> TextIO:
    """Lock the folder for as long as this process lives, and end what is left of a run that was killed in it.

    Args:
        folder: Folder of the run.
        run_id: Mark of this run's processes.

    Returns:
        The open lock file, to be kept open.

    Raises:
        RunFolderError: If another process holds the folder, or it can't be made or written to.
    """
    try:
        make_folder(folder)
    except OSError as error:
        raise RunFolderError(str(error)) from error
    try:
        file = (folder / "run.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise RunFolderError(f"can't write in {folder}: {error.strerror}; choose another --output-dir") from error
    try:
        # A POSIX lock is its process's alone: forked runners don't have it, so it goes when the driver does.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RunFolderError(f"a run is going on in {folder}: wait for its end, or choose another --output-dir") from (
            error
        )
    file.seek(0)
    earlier = file.read().strip()
    if earlier and earlier != run_id and (ended := end_run(earlier)):
        logger.info("ended %d processes that the earlier run in this folder left behind", ended)
    file.truncate(0)
    file.write(run_id)
    file.flush()
    return file


def is_held(folder: Path) -> bool:
    """Return whether another process's run is going on in the folder; asked by the holder, this would free the lock."""
    try:
        # Shared, so that a folder that can only be read can be asked.
        with (folder / "run.lock").open(encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no lock, or none to be had here
        return False
    return False


def newest_run(outputs: Path, preset: str) -> Path | None:
    """Return the newest folder that `preset` made under its default name and that holds a run, or None."""
    name = re.compile(rf"{re.escape(preset)}-\d{{8}}-\d{{6}}")
    folders = [path for path in outputs.glob(f"{preset}-*") if name.fullmatch(path.name) and holds_a_run(path)]
    return max(folders, key=lambda path: path.name, default=None)


def holds_a_run(folder: Path) -> bool:
    """Return whether a run has left numbers or checkpoints in the folder."""
    return (folder / "progress.csv").exists() or any((folder / "checkpoints").glob("global_step_*"))


def step_of(checkpoint: Path) -> int:
    """Return the step after which a checkpoint was made."""
    return int(checkpoint.name.removeprefix("global_step_"))


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint that verl finished writing under `folder`, or None.

    verl names it in a tracker file, which it empties before it writes. If the driver was killed just then, the newest
    folder is meant: verl writes ``data.pt`` last but for the tracker.
    """
    tracker = folder / "latest_checkpointed_iteration.txt"
    if not tracker.is_file():
        return None
    text = tracker.read_text(encoding="utf-8").strip()
    whole = [path for path in folder.glob("global_step_*") if (path / "data.pt").is_file()]
    if text.isdigit():
        whole = [path for path in whole if step_of(path) <= int(text)]
    return max(whole, key=step_of, default=None)


def remove_unfinished(folder: Path, latest: Path | None) -> None:
    """Remove the checkpoints that a killed run had begun to write after `latest`."""
    for path in folder.glob("global_step_*"):
        if latest is None or step_of(path) > step_of(latest):
            logger.info("removing the unfinished checkpoint %s", path)
            shutil.rmtree(path)


def forget_rollouts(path: Path, step: int, is_validated: bool) -> None:
    """Take what is to be done again out of a run's record of rollouts.

    Args:
        path: The record, JSON Lines with the fields ``step`` and ``mode``.
        step: Step of the checkpoint that the run continues from.
        is_validated: Whether the validation after that step is not to be done again.
    """
    if not path.is_file():
        return
    part = path.with_name(f"{path.name}.part")
    with path.open(encoding="utf-8") as lines, part.open("w", encoding="utf-8") as kept:
        for line in lines:
            with contextlib.suppress(json.JSONDecodeError):  # the last line of a killed run
                record = json.loads(line)
                if record["step"] < step or (record["step"] == step and (record["mode"] == "train" or is_validated)):
                    kept.write(line)
    part.replace(path)


def resume_settings(folder: Path, config: Mapping[str, object]) -> dict[str, object]:
    """Return verl's settings that continue the run in `folder`: from its last checkpoint, or anew without one.

    Args:
        folder: Folder of the run.
        config: Overrides of verl's configuration, nested, as the resumed run has them.

    Raises:
        RunFolderError: If the run began with another model, batch size or seed.
    """
    saved = folder / "verl_config.json"
    began = json.loads(saved.read_text(encoding="utf-8")) if saved.is_file() else {}
    for key in FIXED if began else ():
        before, now = value_at(began, key), value_at(config, key)
        if before != now:
            raise RunFolderError(
                f"the run in {folder} began with {key}={before}, not {now}: resume it with the flags it began with, "
                "or choose another --output-dir"
            )
    checkpoint = latest_checkpoint(folder / "checkpoints")
    if checkpoint is None:
        return {"resume_mode": "disable"}
    return {"resume_mode": "resume_path", "resume_from_path": str(checkpoint)}


def save_config(folder: Path, config: Mapping[str, object]) -> None:
    """Keep what a run begins with, for one that resumes it."""
    text = json.dumps(config, indent=2, default=str)
    (folder / "verl_config.json").write_text(f"{text}\n", encoding="utf-8")


def value_at(config: Mapping[str, object], key: str) -> object:
    """Return the value of a dotted key in a nested dictionary, or None."""
    value: object = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
