"""The whole way on two CPU cores with the sample data, command by command as a person types them.

Get the model, serve it, ask the agent, evaluate, train, export, serve the export, evaluate, compare, ask. Training is
the session's one run.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from spider.server_flags import DEFAULT_PORT
from tests.training_run import Run

ROOT = Path(__file__).resolve().parents[2]
MODEL = "SmolLM2-135M-Instruct"
QUESTIONS = 6
EVALUATE = ["-m", "spider.evaluate", "--limit", str(QUESTIONS), "--max-turns", "2", "--max-tokens", "96"]
START_SECONDS = 400

pytestmark = pytest.mark.slow


def environment() -> dict[str, str]:
    """This process's variables without any that names an endpoint; the sample is the data."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MODEL", "VERL_"))}
    # Empty, so that a developer's own .env does not fill them in.
    empty = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE", "MODEL"), "")
    return kept | empty | {"VERL_SPIDER_DATA_DIR": str(ROOT / "data" / "sample"), "PYTHONPATH": str(ROOT)}


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a Python command to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def serve(*arguments: str) -> subprocess.Popen[str]:
    """Start ``scripts/serve.sh``."""
    return subprocess.Popen(
        ["bash", "scripts/serve.sh", *arguments],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def wait_until_ready(server: subprocess.Popen[str]) -> str:
    """What the server said up to the line that says it is ready, that line included."""
    said = ""
    assert server.stderr is not None
    for line in server.stderr:
        said += line
        if line.startswith("ready"):
            return said
    pytest.fail(f"serve.sh ended before it was ready:\n{said}")


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server for the block: its process, and its base URL as it said it."""
    server = serve(*arguments, "--timeout", str(START_SECONDS))
    try:
        said = wait_until_ready(server)
        found = re.search(r"http://\S+", said[said.index("ready") :])
        assert found
        yield server, found[0]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


@dataclass
class Served:
    """What happened while the model was served where the agent looks by default."""

    agent: subprocess.CompletedProcess[str]
    second_server: subprocess.CompletedProcess[str]
    evaluation: subprocess.CompletedProcess[str]
    results: Path
    exit_code: int = -1
    seconds_to_end: float = -1.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The model before training: served on the default port, asked and evaluated."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", DEFAULT_PORT)) == 0:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"port {DEFAULT_PORT} is in use")
    assert command("scripts/get_model.py", "smollm2").returncode == 0
    output = tmp_path_factory.mktemp("before")
    with serving(MODEL) as (server, url):
        happened = Served(
            command("sql_agent.py", "--limit", "2", cwd=ROOT / "spider"),
            subprocess.run(["bash", "scripts/serve.sh", MODEL], cwd=ROOT, capture_output=True, text=True, check=False),
            command(*EVALUATE, "--endpoint", url, "--output", str(output)),
            output,
        )
        interrupted = time.monotonic()
        server.send_signal(signal.SIGINT)
        happened.exit_code = server.wait(60)
        happened.seconds_to_end = time.monotonic() - interrupted
    return happened


def test_agent_works_against_the_served_model_with_no_setting(served: Served) -> None:
    assert served.agent.returncode == 0, served.agent.stdout
    assert f"{MODEL} at http://127.0.0.1:{DEFAULT_PORT}/v1" in served.agent.stdout
    assert "2 of 2 rollouts finished" in served.agent.stdout


def test_served_model_returns_the_token_ids_that_training_needs(served: Served) -> None:
    assert "returns no token ids" not in served.agent.stdout


def test_second_server_on_the_port_is_refused_with_the_fix(served: Served) -> None:
    assert served.second_server.returncode == 1
    assert f"can't listen on 127.0.0.1:{DEFAULT_PORT}" in served.second_server.stderr
    assert f"--port {DEFAULT_PORT + 1}" in served.second_server.stderr


def test_ctrl_c_ends_the_server_and_frees_the_port(served: Served) -> None:
    assert served.exit_code == 130
    assert served.seconds_to_end < 15
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{DEFAULT_PORT}/health")


def test_a_server_that_dies_shows_its_last_lines() -> None:
    finished = serve(MODEL, "--port", "8765", "--", "--no-such-flag")
    _, said = finished.communicate(timeout=START_SECONDS)
    assert finished.returncode == 1
    assert "error: the server ended with code 2" in said
    assert "unrecognized arguments: --no-such-flag" in said


@dataclass
class Trained:
    """What happened to the trained model."""

    export: subprocess.CompletedProcess[str]
    folder: Path
    evaluation: subprocess.CompletedProcess[str]
    results: Path
    answer: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def trained(training_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The trained model: exported, served on a port of its own, evaluated and asked."""
    folder = tmp_path_factory.mktemp("export") / "trained"
    output = tmp_path_factory.mktemp("after")
    exported = command("scripts/export_checkpoint.py", str(training_run.output_dir), str(folder))
    assert exported.returncode == 0, exported.stderr
    database = ROOT / "data" / "sample" / "test_database" / "zoo" / "zoo.sqlite"
    ask = ["-m", "spider.inference", "--db", str(database), "--json", "--max-turns", "2", "How many animals are there?"]
    with serving(str(folder), "--port", "8765") as (_, url):
        return Trained(
            exported,
            folder,
            command(*EVALUATE, "--endpoint", url, "--output", str(output)),
            output,
            command(*ask, "--endpoint", url),
        )


def test_export_proves_its_log_probs_and_that_training_changed_them(trained: Trained) -> None:
    proof = json.loads((trained.folder / "export.json").read_text(encoding="utf-8"))["proof"]
    assert proof["max_difference"] < 1e-3
    assert proof["changed_weights"] > 0
    assert proof["max_change"] > 1e-4


def test_model_card_tells_of_the_run(trained: Trained, training_run: Run) -> None:
    card = (trained.folder / "README.md").read_text(encoding="utf-8")
    assert "| preset | tiny |" in card
    assert "| steps | 1 of 1 |" in card
    assert "data/sample/train_spider.parquet" in card
    assert "(3 questions)" in card
    assert card.count("\n| 0 | ") == card.count("\n| 1 | ") == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_evaluation_gives_every_question_a_verdict(served: Served, trained: Trained, when: str) -> None:
    done, folder = (served.evaluation, served.results) if when == "before" else (trained.evaluation, trained.results)
    assert done.returncode == 0, done.stderr
    [setting] = json.loads((folder / "results.json").read_text(encoding="utf-8"))["settings"]
    assert len([answer for answer in setting["verdicts"] if answer["strict"] is not None]) == QUESTIONS


def test_comparison_pairs_every_question(served: Served, trained: Trained, tmp_path: Path) -> None:
    compare = ["-m", "spider.evaluate", "--compare", str(served.results), str(trained.results)]
    compared = command(*compare, "--output", str(tmp_path))
    assert compared.returncode == 0, compared.stderr
    assert str(QUESTIONS) in compared.stdout


def test_trained_model_answers_a_question(trained: Trained) -> None:
    assert trained.answer.returncode == 0, trained.answer.stderr
    reply = json.loads(trained.answer.stdout)
    assert reply["sql"].upper().startswith("SELECT")
