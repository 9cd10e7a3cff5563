"""Show that an exported model computes what the trainer's weights compute.

The trainer's model is put together again here, another way than the export does: each rank's part is written to its
place in the whole, and LoRA is applied by PEFT as it was in training, not added to the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spider.checkpoint.shards import Checkpoint, CheckpointError, Weights, split_lora

if TYPE_CHECKING:
    from torch import Tensor
    from torch.distributed.tensor import DTensor
    from torch.nn import Module
    from transformers import PreTrainedModel

TEXT = (
    "Question: Which countries have more than two singers older than 30? Show them with the number of singers.\n"
    "SELECT country, count(*) FROM singer WHERE age > 30 GROUP BY country HAVING count(*) > 2 ORDER BY country"
)
TOLERANCE = {"float32": 1e-3, "bfloat16": 1e-2, "float16": 1e-2}
"""Largest difference of a log-prob, in nats, between the exported model and the trainer's rounded to the same type.

The weights are the same, bit for bit, without LoRA. With it, (W x + s B A x) and ((W + s B A) x) differ in the last
bits of float32, and a few of the weights then round to the other side.
"""


class ProofError(RuntimeError):
    """The exported model is not the trainer's."""


@dataclass(frozen=True)
class Proof:
    """How the exported model compares, over the tokens of `TEXT`; log-probs in nats, computed in float32.

    Attributes:
        tokens: Log-probs compared.
        max_difference: Largest difference to the trainer's weights rounded to the exported type.
        max_rounding: Largest difference to the trainer's own float32 weights: what the type costs.
        max_change: Largest difference to the model before training; None when that isn't at hand.
        changed_weights: Share of the weights that differ from the model before training; None as above.
    """

    tokens: int
    max_difference: float
    max_rounding: float
    max_change: float | None
    changed_weights: float | None

    def as_dict(self) -> dict[str, float | None]:
        """All numbers."""
        return asdict(self)


def prove(folder: Path, checkpoint: Checkpoint, shards: Sequence[Weights], base: Path | None, dtype: str) -> Proof:
    """Compare the model in `folder` with the weights that it was made from.

    Args:
        folder: The exported model.
        checkpoint: Where it comes from.
        shards: The checkpoint's weights by rank.
        base: Folder of the model before training; needed for shards with LoRA's weights alone.
        dtype: The exported type.

    Raises:
        ProofError: They differ by more than `TOLERANCE`, or LoRA changed nothing.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    ids: list[int] = AutoTokenizer.from_pretrained(folder)(TEXT)["input_ids"]
    trainers = trainers_model(checkpoint, shards, base)
    exact = log_probs(trainers, ids)
    rounded = log_probs(_rounded(trainers, dtype), ids)
    del trainers
    exported = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    found = log_probs(exported, ids)
    change, share = None, None
    before = _before(checkpoint, shards, base)
    if before is not None:
        change = float((log_probs(before, ids) - found).abs().max())
        share = _changed_share(before, exported, dtype)
    proof = Proof(len(found), float((rounded - found).abs().max()), float((exact - found).abs().max()), change, share)
    if not proof.max_difference <= TOLERANCE[dtype]:  # NaN is no proof either
        raise ProofError(
            f"the exported model is not the trainer's: a log-prob differs by {proof.max_difference:.3g} nats "
            f"(at most {TOLERANCE[dtype]:g} allowed)"
        )
    return proof


def trainers_model(checkpoint: Checkpoint, shards: Sequence[Weights], base: Path | None) -> Module:
    """The model as the trainer holds it, in float32, with LoRA's factors beside the weights."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(checkpoint.config, dtype=torch.float32)
    plain, factors = split_lora(list(shards[0]))
    if not plain and base is not None:
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if factors:
        from peft import LoraConfig, get_peft_model

        targets = sorted({name.removesuffix(".weight") for name in factors})
        rank, alpha = (cast("int", checkpoint.lora[key]) for key in ("r", "lora_alpha"))
        model = get_peft_model(model, LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets))
    whole = {name: placed([shard[name] for shard in shards]) for name in shards[0]}
    result = model.load_state_dict(whole, strict=bool(plain))
    if result.unexpected_keys:
        raise CheckpointError(f"the model has no {', '.join(result.unexpected_keys[:3])}")
    return model.eval()


def placed(parts: Sequence[Tensor]) -> Tensor:
    """The whole of a parameter, in float32: each part written where its rank's share begins."""
    import torch
    from torch.distributed.tensor import DTensor

    first = parts[0]
    if not isinstance(first, DTensor):
        return first.float()
    whole = torch.full(first.shape, float("nan"))
    ranks = first.device_mesh.mesh.shape[-1]
    for number, part in enumerate(parts):
        own = cast("DTensor", part)
        local = own.to_local()
        dimension = getattr(own.placements[-1], "dim", None)
        if dimension is None:
            whole.copy_(local)
        elif local.numel():
            # torch gives every rank ceil(size / ranks) rows, and the last ones what is left.
            begin = number % ranks * -(-first.shape[dimension] // ranks)
            whole.narrow(dimension, begin, local.shape[dimension]).copy_(local)
    return whole


def log_probs(model: Module, ids: Sequence[int]) -> Tensor:
    """Log-probability of each token after the first, in nats."""
    import torch

    tokens = torch.tensor([list(ids)])
    with torch.no_grad():
        predicted = model(tokens).logits[0, :-1].float().log_softmax(-1)
    return predicted.gather(1, tokens[0, 1:, None])[:, 0]


def _rounded(model: Module, dtype: str) -> Module:
    """`model`, LoRA merged, with its weights rounded to `dtype`; it computes in float32 still."""
    import torch
    from peft.tuners.lora import LoraModel

    lora = getattr(model, "base_model", None)
    if isinstance(lora, LoraModel):
        if dtype == "float32":
            return model
        model = lora.merge_and_unload()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.to(getattr(torch, dtype)))
    return model


def _before(checkpoint: Checkpoint, shards: Sequence[Weights], base: Path | None) -> PreTrainedModel | None:
    """The model before training: LoRA's own base, or the one in the folder `base`."""
    import torch
    from transformers import AutoModelForCausalLM

    plain, factors = split_lora(list(shards[0]))
    if factors and plain:
        model = AutoModelForCausalLM.from_config(checkpoint.config, dtype=torch.float32)
        model.load_state_dict({name: placed([shard[key] for shard in shards]) for name, key in plain.items()})
        return model.eval()
    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).eval() if base is not None else None


def _changed_share(before: PreTrainedModel, after: PreTrainedModel, dtype: str) -> float:
    import torch

    changed = total = 0
    olds = dict(before.named_parameters())
    for name, new in after.named_parameters():
        old = olds[name].to(getattr(torch, dtype)).float()
        changed += int((new != old).sum())
        total += new.numel()
    return changed / total
