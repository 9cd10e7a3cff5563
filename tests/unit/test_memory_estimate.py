"""The memory estimate: sizes of known models, what is refused, and what is named to mend it."""

import dataclasses
import json
import logging
from pathlib import Path

import pytest

from spider.memory_estimate import (
    TrainingPlan,
    estimate,
    flags_that_fit,
    kv_cache_tokens,
    plan_from_config,
    problem,
    refusal,
)
from spider.model_shapes import HUB_SHAPES, ModelShape, model_shape, shape_from_config
from spider.preset_changes import select_preset
from spider.presets import PRESETS
from spider.train_sql_agent import main, parse_args, with_settings
from spider.verl_overrides import to_verl

QWEN = HUB_SHAPES["Qwen/Qwen2.5-Coder-1.5B-Instruct"]
SETTING = "--set actor_rollout_ref"


def planned(command: str) -> tuple[TrainingPlan, ModelShape]:
    args = parse_args(command.split())
    preset = select_preset(args)
    shape = model_shape(preset.model)
    assert shape is not None
    return plan_from_config(with_settings(to_verl(preset, Path("/run")), args.set)), shape


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("Qwen/Qwen2.5-Coder-0.5B-Instruct", 494_032_768),
        ("Qwen/Qwen2.5-Coder-1.5B-Instruct", 1_543_714_304),
        ("Qwen/Qwen2.5-Coder-3B-Instruct", 3_085_938_688),
        ("meta-llama/Llama-3.2-1B-Instruct", 1_235_814_400),
        ("SmolLM2-135M-Instruct", 134_515_008 + 49152 * 576),
    ],
)
def test_parameters_are_those_of_the_published_checkpoints(model: str, params: int) -> None:
    assert HUB_SHAPES[model].params == params


def test_every_presets_model_has_a_shape() -> None:
    assert all(model_shape(preset.model) for preset in PRESETS.values())


def test_shape_is_read_from_a_model_folder(tmp_path: Path) -> None:
    config = {
        "model_type": "qwen2",
        "num_hidden_layers": 28,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "vocab_size": 151936,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert model_shape(str(tmp_path)) == QWEN


def test_unknown_architecture_has_no_shape() -> None:
    assert shape_from_config({"n_layer": 12, "n_embd": 768}) is None


def test_adapters_are_counted_on_all_seven_matrices_of_a_layer() -> None:
    sides = 2 * (1536 + 1536) + 2 * (1536 + 256) + 3 * (1536 + 8960)
    assert QWEN.adapter_params(32) == 28 * 32 * sides


def test_full_training_keeps_sixteen_bytes_a_parameter() -> None:
    plan, shape = planned("qwen")
    step = estimate(dataclasses.replace(plan, number_bytes=0), shape, 79)["update"]
    kept = step["weights"] + step["gradients"] + step["optimizer"]
    assert kept * 1024**3 == pytest.approx(16 * shape.params)


def test_two_cards_halve_weights_gradients_and_optimizer() -> None:
    one, two = (estimate(*planned(f"qwen --gpus {cards}"), 79)["optimizer step"] for cards in (1, 2))
    assert [two[part] for part in ("weights", "gradients", "optimizer")] == [
        pytest.approx(one[part] / 2) for part in ("weights", "gradients", "optimizer")
    ]


def test_offload_leaves_the_card_to_vllm_during_rollouts() -> None:
    rollout = estimate(*planned("qwen --paper"), 79)["rollout"]
    assert (rollout["weights"], rollout["optimizer"]) == (0, 0)


def test_checkpointing_saves_most_activations() -> None:
    plan, shape = planned("qwen")
    kept, recomputed = (
        estimate(dataclasses.replace(plan, checkpointing=on), shape, 79)["update"]["activations"]
        for on in (False, True)
    )
    assert recomputed < kept / 10


def test_where_prompts_are_shared_a_pass_holds_the_logits_of_more_responses() -> None:
    whole_rows = f"qwen {SETTING}.model.override_config.attn_implementation=varlen"
    rows, groups = (estimate(*planned(command), 79)["update"]["logits"] for command in (whole_rows, "qwen"))
    one, four = 2048 / (4096 + 2048), 4 * 2048 / (4096 + 4 * 2048)
    assert groups / rows == pytest.approx(four / one)


def test_logits_of_responses_alone_take_less_than_all() -> None:
    plan, shape = planned(f"qwen {SETTING}.model.override_config.attn_implementation=varlen")
    stock = dataclasses.replace(plan, packed_engine=False)
    assert plan.packed_engine
    assert estimate(plan, shape, 79)["update"]["logits"] < estimate(stock, shape, 79)["update"]["logits"]


@pytest.mark.parametrize("command", ["qwen", "qwen-3b", "llama", "fast", "smollm2", "qwen --paper", "qwen-3b --paper"])
def test_gpu_presets_fit_an_80_gb_card(command: str) -> None:
    assert problem(*planned(command), 79) is None


def test_npu_fits_a_64_gb_card() -> None:
    assert problem(*planned("npu"), 61) is None


def test_qwen_with_lora_fits_a_24_gb_card() -> None:
    assert problem(*planned("qwen --lora"), 23.5) is None


def test_qwen_on_a_24_gb_card_is_told_of_lora() -> None:
    assert flags_that_fit(*planned("qwen"), 23.5) == ["--lora"]


@pytest.mark.parametrize(
    ("command", "card"),
    [("qwen", 32), ("qwen", 16), ("qwen-3b", 24), ("qwen-3b --paper", 60), ("llama", 16), ("fast", 16), ("smollm2", 4)],
)
def test_named_flags_make_the_run_fit(command: str, card: float) -> None:
    assert problem(*planned(command), card) is not None
    flags = flags_that_fit(*planned(command), card)
    assert flags
    assert problem(*planned(" ".join([command, *flags])), card) is None


def test_card_without_room_for_anything_is_told_to_be_replaced() -> None:
    assert "larger card or a smaller --model" in str(refusal(*planned("qwen-3b"), 4))


def test_vllms_share_too_small_for_one_call_is_refused() -> None:
    plan, shape = planned(f"qwen {SETTING}.rollout.gpu_memory_utilization=0.05")
    assert kv_cache_tokens(plan, shape, 79) < plan.max_model_len
    assert "KV cache" in str(problem(plan, shape, 79))


def test_settings_on_the_command_line_count() -> None:
    plan, _ = planned(
        f"qwen {SETTING}.rollout.gpu_memory_utilization=0.25 {SETTING}.actor.ppo_max_token_len_per_gpu=9000"
    )
    assert (plan.vllm_share, plan.tokens) == (0.25, 9000)


def test_dry_run_reports_the_estimate_beside_the_configuration(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    assert main(["qwen", "--lora", "--dry-run", "--gpu-memory", "23.5"]) == 0
    assert "memory estimate for a card of 23.5 GiB" in caplog.text
    assert json.loads(capsys.readouterr().out)["actor_rollout_ref"]["model"]["lora_rank"] == 32


def test_run_that_cannot_fit_is_refused_with_usage_code(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["qwen", "--dry-run", "--gpu-memory", "23.5"]) == 2
    assert "add --lora" in caplog.text
