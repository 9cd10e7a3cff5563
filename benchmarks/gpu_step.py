"""Where a training step's time goes on GPUs, through the whole product, with a model of random weights.

    python -m benchmarks.gpu_step qwen [--steps 5] [--n 4 8 16] [--gpus 1 2] [-- FLAGS OF train_sql_agent ...]

Each run is ``python -m spider.train_sql_agent PRESET`` with a model of Qwen2.5-Coder-1.5B's shape, which this script
makes, and replies held to 128 new tokens a call: nonsense that costs what sense costs. An agent of two turns writes,
checks and rewrites, so each rollout gives two rows. The first step warms up and is reported apart; of the others the
means are shown. A step's seconds are those from one step's metrics to the next one's; what verl's timers do not name
of them is everything else.

MFU is the update's arithmetic (`benchmarks.gpu_shape.training_flops`, attention at the rows' mean length) over its
seconds times 990 TFLOP/s and GPU: of whole rows, and with each prompt's counted once, as the engine computes it;
beside them what verl's own counter says. Idle is what nvidia-smi's utilisation, five times a second over the counted
steps, leaves to 100 %. Results go to ``benchmarks/results/`` as JSON, after each run.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, cast

from benchmarks.gpu_shape import PEAK_FLOPS, RESPONSE, machine, training_flops

if TYPE_CHECKING:
    from transformers import PretrainedConfig

ROOT = Path(__file__).resolve().parent.parent
PHASES = {
    "rollout": "timing_s/gen",
    "old log-probs": "timing_s/old_log_prob",
    "update": "timing_s/update_actor",
    "weight sync": "timing_s/update_weights",
}
DIFFERENCE = "training/rollout_probs_diff_mean"
SETTINGS = (
    "trainer.logger=[console,file]",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
    "agentlightning.sampling.ignore_eos=true",
    f"agentlightning.sampling.max_tokens={RESPONSE}",
)
logger = logging.getLogger("benchmarks.gpu_step")


@dataclass
class Step:
    """A step's metrics by verl's names, and when they were seen (seconds of `time.monotonic`)."""

    seen: float
    metrics: dict[str, float]


@dataclass
class Utilisation:
    """Samples nvidia-smi's utilisation of the visible GPUs while a run goes on."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def start(self) -> None:
        """Start sampling; without nvidia-smi there are no samples."""
        query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
        if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
            query += ["-i", visible]
        try:
            self._process = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            self._process = None
            return
        threading.Thread(target=self._read, daemon=True).start()

    def stop(self) -> None:
        """Stop sampling."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def idle_share(self, begin: float, end: float) -> float | None:
        """Return the mean share of idle time between two moments, None without samples."""
        busy = [value for seen, value in self.samples if begin <= seen <= end]
        return 1 - fmean(busy) / 100 if busy else None

    def _read(self) -> None:
        for line in (self._process and self._process.stdout) or ():
            if line.strip().isdigit():
                self.samples.append((time.monotonic(), float(line)))


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; 1 when a run failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", nargs="?", default="qwen", help="preset of train_sql_agent (default: qwen)")
    parser.add_argument("--steps", type=int, default=5, help="steps of a run, the first for warming up (default: 5)")
    parser.add_argument("--n", type=int, nargs="+", default=[4], help="rollouts a question, a run each (default: 4)")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1], help="GPUs, a run each (default: 1)")
    parser.add_argument("--max-turns", type=int, default=2, help="the agent's turns (default: 2)")
    parser.add_argument("--model", type=Path, default=ROOT / "outputs/random-qwen-1.5b", help="folder of the model")
    parser.add_argument("--name", help="name of the result's file (default: the preset)")
    # What follows `--` is the training command's.
    given = sys.argv[1:] if arguments is None else arguments
    split = given.index("--") if "--" in given else len(given)
    options, flags = parser.parse_args(given[:split]), given[split + 1 :]
    if options.steps < 2:
        parser.error("--steps must be at least 2: the first one warms up")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    made = subprocess.run([sys.executable, "-m", "benchmarks.random_model", str(options.model)], cwd=ROOT, check=False)
    if made.returncode:
        return made.returncode
    result = ROOT / "benchmarks/results" / f"gpu_step-{options.name or options.preset}.json"
    runs: list[dict[str, object]] = []
    failed = False
    for gpus in options.gpus:
        for n in options.n:
            sizes = ["--steps", str(options.steps), "--max-turns", str(options.max_turns)]
            run = measure(options.preset, options.model, gpus, n, [*sizes, *flags])
            failed = failed or "error" in run
            runs.append(run)
            result.parent.mkdir(parents=True, exist_ok=True)
            content = {"command": " ".join(["python -m benchmarks.gpu_step", *given]), **machine(), "runs": runs}
            result.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    logger.info("written to %s", result.relative_to(ROOT))
    return int(failed)


def measure(preset: str, model: Path, gpus: int, n: int, flags: list[str]) -> dict[str, object]:
    """Run once, show the table and return the run's numbers, or its error."""
    folder = ROOT / "outputs" / f"gpu-step-{preset}-n{n}-gpus{gpus}-{int(time.time())}"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "spider.train_sql_agent", preset, "--output-dir", str(folder)]
    settings = [*SETTINGS, f"actor_rollout_ref.rollout.n={n}"]
    command += ["--model", str(model), "--gpus", str(gpus), *(part for one in settings for part in ("--set", one))]
    command += flags
    metrics, terminal = folder / "metrics.jsonl", folder / "terminal.log"
    utilisation, started = Utilisation(), time.monotonic()
    utilisation.start()
    with terminal.open("w", encoding="utf-8") as output:
        environment = os.environ | {"VERL_FILE_LOGGER_PATH": str(metrics)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        steps = watch(process, metrics)
    utilisation.stop()
    shown = " ".join(command[1:]).replace(f"{ROOT}/", "")
    run: dict[str, object] = {"preset": preset, "n": n, "gpus": gpus, "command": shown}
    if process.returncode or len(steps) < 2:
        last = terminal.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-15:]
        logger.error("the run failed (%s):\n%s", folder, "\n".join(last))
        return run | {"error": last[-1] if last else f"exit code {process.returncode}"}
    from transformers import AutoConfig

    run |= summarise(steps, started, gpus, AutoConfig.from_pretrained(model))
    run["gpu_idle_share"] = utilisation.idle_share(steps[0].seen, steps[-1].seen)
    show(run)
    return run


def watch(process: subprocess.Popen[bytes], path: Path) -> list[Step]:
    """Collect the steps' metrics from verl's file logger as they are written, until the process ends."""
    steps: list[Step] = []
    read, alive = 0, True
    while alive:
        alive = process.poll() is None
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        for line in lines[read:]:
            if not line.endswith(b"\n"):
                break
            read += 1
            entry = json.loads(line)
            if PHASES["update"] in entry["data"]:
                steps.append(Step(time.monotonic(), entry["data"]))
        time.sleep(0.05)
    return steps


def summarise(steps: list[Step], started: float, gpus: int, config: PretrainedConfig) -> dict[str, object]:
    """Return the means over all steps but the first, and the time until the first.

    Args:
        steps: All steps.
        started: When the run's process started, in seconds of `time.monotonic`.
        gpus: How many GPUs trained.
        config: The model's.

    Returns:
        Seconds by phase and of the step; rows and tokens a step; tokens a second; MFU and verl's, as shares.
    """

    def mean(name: str) -> float:
        return fmean(step.metrics.get(name, 0.0) for step in steps[1:])

    seconds = {phase: mean(name) for phase, name in PHASES.items()}
    step = (steps[-1].seen - steps[0].seen) / (len(steps) - 1)
    seconds["everything else"] = step - sum(seconds.values())
    counts = ("rows", "prompt_tokens", "distinct_prompt_tokens", "response_tokens")
    rows, prompts, distinct, responses = (mean(f"agent/{name}") for name in counts)
    calls = mean("agent/rollouts") * mean("agent/calls_per_rollout")
    count, length, response = round(rows), round((prompts + responses) / rows), round(responses / rows)
    flops = training_flops(config, [length] * count, [response] * count)
    prompt = round(prompts / rows)
    repeated = round((prompts - distinct) / prompt)
    once = flops - training_flops(config, [prompt] * repeated, [0] * repeated)
    return {
        "steps": len(steps) - 1,
        "seconds": seconds,
        "step_seconds": step,
        "first_step_seconds": steps[0].metrics.get("timing_s/step"),
        "start_to_first_step_seconds": steps[0].seen - started - steps[0].metrics.get("timing_s/step", 0.0),
        "rollouts": mean("agent/rollouts"),
        "calls": calls,
        "rows": rows,
        "prompt_tokens": prompts,
        "distinct_prompt_tokens": distinct,
        "response_tokens": responses,
        "failures": mean("agent/failures"),
        "trained_tokens_per_second": (prompts + responses) / step,
        "new_tokens_per_second_in_rollouts": calls * RESPONSE / seconds["rollout"],
        "update_mfu": flops / seconds["update"] / PEAK_FLOPS / gpus,
        "update_mfu_prompts_once": once / seconds["update"] / PEAK_FLOPS / gpus,
        "step_mfu": flops / step / PEAK_FLOPS / gpus,
        "verl_update_mfu": mean("perf/mfu/actor"),
        "memory_gib": mean("actor/perf/max_memory_allocated_gb"),
        # Not measured where vLLM's log-probs stand in for the trainer's.
        "probability_difference": mean(DIFFERENCE) if DIFFERENCE in steps[-1].metrics else None,
    }


def show(run: dict[str, object]) -> None:
    """Print a run's table."""
    seconds, step = cast("dict[str, float]", run["seconds"]), cast("float", run["step_seconds"])
    logger.info("%s, n=%s, GPUs: %s, %s steps after the first", run["preset"], run["n"], run["gpus"], run["steps"])
    for phase, value in [*seconds.items(), ("step", step)]:
        logger.info("  %-18s %7.2f s %6.1f %%", phase, value, 100 * value / step)
    numbers = {name: value for name, value in run.items() if isinstance(value, int | float)}
    lines = (
        "{rollouts:.0f} rollouts, {calls:.0f} calls, {rows:.0f} rows of {prompt_tokens:.0f} prompt and "
        "{response_tokens:.0f} response tokens; {failures:.0f} rollouts failed",
        "{trained_tokens_per_second:.0f} trained tokens/s; {new_tokens_per_second_in_rollouts:.0f} new tokens/s in "
        "the rollout phase",
        "MFU {update_mfu:.1%} of the update ({update_mfu_prompts_once:.1%} with each prompt's arithmetic counted once; "
        "verl's counter: {verl_update_mfu:.1%}), {step_mfu:.1%} of the step",
        "start to first step {start_to_first_step_seconds:.0f} s, first step {first_step_seconds:.1f} s",
        "most memory of the trainer {memory_gib:.0f} GiB",
    )
    for line in lines:
        logger.info("  %s", line.format(**numbers))
    difference, idle = run["probability_difference"], run["gpu_idle_share"]
    logger.info("  probability difference %s", "not measured" if difference is None else f"{difference:.4f}")
    logger.info("  GPU idle: %s", "not known, no nvidia-smi" if idle is None else f"{idle:.0%}")


if __name__ == "__main__":
    sys.exit(main())
