"""A real run on CPU that is killed, resumed, and asked to stop: two starts and three small steps.

Two training questions, one a step, make epochs of two steps: the run is killed at the first epoch's end, and the next
one asks them in another order.
"""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from spider.data import data_dir
from spider.verl_bridge.processes import RUN_ID, end_run, run_processes

ROOT = Path(__file__).resolve().parents[2]
SMALL = [
    "data.train_batch_size=1",
    "data.max_response_length=64",
    "actor_rollout_ref.actor.ppo_mini_batch_size=1",
    "actor_rollout_ref.rollout.n=2",
    "trainer.save_freq=2",
    "trainer.total_epochs=3",
]
KILLED_AT, STOPPED_AT = 2, 3

pytestmark = pytest.mark.slow


@dataclass
class Outcome:
    """What the killed run and the resumed one left.

    Attributes:
        folder: Their folder.
        left_after_kill: Processes of the killed run 15 s later.
        exit_code: Exit code of the resumed run, which was sent SIGTERM in its step.
        output: What the resumed run showed.
        left: Processes of the resumed run after its end.
    """

    folder: Path
    left_after_kill: int
    exit_code: int
    output: str
    left: int

    def progress(self) -> list[dict[str, str]]:
        """The lines of ``progress.csv``."""
        with (self.folder / "progress.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def questions(self, step: int) -> set[str]:
        """The questions that were asked in a training step."""
        return {str(record["question"]) for record in rollouts(self.folder) if record["step"] == step}


def rollouts(folder: Path) -> list[dict[str, object]]:
    """The record of the training rollouts, as far as it is written."""
    path = folder / "rollouts.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return [record for record in records if record["mode"] == "train"]


def start(folder: Path, run_id: str, *flags: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    settings = [argument for setting in SMALL for argument in ("--set", setting)]
    command = [sys.executable, "-m", "spider.train_sql_agent", "tiny", "--output-dir", str(folder), "--wandb"]
    questions = ["--train-files", str(folder.parent / "train.parquet"), "--steps", "6", "--val-limit", "2"]
    small = ["--active-agent", "all", "--max-turns", "1", "--context-chars", "500"]
    return subprocess.Popen(
        [*command, *questions, *small, *settings, *flags],
        cwd=ROOT,
        env=environment | {RUN_ID: run_id, "NETRC": "/nonexistent"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 1800) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"not in time, or ended too early: exit code {process.poll()}")
        time.sleep(0.1)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    folder = tmp_path_factory.mktemp("control") / "run"
    pd.read_parquet(data_dir() / "train_spider.parquet").iloc[:2].to_parquet(folder.parent / "train.parquet")
    first, second = uuid.uuid4().hex, uuid.uuid4().hex
    result = Outcome(folder, -1, -1, "", -1)
    try:
        killed = start(folder, first)
        path = folder / "progress.csv"
        wait_until(lambda: path.is_file() and f"\n{KILLED_AT}," in path.read_text(encoding="utf-8"), killed)
        killed.kill()
        deadline = time.monotonic() + 15
        while run_processes(first) and time.monotonic() < deadline:
            time.sleep(0.1)
        result.left_after_kill = len(run_processes(first))
        resumed = start(folder, second, "--resume")
        wait_until(lambda: any(record["step"] == STOPPED_AT for record in rollouts(folder)), resumed)
        resumed.send_signal(signal.SIGTERM)
        result.output, _ = resumed.communicate(timeout=600)
        result.exit_code = resumed.returncode
        result.left = len(run_processes(second))
        yield result
    finally:
        end_run(first)
        end_run(second)


def test_killed_runs_processes_end_by_themselves(outcome: Outcome) -> None:
    assert outcome.left_after_kill == 0


def test_run_asked_to_stop_finishes_its_step_and_ends_well(outcome: Outcome) -> None:
    assert outcome.exit_code == 0, outcome.output
    assert f"step {STOPPED_AT}:" in outcome.output
    assert outcome.left == 0


def test_resumed_run_goes_on_after_the_checkpoints_step(outcome: Outcome) -> None:
    assert f"continuing after step {KILLED_AT}" in outcome.output
    assert [row["step"] for row in outcome.progress() if row["reward"]] == ["1", "2", "3"]


def test_every_call_is_a_row_where_all_nodes_are_trained(outcome: Outcome) -> None:
    for row in outcome.progress():
        if row["reward"]:
            records = [record for record in rollouts(outcome.folder) if record["step"] == int(row["step"])]
            assert [record["calls"] for record in records] == [2, 2], "a query and its check"
            assert row["rows"] == "4"


def test_validation_is_not_repeated(outcome: Outcome) -> None:
    assert [row["step"] for row in outcome.progress() if row["validation_accuracy"]] == ["0"]


def test_questions_are_those_of_an_unbroken_run(outcome: Outcome) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader
    from verl.trainer.ppo.utils import create_rl_sampler
    from verl.utils.dataset.rl_dataset import collate_fn

    from spider.verl_bridge.task_dataset import TaskDataset
    from spider.verl_bridge.verl_config import resolve_config

    dataset = TaskDataset(str(outcome.folder / "tasks" / "train.jsonl"))
    sampler = create_rl_sampler(resolve_config({"data": {"seed": 42}}).data, dataset)
    loader = StatefulDataLoader(dataset, batch_size=1, drop_last=True, collate_fn=collate_fn, sampler=sampler)
    batches = list(itertools.chain(loader, loader))
    asked = [{task["question"] for task in batch["task"]} for batch in batches]
    assert [outcome.questions(step) for step in (1, 2, 3)] == asked[:3]


def test_checkpoint_of_the_last_step_is_saved(outcome: Outcome) -> None:
    tracker = outcome.folder / "checkpoints" / "latest_checkpointed_iteration.txt"
    assert tracker.read_text(encoding="utf-8") == str(STOPPED_AT)


def test_both_runs_are_one_run_for_wandb(outcome: Outcome) -> None:
    run_id = (outcome.folder / "wandb_id.txt").read_text(encoding="utf-8")
    assert len(list((outcome.folder / "wandb").glob(f"offline-run-*-{run_id}"))) == 2


def test_agents_numbers_are_logged_beside_verls(outcome: Outcome) -> None:
    lines = [line for line in (outcome.folder / "console.log").read_text().splitlines() if "step:3 - " in line]
    names = ("agent/turns:", "agent/tokens:", "agent/execution_errors:", "agent/failures/timed_out:", "actor/lr:")
    assert all(name in lines[-1] for name in names)
