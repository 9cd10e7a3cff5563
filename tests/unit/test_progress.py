"""The numbers of a run, across a kill and a resume."""

import csv
import io
from pathlib import Path

from spider.verl_bridge.progress import Progress
from spider.verl_bridge.rows import SessionResult
from spider.verl_bridge.stats import RolloutStats


def stats(reward: float = 1.0) -> RolloutStats:
    result = RolloutStats()
    result.add_group([SessionResult(reward=reward)])
    return result


def steps(folder: Path) -> list[tuple[int, str]]:
    with (folder / "progress.csv").open(encoding="utf-8") as file:
        return [(int(row["step"]), row["validation_accuracy"]) for row in csv.DictReader(file)]


def record(folder: Path, last: int, resumed: int | None = None) -> Progress:
    """Validate before the first step, then go to step `last`, as a run does."""
    progress = Progress(folder, io.StringIO())
    progress.restore(resumed)
    if resumed is None:
        progress.validation(0, stats(0.5))
    for step in range((resumed or 0) + 1, last + 1):
        progress.step(step, {"timing_s/gen": 1.0}, stats())
    return progress


def test_resumed_run_repeats_no_step(tmp_path: Path) -> None:
    record(tmp_path, last=5)
    record(tmp_path, last=6, resumed=3)
    assert [step for step, _ in steps(tmp_path)] == [0, 1, 2, 3, 4, 5, 6]


def test_resumed_run_knows_the_accuracies_so_far(tmp_path: Path) -> None:
    record(tmp_path, last=3)
    assert record(tmp_path, last=3, resumed=3).accuracies == {0: 0.5}


def test_resumed_runs_time_goes_on(tmp_path: Path) -> None:
    record(tmp_path, last=1)
    path = tmp_path / "progress.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[-1] = f"{lines[-1].rpartition(',')[0]},500"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    record(tmp_path, last=2, resumed=1)
    with path.open(encoding="utf-8") as file:
        assert float(list(csv.DictReader(file))[-1]["elapsed_seconds"]) >= 500


def test_line_that_a_killed_run_left_unfinished_is_dropped(tmp_path: Path) -> None:
    record(tmp_path, last=2)
    path = tmp_path / "progress.csv"
    path.write_text(path.read_text(encoding="utf-8") + "3,0.5", encoding="utf-8")
    record(tmp_path, last=3, resumed=2)
    assert [step for step, _ in steps(tmp_path)] == [0, 1, 2, 3]


def test_run_that_starts_anew_forgets_the_one_before(tmp_path: Path) -> None:
    record(tmp_path, last=3)
    record(tmp_path, last=1)
    assert [step for step, _ in steps(tmp_path)] == [0, 1]


def test_validation_of_a_step_that_has_one_is_not_recorded_again(tmp_path: Path) -> None:
    progress = record(tmp_path, last=1)
    progress.validation(0, stats(0.5))
    assert [step for step, accuracy in steps(tmp_path) if accuracy] == [0]
