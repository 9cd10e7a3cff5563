"""The real model, served once where the agent looks by default, and every command that asks a served model."""

import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from spider.server_flags import DEFAULT_PORT
from spider.trained_agent import Result, TrainedAgent
from tests.serving import MODEL, ROOT, command, serving

QUESTIONS = 4
EVALUATE = ["-m", "spider.evaluate", "--limit", str(QUESTIONS), "--max-turns", "2", "--max-tokens", "64"]
DATABASE = ROOT / "data" / "sample" / "test_database" / "zoo" / "zoo.sqlite"
QUESTION = "How many animals are there?"
MOST_CALLS = 24
SEARCH = (
    "train_sql_agent.py apo --prompts write --train-questions 2 --val-questions 2 --rounds 1 --beam-width 1 "
    "--branch-factor 1 --gradient-batch 2 --val-batch 2 --max-turns 1 --context-chars 500 --max-tokens 64 "
    f"--n-runners 2 --max-calls {MOST_CALLS}"
).split()

Finished = subprocess.CompletedProcess[str]


@dataclass
class Served:
    """What the commands did while the model was served, and how the server ended.

    Attributes:
        agent: ``sql_agent.py`` with no setting.
        second_server: Another ``serve.sh`` on the same port.
        evaluation: ``spider.evaluate``, into `results`.
        search: ``train_sql_agent.py apo``, into `run`.
        export: ``spider.export_strategy`` of it, into `strategy`.
        guided_agent: ``sql_agent.py --strategy``.
        answer: ``spider.inference --strategy``.
        solution: What `TrainedAgent.execute` returned.
    """

    agent: Finished
    second_server: Finished
    evaluation: Finished
    results: Path
    search: Finished
    run: Path
    export: Finished
    strategy: Path
    guided_agent: Finished
    answer: Finished
    solution: tuple[str, Result]
    exit_code: int = -1
    seconds_to_end: float = -1.0


def serve_and_ask(folder: Path) -> Served:
    """Serve the model on the default port, use it in every way, and end the server with Ctrl-C."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", DEFAULT_PORT)) == 0:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"port {DEFAULT_PORT} is in use")
    assert command("scripts/get_model.py", "smollm2").returncode == 0
    results, run, strategy = folder / "evaluation", folder / "apo", folder / "strategy.json"
    inside = ROOT / "spider"
    ask = ["-m", "spider.inference", "--db", DATABASE, "--json", "--task", QUESTION]
    with serving(MODEL) as (server, url):
        happened = Served(
            command("sql_agent.py", "--limit", "2", cwd=inside),
            subprocess.run(["bash", "scripts/serve.sh", MODEL], cwd=ROOT, capture_output=True, text=True, check=False),
            command(*EVALUATE, "--endpoint", url, "--output", results),
            results,
            command(*SEARCH, "--output-dir", run, cwd=inside),
            run,
            command("-m", "spider.export_strategy", "--checkpoint", run, "--output", strategy),
            strategy,
            command("sql_agent.py", "--limit", "1", "--strategy", strategy, cwd=inside),
            command(*ask, "--strategy", strategy, "--model", MODEL),
            TrainedAgent(url, strategy, db=DATABASE).execute(QUESTION),
        )
        interrupted = time.monotonic()
        server.send_signal(signal.SIGINT)
        happened.exit_code = server.wait(60)
        happened.seconds_to_end = time.monotonic() - interrupted
    return happened
