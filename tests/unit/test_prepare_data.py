"""Spider's layouts, through scripts/prepare_data.py."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scripts.prepare_data import main
from spider.data import load_tasks
from spider.data_preparation.report import read_manifest
from tests.unit.spider_layout import (
    SAMPLE,
    TEST_DATABASES,
    TRAIN_DATABASES,
    prepared,
    rows_of,
    write_json,
    zipped,
)


def test_a_zip_and_its_folder_give_the_same_data(spider: Path, tmp_path: Path) -> None:
    archive = zipped(spider)
    from_folder = read_manifest(prepared(spider))["files"]
    shutil.rmtree(tmp_path / "data")
    assert read_manifest(prepared(archive))["files"] == from_folder


def test_every_file_of_the_layout_is_written(spider: Path) -> None:
    output = prepared(spider)
    names = {"train_spider", "dev", "test", "test_dev", "test_dev_500"}
    assert {path.stem for path in output.glob("*.parquet")} == names
    assert sorted(path.name for path in (output / "database").iterdir()) == sorted(TRAIN_DATABASES)
    assert sorted(path.name for path in (output / "test_database").iterdir()) == sorted(TEST_DATABASES)
    assert (output / "tables.json").is_file()


def test_training_joins_both_files(spider: Path) -> None:
    tasks = load_tasks(prepared(spider) / "train_spider.parquet")
    assert {task["db_id"] for task in tasks} == set(TRAIN_DATABASES)
    assert len(tasks) == len(rows_of("train_spider.parquet", *TRAIN_DATABASES))


def test_schema_sql_makes_the_tables_of_its_database(spider: Path) -> None:
    output = prepared(spider)
    script = (output / "test_database" / "zoo" / "schema.sql").read_text(encoding="utf-8")
    names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    with (
        closing(sqlite3.connect(":memory:")) as remade,
        closing(sqlite3.connect(output / "test_database" / "zoo" / "zoo.sqlite")) as original,
    ):
        remade.executescript(script)
        assert remade.execute(names).fetchall() == original.execute(names).fetchall()


def test_a_sample_is_what_pandas_draws_with_the_published_seed(spider: Path) -> None:
    import pandas as pd

    everything = rows_of("test_dev.parquet", "bakery", "zoo") * 3
    write_json(spider / "test.json", everything)
    found = [task["question"] for task in load_tasks(prepared(spider) / "test_dev.parquet")]
    assert found == pd.DataFrame(everything).sample(n=100, random_state=42)["question"].tolist()


def test_fewer_questions_than_a_sample_wants_are_all_taken_and_said(spider: Path) -> None:
    output = prepared(spider)
    available = len(rows_of("test_dev.parquet", "zoo"))
    assert len(load_tasks(output / "test_dev_500.parquet")) == available < 500
    assert f"test_dev_500 wants 500 questions, the source has {available}" in read_manifest(output)["notes"]


def test_without_a_test_split_dev_takes_its_place(spider: Path) -> None:
    (spider / "test.json").unlink()
    output = prepared(spider)
    assert {task["db_id"] for task in load_tasks(output / "test_dev.parquet")} == {"bakery"}
    assert any("no test split" in note for note in read_manifest(output)["notes"])


def test_a_source_without_validation_questions_is_said(spider: Path) -> None:
    for name in ("dev.json", "test.json"):
        (spider / name).unlink()
    output = prepared(spider)
    assert [path.name for path in output.glob("*.parquet")] == ["train_spider.parquet"]
    assert any("nothing to validate on" in note for note in read_manifest(output)["notes"])


def test_a_bundle_unpacked_into_the_data_folder_is_prepared_in_place(tmp_path: Path) -> None:
    output = tmp_path / "data"
    shutil.copytree(SAMPLE, output)
    assert main([str(output), "--output", str(output), "--quiet", "--force"]) == 0
    assert main(["--verify", str(output)]) == 0


def test_the_ready_made_bundle_keeps_its_own_samples(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(SAMPLE, bundle)
    output = prepared(bundle)
    for name in ("train_spider", "test_dev", "test_dev_500"):
        assert load_tasks(output / f"{name}.parquet") == load_tasks(SAMPLE / f"{name}.parquet")


@pytest.mark.parametrize("arguments", [[], ["--verify", "--describe"], ["a.zip", "--download"]])
def test_a_request_that_makes_no_sense_is_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_task_files_from_elsewhere_are_not_overwritten(spider: Path, caplog: pytest.LogCaptureFixture) -> None:
    output = spider.parent / "data"
    output.mkdir()
    shutil.copy(SAMPLE / "test_dev.parquet", output / "train_spider.parquet")
    before = (output / "train_spider.parquet").read_bytes()
    assert main([str(spider), "--output", str(output)]) == 1
    assert "--force" in caplog.text
    assert (output / "train_spider.parquet").read_bytes() == before
    assert prepared(spider, "--force") == output
    assert (output / "train_spider.parquet").read_bytes() != before


def test_a_second_preparation_replaces_the_first(spider: Path) -> None:
    output = prepared(spider)
    (output / "mine.txt").write_text("keep")
    write_json(spider / "train_others.json", [])
    prepared(spider)
    assert [path.name for path in (output / "database").iterdir()] == ["city_library"]
    assert (output / "mine.txt").read_text() == "keep"
