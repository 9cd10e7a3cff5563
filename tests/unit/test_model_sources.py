"""Which files make a model, what a folder must hold, and where the presets look for it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from scripts import get_model
from spider import presets
from spider.data import ROOT
from spider.model_sources.hub import HubFile, wanted
from spider.model_store import MARKER, incomplete

MODEL = {"config.json": "{}", "tokenizer.json": "{}", "model.safetensors": "weights"}


def write_model(folder: Path, **changes: str | None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**MODEL, **changes}.items():
        if text is not None:
            (folder / name).write_text(text)
    return folder


def names(*paths: str) -> list[str]:
    return [file.path for file in wanted([HubFile(path, 1) for path in paths])]


def test_one_format_of_weights_is_fetched_with_its_own_index() -> None:
    shards = ("model-1.safetensors", "pytorch_model-1.bin")
    indices = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
    assert names(*shards, *indices) == ["model.safetensors.index.json", "model-1.safetensors"]


def test_weights_without_safetensors_are_fetched_as_they_are() -> None:
    indices = ("pytorch_model.bin.index.json",)
    assert names("pytorch_model-1.bin", *indices) == ["pytorch_model.bin.index.json", "pytorch_model-1.bin"]


def test_subfolders_and_other_formats_are_left_out() -> None:
    assert names("original/params.json", "onnx/model.onnx", "model.gguf", "tf_model.h5", ".gitattributes") == []


def test_small_files_come_before_weights() -> None:
    assert names("model.safetensors", "tokenizer.json", "LICENSE.txt")[-1] == "model.safetensors"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"config.json": None}, "no config.json"),
        ({"config.json": "{"}, "its config.json is not JSON"),
        ({"model.safetensors": None}, "no weights (model.safetensors)"),
        ({"tokenizer.json": None}, "no tokenizer (tokenizer.json or tokenizer.model)"),
        (
            {"model.safetensors.index.json": json.dumps({"weight_map": {"a": "model-1.safetensors"}})},
            "1 of 1 weight files are missing: model-1.safetensors",
        ),
        ({"model.safetensors.index.json": "[]"}, "its model.safetensors.index.json lists no weights"),
        ({}, None),
    ],
)
def test_what_a_folder_lacks_is_named(tmp_path: Path, changes: dict[str, str | None], problem: str | None) -> None:
    assert incomplete(write_model(tmp_path / "m", **changes)) == problem


def test_a_folder_is_checked_and_copied(tmp_path: Path) -> None:
    source, models = write_model(tmp_path / "mine"), tmp_path / "models"
    assert get_model.main([str(source), "--models", str(models)]) == 0
    assert {path.name for path in (models / "mine").iterdir()} == {*MODEL, MARKER}


def test_an_incomplete_folder_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = write_model(tmp_path / "mine", **{"tokenizer.json": None})
    assert get_model.main([str(source), "--models", str(tmp_path / "models")]) == 1
    assert "no tokenizer" in caplog.text


def test_a_folder_in_its_place_stays_as_it_is(tmp_path: Path) -> None:
    source = write_model(tmp_path / "models" / "mine")
    before = {path: path.stat().st_mtime_ns for path in source.iterdir()}
    assert get_model.main([str(source), "--models", str(tmp_path / "models")]) == 0
    assert {path: path.stat().st_mtime_ns for path in source.iterdir()} == before


def test_a_model_put_in_place_by_hand_is_used_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELSCOPE_DOMAIN", "http://127.0.0.1:9")
    write_model(tmp_path / "small")
    assert get_model.main(["acme/small", "--source", "modelscope", "--models", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "small").iterdir()} == set(MODEL)


@pytest.mark.parametrize("name", ["nonsense", "./none", "/none/at/all", "a/b/c"])
def test_a_name_that_means_nothing_is_a_usage_error(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert get_model.main([name]) == 2
    assert "give a folder's path, ORGANISATION/NAME, or a preset" in caplog.text


@pytest.mark.parametrize("preset", sorted(presets.PRESETS))
def test_every_preset_takes_its_models_local_folder(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "ROOT", tmp_path)
    model = get_model.hub_name(preset)
    folder = write_model(tmp_path / "model" / model.rpartition("/")[2])
    assert presets.model_path(model) == str(folder.resolve())


@pytest.fixture
def train_sh(tmp_path: Path) -> Path:
    """A copy of train.sh whose Python writes down what it is asked to run."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "scripts" / "setup.sh").write_text("exit 0\n")
    (tmp_path / "train.sh").write_text((ROOT / "train.sh").read_text())
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text('#!/usr/bin/env bash\necho "${@##*/}" >>"${0%/*}/calls"\n')
    python.chmod(0o755)
    return tmp_path / "train.sh"


@pytest.mark.parametrize(
    ("arguments", "fetched"),
    [
        ([], "get_model.py tiny"),
        (["llama", "--steps", "3"], "get_model.py llama"),
        (["qwen", "--model", "mine"], None),
        (["qwen", "--model=mine"], None),
        (["--dry-run"], None),
    ],
)
def test_train_sh_fetches_the_presets_model_unless_another_is_given(
    train_sh: Path, arguments: list[str], fetched: str | None
) -> None:
    subprocess.run(["bash", train_sh, *arguments], check=True, env={"PATH": os.environ["PATH"]})
    calls = (train_sh.parent / ".venv" / "bin" / "calls").read_text().splitlines()
    *before, training = calls
    assert training.startswith("-m spider.train_sql_agent")
    checked = f"{training} --dry-run"  # a mistake is told before anything is fetched
    assert before == ([checked, fetched] if fetched else [])


def test_train_sh_fetches_nothing_for_a_command_that_is_refused(train_sh: Path) -> None:
    python = train_sh.parent / ".venv" / "bin" / "python"
    python.write_text(
        '#!/usr/bin/env bash\necho "${@##*/}" >>"${0%/*}/calls"\n'
        '[[ $* != *--dry-run* ]] || { echo "error: no such flag" >&2; exit 2; }\n'
    )
    finished = subprocess.run(["bash", train_sh, "--nope"], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (2, "error: no such flag\n")
    assert "get_model.py" not in (python.parent / "calls").read_text()


@pytest.mark.parametrize("name", ["", "nope", "Qwen/", "/Qwen", "a/b/c", "~/nope"])
def test_a_name_that_means_nothing_is_refused_with_the_presets(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert get_model.main([name, "--models", str(tmp_path / "models")]) == 2
    assert f"no folder {name!r}: give a folder's path, ORGANISATION/NAME, or a preset (fast, llama" in caplog.text
    assert not (tmp_path / "models").exists()
