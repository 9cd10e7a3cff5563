"""What an export reads of a run's folder: its rollouts, its instructions and its model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spider.files import read_json
from spider.strategy.schema import PromptTemplates

ROLLOUTS = "rollouts.jsonl"
PROMPTS = "prompts.json"  # of a run that optimises prompts


@dataclass(frozen=True)
class _Prompts:
    """What an export takes from ``prompts.json``."""

    version: str
    model: str
    templates: PromptTemplates


@dataclass(frozen=True)
class _Servers:
    """What an export takes from ``servers.json``."""

    model: str


@dataclass(frozen=True)
class Run:
    """A run's folder: its kind, its instructions, its model's name, and those of its rollouts that speak for it.

    A training run's model changes: the later half of its steps counts. A run that optimises prompts tries many: the
    rollouts with the best ones count.
    """

    folder: Path
    kind: Literal["apo", "training"]
    model: str
    templates: PromptTemplates
    records: tuple[Mapping[str, object], ...]


def load_run(path: Path) -> Run:
    """Read a run's folder, or a checkpoint inside it.

    Raises:
        ValueError: it isn't one, or holds no rollout yet.
    """
    folder = next((each for each in (path, *path.resolve().parents) if (each / ROLLOUTS).is_file()), None)
    if folder is None:
        raise ValueError(f"no {ROLLOUTS} in {path}: give the folder of a run of train_sql_agent.py (outputs/...)")
    records = tuple(_records(folder / ROLLOUTS))
    if (folder / PROMPTS).is_file():
        prompts = read_json(folder / PROMPTS, _Prompts)
        chosen = tuple(record for record in records if record.get("templates") == prompts.version)
        kept = Run(folder, "apo", prompts.model, prompts.templates, chosen)
    else:
        steps = [step for record in records if isinstance(step := record.get("step"), int)]
        late = tuple(r for r in records if isinstance(step := r.get("step"), int) and 2 * step >= max(steps))
        kept = Run(folder, "training", _served_model(folder), PromptTemplates(), late)
    if not kept.records:
        raise ValueError(f"{folder / ROLLOUTS} holds no rollout to count: let the run go on first, or give another run")
    return kept


def _records(path: Path) -> Iterator[Mapping[str, object]]:
    """The rollouts in the file; a line that was cut by the run's end is passed over."""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        with contextlib.suppress(json.JSONDecodeError):
            record = json.loads(line)
            if isinstance(record, dict):
                yield record


def _served_model(folder: Path) -> str:
    path = folder / "servers.json"
    return read_json(path, _Servers).model if path.is_file() else ""
