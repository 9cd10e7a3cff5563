"""Read the actor's weights out of verl's FSDP checkpoint: one file a rank, each with its part of every parameter."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spider.files import read_json
from spider.verl_bridge.run_folder import latest_checkpoint

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed.tensor import DTensor
    from transformers import PretrainedConfig

Weights = dict[str, "Tensor"]


@dataclass(frozen=True)
class _Sharding:
    """What verl's ``fsdp_config.json`` says."""

    world_size: int


class CheckpointError(ValueError):
    """What was given is no complete checkpoint; the message says what is missing."""


@dataclass(frozen=True)
class Checkpoint:
    """An actor's checkpoint of a run.

    Attributes:
        actor: Folder with the shards, ``…/checkpoints/global_step_N/actor``.
        step: Training steps behind it.
        run: Folder of the run that wrote it; its files need not be there.
        ranks: Processes that the weights are sharded over.
    """

    actor: Path
    step: int
    run: Path
    ranks: int

    @property
    def files(self) -> list[Path]:
        """The shards, by rank."""
        return [self.actor / f"model_world_size_{self.ranks}_rank_{rank}.pt" for rank in range(self.ranks)]

    @property
    def huggingface(self) -> Path:
        """Configuration and tokenizer."""
        return self.actor / "huggingface"

    @property
    def config(self) -> PretrainedConfig:
        """The model's configuration, without the attention that training used: other programs don't have it."""
        from transformers import AutoConfig, PretrainedConfig

        settings, _ = PretrainedConfig.get_config_dict(self.huggingface)
        settings.pop("attn_implementation", None)
        return AutoConfig.for_model(**settings)

    @property
    def lora(self) -> dict[str, object]:
        """LoRA's rank and alpha, empty when there is no such file."""
        path = self.actor / "lora_train_meta.json"
        return read_json(path, dict[str, object]) if path.is_file() else {}


def find_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint at `path`: a run's folder (its newest one), a step's folder, or the actor's.

    Raises:
        CheckpointError: there is none, or a part of it is missing.
        ValueError: a file of it is damaged.
    """
    path = path.resolve()
    for folder in (path / "checkpoints", path):
        if found := latest_checkpoint(folder):
            path = found
            break
    actor = path / "actor" if (path / "actor").is_dir() else path
    settings = actor / "fsdp_config.json"
    if not settings.is_file():
        raise CheckpointError(
            f"no checkpoint at {path}: give a run's folder (outputs/RUN) whose training saved one (trainer.save_freq)"
        )
    ranks = read_json(settings, _Sharding).world_size
    name = actor.parent.name.removeprefix("global_step_")
    checkpoint = Checkpoint(actor, int(name) if name.isdigit() else 0, actor.parents[2], ranks)
    needed = [*checkpoint.files, checkpoint.huggingface / "config.json"]
    missing = [str(file.relative_to(actor)) for file in needed if not file.is_file()]
    if missing:
        raise CheckpointError(
            f"{actor} is incomplete, it lacks {', '.join(missing)}: copy all of the run's ranks there"
        )
    return checkpoint


def load_shards(checkpoint: Checkpoint) -> list[Weights]:
    """Every rank's weights, read from disk as they are used.

    Raises:
        CheckpointError: a file is damaged or holds anything but tensors.
    """
    import pickle
    from importlib import import_module

    import torch

    import_module("torch.distributed.tensor")  # without it, torch.load takes DTensor for a stranger

    # It says that the mesh's processes are not here; they are not needed.
    logging.getLogger("torch.distributed.device_mesh").setLevel(logging.ERROR)
    shards: list[Weights] = []
    for file in checkpoint.files:
        try:
            shards.append(torch.load(file, map_location="cpu", mmap=True, weights_only=True))
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise CheckpointError(f"{file} can't be read: {str(error).splitlines()[0]}") from error
    keys = [set(shard) for shard in shards]
    if any(names != keys[0] for names in keys):
        raise CheckpointError(f"the ranks in {checkpoint.actor} hold different parameters: they are of different runs")
    return shards


def joined(parts: Sequence[Tensor]) -> Tensor:
    """The whole of a parameter from what each rank has of it, in float32.

    Raises:
        CheckpointError: the parts don't make up the whole.
    """
    import torch
    from torch.distributed.tensor import DTensor

    first = parts[0]
    if not isinstance(first, DTensor):
        # Buffers and what FSDP leaves unsharded: every rank has all of it.
        if any(not torch.equal(part, first) for part in parts[1:]):
            raise CheckpointError("a parameter that is not sharded differs between ranks")
        return first.float()
    sharded = [placement for placement in first.placements if placement.is_shard()]
    locals_ = [cast("DTensor", part).to_local() for part in parts]
    if not sharded:
        return locals_[0].float()
    if len(sharded) > 1 or not first.placements[-1].is_shard():
        raise CheckpointError(f"placements {first.placements}: only FSDP's sharding along one dimension is known here")
    # With hybrid sharding the mesh has a row of ranks for each copy of the model: one row is enough.
    row = first.device_mesh.mesh.reshape(-1, first.device_mesh.mesh.shape[-1])[0].tolist()
    whole = torch.cat([locals_[rank] for rank in row], dim=getattr(sharded[0], "dim", 0))
    if whole.shape != first.shape:
        raise CheckpointError(f"the parts make up {tuple(whole.shape)} instead of {tuple(first.shape)}")
    return whole.float()


PEFT_PREFIX = "base_model.model."


def split_lora(names: Sequence[str]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Sort a state dictionary's names by what they are.

    Returns:
        The base model's parameters (plain name to name as stored), and LoRA's factors (plain name of the weight that
        they change to the stored names of A and B); both plain names as the model has them without LoRA.

    Raises:
        CheckpointError: there are adapters that are not LoRA matrices.
    """
    base: dict[str, str] = {}
    factors: dict[str, dict[str, str]] = {}
    for name in names:
        plain = name.removeprefix(PEFT_PREFIX)
        module, _, factor = plain.partition(".lora_")
        if factor in ("A.default.weight", "B.default.weight"):
            factors.setdefault(f"{module}.weight", {})[factor[0]] = name
        elif factor or "modules_to_save" in plain:
            raise CheckpointError(f"{name}: only LoRA on weight matrices is known here")
        else:
            base[plain.replace(".base_layer.", ".")] = name
    return base, {weight: (found["A"], found["B"]) for weight, found in factors.items()}


def lora_scale(lora: Mapping[str, object]) -> float:
    """LoRA's factor alpha / r.

    Raises:
        CheckpointError: it isn't recorded.
    """
    rank, alpha = lora.get("r"), lora.get("lora_alpha")
    if not (isinstance(rank, int) and isinstance(alpha, int) and rank > 0):
        raise CheckpointError("the checkpoint has LoRA weights but no lora_train_meta.json with r and lora_alpha")
    return alpha / rank
