"""A prepared folder is verified and described."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from scripts.prepare_data import main
from spider.data import ROOT, load_tasks
from spider.data_preparation.report import MANIFEST
from tests.unit.spider_layout import (
    SAMPLE,
    append,
    prepared,
    rows_of,
)

REAL = Path(os.environ.get("SPIDER_REAL_DATA") or ROOT.parent / "shared" / "spider")


def test_a_prepared_folder_is_sound(spider: Path) -> None:
    assert main(["--verify", str(prepared(spider))]) == 0


def test_the_sample_is_sound() -> None:
    assert main(["--verify", str(SAMPLE)]) == 0


def test_verify_names_what_is_wrong(spider: Path, caplog: pytest.LogCaptureFixture) -> None:
    output = prepared(spider)
    (output / "database" / "street_food" / "street_food.sqlite").unlink()
    with (output / "test_database" / "zoo" / "zoo.sqlite").open("r+b") as file:
        file.write(b"no longer SQLite")
    shutil.copy(output / "dev.parquet", output / "test_dev.parquet")
    assert main(["--verify", str(output)]) == 1
    for message in (
        "database/street_food/street_food.sqlite is gone",
        f"zoo.sqlite is not what {MANIFEST} records",
        "zoo.sqlite: file is not a database",
        f"test_dev.parquet is not what {MANIFEST} records",
    ):
        assert message in caplog.text


def test_verify_names_databases_in_both_splits(spider: Path, caplog: pytest.LogCaptureFixture) -> None:
    append(spider / "train_spider.json", *rows_of("test_dev.parquet", "bakery"))
    assert main(["--verify", str(prepared(spider))]) == 1
    assert "dev.parquet shares databases with train_spider.parquet: bakery" in caplog.text


def test_describe_counts_and_draws(spider: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    output = prepared(spider)
    caplog.set_level("INFO")
    assert main(["--describe", str(output), "--png", str(tmp_path / "plots" / "data.png")]) == 0
    rows = len(load_tasks(output / "train_spider.parquet"))
    assert any(line.split()[:3] == ["train_spider", str(rows), "2"] for line in caplog.messages)
    assert any("lengths in" in line for line in caplog.messages)
    assert (tmp_path / "plots" / "data.png").read_bytes().startswith(b"\x89PNG")


def test_describe_without_task_files_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["--describe", str(tmp_path)]) == 1
    assert "no task files" in caplog.text


@pytest.mark.real_data
@pytest.mark.skipif(not (REAL / "train_spider.json").is_file(), reason="no copy of Spider 1.0: set SPIDER_REAL_DATA")
def test_a_real_copy_of_spider_is_prepared_and_sound(tmp_path: Path) -> None:
    output = tmp_path / "data"
    assert main([str(REAL), "--output", str(output), "--quiet"]) == 0
    assert len(load_tasks(output / "train_spider.parquet")) > 6000
    assert len(load_tasks(output / "dev.parquet")) > 900
    assert main(["--verify", str(output), "--quiet"]) == 0
