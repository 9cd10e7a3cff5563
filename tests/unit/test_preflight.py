"""A run that this machine can't do is refused before anything is loaded, with the fix named."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from spider import presets
from spider.data import ROOT
from spider.model_sources import hugging_face
from spider.preflight import card_memory, require_fetchable, require_model
from spider.preset_changes import UsageError
from spider.presets import PRESETS
from spider.train_sql_agent import main
from spider.verl_bridge.processes import RUN_ID

SAMPLE = ROOT / "data" / "sample"
QWEN = PRESETS["qwen"]


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is not started anew, and fails the test where it would begin a run."""
    monkeypatch.setenv(RUN_ID, "test")
    monkeypatch.setattr("spider.train_sql_agent.take_folder", lambda folder: pytest.fail(f"a run begins in {folder}"))


@pytest.mark.parametrize("flag", ["--train-files", "--val-files"])
def test_dry_run_refuses_questions_that_are_not_there(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["qwen", "--dry-run", flag, str(tmp_path / "nope.parquet")]) == 2
    assert f"no task file {tmp_path / 'nope.parquet'}: see data/README.md" in caplog.text
    assert capsys.readouterr().out == ""


def test_dry_run_refuses_a_file_that_holds_no_questions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "notes.txt").write_text("no table", encoding="utf-8")
    assert main(["qwen", "--dry-run", "--train-files", str(tmp_path / "notes.txt")]) == 2
    assert "notes.txt is not a readable parquet file" in caplog.text


@pytest.mark.parametrize("name", ["./nope", "../no/such", "/no/such/model", "~/nope", "nope", "models/"])
@pytest.mark.parametrize("further", [["--dry-run"], []])
def test_a_model_that_is_no_folder_and_no_hubs_is_refused(
    name: str, further: list[str], no_run: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["qwen", "--model", name, "--output-dir", str(tmp_path / "run"), *further]) == 2
    assert f"no model at {name} (no config.json)" in caplog.text
    assert "scripts/get_model.py" in caplog.text


def test_dry_run_refuses_a_folder_without_a_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["qwen", "--dry-run", "--model", str(tmp_path)]) == 2
    assert f"no model at {tmp_path} (no config.json)" in caplog.text


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_dry_run_takes_every_presets_model_before_it_is_fetched(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "ROOT", tmp_path)
    assert main([preset, "--dry-run"]) == 0
    assert main([preset, "--dry-run", "--model", PRESETS[preset].model]) == 0


def test_dry_run_takes_what_is_named_and_there(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    questions = str(SAMPLE / "train_spider.parquet")
    named = ["--model", str(tmp_path), "--train-files", questions, "--val-files", questions]
    assert main(["qwen", "--dry-run", *named]) == 0


def test_gpu_preset_without_a_gpu_is_told_of_the_one_that_needs_none() -> None:
    if torch.cuda.device_count():
        pytest.skip("this machine has a GPU")
    with pytest.raises(UsageError, match="use the preset `tiny`"):
        card_memory(QWEN)


def test_npu_without_an_ascend_card_is_refused_before_the_run(
    no_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(torch, "npu", raising=False)
    assert main(["npu", "--output-dir", str(tmp_path / "run")]) == 2
    assert "torch finds no Ascend NPU (torch_npu must be installed) here: use the preset `tiny`" in caplog.text
    assert not (tmp_path / "run").exists()


def test_memory_on_the_command_line_is_no_card(
    no_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert main(["qwen", "--gpu-memory", "80", "--output-dir", str(tmp_path / "run")]) == 2
    assert "torch finds no CUDA device here" in caplog.text


def test_npu_with_enough_ascend_cards_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "npu", SimpleNamespace(device_count=lambda: 1), raising=False)
    assert card_memory(PRESETS["npu"]) is None


def test_npu_with_too_few_ascend_cards_is_refused_by_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "npu", SimpleNamespace(device_count=lambda: 1), raising=False)
    with pytest.raises(UsageError, match="--gpus 2: torch finds 1 on this machine"):
        card_memory(dataclasses.replace(PRESETS["npu"], n_gpus=2))


def test_card_is_not_asked_for_where_it_is_not_this_machines() -> None:
    assert card_memory(dataclasses.replace(QWEN, n_nodes=2)) is None
    assert card_memory(PRESETS["tiny"]) is None


def test_llama_without_a_token_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(UsageError, match="HF_TOKEN"):
        require_model(PRESETS["llama"])


def test_a_hubs_model_that_cannot_be_fetched_is_refused_before_the_run(
    no_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("spider.train_sql_agent.card_memory", lambda preset: 79.0)
    assert main(["qwen", "--model", "acme/No-Such-Model", "--output-dir", str(tmp_path / "run")]) == 2
    assert "for acme/No-Such-Model: unset HF_HUB_OFFLINE, or give --model FOLDER" in caplog.text


def test_a_hub_that_does_not_answer_is_refused_with_what_fetches_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx
    from huggingface_hub import HfApi

    def unreachable(*_: object, **__: object) -> None:
        raise httpx.ConnectError("no route to host")

    monkeypatch.setattr(HfApi, "model_info", unreachable)
    with pytest.raises(UsageError) as caught:
        require_fetchable(dataclasses.replace(QWEN, model="acme/No-Such-Model"))
    assert "run `python scripts/get_model.py acme/No-Such-Model`" in str(caught.value)
    assert "give --model FOLDER" in str(caught.value)


def test_a_folders_model_asks_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "require_model", lambda repo, _: pytest.fail(f"asked for {repo}"))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    require_fetchable(dataclasses.replace(QWEN, model=str(tmp_path)))
