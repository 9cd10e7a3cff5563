"""Training by the preset `fast` on a GPU, with a small model at hand: the whole product, no network."""

import csv
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from spider.verl_bridge.processes import RUN_ID, end_run

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "model" / "SmolLM2-135M-Instruct"

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not (MODEL / "config.json").is_file(), reason="no model: python scripts/get_model.py smollm2"),
]


@dataclass
class Run:
    """A finished run: its exit code, what it printed, its folder and what it told GitHub Actions."""

    exit_code: int
    output: str
    folder: Path
    ci_outputs: str

    @property
    def progress(self) -> list[dict[str, str]]:
        """The lines of ``progress.csv``."""
        return list(csv.DictReader((self.folder / "progress.csv").open(encoding="utf-8")))


def train(folder: Path, *flags: str) -> Iterator[Run]:
    """Train with the attention and the engine that packed rows take on a GPU."""
    run_id = uuid.uuid4().hex
    settings = (
        "actor_rollout_ref.model.external_lib=spider.verl_bridge.packed_engine",
        "actor_rollout_ref.model.override_config.attn_implementation=varlen",
        "actor_rollout_ref.rollout.max_model_len=4096",
        "data.max_prompt_length=3072",
        "data.max_response_length=512",
    )
    command = [sys.executable, "-m", "spider.train_sql_agent", "fast", "--model", str(MODEL), "--val-limit", "8"]
    command += [*flags, "--output-dir", str(folder / "run"), *(part for one in settings for part in ("--set", one))]
    environment = os.environ | {RUN_ID: run_id, "GITHUB_OUTPUT": str(folder / "outputs")}
    try:
        result = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
        yield Run(
            result.returncode, result.stdout + result.stderr, folder / "run", (folder / "outputs").read_text("utf-8")
        )
    finally:
        end_run(run_id)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One step of the whole model."""
    yield from train(tmp_path_factory.mktemp("fast"))


@pytest.fixture(scope="module")
def adapters_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Two steps of adapters, the first so large that a server without it would disagree in the second."""
    yield from train(
        tmp_path_factory.mktemp("adapters"), "--lora", "--steps=2", "--set=actor_rollout_ref.actor.optim.lr=2e-3"
    )


def test_run_ends_well(run: Run) -> None:
    assert run.exit_code == 0, run.output


def test_one_step_is_trained_and_validated_once(run: Run) -> None:
    assert [line["step"] for line in run.progress if line["reward"]] == ["1"]
    assert [line["step"] for line in run.progress if line["validation_accuracy"]] == ["1"]


def test_trainer_and_server_agree_on_probabilities(run: Run) -> None:
    (step,) = (line for line in run.progress if line["reward"])
    assert float(step["probability_difference"]) < 0.02


def test_github_actions_is_told_which_run_it_is(run: Run) -> None:
    assert "project_name=AgentLightningCI\nrun_name=fast-" in run.ci_outputs


def test_server_samples_from_the_adapters_as_trained(adapters_run: Run) -> None:
    assert adapters_run.exit_code == 0, adapters_run.output
    steps = [line for line in adapters_run.progress if line["reward"]]
    assert [float(line["probability_difference"]) < 0.02 for line in steps] == [True, True]
