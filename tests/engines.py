"""verl's engines for language models around a small random model, without FSDP and processes."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple, cast

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.utils.padding import no_padding_2_padding

from spider.verl_bridge.packed_engine import PackedEngine
from tests.packing import CausalLM, random_model


class Answer(NamedTuple):
    """What verl's losses read of an engine's answer, of (rows, longest response), and the parameters' gradients."""

    log_probs: torch.Tensor
    entropy: torch.Tensor
    gradients: dict[str, torch.Tensor]


def random_tokens(lengths: Sequence[int], seed: int = 3) -> list[torch.Tensor]:
    """Random token ids, below 128, of these lengths."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(128, (length,), generator=generator) for length in lengths]


def make_batch(prompts: Sequence[torch.Tensor], responses: Sequence[torch.Tensor], **settings: object) -> TensorDict:
    """A batch of these rows, as verl's trainer makes it; `settings` are what it says besides."""
    rows = [torch.cat(parts) for parts in zip(prompts, responses, strict=True)]
    fields = {
        "input_ids": rows,
        "position_ids": [torch.arange(len(row)) for row in rows],
        "prompts": prompts,
        "responses": responses,
    }
    nested = {name: torch.nested.as_nested_tensor(list(value), layout=torch.jagged) for name, value in fields.items()}
    batch = TensorDict(nested, batch_size=[len(rows)])
    tensordict_utils.assign_non_tensor(batch, **{"temperature": 1.0, "calculate_entropy": True, **settings})
    return batch


def make_engine(kind: type, model: CausalLM) -> PackedEngine:
    """An engine around a model."""
    engine = cast("PackedEngine", object.__new__(kind))
    engine.__dict__.update(
        module=model,
        use_ulysses_sp=False,
        pad_to_length=False,
        compute_entropy_from_logits=entropy_from_logits,
        engine_config=SimpleNamespace(entropy_checkpointing=False, entropy_from_logits_with_chunking=False),
    )
    return engine


def ask(kind: type, batch: TensorDict, attention: str = "varlen") -> Answer:
    """What an engine of this kind answers about a batch."""
    model = random_model("qwen2", attn_implementation=attention)
    engine = make_engine(kind, model)
    inputs, args = engine.prepare_model_inputs(batch)
    outputs = engine.prepare_model_outputs(model(**inputs, use_cache=False), args, batch, None)
    log_probs, entropy = (no_padding_2_padding(outputs[name], batch) for name in ("log_probs", "entropy"))
    (log_probs.square().sum() + entropy.sum()).backward()
    gradients = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    assert len(gradients) == len(list(model.parameters()))
    return Answer(log_probs, entropy, gradients)
