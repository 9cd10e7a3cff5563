"""What the flags that start, continue and end a run mean."""

from argparse import Namespace
from pathlib import Path

import pytest

from spider.presets import PRESETS
from spider.run_control import is_complete, run_folder, with_course
from spider.train_sql_agent import main, parse_args, with_settings
from spider.verl_bridge.run_folder import RunFolderError, value_at
from spider.verl_bridge.verl_config import resolve_config
from spider.verl_overrides import to_verl


@pytest.fixture(autouse=True)
def no_wandb(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)


def arguments(folder: Path, *flags: str) -> Namespace:
    return parse_args(["tiny", "--output-dir", str(folder), *flags])


def course(folder: Path, *flags: str) -> dict[str, object]:
    preset, args = PRESETS["tiny"], arguments(folder, *flags)
    return with_course(with_settings(to_verl(preset, folder), args.set), args, folder, preset.use_wandb)


def saved(folder: Path, step: int) -> Path:
    path = folder / "checkpoints" / f"global_step_{step}"
    path.mkdir(parents=True)
    (path / "data.pt").touch()
    (folder / "checkpoints" / "latest_checkpointed_iteration.txt").write_text(str(step), encoding="utf-8")
    return path


def test_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    with pytest.raises(RunFolderError, match="--resume"):
        run_folder(arguments(tmp_path))
    assert run_folder(arguments(tmp_path, "--resume")) == tmp_path


def test_command_refuses_a_folder_with_a_run_with_exit_code_2(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "progress.csv").touch()
    assert main(["tiny", "--output-dir", str(tmp_path)]) == 2
    assert "holds a run" in caplog.text


def test_resume_names_the_checkpoint_to_verl(tmp_path: Path) -> None:
    path = saved(tmp_path, 3)
    config = course(tmp_path, "--resume")
    assert value_at(config, "trainer.resume_mode") == "resume_path"
    assert value_at(config, "trainer.resume_from_path") == str(path)


def test_every_setting_is_one_of_verls(tmp_path: Path) -> None:
    saved(tmp_path, 3)
    config = resolve_config(course(tmp_path, "--resume", "--val-only", "--wandb"))
    assert config.trainer.val_only is True
    assert config.agentlightning.wandb_offline is True
    assert "wandb" in config.trainer.logger


def test_wandb_is_off_without_a_key(tmp_path: Path) -> None:
    assert value_at(course(tmp_path), "trainer.logger") == ["console", "tensorboard"]


def test_wandb_is_online_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    config = course(tmp_path)
    assert value_at(config, "trainer.logger") == ["console", "tensorboard", "wandb"]
    assert value_at(config, "agentlightning.wandb_offline") is False


@pytest.mark.parametrize(("step", "flags", "expected"), [(5, (), False), (6, (), True), (6, ("--val-only",), False)])
def test_run_is_complete_at_its_last_step(tmp_path: Path, step: int, flags: tuple[str, ...], expected: bool) -> None:
    saved(tmp_path, step)
    assert PRESETS["tiny"].steps == 6
    assert is_complete(course(tmp_path, "--resume", *flags), questions=700) is expected


def test_run_without_a_number_of_steps_is_complete_after_its_epochs(tmp_path: Path) -> None:
    saved(tmp_path, 4)
    config = course(tmp_path, "--resume")
    trainer = config["trainer"]
    assert isinstance(trainer, dict)
    trainer |= {"total_training_steps": None, "total_epochs": 2}
    assert is_complete(config, questions=5)
    assert not is_complete(config, questions=6)


def test_misspelt_key_is_refused_before_there_is_a_run_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert main(["tiny", "--output-dir", str(folder), "--set", "trainer.save_frq=10"]) == 2
    assert not folder.exists()


def test_validation_alone_can_be_set_as_verls_key(tmp_path: Path) -> None:
    assert value_at(course(tmp_path, "--set", "trainer.val_only=true"), "trainer.val_only") is True


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("[wandb]", ["wandb"]), ("console", ["console"]), ("[console,wandb]", ["console", "wandb"])],
)
def test_loggers_that_are_set_stay_as_they_are(tmp_path: Path, setting: str, expected: list[str]) -> None:
    assert value_at(course(tmp_path, "--set", f"trainer.logger={setting}"), "trainer.logger") == expected


def test_loggers_that_are_set_without_wandb_stay_so_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "key")
    assert value_at(course(tmp_path, "--set", "trainer.logger=[console]"), "trainer.logger") == ["console"]


@pytest.mark.parametrize("memory", ["0", "-5", "nan", "inf"])
def test_memory_of_a_card_is_more_than_nothing(tmp_path: Path, memory: str) -> None:
    with pytest.raises(SystemExit):
        arguments(tmp_path, "--gpu-memory", memory)
