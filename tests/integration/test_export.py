"""Exports of checkpoints that verl's own checkpoint manager wrote from two processes' shards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from scripts import export_checkpoint
from spider.checkpoint.export import export
from spider.checkpoint.proof import TEXT, ProofError, log_probs, prove
from spider.checkpoint.shards import CheckpointError, find_checkpoint, load_shards

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        [*command, str(ROOT / "tests" / "fsdp_checkpoints.py"), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return folder


def difference(run: Path, model: Path) -> float:
    """Largest difference between the sharded model's log-probs and the exported one's."""
    trainers = torch.tensor(json.loads((run / "log_probs.json").read_text()))
    ids = AutoTokenizer.from_pretrained(model)(TEXT)["input_ids"]
    return float(
        (log_probs(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32), ids) - trainers).abs().max()
    )


@pytest.mark.parametrize("kind", ["full", "tied", "lora"])
def test_two_ranks_export_has_the_log_probs_of_the_sharded_model(runs: Path, tmp_path: Path, kind: str) -> None:
    assert export(runs / kind, tmp_path / "model")
    assert difference(runs / kind, tmp_path / "model") < 1e-4


def test_lora_alone_is_added_to_the_model_before_training(runs: Path, tmp_path: Path) -> None:
    assert export(runs / "lora-only", tmp_path / "model", base=runs / "base")
    assert difference(runs / "lora", tmp_path / "model") < 1e-4


def test_lora_alone_without_the_model_before_training_is_an_error(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="--base"):
        export(runs / "lora-only", tmp_path / "model")


def test_lora_that_changes_nothing_is_an_error_and_leaves_no_folder(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(ProofError, match="changes nothing"):
        export(runs / "untrained-lora", tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_lora_differs_from_the_model_before_training_by_what_the_card_says(runs: Path, tmp_path: Path) -> None:
    export(runs / "lora", tmp_path / "model")
    proof = json.loads((tmp_path / "model" / "export.json").read_text())["proof"]
    assert proof["changed_weights"] > 0.1
    assert proof["max_change"] > 100 * proof["max_difference"]


def test_bfloat16_export_holds_the_rounded_weights(runs: Path, tmp_path: Path) -> None:
    export(runs / "full", tmp_path / "exact", "float32")
    export(runs / "full", tmp_path / "rounded", "bfloat16")
    exact, rounded = (load_file(tmp_path / name / "model.safetensors") for name in ("exact", "rounded"))
    assert all(torch.equal(rounded[name], weight.bfloat16()) for name, weight in exact.items())
    assert json.loads((tmp_path / "rounded" / "config.json").read_text())["dtype"] == "bfloat16"


def test_a_changed_weight_is_found(runs: Path, tmp_path: Path) -> None:
    export(runs / "full", tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    weights["model.layers.1.mlp.down_proj.weight"] *= 1.01
    save_file(weights, tmp_path / "model" / "model.safetensors", metadata={"format": "pt"})
    checkpoint = find_checkpoint(runs / "full")
    with pytest.raises(ProofError, match="not the trainer's"):
        prove(tmp_path / "model", checkpoint, load_shards(checkpoint), None, "float32")


def test_ranks_of_different_runs_are_refused(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoints" / "global_step_3" / "actor"
    target.parent.mkdir(parents=True)
    source = find_checkpoint(runs / "full").actor
    other = find_checkpoint(runs / "lora").files[1]
    (target / "huggingface").mkdir(parents=True)
    for file in [*source.glob("*"), *source.glob("huggingface/*")]:
        if file.is_file():
            (target / file.relative_to(source)).write_bytes(file.read_bytes())
    (target / other.name).write_bytes(other.read_bytes())
    with pytest.raises(CheckpointError, match="different parameters"):
        export(target, tmp_path / "model")


def test_a_missing_rank_is_named(runs: Path, tmp_path: Path) -> None:
    actor = find_checkpoint(runs / "tied").actor
    copy = tmp_path / "actor"
    copy.mkdir()
    for file in actor.glob("*rank_0.pt"):
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "fsdp_config.json").write_bytes((actor / "fsdp_config.json").read_bytes())
    with pytest.raises(CheckpointError, match=r"model_world_size_2_rank_1\.pt"):
        find_checkpoint(copy)


def test_card_records_data_preset_steps_and_accuracy(runs: Path, tmp_path: Path) -> None:
    run = runs / "full"
    record = {"preset": "tiny", "steps": 3, "train_file": "data/sample/train_spider.parquet", "train_questions": 702}
    (run / "run.json").write_text(json.dumps(record | {"validation_questions": 16}))
    (run / "progress.csv").write_text("step,reward,validation_accuracy\n0,,0.25\n3,,0.5\n6,,0.75\n")
    try:
        export(run, tmp_path / "model")
    finally:
        (run / "run.json").unlink()
        (run / "progress.csv").unlink()
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "| preset | tiny |" in card
    assert "| steps | 3 of 3 |" in card
    assert "data/sample/train_spider.parquet (702 questions)" in card
    assert "| 0 | 0.250 |\n| 3 | 0.500 |" in card
    assert "0.750" not in card


def test_a_second_call_does_nothing(runs: Path, tmp_path: Path) -> None:
    assert export_checkpoint.main([str(runs / "full"), str(tmp_path / "model"), "--quiet"]) == 0
    before = (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns
    assert export_checkpoint.main([str(runs / "full"), str(tmp_path / "model"), "--quiet"]) == 0
    assert (tmp_path / "model" / "model.safetensors").stat().st_mtime_ns == before


def test_a_folder_without_a_checkpoint_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert export_checkpoint.main([str(tmp_path), str(tmp_path / "model")]) == 1
    assert "no checkpoint at" in caplog.text


def test_a_disk_that_is_too_small_is_one_line_and_nothing_is_left(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("spider.download.free_bytes", lambda _: 10_000)
    assert export_checkpoint.main([str(runs / "full"), str(tmp_path / "model")]) == 1
    assert "no disk space: 73 kB are needed" in caplog.messages[-1]
    assert not list(tmp_path.iterdir())
