"""A run's report reads whatever the run has written so far."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spider.report import main
from spider.run_report.figures import groups_by_step, queries_by_step, run_figures
from spider.run_report.reading import NoRunError, Rollout, read_progress, read_rollouts, read_run
from spider.run_report.samples import pairs

DRIVER = """
import sys
from pathlib import Path
from spider.verl_bridge.run_folder import hold

file = hold(Path(sys.argv[1]), "run")
print("held")
sys.stdin.read()
"""
HEADER = "step,reward,validation_accuracy,rows,generation_seconds,update_seconds,elapsed_seconds\n"


def record(step: int, reward: float | None, mode: str = "train", question: str = "How many?", **more: object) -> str:
    turns = [{"node": "write_query", "text": "SELECT 1"}, {"node": "check_query", "text": "THE QUERY IS CORRECT."}]
    common = {"step": step, "mode": mode, "uid": f"{mode}-{step}-{question}", "question": question, "db_id": "pets"}
    rest = {"gold": "SELECT 1", "query": "SELECT 1", "turns": turns, "reward": reward, "calls": 2, "dropped": None}
    return json.dumps({**common, **rest, "detail": "", **more}) + "\n"


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run of two steps with a validation before and after."""
    (tmp_path / "progress.csv").write_text(
        HEADER + "0,,0.5,,,,10\n1,0.25,,18,39.6,138.1,200\n2,0.75,,21,43.1,148.2,400\n2,,1,,,,410\n", encoding="utf-8"
    )
    (tmp_path / "rollouts.jsonl").write_text(
        record(0, 0.0, "val")
        + record(0, 1.0, "val", "Who?")
        + record(1, 0.0)
        + record(1, 1.0)
        + record(2, 1.0)
        + record(2, None, dropped="timed_out", detail="no answer in time")
        + record(2, 1.0, "val")
        + record(2, 1.0, "val", "Who?"),
        encoding="utf-8",
    )
    (tmp_path / "run.log").write_text(
        "2026-11-30 00:27:26,625 INFO spider.train_sql_agent: model: 9 questions to train on, 2 to validate on\n"
        "2026-11-30 00:27:27,625 INFO vllm: noise\n",
        encoding="utf-8",
    )
    return tmp_path


def test_the_report_is_a_page_and_pictures(run_folder: Path) -> None:
    assert main([str(run_folder), "--quiet"]) == 0
    page = (run_folder / "report" / "report.html").read_text(encoding="utf-8")
    assert "0.500 after step 0, 1.000 after step 2" in page
    assert "of 2 questions 1 became right and 0 became wrong" in page
    pictures = {path.stem for path in (run_folder / "report").glob("*.png")}
    assert {"learning_curve", "queries_a_rollout", "rollouts_without_a_row_by_reason", "seconds_a_step"} <= pictures


def test_a_run_that_is_going_on_can_be_shown(run_folder: Path) -> None:
    with (run_folder / "rollouts.jsonl").open("a", encoding="utf-8") as file:
        file.write(record(3, 1.0)[:40])
    with (run_folder / "progress.csv").open("a", encoding="utf-8") as file:
        file.write("3,")
    run = read_run(run_folder)
    assert len(run.rollouts) == 8
    assert len(run.progress) == 4
    assert run.state.startswith("going on")
    assert not run.has_ended


def test_a_run_whose_driver_is_gone_is_told_from_one_that_goes_on(run_folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-uc", DRIVER, str(run_folder)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"held\n"
        while_it_lives = read_run(run_folder).state
        driver.kill()
    assert while_it_lives.startswith("going on: ")
    assert read_run(run_folder).state.startswith("cut off: ")


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("INFO spider.verl_bridge.progress: learning curve: x.png", "finished"),
        ("ERROR spider.train_sql_agent: error: the disk is full", "failed: error: the disk is full"),
    ],
)
def test_a_run_that_ended_says_how(run_folder: Path, line: str, state: str) -> None:
    with (run_folder / "run.log").open("a", encoding="utf-8") as file:
        file.write(f"2026-11-30 00:28:26,625 {line}\n")
    assert read_run(run_folder).state == state


def test_rollouts_of_steps_that_a_resumed_run_did_again_count_once(tmp_path: Path) -> None:
    first = "".join(record(step, 0.0, run=1) for step in (1, 2, 3))
    resumed = record(3, 1.0, run=2) + record(2, 1.0, run=2)  # steps may overlap
    (tmp_path / "r.jsonl").write_text(first + resumed, encoding="utf-8")
    found = [(each.step, each.reward) for each in read_rollouts(tmp_path / "r.jsonl")]
    assert found == [(1, 0.0), (3, 1.0), (2, 1.0)]


def test_a_step_that_came_twice_counts_as_it_was_the_last_time(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(HEADER + "1,0.1,,,,,1\n2,0.2,,,,,2\n2,0.4,,,,,4\n", encoding="utf-8")
    assert [row["reward"] for row in read_progress(tmp_path / "p.csv")] == [0.1, 0.4]


def test_search_of_instructions_is_named_with_the_command_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "run.log").touch()
    with pytest.raises(NoRunError, match=r"search of instructions.*export_strategy --checkpoint"):
        read_run(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoRunError, match="not the folder of a run"):
        read_run(tmp_path)
    assert main([str(tmp_path), "--quiet"]) == 2


@pytest.mark.parametrize(
    "text", [b"", b"\x00\xff\n\x93\n", b"hello\nworld\n", b"step,rows\n1,2\n", HEADER.encode()[:8]]
)
def test_a_file_that_is_no_progress_is_named_with_the_fix(run_folder: Path, text: bytes) -> None:
    (run_folder / "progress.csv").write_bytes(text)
    with pytest.raises(NoRunError, match=r"progress\.csv is not a training run's: .* move this one away"):
        read_run(run_folder)
    assert main([str(run_folder), "--quiet"]) == 2
    assert not (run_folder / "report").exists()


@pytest.mark.parametrize("line", ["garbage", "3,0.5", "3,0.5,,,,,x", ",0.5,,,,,9", "3,,,,,,9", "\x00\ufffd"])
def test_a_damaged_line_of_progress_is_named(run_folder: Path, line: str) -> None:
    with (run_folder / "progress.csv").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n4,0.5,,18,39.6,138.1,500\n")
    with pytest.raises(NoRunError, match=r"progress\.csv is damaged: line 6 "):
        read_run(run_folder)


@pytest.mark.parametrize("torn", ["3", "3,0.7", "3,0.75,,18,39.6,138.1,5"])
def test_a_last_line_that_is_half_written_is_left_out(run_folder: Path, torn: str) -> None:
    with (run_folder / "progress.csv").open("a", encoding="utf-8") as file:
        file.write(torn)
    assert [row["step"] for row in read_progress(run_folder / "progress.csv")] == [0, 1, 2, 2]


@pytest.mark.parametrize("text", [b"\x00\xff\n\x93\n", b"hello\n", b'[]\n1\n{"step": 1}\n'])
def test_a_file_without_any_rollout_is_named(run_folder: Path, text: bytes) -> None:
    (run_folder / "rollouts.jsonl").write_bytes(text)
    with pytest.raises(NoRunError, match=r"rollouts\.jsonl is not a training run's"):
        read_run(run_folder)


def test_the_first_rollout_may_be_half_written(run_folder: Path) -> None:
    (run_folder / "rollouts.jsonl").write_text(record(1, 1.0)[:40], encoding="utf-8")
    assert read_run(run_folder).rollouts == []


def test_rollouts_around_a_broken_line_count(run_folder: Path) -> None:
    with (run_folder / "rollouts.jsonl").open("a", encoding="utf-8") as file:
        file.write(record(3, 1.0)[:40] + record(3, 1.0) + record(3, 0.0))
    assert len(read_run(run_folder).of_mode("train")) == 5


def test_only_progress_is_enough(run_folder: Path) -> None:
    (run_folder / "rollouts.jsonl").unlink()
    (run_folder / "run.log").unlink()
    assert list(run_figures(read_run(run_folder))) == ["Learning curve", "Seconds a step"]
    assert main([str(run_folder), "--quiet"]) == 0


def test_groups_are_told_apart_by_their_rewards(run_folder: Path) -> None:
    train = read_run(run_folder).of_mode("train")
    assert groups_by_step(train) == {
        1: {"all right": 0.0, "mixed": 1.0, "none right": 0.0},
        2: {"all right": 0.0, "mixed": 1.0, "none right": 0.0},
    }


def test_queries_are_counted_without_the_checkers_replies(run_folder: Path) -> None:
    assert queries_by_step(read_run(run_folder).of_mode("train")) == {1: {"1 query": 1.0}, 2: {"1 query": 1.0}}


def test_a_single_validation_is_shown_without_a_comparison(run_folder: Path) -> None:
    (run_folder / "rollouts.jsonl").write_text(record(0, 0.0, "val"), encoding="utf-8")
    change, rows = pairs(read_run(run_folder))
    assert change is None
    assert [(row["change"], row["after"]) for row in rows] == [("wrong", None)]


def test_a_rollout_whose_text_was_not_kept_still_counts() -> None:
    rollout = Rollout(1, "train", "u", "q", "d", "g", None, None, 1.0, 2, None)
    assert groups_by_step([rollout])[1]["all right"] == 1.0
    assert queries_by_step([rollout]) == {}
