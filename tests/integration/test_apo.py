"""Instructions are optimised by agentlightning's APO, over a scripted endpoint that follows some better than others."""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.chat_server import Answer, ChatServer, last_message
from spider.prompts import Templates
from spider.strategy.schema import load_strategy
from spider.verl_bridge.processes import run_processes

ROOT = Path(__file__).resolve().parents[2]
TASKS = [
    ("How many pets are there?", "SELECT count(*) FROM pet"),
    ("How many owners are there?", "SELECT count(*) FROM owner"),
]
BETTER = "Count with care, and reply with one fenced {dialect} query."
SETTINGS = shlex.split(
    "--model agent --optimizer-model optimizer --prompts write --train-questions 4 --val-questions 4 --rounds 1 "
    "--beam-width 1 --branch-factor 1 --gradient-batch 4 --val-batch 4 --max-turns 2 --n-runners 2"
)
# 4 questions under the usual instruction for the decision and 4 for the critique, at 4 calls each (a query, a check, a
# rewrite, a check); a critique and an edit; 4 under the better instruction, at 2 calls each.
CALLS = 8 * 4 + 2 + 4 * 2


def script(request: Mapping[str, object]) -> Answer:
    """An agent that is right when it is told to count with care, and an optimiser that says so."""
    prompt = last_message(request)
    if request["model"] == "optimizer":
        return (
            f"```\n{BETTER}\n```"
            if "critique" in prompt.lower() and "tell it to count" in prompt
            else "tell it to count"
        )
    table = "owner" if "owners" in prompt.rpartition("Question: ")[2] else "pet"
    if "THE QUERY IS CORRECT. or" in prompt:
        return "THE QUERY IS CORRECT." if f"count(*) FROM {table}" in prompt else "THE QUERY IS INCORRECT."
    if "Count with care" in prompt:
        return f"```sql\nSELECT count(*) FROM {table}\n```"
    return (
        f"```sql\nSELECT nmae FROM {table}\n```"
        if "Feedback:" not in prompt
        else f"```sql\nSELECT name FROM {table}\n```"
    )


@dataclass(frozen=True)
class Run:
    """A finished command, its folder and the requests that the server got."""

    code: int
    log: str
    folder: Path
    requests: int


def start(folder: Path, data: Path, server: ChatServer, *arguments: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MODEL"))}
    command = [sys.executable, "train_sql_agent.py", "apo", *SETTINGS, "--endpoint", server.url]
    return subprocess.Popen(
        [*command, "--output-dir", str(folder), *arguments],
        env={**kept, "VERL_SPIDER_DATA_DIR": str(data)},
        cwd=ROOT / "spider",
        stderr=subprocess.PIPE,
        text=True,
    )


def optimise(folder: Path, data: Path, server: ChatServer, *arguments: str) -> Run:
    before = len(server.requests)
    with start(folder, data, server, *arguments) as process:
        try:
            _, log = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return Run(process.returncode, log, folder, len(server.requests) - before)


@pytest.fixture
def questions(data_folder: Path) -> Path:
    """A data folder with eight training questions."""
    rows = [
        {"question": f"{question} ({number})", "db_id": "pets", "query": gold, "db_path": "database/pets/pets.sqlite"}
        for number in range(4)
        for question, gold in TASKS
    ]
    pq.write_table(pa.Table.from_pylist(rows), data_folder / "train_spider.parquet")
    return data_folder


@pytest.fixture
def server() -> Iterator[ChatServer]:
    server = ChatServer()
    server.script = script
    server.models = ["agent", "optimizer"]
    yield server
    server.close()


def export(run: Path, output: Path, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spider.export_strategy", "--checkpoint", run, "--output", output],
        env={**os.environ, "VERL_SPIDER_DATA_DIR": str(data)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_better_instruction_is_found_kept_and_exported(tmp_path: Path, questions: Path, server: ChatServer) -> None:
    run = optimise(tmp_path / "run", questions, server)
    assert run.code == 0, run.log
    prompts = json.loads((run.folder / "prompts.json").read_text())
    assert (prompts["baseline"], prompts["accuracy"], prompts["templates"]["write"]) == (0.0, 1.0, BETTER)
    assert prompts["spent"]["calls"] == run.requests == CALLS

    first = json.loads((run.folder / "rollouts.jsonl").read_text().splitlines()[0])
    assert [turn["node"] for turn in first["turns"]] == ["write_query", "check_query", "rewrite_query", "check_query"]
    assert ["CREATE TABLE pet" in turn["prompt"] for turn in first["turns"]] == [True, False, False, False]

    exported = export(run.folder, tmp_path / "strategy.json", questions)
    assert exported.returncode == 0, exported.stderr
    strategy = load_strategy(tmp_path / "strategy.json")
    assert strategy.prompt_templates.templates() == Templates(write=BETTER)
    assert (strategy.source.kind, strategy.source.rollouts, strategy.source.accuracy) == ("apo", 4, 1.0)
    assert strategy.decision_rules.max_attempts == 1
    (pattern,) = strategy.interaction_patterns
    assert (pattern.outcomes, pattern.end, pattern.count, pattern.right) == (("rows",), "accepted", 4, 4)


def test_a_spent_budget_ends_the_run_and_a_larger_one_goes_on_with_it(
    tmp_path: Path, questions: Path, server: ChatServer
) -> None:
    # 18 calls: the four questions that decide and one more, then half of a rollout.
    first = optimise(tmp_path / "run", questions, server, "--max-calls", "18", "--price", "1", "2")
    assert first.code == 0, first.log
    assert "all 18 calls are spent; to go on, give a larger budget and --output-dir" in first.log
    assert first.requests == 18
    second = optimise(tmp_path / "run", questions, server, "--price", "1", "2")
    assert second.code == 0, second.log
    # What was finished isn't done again; rollouts that the budget cut are: at most three calls of each runner's.
    assert CALLS <= first.requests + second.requests <= CALLS + 6
    prompts = json.loads((tmp_path / "run" / "prompts.json").read_text())
    spent = prompts["spent"]
    assert prompts["accuracy"] == 1.0
    assert spent["usd"] == pytest.approx((spent["prompt_tokens"] + 2 * spent["reply_tokens"]) / 1e6)
    third = optimise(tmp_path / "run", questions, server)
    assert (third.code, third.requests) == (0, 0), "a finished run has nothing left to ask"


def test_money_ends_a_run_too(tmp_path: Path, questions: Path, server: ChatServer) -> None:
    run = optimise(tmp_path / "run", questions, server, "--max-usd", "0.005", "--price", "1", "1", "--n-runners", "1")
    assert run.code == 1
    assert "the budget ended before the usual instructions were measured" in run.log
    spent = json.loads((run.folder / "spent.json").read_text())
    assert 0.005 <= spent["usd"] < 0.007
    assert 0 < run.requests == spent["calls"] < 16


def test_an_edit_that_the_agent_cannot_work_with_costs_no_rollout(
    tmp_path: Path, questions: Path, server: ChatServer
) -> None:
    run = optimise(tmp_path / "run", questions, server, "--prompts", "check")
    assert run.code == 0, run.log
    assert "an edit of v0 is refused: the template check must ask for the verdict" in run.log
    assert run.requests == 8 * 4 + 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompts", "wirte"], "'wirte' is none of write, rewrite, check"),
        (["--rounds", "0"], "--rounds is 0: give more than 0"),
        (["--train-questions", "500"], "504 questions are asked for, there are 8"),
        (["--model", "bogus"], "has no model bogus; it has agent, optimizer"),
        (["--optimizer-model", "bogus"], "has no model bogus; it has agent, optimizer"),
        (["--max-usd", "1"], "litellm lists none for agent: give --price PROMPT REPLY"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    tmp_path: Path, questions: Path, server: ChatServer, arguments: list[str], message: str
) -> None:
    run = optimise(tmp_path / "run", questions, server, *arguments)
    assert (run.code, run.requests) == (2, 0)
    assert message in run.log


def test_a_run_is_not_gone_on_with_under_other_settings(tmp_path: Path, questions: Path, server: ChatServer) -> None:
    (tmp_path / "run").mkdir()
    first = optimise(tmp_path / "run", questions, server, "--max-calls", "1")
    assert first.code == 1
    second = optimise(tmp_path / "run", questions, server, "--seed", "7")
    assert second.code == 2
    assert "was begun with --seed 42, not 7" in second.log


def test_a_dead_endpoint_ends_the_run_with_its_words(tmp_path: Path, questions: Path, server: ChatServer) -> None:
    server.script = lambda request: (400, {"error": {"message": "no such model"}})
    run = optimise(tmp_path / "run", questions, server)
    assert run.code == 1
    assert "every rollout of a batch failed" in run.log
    assert "no such model" in (run.folder / "run.log").read_text()


def test_a_model_that_no_list_names_and_no_call_reaches_is_not_the_budgets_fault(
    tmp_path: Path, questions: Path, server: ChatServer
) -> None:
    server.models = None
    server.script = lambda request: (404, {"error": {"message": "no such model"}})
    run = optimise(tmp_path / "run", questions, server, "--max-calls", "2")
    assert run.code == 1
    assert "every rollout of a batch failed, as with a --model that the server doesn't have" in run.log


def test_a_killed_run_leaves_no_process_and_refuses_a_second_one_before(
    tmp_path: Path, questions: Path, server: ChatServer
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(request: Mapping[str, object]) -> Answer:
        asked.set()
        go_on.wait(60)
        return script(request)

    server.script = slow
    first = start(tmp_path / "run", questions, server)
    try:
        assert asked.wait(240)
        second = optimise(tmp_path / "run", questions, server)
        assert second.code == 2
        assert "a run is going on in" in second.log
        run_id = (tmp_path / "run" / "run.lock").read_text()
        assert run_processes(run_id)
    finally:
        first.kill()
        first.communicate(timeout=30)
        go_on.set()
    deadline = time.monotonic() + 30
    while run_processes(run_id):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_folder_of_a_training_run_is_refused(tmp_path: Path, questions: Path, server: ChatServer) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "progress.csv").touch()
    run = optimise(tmp_path / "run", questions, server)
    assert run.code == 2
    assert "holds a training run: give another --output-dir" in run.log
