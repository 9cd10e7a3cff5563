"""Ctrl-C in the middle of scripts/prepare_data.py, and the call after it."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spider.data import ROOT, load_tasks
from spider.model_store import hash_folder

SAMPLE = ROOT / "data" / "sample"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
TASKS = [task for task in load_tasks(SAMPLE / "train_spider.parquet") if task["db_id"] == "street_food"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Spider with one database, and a gold query that takes until Ctrl-C or the time limit."""
    folder = tmp_path / "spider"
    shutil.copytree(SAMPLE / "database" / "street_food", folder / "database" / "street_food")
    hanging = [{"question": "How many?", "db_id": "street_food", "query": ENDLESS}]
    (folder / "train_spider.json").write_text(json.dumps(TASKS + hanging))
    return folder


def command(source: Path, *arguments: str | Path) -> list[str | Path]:
    script, output = ROOT / "scripts" / "prepare_data.py", source.parent / "data"
    return [sys.executable, script, source, "--output", output, *arguments]


def interrupt(source: Path, sent: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Start a preparation and end it while the gold queries run."""
    arguments = command(source, "--seconds", "5")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list((source.parent / "data").glob(".preparing/database/street_food/schema.sql")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(sent)
        said, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.returncode, said, errors)


def visible(folder: Path) -> dict[str, str]:
    return {name: found for name, found in hash_folder(folder).items() if not name.startswith(".")}


def test_an_interrupted_preparation_leaves_nothing_and_can_be_run_again(source: Path) -> None:
    output = source.parent / "data"
    ended = interrupt(source, signal.SIGINT)
    assert (ended.returncode, ended.stderr) == (130, "prepare_data: interrupted; run it again to go on\n")
    assert visible(output) == {}
    assert subprocess.run(command(source, "--seconds", "0.2", "--quiet"), check=False).returncode == 0
    assert len(load_tasks(output / "train_spider.parquet")) == len(TASKS)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_preparation_that_is_ended_keeps_the_data_of_the_one_before(source: Path, sent: signal.Signals) -> None:
    output = source.parent / "data"
    shutil.copytree(SAMPLE, source.parent / "sample")
    subprocess.run(command(source.parent / "sample", "--quiet"), check=True)
    before = visible(output)
    interrupt(source, sent)
    assert visible(output) == before
    assert subprocess.run(command(output, "--verify"), check=False, capture_output=True).returncode == 0
    assert subprocess.run(command(source, "--seconds", "0.2", "--quiet"), check=False).returncode == 0
    assert [path.name for path in (output / "database").iterdir()] == ["street_food"]
    assert not (output / "test_dev.parquet").exists()
