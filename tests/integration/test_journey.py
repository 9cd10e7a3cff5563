"""The whole way on two CPU cores with the sample data, command by command as a person types them.

Get the model, serve it, ask the agent, evaluate, train five steps, export, serve the export, evaluate, compare, ask.
What happens before the export is the session's: `served` and `training_run` in conftest.py.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.served_model import DATABASE, EVALUATE, QUESTION, QUESTIONS, Served
from tests.serving import command, serving
from tests.training_run import STEPS, VALIDATION, Run

pytestmark = pytest.mark.slow


@dataclass
class Trained:
    """What happened to the trained model."""

    export: subprocess.CompletedProcess[str]
    folder: Path
    evaluation: subprocess.CompletedProcess[str]
    results: Path
    answer: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def trained(served: Served, training_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The trained model: exported, served on a port of its own, evaluated and asked."""
    assert served.exit_code == 130, "the model before training is served and evaluated first"
    folder = tmp_path_factory.mktemp("export") / "trained"
    output = tmp_path_factory.mktemp("after")
    exported = command("scripts/export_checkpoint.py", training_run.output_dir, folder)
    assert exported.returncode == 0, exported.stderr
    ask = ["-m", "spider.inference", "--db", DATABASE, "--json", "--max-turns", "2", QUESTION]
    with serving(str(folder), "--port", "8765") as (_, url):
        return Trained(
            exported,
            folder,
            command(*EVALUATE, "--endpoint", url, "--output", output),
            output,
            command(*ask, "--endpoint", url),
        )


def test_export_proves_its_log_probs_and_that_training_changed_them(trained: Trained) -> None:
    proof = json.loads((trained.folder / "export.json").read_text(encoding="utf-8"))["proof"]
    assert proof["max_difference"] < 1e-3
    assert proof["changed_weights"] > 0
    assert proof["max_change"] > 1e-4


def test_model_card_tells_of_the_run(trained: Trained) -> None:
    card = (trained.folder / "README.md").read_text(encoding="utf-8")
    assert "| preset | tiny |" in card
    assert f"| steps | {STEPS} of {STEPS} |" in card
    assert "data/sample/train_spider.parquet" in card
    assert f"({VALIDATION} questions)" in card
    assert card.count("\n| 0 | ") == card.count(f"\n| {STEPS} | ") == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_evaluation_gives_every_question_a_verdict(served: Served, trained: Trained, when: str) -> None:
    done, folder = (served.evaluation, served.results) if when == "before" else (trained.evaluation, trained.results)
    assert done.returncode == 0, done.stderr
    [setting] = json.loads((folder / "results.json").read_text(encoding="utf-8"))["settings"]
    assert len([answer for answer in setting["verdicts"] if answer["strict"] is not None]) == QUESTIONS


def test_comparison_pairs_every_question(served: Served, trained: Trained, tmp_path: Path) -> None:
    compare = ["-m", "spider.evaluate", "--compare", served.results, trained.results]
    compared = command(*compare, "--output", tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert str(QUESTIONS) in compared.stdout


def test_trained_model_answers_a_question(trained: Trained) -> None:
    assert trained.answer.returncode == 0, trained.answer.stderr
    reply = json.loads(trained.answer.stdout)
    assert reply["sql"].upper().startswith("SELECT")
