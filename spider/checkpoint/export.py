"""Turn an actor's checkpoint into a Hugging Face folder, and prove that it is the same model.

verl's own merger is not used: it rounds float32 weights to bfloat16 (which alone can move a log-prob by 0.4 nats), and
of a LoRA checkpoint it writes the model before training, with the adapter beside it.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from spider.checkpoint.card import model_card, run_accuracies
from spider.checkpoint.proof import Proof, ProofError, prove
from spider.checkpoint.shards import (
    Checkpoint,
    CheckpointError,
    Weights,
    find_checkpoint,
    joined,
    load_shards,
    lora_scale,
    split_lora,
)
from spider.download import NoSpaceError, require_space
from spider.files import read_json
from spider.model_store import ensure_model, sha256, without_weights
from spider.presets import model_path
from spider.run_record import read_run_record
from spider.verl_bridge.failures import classify
from spider.verl_bridge.run_folder import value_at

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)

PROOF_FILE = "export.json"
SHAPE = ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")
"""What of a model's configuration training doesn't change."""


def export(source: Path, folder: Path, dtype: str | None = None, base: Path | None = None) -> bool:
    """Write the model of a checkpoint to `folder`, with tokenizer, card and the proof in ``export.json``.

    Args:
        source: A run's folder, a step's or the actor's.
        folder: Where the model goes. It appears only once it is complete and proven.
        dtype: ``float32``, ``bfloat16`` or ``float16``; by default what the run's rollouts were made with, so that the
            accuracy that the run measured is this model's.
        base: The model before training; by default the one that the run's own record or configuration names, when it
            is at hand.

    Returns:
        False when the same export was there already.

    Raises:
        CheckpointError: `source` is no complete checkpoint, or `base` not the model that it was trained from.
        NoSpaceError: The disk is too small.
        ProofError: The result isn't the trainer's model, or LoRA changed nothing.
        FileExistsError: `folder` is something else.
    """
    checkpoint = find_checkpoint(source)
    if base is not None:
        require_base(base, checkpoint)
    record = read_run_record(checkpoint.run)
    wanted = dtype or str(record.get("rollout_dtype") or "float32")
    base = base or recorded_base(record, checkpoint.run)
    logger.info("step %d of %s: %d rank(s), to %s", checkpoint.step, checkpoint.run.name, checkpoint.ranks, wanted)
    recipe = {
        "checkpoint": f"{checkpoint.run.name}/{checkpoint.actor.parent.name}",
        "shards": " ".join(sha256(file) for file in checkpoint.files),
        "dtype": wanted,
        "conversion": "1",  # raise it when what is written changes
    }
    return ensure_model(folder.resolve(), recipe, lambda partial: _build(partial, checkpoint, record, wanted, base))


def recorded_base(record: Mapping[str, object], run: Path) -> Path | None:
    """The folder of the model before training, by ``run.json`` or else by what the run gave verl; None without one."""
    settings = run / "verl_config.json"
    config = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    for name in (record.get("model"), value_at(config, "actor_rollout_ref.model.path")):
        folder = Path(model_path(str(name))) if name else None
        if folder is not None and without_weights(folder) is None:
            return folder
    return None


def require_base(base: Path, checkpoint: Checkpoint) -> None:
    """Refuse a model before training that would fail once everything is loaded.

    Raises:
        CheckpointError: It isn't there, is incomplete, or of another shape than the checkpoint's.
    """
    fix = "give the folder of the model before training (`python scripts/get_model.py NAME` fetches one into model/)"
    if not base.is_dir():
        raise CheckpointError(f"--base {base} is no folder: {fix}")
    if problem := without_weights(base):
        raise CheckpointError(f"--base {base} is no model: {problem}; {fix}")
    before, after = (read_json(folder / "config.json", dict[str, object]) for folder in (base, checkpoint.huggingface))
    for name in SHAPE:
        if before.get(name) != after.get(name):
            said = f"its {name} is {before.get(name)}, the checkpoint's {after.get(name)}"
            raise CheckpointError(f"--base {base} is another model: {said}; {fix}")


def _build(folder: Path, checkpoint: Checkpoint, record: dict[str, object], dtype: str, base: Path | None) -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    accuracies = run_accuracies(checkpoint.run, checkpoint.step)
    with room(folder.parent, exported_bytes(checkpoint, dtype)):
        shards = load_shards(checkpoint)
        write_model(folder, checkpoint, shards, base, dtype)
        logger.info("comparing it with the trainer's weights")
        proof = prove(folder, checkpoint, shards, base, dtype)
        report(proof, bool(split_lora(list(shards[0]))[1]))
        facts = {"step": checkpoint.step, "dtype": dtype, "ranks": checkpoint.ranks, "proof": proof.as_dict()}
        facts |= {"accuracies": accuracies, "run": record}
        (folder / PROOF_FILE).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(model_card(checkpoint, record, accuracies, proof, dtype), encoding="utf-8")


@contextmanager
def room(folder: Path, needed: int) -> Iterator[None]:
    """Room for what is written within.

    Raises:
        NoSpaceError: The disk is too small, or was filled meanwhile; libraries tell of that each in their own way.
    """
    remedy = "free some, or name a folder on another disk"
    require_space(folder, needed, remedy)
    try:
        yield
    except Exception as error:
        failure = classify(error)
        if failure is None or failure.name != "disk_full":
            raise
        raise NoSpaceError(folder, needed, remedy) from error


def exported_bytes(checkpoint: Checkpoint, dtype: str) -> int:
    """What the exported folder takes: the weights, and what lies beside them."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(checkpoint.config)
    weights = sum(weight.numel() for weight in model.parameters()) * getattr(torch, dtype).itemsize
    return weights + sum(file.stat().st_size for file in checkpoint.huggingface.rglob("*") if file.is_file())


def write_model(folder: Path, checkpoint: Checkpoint, shards: Sequence[Weights], base: Path | None, dtype: str) -> None:
    """Write weights, configuration and tokenizer.

    Raises:
        CheckpointError: The shards are not those of the model that the configuration describes.
    """
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(checkpoint.config)
    weights = whole_weights(checkpoint, shards, base)
    try:
        model.load_state_dict({name: weight.to(getattr(torch, dtype)) for name, weight in weights.items()}, assign=True)
    except RuntimeError as error:
        raise CheckpointError(f"the shards don't fit the model's configuration: {error}") from error
    model.tie_weights()
    model.config.dtype = getattr(torch, dtype)
    shutil.copytree(checkpoint.huggingface, folder, dirs_exist_ok=True)
    model.save_pretrained(folder)
    generation = checkpoint.huggingface / "generation_config.json"
    if generation.is_file():
        shutil.copy(generation, folder)


def whole_weights(checkpoint: Checkpoint, shards: Sequence[Weights], base: Path | None) -> dict[str, Tensor]:
    """The model's weights by name in float32, LoRA's product added.

    Raises:
        CheckpointError: LoRA's weights are alone there and the model before training is not at hand.
        ProofError: LoRA's product is zero everywhere.
    """
    import torch
    from tqdm import tqdm

    plain, factors = split_lora(list(shards[0]))
    bar = tqdm(plain.items(), desc="joining", unit="tensor", disable=None, leave=False)
    weights = {name: joined([shard[key] for shard in shards]) for name, key in bar}
    if not plain:
        weights = dict(_base_model(base).state_dict())
    if not factors:
        return weights
    scale, changed = lora_scale(checkpoint.lora), False
    for name, (down, up) in factors.items():
        a, b = (joined([shard[key] for shard in shards]) for key in (down, up))
        merged = weights[name] + scale * (b @ a)
        changed = changed or not torch.equal(merged, weights[name])
        weights[name] = merged
    if not changed:
        raise ProofError("LoRA changes nothing: the export would equal the model before training. Was it trained?")
    return weights


def _base_model(base: Path | None) -> PreTrainedModel:
    import torch
    from transformers import AutoModelForCausalLM

    if base is None:
        raise CheckpointError(
            "the checkpoint holds LoRA's weights alone, and the model before training that its run names is not here: "
            "fetch it with `python scripts/get_model.py NAME`, or give its folder with --base FOLDER"
        )
    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)


def report(proof: Proof, lora: bool) -> None:
    """Say what the comparison showed.

    Raises:
        ProofError: A LoRA export whose weights, once rounded, are those of the model before training.
    """
    logger.info("log-probs of %d tokens: at most %.2g nats from the trainer's", proof.tokens, proof.max_difference)
    logger.info("rounding the trainer's float32 weights costs at most %.2g nats", proof.max_rounding)
    if proof.changed_weights is None:
        logger.info("the model before training is not at hand: not compared with it")
        return
    logger.info(
        "%.2f %% of the weights differ from the model before training, log-probs by at most %.2g nats",
        100 * proof.changed_weights,
        proof.max_change,
    )
    if proof.changed_weights == 0 and lora:
        raise ProofError("rounded to this type the export equals the model before training: give --dtype float32")
    if proof.changed_weights == 0:
        logger.warning("the export equals the model before training")
