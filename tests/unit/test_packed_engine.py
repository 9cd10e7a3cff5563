"""Logits at the responses alone give the log-probabilities, entropies and gradients that verl's own engine gives."""

from types import SimpleNamespace
from typing import NamedTuple, cast

import pytest
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils
from verl.utils.torch_functional import entropy_from_logits
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import FSDPEngineWithLMHead
from verl.workers.utils.padding import no_padding_2_padding

from benchmarks.gpu_update import make_pass
from spider.verl_bridge.packed_engine import PackedEngine, response_positions
from tests.packing import CausalLM, random_model

PROMPTS, RESPONSES = (5, 1, 9), (3, 4, 1)


class Answer(NamedTuple):
    """What verl's losses read of an engine's answer, of (rows, longest response), and the parameters' gradients."""

    log_probs: torch.Tensor
    entropy: torch.Tensor
    gradients: dict[str, torch.Tensor]


def micro_batch(temperature: float, **flags: object) -> TensorDict:
    """A micro-batch of three rows, as verl's trainer makes it."""
    generator = torch.Generator().manual_seed(3)
    prompts = [torch.randint(128, (length,), generator=generator) for length in PROMPTS]
    responses = [torch.randint(128, (length,), generator=generator) for length in RESPONSES]
    rows = [torch.cat(parts) for parts in zip(prompts, responses, strict=True)]
    fields = {
        "input_ids": rows,
        "position_ids": [torch.arange(len(row)) for row in rows],
        "prompts": prompts,
        "responses": responses,
    }
    nested = {name: torch.nested.as_nested_tensor(value, layout=torch.jagged) for name, value in fields.items()}
    batch = TensorDict(nested, batch_size=[len(rows)])
    tensordict_utils.assign_non_tensor(batch, temperature=temperature, calculate_entropy=True, **flags)
    return batch


def make_engine(kind: type, model: CausalLM) -> PackedEngine:
    """An engine around a model, without FSDP and its process group."""
    engine = cast("PackedEngine", object.__new__(kind))
    engine.__dict__.update(
        module=model,
        use_ulysses_sp=False,
        pad_to_length=False,
        compute_entropy_from_logits=entropy_from_logits,
        engine_config=SimpleNamespace(entropy_checkpointing=False, entropy_from_logits_with_chunking=False),
    )
    return engine


def ask(kind: type, temperature: float = 0.7) -> Answer:
    """What an engine of this kind answers about the micro-batch."""
    model = random_model("qwen2")
    engine, batch = make_engine(kind, model), micro_batch(temperature)
    inputs, args = engine.prepare_model_inputs(batch)
    outputs = engine.prepare_model_outputs(model(**inputs, use_cache=False), args, batch, None)
    log_probs, entropy = (no_padding_2_padding(outputs[name], batch) for name in ("log_probs", "entropy"))
    (log_probs.square().sum() + entropy.sum()).backward()
    gradients = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    assert len(gradients) == len(list(model.parameters()))
    return Answer(log_probs, entropy, gradients)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_answers_are_those_of_verls_own_engine(temperature: float) -> None:
    ours, stock = (ask(kind, temperature)._asdict() for kind in (PackedEngine, FSDPEngineWithLMHead))
    torch.testing.assert_close(ours, stock, rtol=1e-4, atol=1e-4)


def test_model_is_asked_for_logits_at_responses_alone() -> None:
    model = random_model("qwen2")
    inputs, _ = make_engine(PackedEngine, model).prepare_model_inputs(micro_batch(1.0))
    assert model(**inputs, use_cache=False).logits.shape == (1, sum(RESPONSES), 128)


@pytest.mark.parametrize("flag", ["use_fused_kernels", "calculate_sum_pi_squared", "distillation_use_topk"])
def test_other_requests_are_left_to_verls_own_engine(flag: str) -> None:
    engine = make_engine(PackedEngine, random_model("qwen2"))
    inputs, args = engine.prepare_model_inputs(micro_batch(1.0, **{flag: True}))
    assert "logits_to_keep" not in inputs
    assert "positions" not in args


def test_positions_are_those_before_each_response_token() -> None:
    positions = response_positions(torch.tensor([5, 3, 4]), torch.tensor([2, 1, 3]))
    assert positions.tolist() == [2, 3, 6, 8, 9, 10]


@pytest.mark.parametrize("vendor", ["nvidia", "cpu"])
def test_verl_takes_this_engine_for_language_models(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_ENGINE_DEVICE", "cuda")
    monkeypatch.setenv("VERL_ENGINE_VENDOR", vendor)
    assert EngineRegistry.get_engine_cls("language_model", "fsdp2") is PackedEngine


@pytest.mark.parametrize("head", ["stock", "fused-torch"])
def test_benchmarked_heads_compute_the_same_update(head: str) -> None:
    def gradients(name: str) -> dict[str, torch.Tensor]:
        model = random_model("qwen2")
        make_pass(model, name, list(PROMPTS), list(RESPONSES))()
        return {name: value.grad for name, value in model.named_parameters() if value.grad is not None}

    ours = gradients("responses")
    for name, gradient in gradients(head).items():
        assert (ours[name] - gradient).norm() < 0.02 * gradient.norm(), name  # bfloat16 rounds
