"""Overrides are checked against verl's own configuration."""

from pathlib import Path
from typing import cast

import pytest
from omegaconf import OmegaConf

from spider.presets import PRESETS
from spider.verl_bridge.verl_config import (
    DATACLASS_KEYS,
    SettingError,
    UnknownKeyError,
    base_config,
    reach_last_step,
    resolve_config,
)
from spider.verl_overrides import to_verl

SIXTEEN_QUESTIONS = {
    "data": {"train_batch_size": 16},
    "actor_rollout_ref": {"actor": {"ppo_mini_batch_size": 16}},
}


def test_misspelt_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownKeyError, match=r"trainer\.save_frq.*did you mean trainer\.save_freq"):
        resolve_config({"trainer": {"save_frq": 1}})


def test_misspelt_key_below_a_key_that_the_yaml_leaves_out_is_refused() -> None:
    with pytest.raises(UnknownKeyError, match="param_dtyp"):
        resolve_config({"actor_rollout_ref": {"actor": {"fsdp_config": {"mixed_precision": {"param_dtyp": "fp32"}}}}})


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("trainer.save_freq", "abc", "a number"),
        ("trainer.save_freq", "1,000", "a number"),
        ("actor_rollout_ref.actor.optim.lr", "fast", "a number"),
        ("actor_rollout_ref.actor.use_kl_loss", "maybe", "true or false"),
    ],
)
def test_words_for_a_number_or_a_truth_value_are_refused(key: str, value: str, wanted: str) -> None:
    with pytest.raises(SettingError, match=rf"{key} is {wanted}, not '{value}'"):
        resolve_config(cast("dict[str, object]", OmegaConf.to_container(OmegaConf.from_dotlist([f"{key}={value}"]))))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trainer.save_freq", "10"),
        ("actor_rollout_ref.actor.optim.lr", "1e-6"),
        ("actor_rollout_ref.actor.use_kl_loss", "true"),
        ("trainer.save_freq", "${trainer.test_freq}"),
        ("trainer.total_training_steps", "null"),
        ("trainer.resume_mode", "disable"),
    ],
)
def test_settings_of_the_defaults_kind_are_taken(key: str, value: str) -> None:
    settings = OmegaConf.from_dotlist([f"{key}={value}"])
    config = resolve_config(cast("dict[str, object]", OmegaConf.to_container(settings)))
    assert OmegaConf.select(config, key) == OmegaConf.select(OmegaConf.merge(config, settings), key)


def test_unknown_section_is_refused() -> None:
    with pytest.raises(UnknownKeyError, match="no key trainr"):
        resolve_config({"trainr": {"save_freq": 1}})


def test_engine_arguments_pass_through() -> None:
    config = resolve_config({"actor_rollout_ref": {"rollout": {"engine_kwargs": {"vllm": {"max_loras": 2}}}}})
    assert config.actor_rollout_ref.rollout.engine_kwargs.vllm.max_loras == 2


def test_sampling_parameters_of_the_models_server_pass_through() -> None:
    config = resolve_config({"agentlightning": {"sampling": {"ignore_eos": True}}})
    assert config.agentlightning.sampling == {"ignore_eos": True}


def test_arguments_of_torchs_optimizer_pass_through() -> None:
    config = resolve_config({"actor_rollout_ref": {"actor": {"optim": {"override_optimizer_config": {"fused": True}}}}})
    assert config.actor_rollout_ref.actor.optim.override_optimizer_config == {"fused": True}


def test_override_takes_effect_and_the_rest_stays_verls() -> None:
    config = resolve_config({"trainer": {"save_freq": 7}})
    assert config.trainer.save_freq == 7
    assert config.trainer.balance_batch is True


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_has_only_keys_that_verl_knows(name: str) -> None:
    config = resolve_config(to_verl(PRESETS[name], Path("run")))
    assert config.data.train_batch_size == PRESETS[name].train_batch_size


def test_flattened_file_equals_verls_composed_configuration() -> None:
    from hydra import compose, initialize_config_module

    with initialize_config_module(config_module="verl.trainer.config", version_base=None):
        composed = OmegaConf.to_container(compose("ppo_trainer"))
    flattened = OmegaConf.to_container(base_config())
    assert isinstance(composed, dict)
    assert isinstance(flattened, dict)
    del flattened["agentlightning"]
    del composed["model_engine"]  # picks the files to compose; the trainer does not read it
    assert flattened == composed


def test_keys_that_the_yaml_leaves_out_are_fields_of_verls_classes() -> None:
    from dataclasses import fields

    from verl.workers.config import FSDPEngineConfig, RolloutConfig

    names = {field.name for kind in (RolloutConfig, FSDPEngineConfig) for field in fields(kind)}
    sections = {key.removeprefix("actor_rollout_ref.").partition(".")[2] for key in DATACLASS_KEYS}
    assert {section.removeprefix("fsdp_config.").partition(".")[0] for section in sections} <= names


@pytest.mark.parametrize(("steps", "epochs"), [(43, 1), (44, 2), (80, 2), (87, 3), (None, 1)])
def test_epochs_suffice_for_the_steps(steps: int | None, epochs: int) -> None:
    course = {"total_training_steps": steps, "total_epochs": 1}
    config = resolve_config({"trainer": course, **SIXTEEN_QUESTIONS})
    reach_last_step(config, questions=702)
    assert config.trainer.total_epochs == epochs


def test_epochs_asked_for_are_not_taken_away() -> None:
    trainer = {"total_training_steps": 3, "total_epochs": 2}
    config = resolve_config({"trainer": trainer, **SIXTEEN_QUESTIONS})
    reach_last_step(config, questions=702)
    assert config.trainer.total_epochs == 2
