"""A real training run on CPU, started as a person would start it, and what its files and its server showed.

The run has five steps of two rollouts with short prompts, so that it takes minutes; an entropy bonus makes sure that
the weights move even when all rollouts of a question agree.
"""

import csv
import json
import os
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from spider.verl_bridge.processes import RUN_ID, end_run

ROOT = Path(__file__).resolve().parents[1]
TEXT = "SELECT name FROM singer WHERE age > 30 ORDER BY name LIMIT 5"
STEPS, VALIDATION = 5, 3
SMALL = [
    "data.max_response_length=64",
    "data.train_batch_size=1",
    "actor_rollout_ref.actor.ppo_mini_batch_size=1",
    "actor_rollout_ref.rollout.n=2",
    "actor_rollout_ref.actor.entropy_coeff=0.01",
]


@dataclass
class Run:
    """A run as its files and its server showed it."""

    output_dir: Path
    run_id: str
    exit_code: int = -1
    output: str = ""
    served: list[list[float]] = field(default_factory=list)

    @property
    def steps(self) -> list[dict[str, str]]:
        """The lines of ``progress.csv`` that tell of a training step."""
        rows = csv.DictReader((self.output_dir / "progress.csv").open(encoding="utf-8"))
        return [row for row in rows if row["reward"]]


def start(output_dir: Path, run_id: str, *flags: str) -> subprocess.Popen[str]:
    """Start a run of the preset `tiny`, made smaller."""
    command = [sys.executable, "-m", "spider.train_sql_agent", "tiny", "--output-dir", str(output_dir), *flags]
    settings = [argument for setting in SMALL for argument in ("--set", setting)]
    return subprocess.Popen(
        [*command, "--context-chars", "300", *settings],
        cwd=ROOT,
        env=os.environ | {RUN_ID: run_id},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def token_ids(model: str) -> list[int]:
    """`TEXT` in the model's tokens."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)(TEXT)["input_ids"]


def watch_server(run: Run, stop: threading.Event) -> None:
    """Ask the run's own server, now and then, for its log-probs of one text; each time costs the run some seconds."""
    file = run.output_dir / "servers.json"
    while not file.is_file():
        if stop.wait(0.5):
            return
    servers = json.loads(file.read_text(encoding="utf-8"))
    request = {"model": servers["model"], "prompt": token_ids(servers["model"]), "max_tokens": 1, "prompt_logprobs": 0}
    while not stop.wait(3.0):
        try:
            reply = httpx.post(f"{servers['endpoints'][0]}/completions", json=request, timeout=60).raise_for_status()
        except httpx.HTTPError:
            continue
        entries = reply.json()["choices"][0]["prompt_logprobs"][1:]
        run.served.append([next(iter(entry.values()))["logprob"] for entry in entries])


def five_steps(output_dir: Path) -> Run:
    """Five steps in which the nodes that write queries are trained, validated before and after."""
    run = Run(output_dir, uuid.uuid4().hex)
    stop = threading.Event()
    watcher = threading.Thread(target=watch_server, args=(run, stop))
    dump = f"trainer.rollout_data_dir={output_dir / 'rows'}"
    flags = ("--steps", str(STEPS), "--val-limit", str(VALIDATION), "--set", dump)
    process = start(output_dir, run.run_id, *flags)
    watcher.start()
    try:
        run.output, _ = process.communicate(timeout=1800)
        run.exit_code = process.returncode
    finally:
        stop.set()
        watcher.join()
        if process.poll() is None:  # out of time, or Ctrl-C
            clean_up(run)
    return run


def clean_up(run: Run) -> None:
    """End what a broken run left behind."""
    end_run(run.run_id)
