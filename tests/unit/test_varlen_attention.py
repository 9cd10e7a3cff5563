"""Packed rows give what each row gives alone, and the implementation is known to transformers by its name."""

from collections.abc import Callable
from typing import cast

import pytest
import torch
from transformers import GenerationMixin
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from spider.verl_bridge import varlen_attention
from spider.verl_bridge.varlen_attention import Pack, find_rows, varlen_mask
from spider.verl_bridge.varlen_attention import varlen_attention as attention
from tests.packing import CausalLM, positions, random_model, random_rows, run_each, run_packed


@pytest.fixture(params=["qwen2", "llama"])
def model(request: pytest.FixtureRequest) -> CausalLM:
    """A small random model that attends with `varlen`."""
    return random_model(request.param)


def test_import_registers_attention_and_mask() -> None:
    assert ALL_ATTENTION_FUNCTIONS["varlen"] is attention
    assert ALL_MASK_ATTENTION_FUNCTIONS["varlen"] is varlen_mask


def test_rows_begin_where_positions_start_again() -> None:
    rows = find_rows(torch.tensor([[0, 1, 2, 0, 0, 1]]))
    assert rows.offsets.tolist() == [0, 3, 4, 6]
    assert rows.offsets.dtype == torch.int32
    assert rows.lengths == [3, 1, 2]


def test_each_entry_of_a_batch_begins_a_row() -> None:
    assert find_rows(torch.tensor([[0, 1, 2], [3, 0, 1]])).lengths == [3, 1, 2]


def test_a_row_that_starts_later_goes_on_from_the_last_whole_one() -> None:
    rows = find_rows(torch.tensor([[0, 1, 2, 3, 2, 3, 0, 1, 1]]))
    assert rows.lengths == [4, 2, 2, 1]
    assert rows.seen is not None
    assert rows.seen.tolist() == [0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 6, 8]
    assert rows.seen_offsets.tolist() == [0, 4, 8, 10, 12]


@pytest.mark.parametrize("positions", [[5, 6, 0, 1], [0, 1, 7, 8]])
def test_a_row_with_too_little_to_go_on_from_is_refused(positions: list[int]) -> None:
    with pytest.raises(ValueError, match="start rows at 0"):
        find_rows(torch.tensor([positions]))


def test_packed_rows_give_the_logits_of_each_row_alone(model: CausalLM) -> None:
    rows = random_rows()
    torch.testing.assert_close(run_packed(model, rows).logits, run_each(model, rows).logits)


def test_packed_rows_give_the_gradients_of_each_row_alone(model: CausalLM) -> None:
    rows = random_rows()
    torch.testing.assert_close(run_packed(model, rows).gradients, run_each(model, rows).gradients)


def test_gradient_checkpointing_changes_nothing(model: CausalLM) -> None:
    rows = random_rows()
    plain = run_packed(model, rows)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    torch.testing.assert_close(run_packed(model, rows).gradients, plain.gradients)


def test_rows_are_found_once_a_forward_pass(model: CausalLM, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[torch.Tensor] = []

    def counted(position_ids: torch.Tensor) -> varlen_attention.Rows:
        calls.append(position_ids)
        return find_rows(position_ids)

    monkeypatch.setattr(varlen_attention, "find_rows", counted)
    run_packed(model, random_rows())
    assert len(calls) == 1


def test_padded_batch_gives_what_sdpa_gives(model: CausalLM) -> None:
    ids = torch.randint(128, (2, 12))
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[0, :5] = 0
    with torch.no_grad():
        ours = model(input_ids=ids, attention_mask=mask).logits
        model.set_attn_implementation("sdpa")
        stock = model(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(ours[mask.bool()], stock[mask.bool()])


def test_generation_with_a_cache_gives_what_sdpa_gives(model: CausalLM) -> None:
    ids = torch.randint(128, (2, 7))
    generate = cast("Callable[..., torch.Tensor]", vars(GenerationMixin)["generate"])
    ours = generate(model, input_ids=ids, max_new_tokens=5, do_sample=False)
    model.set_attn_implementation("sdpa")
    assert torch.equal(ours, generate(model, input_ids=ids, max_new_tokens=5, do_sample=False))


def test_sliding_windows_give_what_sdpa_gives() -> None:
    model = random_model("qwen2", use_sliding_window=True, sliding_window=4, max_window_layers=1)
    rows = random_rows()
    ids, position_ids = torch.cat(rows)[None], positions(rows)[None]
    with torch.no_grad():
        ours = model(input_ids=ids, position_ids=position_ids, use_cache=False).logits
        model.set_attn_implementation("sdpa")
        stock = model(input_ids=ids, position_ids=position_ids, use_cache=False).logits
    torch.testing.assert_close(ours, stock)


def test_dropout_is_refused() -> None:
    states = torch.zeros(1, 2, 3, 4)
    with pytest.raises(ValueError, match="no dropout"):
        attention(torch.nn.Identity(), states, states, states, Pack(), dropout=0.1, position_ids=torch.arange(3)[None])
