"""What the GPU benchmarks count and read, where no GPU is needed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.gpu_shape import qwen_config, training_flops
from benchmarks.gpu_step import Step, summarise, watch
from benchmarks.gpu_update import run_apart
from benchmarks.random_model import write_tokenizer

BODY, HEAD = 1_310_195_712, 151936 * 1536
"""Weights of the matrices of Qwen2.5-Coder-1.5B's 28 layers, and of its vocabulary's."""


def test_flops_are_six_for_each_weight_and_token_and_causal_attention() -> None:
    attention = 6 * 28 * 12 * 128 * (10**2 + 4**2)
    assert training_flops(qwen_config(), [10, 4], [3, 1]) == 6 * BODY * 14 + 6 * HEAD * 4 + attention


def test_every_id_of_the_filled_vocabulary_has_a_word_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    vocabulary = {"a": 0, "b": 1, "aaab": 2}
    (source / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary, "merges": []}}))
    (source / "tokenizer_config.json").write_text("{}")
    write_tokenizer(source, target, 300)
    words = json.loads((target / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(words.values()) == list(range(300))
    assert words | vocabulary == words
    assert (target / "tokenizer_config.json").is_file()


def metrics(seconds: float) -> dict[str, float]:
    """A step's metrics under verl's and the bridge's names."""
    timings = {"gen": 2.0, "old_log_prob": 0.5, "update_actor": 1.0, "update_weights": 0.25, "step": seconds}
    counts = {"rollouts": 4.0, "calls_per_rollout": 3.0, "rows": 8.0}
    counts |= {"prompt_tokens": 800.0, "distinct_prompt_tokens": 300.0, "response_tokens": 80.0}
    return {f"timing_s/{name}": value for name, value in timings.items()} | {
        f"agent/{name}": value for name, value in counts.items()
    }


def test_summary_leaves_out_the_first_step_and_counts_time_between_steps() -> None:
    steps = [Step(100.0, metrics(30.0)), Step(104.0, metrics(3.9)), Step(108.0, metrics(3.9))]
    summary = summarise(steps, started=10.0, gpus=2, config=qwen_config())
    assert summary["step_seconds"] == 4.0
    assert summary["seconds"] == pytest.approx(
        {"rollout": 2.0, "old log-probs": 0.5, "update": 1.0, "weight sync": 0.25, "everything else": 0.25}
    )
    assert summary["start_to_first_step_seconds"] == 60.0
    assert summary["new_tokens_per_second_in_rollouts"] == 12 * 128 / 2.0
    assert summary["update_mfu"] == pytest.approx(training_flops(qwen_config(), [110] * 8, [10] * 8) / 990e12 / 2)


def test_arithmetic_of_prompts_that_are_there_once_leaves_their_copies_out() -> None:
    summary = summarise([Step(100.0, metrics(30.0)), Step(104.0, metrics(3.9))], 10.0, 1, qwen_config())
    whole, copies = (
        training_flops(qwen_config(), [110] * 8, [10] * 8),
        training_flops(qwen_config(), [100] * 5, [0] * 5),
    )
    assert summary["update_mfu_prompts_once"] == pytest.approx((whole - copies) / 990e12)


def test_steps_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    script = f"""
import json, time
with open({str(path)!r}, "w", buffering=1) as file:
    file.write(json.dumps({{"step": 0, "data": {{"validation": 1.0}}}}) + "\\n")
    for step in (1, 2):
        line = json.dumps({{"step": step, "data": {{"timing_s/update_actor": step}}}})
        file.write(line[:9]); file.flush(); time.sleep(1)
        file.write(line[9:] + "\\n")
"""
    steps = watch(subprocess.Popen([sys.executable, "-c", script]), path)
    assert [step.metrics["timing_s/update_actor"] for step in steps] == [1, 2]
    assert steps[1].seen - steps[0].seen > 0.15


def test_a_variant_that_ends_its_process_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text(
        f"""#!{sys.executable}
import json, sys
for name in sys.argv[sys.argv.index("--run") + 1:]:
    if name == "bad":
        sys.exit("CUDA error: boom")
    result = {{"variant": name, "seconds": 1.0, "tokens_per_second": 1.0, "mfu": 1.0, "mfu_verl": 1.0, "peak_gib": 1.0}}
    print(json.dumps(result), flush=True)
"""
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    results = run_apart(["first", "bad", "last"], time.monotonic() + 60, tmp_path / "results" / "update.json")
    assert [(result["variant"], "error" in result) for result in results] == [
        ("first", False),
        ("bad", True),
        ("last", False),
    ]
    assert results[1]["error"] == "CUDA error: boom"
    assert json.loads((tmp_path / "results" / "update.json").read_text())["results"] == results


@pytest.mark.parametrize("module", ["gpu_update", "gpu_step", "random_model"])
def test_help_needs_no_heavy_import(module: str) -> None:
    code = (
        f"import sys; from benchmarks import {module}; print(any(m in sys.modules for m in ('torch', 'transformers')))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert result.stdout.strip() == "False"
