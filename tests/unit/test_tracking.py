"""wandb never ends a run, and what a resumed run's curves and Ray's workers get."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf

from spider.verl_bridge.tracking import (
    Guarded,
    drop_curves_after,
    forwarded_environment,
    guard_wandb,
    start_wandb,
    wandb_mode,
)

KEY = {"WANDB_API_KEY": "k" * 40}


@pytest.mark.parametrize(
    ("wanted", "environment", "mode"),
    [
        (None, {}, None),
        (None, KEY, "online"),
        (False, KEY, None),
        (True, KEY, "online"),
        (True, {"NETRC": "/nonexistent"}, "offline"),
        (None, {"WANDB_MODE": "offline"}, "offline"),
        (None, KEY | {"WANDB_MODE": "offline"}, "offline"),
        (True, KEY | {"WANDB_MODE": "disabled"}, None),
    ],
)
def test_wandb_is_online_with_a_key_and_offline_only_when_asked(
    wanted: bool | None, environment: dict[str, str], mode: str | None
) -> None:
    assert wandb_mode(wanted, environment) == mode


def test_key_that_wandb_login_left_counts(tmp_path: Path) -> None:
    path = tmp_path / "netrc"
    path.write_text("machine api.wandb.ai\n  login user\n  password secret\n", encoding="utf-8")
    path.chmod(0o600)
    assert wandb_mode(True, {"NETRC": str(path)}) == "online"


@pytest.fixture
def config() -> DictConfig:
    trainer = {"logger": ["console", "wandb"], "project_name": "p", "experiment_name": "e"}
    return OmegaConf.create({"trainer": trainer})


@pytest.fixture
def wandb_ends() -> Iterator[None]:
    yield
    import wandb

    wandb.teardown()


@pytest.mark.usefixtures("wandb_ends")
def test_offline_run_is_written_to_the_runs_folder(tmp_path: Path, config: DictConfig) -> None:
    start_wandb(config, tmp_path, offline=True)
    import wandb

    assert wandb.run is not None
    assert (tmp_path / "wandb_id.txt").read_text(encoding="utf-8") == wandb.run.id
    assert list((tmp_path / "wandb").glob("offline-run-*"))
    # verl's tracking asks again and must get the same run.
    assert wandb.init(project="p", name="e", config={}) is wandb.run


@pytest.mark.usefixtures("wandb_ends")
def test_server_that_cannot_be_reached_means_offline(
    tmp_path: Path, config: DictConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    monkeypatch.setattr("spider.verl_bridge.tracking.INIT_SECONDS", 3)
    start_wandb(config, tmp_path, offline=False)
    import wandb

    assert wandb.run is not None
    assert wandb.run.settings.mode == "offline"


def test_wandb_that_cannot_write_is_taken_off_the_loggers(tmp_path: Path, config: DictConfig) -> None:
    folder = tmp_path / "file"
    folder.touch()
    start_wandb(config, folder, offline=True)
    assert list(config.trainer.logger) == ["console"]


class Broken:
    """A backend as wandb's is when its service has died."""

    def log(self, data: Mapping[str, object], step: int) -> None:
        """Fail."""
        raise BrokenPipeError("the service is gone")

    def finish(self, exit_code: int = 0) -> None:
        """Fail."""
        raise BrokenPipeError("the service is gone")


def test_wandb_that_breaks_in_the_middle_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    backends: dict[str, object] = {"wandb": Broken(), "console": object()}
    guard_wandb(backends)
    guard_wandb(backends)
    backend = backends["wandb"]
    assert isinstance(backend, Guarded)
    backend.log({"x": 1.0}, step=1)
    backend.finish()
    assert caplog.text.count("the run goes on without it") == 1


def test_curves_of_steps_that_are_done_again_have_no_fold(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    for steps in ((1, 2, 3), (3, 4)):
        if steps[0] == 3:
            drop_curves_after(tmp_path, 2)
        writer = SummaryWriter(str(tmp_path))
        for step in steps:
            writer.add_scalar("reward", float(steps[0]), step)
        writer.close()
        for path in tmp_path.iterdir():  # files are read in the order of their names, which have a second's resolution
            path.rename(path.with_name(path.name.replace("tfevents.", f"tfevents.{steps[0]}", 1)))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("reward")] == [(1, 1), (2, 1), (3, 3), (4, 3)]


def test_workers_elsewhere_get_keys_and_settings_and_nothing_else() -> None:
    environment = KEY | {"HF_TOKEN": "t", "SPIDER_RUN_ID": "r", "PATH": os.environ["PATH"], "SECRET": "s"}
    assert forwarded_environment(environment) == KEY | {"HF_TOKEN": "t", "SPIDER_RUN_ID": "r"}
