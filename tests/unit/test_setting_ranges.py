"""Values of verl's configuration that no run can use are refused before one starts."""

import ast
import importlib.util
from pathlib import Path
from typing import cast

import pytest
from omegaconf import OmegaConf

from spider.presets import PRESETS
from spider.verl_bridge.setting_ranges import CHOICES, ESTIMATORS, LOGGERS, RANGES
from spider.verl_bridge.verl_config import SettingError, base_config, require_questions, resolve_config
from spider.verl_overrides import GRPO_BY_CALL, to_verl


def resolve(setting: str) -> None:
    overrides = OmegaConf.merge(to_verl(PRESETS["tiny"], Path("run")), OmegaConf.from_dotlist([setting]))
    resolve_config(cast("dict[str, object]", OmegaConf.to_container(overrides)))


def source_of(module: str) -> ast.Module:
    """Parse a module of verl's; importing it takes seconds."""
    spec = importlib.util.find_spec("verl")
    assert spec
    assert spec.submodule_search_locations
    path = Path(next(iter(spec.submodule_search_locations))) / module
    return ast.parse(path.read_text(encoding="utf-8"))


def strings_of_class(module: str, name: str) -> set[str]:
    """Return the strings that a class of verl's assigns to its names, docstrings left out."""
    (node,) = (node for node in source_of(module).body if isinstance(node, ast.ClassDef) and node.name == name)
    values = [statement.value for statement in node.body if isinstance(statement, ast.Assign)]
    constants = [constant for value in values for constant in ast.walk(value) if isinstance(constant, ast.Constant)]
    return {constant.value for constant in constants if isinstance(constant.value, str)}


@pytest.mark.parametrize(
    "setting",
    [
        "actor_rollout_ref.rollout.n=0",
        "actor_rollout_ref.rollout.temperature=0",
        "actor_rollout_ref.rollout.gpu_memory_utilization=1.5",
        "actor_rollout_ref.actor.optim.lr=-1",
        "actor_rollout_ref.actor.optim.lr=.nan",
        "data.train_batch_size=2.5",
        "data.max_prompt_length=-5",
        "trainer.n_gpus_per_node=0",
        "trainer.save_freq=1.5",
        "agentlightning.stall_minutes=0",
    ],
)
def test_number_out_of_range_is_refused(setting: str) -> None:
    key, _, value = setting.partition("=")
    with pytest.raises(
        SettingError, match=rf"{key} is (a whole number|more than 0|0 or more).*, not {value.strip('.')}"
    ):
        resolve(setting)


@pytest.mark.parametrize("setting", ["trainer.save_freq=-1", "actor_rollout_ref.actor.optim.lr=0", "trainer.nnodes=2"])
def test_number_at_the_edge_of_its_range_is_taken(setting: str) -> None:
    resolve(setting)


@pytest.mark.parametrize(
    "setting",
    [
        "algorithm.adv_estimator=grpoo",
        "actor_rollout_ref.model.override_config.attn_implementation=bogus",
        "actor_rollout_ref.actor.loss_agg_mode=mean",
        "trainer.device=gpu",
        "trainer.logger=foo",
        "trainer.logger=[console,foo]",
    ],
)
def test_word_that_is_no_choice_is_refused_with_the_choices(setting: str) -> None:
    key = setting.partition("=")[0]
    with pytest.raises(SettingError, match=rf"{key} has no .*; it takes .*{CHOICES[key][-1]}"):
        resolve(setting)


def test_attention_kernel_of_a_hub_is_taken() -> None:
    resolve("actor_rollout_ref.model.override_config.attn_implementation=kernels-community/flash-attn2")


def test_mini_batch_larger_than_a_steps_questions_is_refused() -> None:
    with pytest.raises(SettingError, match=r"ppo_mini_batch_size is 2, more than data\.train_batch_size, 1"):
        resolve("data.train_batch_size=1")


def test_step_of_more_questions_than_there_are_is_refused() -> None:
    with pytest.raises(SettingError, match="train_batch_size is 64, but there are 10 questions"):
        require_questions({"data": {"train_batch_size": 64}}, 10)


def test_step_of_all_questions_is_taken() -> None:
    require_questions({"data": {"train_batch_size": 10}}, 10)


@pytest.mark.parametrize("key", [*RANGES, *CHOICES])
def test_every_key_with_a_range_is_one_of_verls(key: str) -> None:
    parent, _, name = key.rpartition(".")
    if parent != "actor_rollout_ref.model.override_config":  # transformers' own names
        assert name in OmegaConf.select(base_config(), parent)


def test_estimators_are_verls_and_this_projects() -> None:
    verls = strings_of_class("trainer/ppo/core_algos.py", "AdvantageEstimator")
    assert set(ESTIMATORS) == verls | {GRPO_BY_CALL}


def test_loggers_are_verls() -> None:
    assert set(LOGGERS) == strings_of_class("utils/tracking.py", "Tracking")
