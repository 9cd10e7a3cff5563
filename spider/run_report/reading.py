"""A run's folder, read while it is written or after: progress.csv, rollouts.jsonl, tensorboard/ and run.log.

Any of them may be missing or end in the middle of a line; one that holds something else is an error.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from spider.verl_bridge.run_folder import is_held

REMEDY = "put the run's own file back, or move this one away: the rest can be read without it"
LOG_LINE = re.compile(r"^\S+ \S+ (?P<level>[A-Z]+) (?P<name>spider[\w.]*): (?P<text>.*)")


class RolloutTurn(TypedDict):
    """One reply, and the node that asked for it."""

    node: str
    text: str


@dataclass(frozen=True)
class Rollout:
    """One line of ``rollouts.jsonl``; see `spider.verl_bridge.rollout_log`."""

    step: int
    mode: Literal["train", "val"]
    uid: str
    question: str
    db_id: str
    gold: str
    query: str | None
    turns: list[RolloutTurn] | None
    reward: float | None
    calls: int
    dropped: str | None
    detail: str = ""
    run: int = 0

    @property
    def queries(self) -> int:
        """How many queries the agent wrote; 0 where that isn't known."""
        return sum("write" in turn["node"] for turn in self.turns or ())


@dataclass(frozen=True)
class RunLog:
    """What a run's folder holds.

    Attributes:
        folder: The folder.
        progress: Rows of progress.csv: a step's have ``reward``, a validation's ``validation_accuracy``.
        rollouts: All recorded rollouts, in order.
        scalars: TensorBoard's values by name, as (step, value).
        started: The run's first own log line, which names model and questions; empty when there is none.
        state: How the run stands, in words.
    """

    folder: Path
    progress: list[dict[str, float]]
    rollouts: list[Rollout]
    scalars: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    started: str = ""
    state: str = ""

    def of_mode(self, mode: str) -> list[Rollout]:
        """The rollouts of training or of validation."""
        return [rollout for rollout in self.rollouts if rollout.mode == mode]

    @property
    def has_ended(self) -> bool:
        """Whether the run says that it came to its end, or failed."""
        return self.state.startswith(("finished", "failed"))


class NoRunError(ValueError):
    """The folder isn't a run's, or a file in it isn't."""


def read_run(folder: Path) -> RunLog:
    """Everything that is there.

    Raises:
        NoRunError: neither a progress.csv nor a rollouts.jsonl nor a run.log is in the folder, or one is damaged.
    """
    if (folder / "settings.json").is_file():
        raise NoRunError(
            f"{folder} is a search of instructions (`apo`), not a training run: "
            f"`python -m spider.export_strategy --checkpoint {folder}` shows what it found"
        )
    names = ("progress.csv", "rollouts.jsonl", "run.log")
    if not any((folder / name).is_file() for name in names):
        raise NoRunError(f"{folder} is not the folder of a run: none of {', '.join(names)} is in it; give outputs/RUN")
    started, state = _state(folder / "run.log")
    return RunLog(
        folder,
        read_progress(folder / "progress.csv"),
        read_rollouts(folder / "rollouts.jsonl"),
        read_scalars(folder / "tensorboard"),
        started,
        state,
    )


def read_progress(path: Path) -> list[dict[str, float]]:
    """The rows of progress.csv; of a run that was resumed, what came after the checkpoint counts once.

    Raises:
        NoRunError: it isn't one, or is damaged before its last line, which may be half written.
    """
    if not path.is_file():
        return []
    header, *lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    names = header.strip().split(",")
    if not {"step", "reward", "validation_accuracy"} <= set(names):
        raise NoRunError(f"{path} is not a training run's: its columns are others; {REMEDY}")
    rows: list[dict[str, float]] = []
    for number, line in enumerate(lines[:-1], 2):
        try:
            cells = zip(names, line.strip().split(","), strict=True)
            row = {name: float(cell) for name, cell in cells if cell}
        except ValueError:
            row = {}
        if "step" not in row or row.keys().isdisjoint(("reward", "validation_accuracy")):
            raise NoRunError(f"{path} is damaged: line {number} is no step's and no validation's; {REMEDY}")
        rows.append(row)
    # A resumed run does the steps after its checkpoint again: the last row of a step is the one that counts.
    last = {(row["step"], "reward" not in row): row for row in rows}
    return [last[key] for key in sorted(last)]


def read_rollouts(path: Path) -> list[Rollout]:
    """The rollouts; those of steps that a resumed run did again count once.

    Raises:
        NoRunError: no line is a rollout. Some may not be: a run that was killed and resumed leaves half of one.
    """
    if not path.is_file():
        return []
    found: dict[str, list[Rollout]] = {"train": [], "val": []}
    has_lines = False
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            has_lines |= line.endswith("\n")
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                record: dict[str, Any] = json.loads(line)
                names = Rollout.__dataclass_fields__
                rollout = Rollout(**{name: value for name, value in record.items() if name in names})
                found[rollout.mode].append(rollout)
    if has_lines and not any(found.values()):
        raise NoRunError(f"{path} is not a training run's: no line of it is a rollout; {REMEDY}")
    return [rollout for each in found.values() for rollout in _without_undone(each)]


def _without_undone(rollouts: Sequence[Rollout]) -> list[Rollout]:
    """The rollouts without those of steps that a later start of the run did again."""
    first: dict[int, int] = {}
    for rollout in rollouts:
        first[rollout.run] = min(rollout.step, first.get(rollout.run, rollout.step))
    return [
        rollout for rollout in rollouts if all(rollout.step < step for run, step in first.items() if run > rollout.run)
    ]


def read_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """TensorBoard's scalars, by name."""
    if not folder.is_dir():
        return {}
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {name: [(each.step, each.value) for each in events.Scalars(name)] for name in events.Tags()["scalars"]}


def _state(path: Path) -> tuple[str, str]:
    """The run's first line, and how it stands."""
    if not path.is_file():
        return "", "unknown: there is no run.log"
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [found for line in text.splitlines() if (found := LOG_LINE.match(line))]
    started = next((line["text"] for line in lines if "questions to train on" in line["text"]), "")
    last = lines[-1] if lines else None
    if last and last["level"] == "ERROR":
        return started, f"failed: {last['text']}"
    if last and last["text"].startswith("learning curve:"):
        return started, "finished"
    written = f"its log was last written {time.time() - path.stat().st_mtime:.0f} s ago"
    if not (path.parent / "run.lock").is_file():
        return started, f"going on, or cut off: {written}"
    return started, f"going on: {written}" if is_held(path.parent) else f"cut off: {written}"
