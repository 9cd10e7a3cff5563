"""Logits at the responses alone give the log-probabilities, entropies and gradients that verl's own engine gives."""

from typing import Any, cast

import pytest
import torch
from tensordict import TensorDict
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import FSDPEngineWithLMHead, transformer_impl

from benchmarks.gpu_update import make_pass
from spider.verl_bridge.packed_engine import PackedEngine, response_positions
from tests.engines import ask, make_batch, make_engine, random_tokens
from tests.packing import random_model

PROMPTS, RESPONSES = (5, 1, 9), (3, 4, 1)


def micro_batch(temperature: float, **flags: object) -> TensorDict:
    """A micro-batch of three rows."""
    return make_batch(random_tokens(PROMPTS), random_tokens(RESPONSES, seed=4), temperature=temperature, **flags)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_answers_are_those_of_verls_own_engine(temperature: float) -> None:
    ours, stock = (ask(kind, micro_batch(temperature))._asdict() for kind in (PackedEngine, FSDPEngineWithLMHead))
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


def test_a_reference_models_weights_are_pinned_only_where_there_is_an_accelerator() -> None:
    policy = cast("Any", transformer_impl).CPUOffloadPolicy(pin_memory=True)  # as verl's engine calls it
    assert policy.pin_memory == torch.accelerator.is_available()


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
