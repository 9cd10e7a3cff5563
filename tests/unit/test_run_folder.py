"""A run's folder: its lock, its last checkpoint, and what a resumed run may not change."""

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from spider.verl_bridge.processes import RUN_ID
from spider.verl_bridge.run_folder import (
    RunFolderError,
    forget_rollouts,
    hold,
    holds_a_run,
    is_held,
    latest_checkpoint,
    newest_run,
    remove_unfinished,
    resume_settings,
    save_config,
)

HOLDER = (
    "import sys, time; from pathlib import Path; from spider.verl_bridge.run_folder import hold; "
    "lock = hold(Path(sys.argv[1]), sys.argv[2]); print('held', flush=True); time.sleep(60)"
)


def config(batch_size: int = 2, seed: int = 42) -> dict[str, object]:
    return {"data": {"train_batch_size": batch_size, "seed": seed}, "trainer": {"total_training_steps": 6}}


def checkpoint(folder: Path, step: int, is_whole: bool = True) -> Path:
    path = folder / f"global_step_{step}"
    (path / "actor").mkdir(parents=True)
    if is_whole:
        (path / "data.pt").write_bytes(b"state")
    return path


def track(folder: Path, text: str) -> None:
    (folder / "latest_checkpointed_iteration.txt").write_text(text, encoding="utf-8")


def test_tracker_names_the_checkpoint(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 2)
    checkpoint(tmp_path, 4, is_whole=False)
    track(tmp_path, "2")
    assert latest_checkpoint(tmp_path) == path


def test_tracker_that_was_being_written_means_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    checkpoint(tmp_path, 2)
    newest = checkpoint(tmp_path, 10)
    track(tmp_path, "")
    assert latest_checkpoint(tmp_path) == newest


def test_checkpoint_whose_folder_is_gone_gives_way_to_the_one_before(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, 2)
    track(tmp_path, "4")
    assert latest_checkpoint(tmp_path) == path


def test_no_tracker_means_no_checkpoint(tmp_path: Path) -> None:
    checkpoint(tmp_path, 2)
    assert latest_checkpoint(tmp_path) is None


def test_unfinished_checkpoint_is_removed_and_the_last_one_kept(tmp_path: Path) -> None:
    kept, unfinished = checkpoint(tmp_path, 2), checkpoint(tmp_path, 4, is_whole=False)
    remove_unfinished(tmp_path, kept)
    assert kept.is_dir()
    assert not unfinished.exists()


def test_resume_continues_at_the_last_checkpoint(tmp_path: Path) -> None:
    save_config(tmp_path, config())
    path = checkpoint(tmp_path / "checkpoints", 2)
    track(tmp_path / "checkpoints", "2")
    assert resume_settings(tmp_path, config()) == {"resume_mode": "resume_path", "resume_from_path": str(path)}


def test_resume_without_a_checkpoint_starts_anew(tmp_path: Path) -> None:
    assert resume_settings(tmp_path, config()) == {"resume_mode": "disable"}


@pytest.mark.parametrize("changed", [config(batch_size=4), config(seed=7)])
def test_resume_with_another_order_of_the_data_is_refused(tmp_path: Path, changed: dict[str, object]) -> None:
    save_config(tmp_path, config())
    with pytest.raises(RunFolderError, match="began with data"):
        resume_settings(tmp_path, changed)


def test_newest_run_is_the_presets_own(tmp_path: Path) -> None:
    for name in ("qwen-20260101-000000", "qwen-20260102-000000", "qwen-3b-20260103-000000", "qwen-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "progress.csv").touch()
    assert newest_run(tmp_path, "qwen") == tmp_path / "qwen-20260102-000000"
    assert newest_run(tmp_path, "tiny") is None


def test_folder_of_a_run_that_never_began_is_not_the_newest_run(tmp_path: Path) -> None:
    (tmp_path / "qwen-20260101-000000" / "checkpoints" / "global_step_2").mkdir(parents=True)
    (tmp_path / "qwen-20260102-000000").mkdir()
    assert newest_run(tmp_path, "qwen") == tmp_path / "qwen-20260101-000000"


def test_folder_with_numbers_holds_a_run(tmp_path: Path) -> None:
    assert not holds_a_run(tmp_path)
    (tmp_path / "progress.csv").touch()
    assert holds_a_run(tmp_path)


def start_holder(folder: Path, run_id: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), run_id],
        cwd=Path(__file__).parents[2],
        env=os.environ | {RUN_ID: run_id},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_folder_is_held_while_its_run_lives(tmp_path: Path) -> None:
    first = start_holder(tmp_path, uuid.uuid4().hex)
    try:
        assert is_held(tmp_path)
    finally:
        first.kill()
        first.wait()
    assert not is_held(tmp_path)


def test_a_file_in_the_folders_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(RunFolderError, match="a file is in the way"):
        hold(tmp_path / "run", "one")


@pytest.mark.parametrize(("folder", "said"), [("/proc/x", "name one that you may"), ("/proc", "another --output-dir")])
def test_a_folder_that_can_not_be_made_or_written_to_is_named(folder: str, said: str) -> None:
    with pytest.raises(RunFolderError, match=rf"{folder}: .*{said}"):
        hold(Path(folder), "a-mark")


def test_second_run_in_a_folder_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    first = start_holder(tmp_path, uuid.uuid4().hex)
    try:
        with pytest.raises(RunFolderError, match="a run is going on"):
            hold(tmp_path, uuid.uuid4().hex)
    finally:
        first.kill()
        first.wait(5)


def test_what_a_killed_run_left_is_ended_before_the_next_begins(tmp_path: Path) -> None:
    killed = uuid.uuid4().hex
    first = start_holder(tmp_path, killed)
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=os.environ | {RUN_ID: killed})
    first.send_signal(signal.SIGKILL)
    first.wait(5)
    hold(tmp_path, uuid.uuid4().hex).close()
    assert not psutil.pid_exists(left.pid)


def test_rollouts_that_are_done_again_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    records = [(1, "train"), (2, "train"), (2, "val"), (3, "train")]
    lines = [json.dumps({"step": step, "mode": mode}) for step, mode in records]
    path.write_text("\n".join([*lines, '{"step": 3, "mo']), encoding="utf-8")
    forget_rollouts(path, step=2, is_validated=False)
    assert path.read_text(encoding="utf-8") == f"{lines[0]}\n{lines[1]}\n"
