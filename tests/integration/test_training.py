"""One real training run on CPU, end to end: Ray, vLLM, verl's trainer, agentlightning's runners, the sample data.

The run has one step of four rollouts, so that it takes minutes; an entropy bonus makes sure that the weights move even
when all rollouts of a question agree.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest

from spider.verl_bridge.processes import RUN_ID, end_run, run_processes

ROOT = Path(__file__).resolve().parents[2]
TEXT = "SELECT name FROM singer WHERE age > 30 ORDER BY name LIMIT 5"
SMALL = [
    "data.train_batch_size=2",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "actor_rollout_ref.rollout.n=2",
    "actor_rollout_ref.actor.optim.lr=1e-4",
    "actor_rollout_ref.actor.entropy_coeff=0.01",
]

pytestmark = pytest.mark.slow


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
    command = [sys.executable, "-m", "spider.train_sql_agent", "tiny", "--output-dir", str(output_dir), *flags]
    settings = [argument for setting in SMALL for argument in ("--set", setting)]
    return subprocess.Popen(
        [*command, *settings],
        cwd=ROOT,
        env=os.environ | {RUN_ID: run_id},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def token_ids(model: str) -> list[int]:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)(TEXT)["input_ids"]


def watch_server(run: Run, stop: threading.Event) -> None:
    """Ask the run's own server, again and again, for its log-probs of one text."""
    file = run.output_dir / "servers.json"
    while not file.is_file():
        if stop.wait(0.5):
            return
    servers = json.loads(file.read_text(encoding="utf-8"))
    request = {"model": servers["model"], "prompt": token_ids(servers["model"]), "max_tokens": 1, "prompt_logprobs": 0}
    while not stop.wait(1.0):
        try:
            reply = httpx.post(f"{servers['endpoints'][0]}/completions", json=request, timeout=60).raise_for_status()
        except httpx.HTTPError:
            continue
        entries = reply.json()["choices"][0]["prompt_logprobs"][1:]
        run.served.append([next(iter(entry.values()))["logprob"] for entry in entries])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One step in which every node is trained, validated before and after."""
    run = Run(tmp_path_factory.mktemp("training") / "run", uuid.uuid4().hex)
    stop = threading.Event()
    watcher = threading.Thread(target=watch_server, args=(run, stop))
    dump = f"trainer.rollout_data_dir={run.output_dir / 'rows'}"
    flags = ("--active-agent", "all", "--steps", "1", "--val-limit", "3", "--set", dump)
    process = start(run.output_dir, run.run_id, *flags)
    watcher.start()
    try:
        run.output, _ = process.communicate(timeout=1800)
        run.exit_code = process.returncode
        yield run
    finally:
        stop.set()
        watcher.join()
        end_run(run.run_id)


def test_run_ends_well(run: Run) -> None:
    assert run.exit_code == 0, run.output


def test_rows_are_the_traced_calls_of_the_matched_nodes(run: Run) -> None:
    log = (run.output_dir / "run.log").read_text(encoding="utf-8")
    calls = sum("/v1/chat/completions" in line and "200 OK" in line for line in log.splitlines())
    validation = [
        line for line in (run.output_dir / "console.log").read_text().splitlines() if "agent/val/rows:" in line
    ]
    validation_rows = sum(float(line.partition("agent/val/rows:")[2].split()[0]) for line in validation)
    assert sum(float(step["rows"]) for step in run.steps) + validation_rows == calls


def test_dumped_rows_hold_the_agents_own_prompts(run: Run) -> None:
    lines = (run.output_dir / "rows" / "1.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    real = [row for row in rows if not row["uid"].startswith("pad")]
    assert len(real) == float(run.steps[0]["rows"])
    assert all("Question:" in row["input"] for row in real)


def test_every_rollout_is_recorded_with_its_replies(run: Run) -> None:
    lines = (run.output_dir / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    trained = [record for record in records if record["mode"] == "train"]
    assert sum(record["reward"] for record in trained) / len(trained) == pytest.approx(float(run.steps[0]["reward"]))
    assert {record["step"] for record in trained} == {1}
    assert {record["step"] for record in records if record["mode"] == "val"} == {0, 1}
    assert all(record["turns"][0]["node"] == "write_query" and record["turns"][0]["text"] for record in records)


def test_no_rollout_is_dropped(run: Run) -> None:
    assert [step["dropped"] for step in run.steps] == ["0"]


def test_rollout_and_trainer_agree_at_every_step(run: Run) -> None:
    assert all(float(step["probability_difference"]) < 0.02 for step in run.steps)
    assert all(float(step["probability_correlation"]) > 0.99 for step in run.steps)


def test_served_log_probs_change_with_the_update(run: Run) -> None:
    before, after = np.array(run.served[0]), np.array(run.served[-1])
    assert np.abs(before - after).max() > 1e-4


def test_served_log_probs_after_the_run_are_those_of_the_checkpoint(run: Run) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    actor = run.output_dir / "checkpoints" / "global_step_1" / "actor"
    # verl's merger would round the weights to bfloat16, which alone moves a log-prob by 0.4.
    shard = torch.load(actor / "model_world_size_1_rank_0.pt", weights_only=False)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(actor / "huggingface"), dtype=torch.float32)
    model.load_state_dict({name: weight.to_local() for name, weight in shard.items()})
    ids = torch.tensor([token_ids(str(actor / "huggingface"))])
    with torch.no_grad():
        log_probs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0].numpy()
    assert np.corrcoef(log_probs, run.served[-1])[0, 1] > 0.99
    assert np.abs(log_probs - run.served[-1]).max() < 0.01


def test_checkpoint_and_learning_curve_are_written(run: Run) -> None:
    assert (run.output_dir / "checkpoints" / "latest_checkpointed_iteration.txt").read_text() == "1"
    assert (run.output_dir / "learning_curve.png").stat().st_size > 0


def test_summary_tells_accuracy_before_and_after(run: Run) -> None:
    assert "validation accuracy" in run.output
    assert "checkpoint: " in run.output


def test_no_process_is_left(run: Run) -> None:
    assert run_processes(run.run_id) == []


def test_interrupt_ends_every_process_within_15_seconds(tmp_path: Path) -> None:
    run_id = uuid.uuid4().hex
    process = start(tmp_path / "run", run_id, "--steps", "1", "--val-limit", "2")
    try:
        deadline = time.monotonic() + 600
        while not (tmp_path / "run" / "servers.json").is_file():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.5)
        interrupted = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert run_processes(run_id) == []
        assert time.monotonic() - interrupted < 15
    finally:
        end_run(run_id)


def test_pattern_that_matches_no_node_stops_the_run_and_names_the_nodes(tmp_path: Path) -> None:
    run_id = uuid.uuid4().hex
    process = start(tmp_path / "run", run_id, "--active-agent", "no_such_node", "--steps", "1", "--val-limit", "2")
    try:
        output, _ = process.communicate(timeout=900)
        assert process.returncode == 1
        assert "no_matched_node 2" in output
        assert "write_query" in output
        assert run_processes(run_id) == []
    finally:
        end_run(run_id)
