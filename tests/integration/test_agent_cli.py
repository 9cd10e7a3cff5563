"""The agent's command line as users start it: a process, over the sample data and a scripted endpoint."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.chat_server import Answer, ChatServer, last_message
from spider.strategy.schema import DecisionRules, PromptTemplates, Source, Strategy, save_strategy

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "spider" / "sql_agent.py"


def open_cli(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.Popen[str]:
    """Start the command line with an environment that names no endpoint."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MODEL", "VERL_"))}
    sample = {"VERL_SPIDER_DATA_DIR": str(ROOT / "data" / "sample"), "OPENAI_BASE_URL": "", "OPENAI_API_BASE": ""}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        env={**kept, **sample, **environment},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    with open_cli(*arguments, cwd=cwd, **environment) as process:
        try:
            said, errors = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, said, errors)


def any_query(request: Mapping[str, object]) -> Answer:
    return "THE QUERY IS CORRECT." if "THE QUERY IS" in last_message(request) else "```sql\nSELECT 1\n```"


def test_help_answers_at_once() -> None:
    started = time.monotonic()
    finished = start("--help")
    assert finished.returncode == 0
    assert "--endpoint" in finished.stdout
    assert time.monotonic() - started < 1 or os.getloadavg()[0] > (os.cpu_count() or 1)


def test_help_imports_none_of_the_heavy_libraries() -> None:
    heavy = ("langgraph", "langchain_core", "agentlightning", "openai", "torch", "pandas", "sqlglot")
    check = (
        "import sys, contextlib\nfrom spider import sql_agent\n"
        "with contextlib.suppress(SystemExit):\n    sql_agent.main(['--help'])\n"
        f"sys.exit(','.join(sorted(set({heavy}) & set(sys.modules))) or 0)"
    )
    finished = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_a_dead_endpoint_is_named() -> None:
    finished = start("--limit", "1", "--endpoint", "http://127.0.0.1:1/v1")
    assert finished.returncode == 2
    assert "can't reach http://127.0.0.1:1/v1" in finished.stderr
    assert "bash scripts/serve.sh" in finished.stderr
    assert "OPENAI_BASE_URL=" in finished.stderr


def test_a_url_without_a_scheme_is_refused() -> None:
    finished = start("--endpoint", "localhost:8000")
    assert finished.returncode == 2
    assert "'localhost:8000' is not a URL" in finished.stderr


def test_a_missing_data_folder_is_named() -> None:
    finished = start("--endpoint", "http://127.0.0.1:1/v1", VERL_SPIDER_DATA_DIR="/nowhere")
    assert finished.returncode == 2
    assert "/nowhere" in finished.stderr


@pytest.fixture(scope="module")
def finished() -> Iterator[subprocess.CompletedProcess[str]]:
    """Three questions, started inside `spider/` with every prompt shown."""
    server = ChatServer()
    server.script = any_query
    yield start("--limit", "3", "--debug", OPENAI_BASE_URL=server.url, cwd=SCRIPT.parent)
    server.close()


@pytest.fixture(scope="module")
def failed() -> Iterator[subprocess.CompletedProcess[str]]:
    """Two questions to an endpoint that knows no token ids and, after its first reply, nothing else either."""
    server = ChatServer()

    def script(request: Mapping[str, object]) -> Answer:
        if request.get("return_token_ids"):
            return 400, {"error": {"message": "unknown parameter: return_token_ids"}}
        return "Hi" if last_message(request) == "Hi" else (400, {"error": {"message": "no more"}})

    server.script = script
    yield start("--limit", "2", OPENAI_BASE_URL=server.url)
    server.close()


def test_it_shows_each_question_with_query_verdict_and_reward(finished: subprocess.CompletedProcess[str]) -> None:
    assert finished.returncode == 0, finished.stdout + finished.stderr
    for line in ("query:   SELECT 1", "verdict: correct", "reward:  "):
        assert finished.stdout.count(line) == 3


def test_it_ends_with_a_table(finished: subprocess.CompletedProcess[str]) -> None:
    assert "   #  reward  turns  tokens  seconds  failure" in finished.stdout
    assert finished.stdout.rstrip().endswith("3 of 3 rollouts finished")


def test_debug_shows_prompts_and_replies(finished: subprocess.CompletedProcess[str]) -> None:
    assert "You are a careful SQLite analyst." in finished.stdout
    assert "reply:\n```sql\nSELECT 1" in finished.stdout


def test_it_leaves_no_log_behind(finished: subprocess.CompletedProcess[str]) -> None:
    assert finished.returncode == 0
    assert not list(SCRIPT.parent.glob("*.log"))


def test_token_ids_are_not_mentioned_when_they_come(finished: subprocess.CompletedProcess[str]) -> None:
    assert "no token ids" not in finished.stdout


def test_an_endpoint_without_token_ids_is_said_to_be_useless_for_training(
    failed: subprocess.CompletedProcess[str],
) -> None:
    assert "returns no token ids: fine for debugging, useless for training" in failed.stdout


def test_when_every_rollout_fails_so_does_the_command(failed: subprocess.CompletedProcess[str]) -> None:
    assert failed.returncode == 1
    assert failed.stdout.count("failed: no more") == 2
    assert "0 of 2 rollouts finished; failed: 2 rejected" in failed.stdout


def test_a_strategy_brings_its_instructions_and_its_number_of_attempts(tmp_path: Path) -> None:
    strategy = Strategy(
        source=Source(run="r", kind="apo", rollouts=1, accuracy=0.5),
        prompt_templates=PromptTemplates(write="Say it in {dialect}."),
        decision_rules=DecisionRules(max_attempts=1),
    )
    save_strategy(strategy, tmp_path / "strategy.json")
    server = ChatServer()
    server.script = lambda request: "THE QUERY IS INCORRECT." if "THE QUERY IS" in last_message(request) else "SELECT 1"
    finished = start("--limit", "1", "--strategy", str(tmp_path / "strategy.json"), OPENAI_BASE_URL=server.url)
    server.close()
    assert finished.returncode == 0, finished.stdout + finished.stderr
    _, write, check = server.prompts()
    assert write.endswith("Say it in SQLite.")
    assert "Does the query answer" in check


def test_quiet_shows_the_table_alone() -> None:
    server = ChatServer()
    server.script = any_query
    finished = start("--limit", "2", "--quiet", OPENAI_BASE_URL=server.url)
    server.close()
    lines = finished.stdout.strip().splitlines()
    assert (finished.returncode, lines[0]) == (0, "#  reward  turns  tokens  seconds  failure")
    assert len(lines) == 5


def test_it_ends_when_its_reader_goes_away() -> None:
    server = ChatServer()
    server.script = any_query
    with open_cli("--limit", "50", OPENAI_BASE_URL=server.url) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(300), process.stderr.read()) == (141, "")
    server.close()
    assert len(server.requests) < 50


def test_ctrl_c_keeps_what_was_answered() -> None:
    server, third, end = ChatServer(), threading.Event(), threading.Event()

    def script(request: Mapping[str, object]) -> Answer:
        if len(server.requests) > 5:  # a first call, then a query and a verdict a question
            third.set()
            end.wait(60)
        return any_query(request)

    server.script = script
    with open_cli("--limit", "4", OPENAI_BASE_URL=server.url) as process:
        assert third.wait(120)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=30)
    end.set()
    server.close()
    assert (process.returncode, errors) == (130, "")
    assert "2 of 2 rollouts finished" in said
    assert said.endswith("interrupted after 2 of 4 questions\n")
