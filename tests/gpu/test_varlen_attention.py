"""On a GPU, packed rows through torch's flash kernel give what each row gives alone, within bfloat16's precision."""

from collections.abc import Callable
from typing import cast

import pytest
import torch

from spider.verl_bridge import varlen_attention
from tests.packing import CausalLM, Result, random_model, random_rows, run_each, run_packed, run_shared

pytestmark = pytest.mark.gpu


@pytest.fixture(params=["qwen2", "llama"])
def model(request: pytest.FixtureRequest) -> CausalLM:
    """A small random model on the GPU in bfloat16, with head size 128 as Qwen2.5-Coder-1.5B has it."""
    with torch.device("cuda"):
        return random_model(request.param, head_dim=128).bfloat16()


def reference(model: CausalLM, rows: list[torch.Tensor], responses: list[torch.Tensor] | None = None) -> Result:
    """What the same weights give in float32, each row by itself."""
    result = run_each(model.float(), rows, responses)
    model.bfloat16()
    return result


def assert_as_close(ours: torch.Tensor, stock: torch.Tensor, exact: torch.Tensor) -> None:
    """Assert that `ours` is about as far from `exact` as the stock bfloat16 computation is."""
    scale = exact.abs().max()
    assert (ours - exact).abs().max() <= 2 * (stock - exact).abs().max() + 2e-3 * scale


def test_flash_kernel_is_used(model: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    kernel = cast("Callable[..., torch.Tensor]", varlen_attention.varlen_attn)

    def counted(*args: object, **settings: object) -> torch.Tensor:
        calls.append(1)
        return kernel(*args, **settings)

    monkeypatch.setattr(varlen_attention, "varlen_attn", counted)
    run_packed(model, random_rows())
    assert len(calls) == 3


def test_packed_rows_give_the_logits_of_each_row_alone(model: CausalLM) -> None:
    rows = random_rows()
    assert_as_close(run_packed(model, rows).logits, run_each(model, rows).logits, reference(model, rows).logits)


def test_packed_rows_give_the_gradients_of_each_row_alone(model: CausalLM) -> None:
    rows = random_rows()
    ours, stock, exact = run_packed(model, rows), run_each(model, rows), reference(model, rows)
    for name, gradient in exact.gradients.items():
        assert_as_close(ours.gradients[name], stock.gradients[name], gradient)


def test_gradient_checkpointing_changes_nothing(model: CausalLM) -> None:
    rows = random_rows()
    plain = run_packed(model, rows)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    torch.testing.assert_close(run_packed(model, rows).gradients, plain.gradients)


def test_responses_that_share_a_prompt_give_what_each_row_gives_alone(model: CausalLM) -> None:
    short, _, prompt, response, long, _ = random_rows()
    prompts, responses = [prompt, long, prompt, prompt], [response, short, short, long]
    rows = [torch.cat(parts) for parts in zip(prompts, responses, strict=True)]
    ours, stock = run_shared(model, prompts, responses), run_each(model, rows, responses)
    exact = reference(model, rows, responses)
    assert_as_close(ours.logits, stock.logits, exact.logits)
    for name, gradient in exact.gradients.items():
        assert_as_close(ours.gradients[name], stock.gradients[name], gradient)
