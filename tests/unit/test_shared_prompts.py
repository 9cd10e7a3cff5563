"""Prompts laid once give the log-probabilities, entropies and gradients of verl's own engine, in fewer tokens."""

import contextlib
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict
from torch import distributed
from transformers import MistralConfig, MistralForCausalLM
from verl.utils import tensordict_utils
from verl.workers.engine.fsdp import FSDPEngineWithLMHead, transformer_impl

from spider.verl_bridge import packed_engine, shared_prompts
from spider.verl_bridge.packed_engine import PackedEngine
from spider.verl_bridge.shared_prompts import (
    group_by_prompt,
    lay_out,
    plan_batch,
    plan_micro_batches,
    split_to,
    take_rows,
)
from tests.engines import ask, make_batch, make_engine, random_tokens
from tests.packing import SIZES, random_model, run_each, run_shared

OF_ROWS = (0, 1, 0, 2, 1, 0)  # which prompt each row has
LONG, OTHER = random_tokens((7, 1))
PROMPTS = [LONG, LONG[:5], OTHER]  # the second begins as the first does
RESPONSES = random_tokens((3, 4, 1, 6, 2, 5), seed=4)


def batch(**settings: object) -> TensorDict:
    """Six rows with three prompts."""
    return make_batch([PROMPTS[prompt] for prompt in OF_ROWS], RESPONSES, **settings)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_answers_are_those_of_verls_own_engine(temperature: float) -> None:
    rows = batch(temperature=temperature)
    ours, stock = ask(PackedEngine, rows, "varlen_shared"), ask(FSDPEngineWithLMHead, rows)
    torch.testing.assert_close(ours._asdict(), stock._asdict(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_rows_that_share_a_prompt_give_what_each_gives_alone(family: str) -> None:
    model, prompts = random_model(family), [PROMPTS[prompt] for prompt in OF_ROWS]
    rows = [torch.cat(parts) for parts in zip(prompts, RESPONSES, strict=True)]
    torch.testing.assert_close(run_shared(model, prompts, RESPONSES), run_each(model, rows, RESPONSES))


def test_each_prompt_is_computed_once() -> None:
    model = random_model("qwen2", attn_implementation="varlen_shared")
    inputs, _ = make_engine(PackedEngine, model).prepare_model_inputs(batch())
    assert inputs["input_ids"].shape == (1, sum(map(len, [*PROMPTS, *RESPONSES])))


WHOLE_ROWS = sum(len(PROMPTS[prompt]) for prompt in OF_ROWS) + sum(map(len, RESPONSES))


def test_rows_are_laid_whole_unless_asked_otherwise() -> None:
    inputs, _ = make_engine(PackedEngine, random_model("qwen2")).prepare_model_inputs(batch())
    assert inputs["input_ids"].shape == (1, WHOLE_ROWS)


def test_rows_are_laid_whole_for_layers_with_a_sliding_window() -> None:
    settings = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}
    model = random_model("qwen2", attn_implementation="varlen_shared", **settings)
    inputs, _ = make_engine(PackedEngine, model).prepare_model_inputs(batch())
    assert inputs["input_ids"].shape == (1, WHOLE_ROWS)


def test_rows_are_laid_whole_for_a_model_that_has_a_window_and_no_list_of_layers() -> None:
    config = MistralConfig.from_dict({**SIZES, "sliding_window": 4096, "attn_implementation": "varlen_shared"})
    inputs, _ = make_engine(PackedEngine, MistralForCausalLM(config)).prepare_model_inputs(batch())
    assert inputs["input_ids"].shape == (1, WHOLE_ROWS)


def test_a_prompts_last_token_predicts_the_first_of_each_response() -> None:
    prompt, responses = torch.tensor([1, 2]), [torch.tensor([3, 4]), torch.tensor([5])]
    layout = lay_out([prompt, prompt], responses)
    assert layout.input_ids.tolist() == [1, 2, 3, 4, 5]
    assert layout.position_ids.tolist() == [0, 1, 2, 3, 2]
    assert layout.predicting.tolist() == [1, 2, 1]


def test_rows_with_one_prompt_are_found() -> None:
    assert group_by_prompt([PROMPTS[prompt] for prompt in OF_ROWS]) == [[0, 2, 5], [1, 4], [3]]


@given(st.data())
def test_passes_hold_every_row_once_within_their_room(data: st.DataObject) -> None:
    of_rows = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=20))
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=5, max_size=5))
    prompts = [sizes[prompt] for prompt in of_rows]
    responses = data.draw(st.lists(st.integers(1, 20), min_size=len(of_rows), max_size=len(of_rows)))
    groups = [[row for row, prompt in enumerate(of_rows) if prompt == wanted] for wanted in sorted(set(of_rows))]
    passes = plan_micro_batches(groups, prompts, responses, max_tokens=50)
    assert sorted(row for rows in passes for row in rows) == list(range(len(of_rows)))
    for rows in passes:
        assert (
            sum(sizes[prompt] for prompt in {of_rows[row] for row in rows}) + sum(responses[row] for row in rows) <= 50
        )


def test_a_group_that_fits_stays_together() -> None:
    assert plan_micro_batches([[0, 2], [1, 3]], [10] * 4, [5] * 4, max_tokens=20) == [[0, 2], [1, 3]]


def test_a_row_longer_than_a_pass_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(ValueError, match="ppo_max_token_len_per_gpu to 45"):
        plan_micro_batches([[0], [1]], [40, 5], [5, 5], max_tokens=20)


@pytest.mark.parametrize(("count", "lengths"), [(1, [3, 1]), (3, [2, 1, 1]), (4, [1, 1, 1, 1])])
def test_micro_batches_are_split_to_as_many_as_other_processes_make(count: int, lengths: list[int]) -> None:
    parts = split_to([[0, 1, 2], [3]], count)
    assert sorted(map(len, parts), reverse=True) == lengths
    assert sorted(row for rows in parts for row in rows) == [0, 1, 2, 3]


def test_micro_batches_are_those_that_verl_selects() -> None:
    rows = batch(temperature=0.7)
    rows["rewards"] = torch.arange(6.0)
    plan = [[0, 2, 5], [4, 1, 3]]
    for ours, chosen in zip(take_rows(rows, plan), plan, strict=True):
        stock = tensordict_utils.index_select_tensor_dict(rows, chosen)
        assert ours.batch_size == stock.batch_size
        assert set(ours.keys()) == set(stock.keys())
        assert ours["temperature"] == stock["temperature"]
        assert ours["rewards"].tolist() == stock["rewards"].tolist()
        for name in ("input_ids", "position_ids", "prompts", "responses"):
            for row, wanted in zip(ours[name].unbind(0), stock[name].unbind(0), strict=True):
                assert row.tolist() == wanted.tolist()


@pytest.fixture
def other_process(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Another process makes this many micro-batches, of many rows."""

    def all_reduce(agreed: torch.Tensor, **_settings: object) -> None:
        agreed[0] = max(int(agreed[0]), request.param)

    monkeypatch.setattr(distributed, "all_reduce", all_reduce)
    monkeypatch.setattr(shared_prompts, "get_device_name", lambda: "cpu")


@pytest.mark.parametrize("other_process", [1], indirect=True)
@pytest.mark.usefixtures("other_process")
def test_micro_batches_keep_rows_with_one_prompt_together() -> None:
    assert plan_batch(batch(max_token_len_per_gpu=20), None) == [[0, 2, 5], [1, 4, 3]]


@pytest.mark.parametrize("other_process", [4], indirect=True)
@pytest.mark.usefixtures("other_process")
def test_all_processes_make_as_many_micro_batches() -> None:
    assert len(plan_batch(batch(max_token_len_per_gpu=20), None)) == 4


@pytest.mark.parametrize("other_process", [9], indirect=True)
@pytest.mark.usefixtures("other_process")
def test_too_few_rows_for_as_many_micro_batches_are_refused() -> None:
    with pytest.raises(ValueError, match="6 rows, another one 9 micro-batches"):
        plan_batch(batch(max_token_len_per_gpu=20), None)


def of_one_process(monkeypatch: pytest.MonkeyPatch, attention: str) -> PackedEngine:
    """An engine that needs no other process and no gradient synchronisation."""
    engine = make_engine(PackedEngine, random_model("qwen2", attn_implementation=attention))
    engine.__dict__.update(scaler=None, ulysses_sequence_parallel_size=1, _autocast_dtype=torch.float32)
    for name, value in (("group", None), ("size", 1)):
        monkeypatch.setattr(PackedEngine, f"get_data_parallel_{name}", lambda _engine, value=value: value)
    monkeypatch.setattr(PackedEngine, "_gradient_sync_context", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr(distributed, "all_reduce", lambda *_, **__: None)
    for module in (packed_engine, transformer_impl):
        monkeypatch.setattr(module, "get_device_id", lambda: "cpu")
    monkeypatch.setattr(shared_prompts, "get_device_name", lambda: "cpu")
    return engine


def loss_of(model_output: dict[str, torch.Tensor], data: TensorDict, dp_group: object) -> tuple[torch.Tensor, dict]:
    """The sum of squared log-probabilities, by the batch's number of tokens as verl's losses are."""
    total = cast("Any", model_output["log_probs"]).values().square().sum()
    return total / cast("Any", data["batch_num_tokens"]), {}


@pytest.mark.parametrize("forward_only", [True, False])
def test_a_whole_batch_gives_what_verls_micro_batches_give(forward_only: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for attention in ("varlen_shared", "varlen"):
        engine = of_one_process(monkeypatch, attention)
        rows = batch(max_token_len_per_gpu=20, return_model_output=True)
        rows["loss_mask"] = torch.nested.as_nested_tensor(
            [torch.ones(len(row)) for row in RESPONSES], layout=torch.jagged
        )
        output = engine.forward_backward_batch(rows, loss_of, forward_only=forward_only)
        log_probs = [row.detach() for row in output["model_output"]["log_probs"].unbind()]
        gradients = {name: value.grad for name, value in engine.module.named_parameters()}
        answers.append((log_probs, gradients, sum(output["loss"])))
        assert all(gradient is None for gradient in gradients.values()) == forward_only
    torch.testing.assert_close(*answers, rtol=1e-4, atol=1e-4)
