"""Ctrl-C in the middle of scripts/prepare_data.py, and the call after it."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from spider.data import ROOT, load_tasks

SAMPLE = ROOT / "data" / "sample"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_an_interrupted_preparation_leaves_no_task_files_and_can_be_run_again(tmp_path: Path) -> None:
    source, output = tmp_path / "spider", tmp_path / "data"
    shutil.copytree(SAMPLE / "database" / "street_food", source / "database" / "street_food")
    tasks = [task for task in load_tasks(SAMPLE / "train_spider.parquet") if task["db_id"] == "street_food"]
    hanging = [{"question": "How many?", "db_id": "street_food", "query": ENDLESS}]
    (source / "train_spider.json").write_text(json.dumps(tasks + hanging))
    command = [sys.executable, ROOT / "scripts" / "prepare_data.py", source, "--output", output, "--seconds"]
    with subprocess.Popen([*command, "5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (output / "database" / "street_food" / "schema.sql").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")
    assert said.splitlines()[-1] == "prepare_data: interrupted; run it again to go on"
    assert not list(output.glob("*.parquet"))
    assert subprocess.run([*command, "0.2", "--quiet"], check=False).returncode == 0
    assert len(load_tasks(output / "train_spider.parquet")) == len(tasks)
