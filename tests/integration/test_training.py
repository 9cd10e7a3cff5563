"""One real training run on CPU, end to end: Ray, vLLM, verl's trainer, agentlightning's runners, the sample data."""

import json
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spider.verl_bridge.processes import end_run, run_processes
from tests.training_run import STEPS, Run, start, token_ids

pytestmark = pytest.mark.slow


@pytest.fixture
def run(training_run: Run) -> Run:
    """The run that all tests of the session share."""
    return training_run


def test_run_ends_well(run: Run) -> None:
    assert run.exit_code == 0, run.output


def records(run: Run, mode: str) -> list[dict[str, Any]]:
    """The recorded rollouts of training, or of validation."""
    lines = (run.output_dir / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["mode"] == mode]


def test_rows_are_the_traced_calls_of_the_matched_nodes(run: Run) -> None:
    trained = records(run, "train")
    assert len(trained) == 2 * STEPS
    matched = [turn for record in trained for turn in record["turns"] if "write" in turn["node"]]
    assert sum(float(step["rows"]) for step in run.steps) == len(matched)
    assert any(turn["node"] == "check_query" for record in trained for turn in record["turns"])


def test_dumped_rows_hold_the_agents_own_prompts(run: Run) -> None:
    for step in run.steps:
        lines = (run.output_dir / "rows" / f"{step['step']}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        real = [row for row in rows if not row["uid"].startswith("pad")]
        assert len(real) == float(step["rows"])
        assert all("Question:" in row["input"] for row in real)


def test_every_rollout_is_recorded_with_its_replies(run: Run) -> None:
    trained, validated = records(run, "train"), records(run, "val")
    for step in run.steps:
        rewards = [record["reward"] for record in trained if record["step"] == int(step["step"])]
        assert np.mean(rewards) == pytest.approx(float(step["reward"]))
    assert {record["step"] for record in validated} == {0, STEPS}
    assert all(each["turns"][0]["node"] == "write_query" and each["turns"][0]["text"] for each in trained + validated)


def test_every_step_is_made_and_no_rollout_dropped(run: Run) -> None:
    assert [(step["step"], step["dropped"]) for step in run.steps] == [(f"{n + 1}", "0") for n in range(STEPS)]


def test_rollout_and_trainer_agree_at_every_step(run: Run) -> None:
    assert run.steps
    assert all(float(step["probability_difference"]) < 0.02 for step in run.steps)
    assert all(float(step["probability_correlation"]) > 0.99 for step in run.steps)


def test_served_log_probs_change_with_the_update(run: Run) -> None:
    before, after = np.array(run.served[0]), np.array(run.served[-1])
    assert np.abs(before - after).max() > 1e-4


def test_served_log_probs_after_the_run_are_those_of_the_checkpoint(run: Run) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from spider.checkpoint.shards import find_checkpoint

    checkpoint = find_checkpoint(run.output_dir)
    # verl's merger would round the weights to bfloat16, which alone moves a log-prob by 0.4.
    shard = torch.load(checkpoint.files[0], weights_only=False)
    model = AutoModelForCausalLM.from_config(checkpoint.config, dtype=torch.float32)
    model.load_state_dict({name: weight.to_local() for name, weight in shard.items()})
    ids = torch.tensor([token_ids(str(checkpoint.huggingface))])
    with torch.no_grad():
        log_probs = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0].numpy()
    assert np.corrcoef(log_probs, run.served[-1])[0, 1] > 0.99
    assert np.abs(log_probs - run.served[-1]).max() < 0.01


def test_checkpoint_and_learning_curve_are_written(run: Run) -> None:
    assert (run.output_dir / "checkpoints" / "latest_checkpointed_iteration.txt").read_text() == str(STEPS)
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


def test_pattern_that_no_call_matches_stops_the_run_and_names_the_nodes(tmp_path: Path) -> None:
    run_id = uuid.uuid4().hex
    nothing_to_train = ("--active-agent", "rewrite", "--max-turns", "1")
    process = start(tmp_path / "run", run_id, *nothing_to_train, "--steps", "1", "--val-limit", "2")
    try:
        output, _ = process.communicate(timeout=900)
        assert process.returncode == 1
        assert "no_matched_node 2" in output
        assert "write_query" in output
        assert run_processes(run_id) == []
    finally:
        end_run(run_id)
