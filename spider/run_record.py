"""`run.json`: what a training run was asked to do, for everything that reads its folder later."""

from __future__ import annotations

import importlib.metadata
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spider.data import ROOT
from spider.files import read_json, write_whole

if TYPE_CHECKING:
    from omegaconf import DictConfig

FILE = "run.json"
PACKAGES = ("verl", "vllm", "agentlightning", "torch", "transformers")


def write_run_record(folder: Path, config: DictConfig, **facts: object) -> None:
    """Write `facts`, what decides the training in verl's `config` and the versions that ran to the run's folder.

    Paths below the repository's root become relative. A run that goes on where another stopped keeps its first start.
    """
    path = folder / FILE
    model, actor, rollout = (config.actor_rollout_ref[part] for part in ("model", "actor", "rollout"))
    record: dict[str, object] = {"started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    record |= {name: value for name, value in read_run_record(folder).items() if name == "started"}
    record |= {name: _shown(value) for name, value in facts.items()}
    record |= {
        "model": _shown(Path(model.path)) if Path(model.path).is_dir() else model.path,
        "device": config.trainer.device,
        "steps": config.trainer.total_training_steps,
        "epochs": config.trainer.total_epochs,
        "questions_per_step": config.data.train_batch_size,
        "rollouts": rollout.n,
        "learning_rate": actor.optim.lr,
        "lora_rank": model.lora_rank,
        "rollout_dtype": rollout.dtype,
        "versions": versions(),
    }
    write_whole(path, json.dumps(record, indent=2) + "\n")


def read_run_record(folder: Path) -> dict[str, object]:
    """The run's record, empty when it has none.

    Raises:
        ValueError: the file was damaged.
    """
    path = folder / FILE
    return read_json(path, dict[str, object]) if path.is_file() else {}


def versions() -> dict[str, str]:
    """The installed versions of `PACKAGES`."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _shown(value: object) -> object:
    if not isinstance(value, Path):
        return value
    path = value.resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
