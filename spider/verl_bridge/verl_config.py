"""Merge overrides into verl's own configuration, and refuse keys that verl does not know."""

import ast
import difflib
import functools
import importlib.util
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spider.verl_bridge.setting_ranges import unusable_value

if TYPE_CHECKING:
    from omegaconf import DictConfig

ENGINE_SECTION = "actor_rollout_ref.rollout.engine_kwargs.vllm"
"""The section whose keys are the vLLM engine's arguments."""

OPEN_SECTIONS = (
    "actor_rollout_ref.model.override_config",
    "actor_rollout_ref.actor.optim.override_optimizer_config",
    "ray_kwargs.ray_init",
    "data.apply_chat_template_kwargs",
    "trainer.v1.sampler.sampler_kwargs",
    "agentlightning.sampling",
)
"""Sections whose keys belong to another program (transformers, torch, Ray, the model's server): not checked."""

DATACLASS_KEYS = (
    "actor_rollout_ref.rollout.enable_sleep_mode",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision.reduce_dtype",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision.buffer_dtype",
)
"""Keys that verl's configuration classes have and its YAML leaves at their defaults."""

BRIDGE_DEFAULTS: dict[str, object] = {
    "output_dir": None,
    "rollout_timeout_seconds": 600.0,
    "stall_minutes": 20.0,
    "sampling": {},
    "verbose": False,
    "wandb_offline": False,
}
"""The section ``agentlightning``: what the bridge itself reads."""


class SettingError(ValueError):
    """An override that verl could not use; the message names it."""


class UnknownKeyError(SettingError):
    """An override that no key of verl's configuration, or no argument of vLLM's engine, answers to."""


@functools.cache
def base_config() -> "DictConfig":
    """Load verl's flattened trainer configuration, once and not to be changed; importing verl would take seconds."""
    import yaml
    from omegaconf import OmegaConf

    class Loader(yaml.CSafeLoader):  # OmegaConf's own is Python's: 0.2 s for this file
        """YAML with floats as OmegaConf reads them: 1e-6 needs no point."""

    number = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))

    spec = importlib.util.find_spec("verl")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("verl is not installed: run `bash train.sh`, which installs it")
    path = Path(next(iter(spec.submodule_search_locations))) / "trainer/config/_generated_ppo_trainer.yaml"
    config = OmegaConf.create(yaml.load(path.read_text(encoding="utf-8"), Loader))
    OmegaConf.update(config, "agentlightning", BRIDGE_DEFAULTS)
    return cast("DictConfig", config)


def resolve_config(overrides: Mapping[str, object]) -> "DictConfig":
    """Return verl's configuration with the overrides merged in.

    Args:
        overrides: Nested dictionary, as `agentlightning.VERL` takes it.

    Raises:
        UnknownKeyError: If an override names a key that verl's configuration, or an argument that vLLM's engine, does
            not have.
        SettingError: If it gives words where verl's default is a number or a truth value, a value where verl has a
            section, or one that no run can use.
    """
    from omegaconf import OmegaConf

    base = base_config()
    for path, value in _leaves(overrides):
        _check_key(base, path, value)
    config = cast("DictConfig", OmegaConf.merge(base, OmegaConf.create(dict(overrides))))
    problem = unusable_value(config)
    if problem:
        raise SettingError(problem)
    return config


def require_questions(config: Mapping[str, object], questions: int) -> None:
    """Refuse a step of more questions than there are: verl leaves out what doesn't fill a step, here all.

    Raises:
        SettingError: With both numbers.
    """
    batch = cast("Mapping[str, int]", config["data"])["train_batch_size"]
    if batch > questions:
        raise SettingError(
            f"data.train_batch_size is {batch}, but there are {questions} questions to train on: set it (and "
            f"actor_rollout_ref.actor.ppo_mini_batch_size) to {questions} at most, or give other --train-files"
        )


def reach_last_step(config: "DictConfig", questions: int) -> None:
    """Have epochs enough for the steps: verl ends after its last epoch, with neither validation nor checkpoint.

    Args:
        config: verl's configuration; its `trainer.total_epochs` is raised where it falls short.
        questions: Number of training questions.
    """
    trainer, steps_per_epoch = config.trainer, questions // config.data.train_batch_size
    if trainer.total_training_steps and steps_per_epoch:
        trainer.total_epochs = max(trainer.total_epochs, math.ceil(trainer.total_training_steps / steps_per_epoch))


def _leaves(node: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in node.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and path not in OPEN_SECTIONS:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _check_key(base: "DictConfig", path: str, value: object) -> None:
    from omegaconf import OmegaConf

    if any(path == section or path.startswith(f"{section}.") for section in OPEN_SECTIONS):
        return
    if path.startswith(f"{ENGINE_SECTION}."):
        argument = path.removeprefix(f"{ENGINE_SECTION}.").partition(".")[0]
        known_arguments = engine_arguments()
        if known_arguments and argument.replace("-", "_") not in known_arguments:
            hint = _suggestion(argument, known_arguments)
            raise UnknownKeyError(f"vLLM's engine has no argument {argument} (value {value!r}){hint}")
        return
    parent_path, _, key = path.rpartition(".")
    parent = OmegaConf.select(base, parent_path) if parent_path else base
    known_keys = {str(name) for name in (parent or {})}
    if path in DATACLASS_KEYS:
        return
    if key in known_keys:
        _check_type(path, OmegaConf.select(base, path), value)
        return
    known = [f"{parent_path}.{name}" if parent_path else name for name in known_keys]
    hint = _suggestion(path, known)
    raise UnknownKeyError(f"verl has no key {path} (value {value!r}){hint}")


def _check_type(path: str, default: object, value: object) -> None:
    """Refuse text or null for a number or a truth value, and a value for a section.

    verl would find out when its processes have long started.
    """
    if isinstance(default, Mapping) and not isinstance(value, Mapping) and value is not None:
        raise SettingError(f"{path} is a section, not a value ({value!r}): set a key in it, as {path}.KEY=VALUE")
    if isinstance(default, int | float) and (value is None or (isinstance(value, str) and not value.startswith("${"))):
        wanted = "true or false" if isinstance(default, bool) else "a number"
        given = "null" if value is None else repr(value)
        raise SettingError(f"{path} is {wanted}, not {given} (verl's default is {str(default).lower()})")


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


@functools.cache
def engine_arguments() -> frozenset[str]:
    """Return the names of the vLLM engine's arguments, read from its source: importing vLLM takes seconds.

    Empty where vLLM is not installed.
    """
    spec = importlib.util.find_spec("vllm")
    if spec is None or not spec.submodule_search_locations:
        return frozenset()
    source = Path(next(iter(spec.submodule_search_locations))) / "engine/arg_utils.py"
    classes = (node for node in ast.parse(source.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    return frozenset(
        field.target.id
        for node in classes
        if node.name in ("EngineArgs", "AsyncEngineArgs")
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    )
