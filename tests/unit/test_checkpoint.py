"""What an export reads besides weights: names, LoRA's scale, the run's record and its accuracies."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from scripts import export_checkpoint
from spider.checkpoint.card import run_accuracies
from spider.checkpoint.export import recorded_base, room
from spider.checkpoint.shards import Checkpoint, CheckpointError, find_checkpoint, lora_scale, split_lora
from spider.data import ROOT
from spider.download import NoSpaceError
from spider.run_record import read_run_record, write_run_record

CONFIG = {
    "actor_rollout_ref": {
        "model": {"path": "org/model", "lora_rank": 0},
        "actor": {"optim": {"lr": 1e-5}},
        "rollout": {"n": 4, "dtype": "float32"},
    },
    "data": {"train_batch_size": 2},
    "trainer": {"device": "cpu", "total_training_steps": 6, "total_epochs": 1},
}


def test_names_without_lora_stay_as_they_are() -> None:
    assert split_lora(["lm_head.weight", "model.norm.weight"]) == (
        {"lm_head.weight": "lm_head.weight", "model.norm.weight": "model.norm.weight"},
        {},
    )


def test_lora_factors_are_found_by_the_weight_that_they_change() -> None:
    stem = "base_model.model.model.layers.0.q_proj"
    names = [f"{stem}.base_layer.weight", f"{stem}.lora_A.default.weight", f"{stem}.lora_B.default.weight"]
    plain, factors = split_lora(names)
    assert plain == {"model.layers.0.q_proj.weight": names[0]}
    assert factors == {"model.layers.0.q_proj.weight": (names[1], names[2])}


@pytest.mark.parametrize("name", ["base_model.model.embed.lora_embedding_A.default", "head.modules_to_save.default.w"])
def test_other_adapters_are_refused(name: str) -> None:
    with pytest.raises(CheckpointError, match="only LoRA on weight matrices"):
        split_lora([name])


def test_lora_scale_is_alpha_over_rank() -> None:
    assert lora_scale({"r": 8, "lora_alpha": 32}) == 4


def test_lora_without_its_alpha_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"lora_train_meta\.json"):
        lora_scale({})


def test_the_newest_checkpoint_is_the_one_that_verl_finished(tmp_path: Path) -> None:
    for step in (4, 8):
        actor = tmp_path / "checkpoints" / f"global_step_{step}" / "actor"
        (actor / "huggingface").mkdir(parents=True)
        (actor / "fsdp_config.json").write_text('{"world_size": 1}')
        (actor / "model_world_size_1_rank_0.pt").touch()
        (actor / "huggingface" / "config.json").touch()
        (actor.parent / "data.pt").touch()
    (tmp_path / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("4")
    found = find_checkpoint(tmp_path)
    assert (found.step, found.run, found.ranks) == (4, tmp_path, 1)
    assert find_checkpoint(tmp_path / "checkpoints" / "global_step_8").step == 8
    assert find_checkpoint(found.actor) == found


def test_accuracies_end_with_the_checkpoints_step(tmp_path: Path) -> None:
    rows = ["step,reward,validation_accuracy", "0,,0.25", "1,0.5,", "2,,0.5", "4,,0.75", "5,0."]
    (tmp_path / "progress.csv").write_text("\n".join(rows))
    assert run_accuracies(tmp_path, 2) == {"0": 0.25, "2": 0.5}
    assert run_accuracies(tmp_path, 9) == {"0": 0.25, "2": 0.5, "4": 0.75}
    assert run_accuracies(tmp_path / "elsewhere", 2) == {}


def test_record_holds_what_decides_the_run(tmp_path: Path) -> None:
    write_run_record(
        tmp_path, OmegaConf.create(CONFIG), preset="tiny", train_file=ROOT / "data" / "sample" / "x.parquet"
    )
    record = read_run_record(tmp_path)
    assert record["preset"] == "tiny"
    assert record["train_file"] == "data/sample/x.parquet"
    assert (record["model"], record["rollouts"], record["learning_rate"]) == ("org/model", 4, 1e-5)
    assert isinstance(record["versions"], dict)
    assert "verl" in record["versions"]


def test_a_resumed_run_keeps_its_first_start_and_records_what_changed(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"started": "2026-11-30T00:00:00Z", "active_agent": "write"}))
    write_run_record(tmp_path, OmegaConf.create(CONFIG), active_agent="all")
    record = read_run_record(tmp_path)
    assert (record["started"], record["active_agent"]) == ("2026-11-30T00:00:00Z", "all")


def test_a_run_without_a_record_has_an_empty_one(tmp_path: Path) -> None:
    assert read_run_record(tmp_path) == {}


def test_configuration_leaves_out_the_attention_that_training_used(tmp_path: Path) -> None:
    folder = tmp_path / "huggingface"
    folder.mkdir()
    written = {"model_type": "llama", "hidden_size": 64, "attn_implementation": "varlen"}
    (folder / "config.json").write_text(json.dumps(written))
    config = Checkpoint(tmp_path, step=1, run=tmp_path, ranks=1).config
    assert config.to_dict()["hidden_size"] == 64
    assert "attn_implementation" not in config.to_dict()


def test_the_model_before_training_is_found_by_the_configuration_where_the_record_lacks_it(tmp_path: Path) -> None:
    write_base(tmp_path / "base", "{}")
    config = {"actor_rollout_ref": {"model": {"path": str(tmp_path / "base")}}}
    (tmp_path / "verl_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert recorded_base({}, tmp_path) == tmp_path / "base"
    assert recorded_base({"model": "gone/elsewhere"}, tmp_path) == tmp_path / "base"


def write_base(folder: Path, config: str) -> None:
    """A model as far as it is looked at before it is loaded."""
    folder.mkdir()
    (folder / "config.json").write_text(config, encoding="utf-8")
    (folder / "model.safetensors").touch()


@pytest.mark.parametrize(
    ("config", "weights", "said"),
    [
        (None, False, "is no folder"),
        ('{"hidden_size": 64}', False, "is no model: no weights"),
        ('{"hidden_size": 32}', True, "is another model: its hidden_size is 32, the checkpoint's 64"),
    ],
)
def test_a_base_that_can_not_be_the_model_before_training_is_refused_before_any_work(
    config: str | None, weights: bool, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    actor = tmp_path / "run" / "checkpoints" / "global_step_1" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    (actor / "huggingface" / "config.json").write_text('{"hidden_size": 64}', encoding="utf-8")
    (actor / "fsdp_config.json").write_text('{"world_size": 1}', encoding="utf-8")
    (actor / "model_world_size_1_rank_0.pt").touch()
    base, out = tmp_path / "base", tmp_path / "out" / "model"
    if config:
        write_base(base, config)
        if not weights:
            (base / "model.safetensors").unlink()
    assert export_checkpoint.main([str(actor), str(out), "--base", str(base)]) == 1
    assert caplog.messages[-1].startswith(f"error: --base {base} {said}")
    assert not out.parent.exists()


def test_a_model_before_training_that_is_gone_is_none(tmp_path: Path) -> None:
    assert recorded_base({"model": "gone/elsewhere"}, tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"FSDP_version": 1}', '{"world_size": "two"}'])
def test_a_damaged_file_of_a_checkpoint_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "actor").mkdir()
    (tmp_path / "actor" / "fsdp_config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"fsdp_config\.json was damaged or cut off"):
        find_checkpoint(tmp_path)


def test_an_export_is_refused_before_it_is_written_where_the_disk_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spider.download.free_bytes", lambda _: 1_000_000)
    said = rf"^no disk space: 2\.0 GB are needed in {tmp_path} and 1 MB are free: free some, or .* another disk$"
    with pytest.raises(NoSpaceError, match=said), room(tmp_path, 2_000_000_000):
        pytest.fail("it began")


@pytest.mark.parametrize(
    "error",
    [
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'"), ("c", "d", "[Errno 28] No space left")]),
        Exception("Error while serializing: I/O error: No space left on device (os error 28)"),  # safetensors
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    ],
)
def test_a_disk_that_fills_meanwhile_is_told_in_the_same_words(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(NoSpaceError, match=f"^no disk space: 1 kB are needed in {tmp_path} .*"), room(tmp_path, 1000):
        raise error


def test_other_errors_while_writing_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(shutil.Error), room(tmp_path, 1000):
        raise shutil.Error([("a", "b", "[Errno 13] Permission denied: 'b'")])
