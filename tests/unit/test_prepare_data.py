"""Spider's layouts, made from data/sample, through scripts/prepare_data.py, with what real copies get wrong."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from scripts.prepare_data import main
from spider.data import ROOT, load_tasks
from spider.data_preparation.report import MANIFEST, read_manifest

SAMPLE = ROOT / "data" / "sample"
TEST_DATABASES = ("bakery", "zoo")
TRAIN_DATABASES = ("city_library", "street_food")
REAL = Path(os.environ.get("SPIDER_REAL_DATA") or ROOT.parent / "shared" / "spider")


def rows_of(file: str, *databases: str) -> list[dict[str, object]]:
    keys = ("question", "db_id", "query")
    return [{key: task[key] for key in keys} for task in load_tasks(SAMPLE / file) if task["db_id"] in databases]


def write_json(path: Path, rows: object) -> None:
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    """A folder in Spider's own layout: two training databases, bakery's questions as dev, zoo's as test."""
    folder = tmp_path / "spider_data"
    for name, databases in (("database", (*TRAIN_DATABASES, "bakery")), ("test_database", TEST_DATABASES)):
        for db_id in databases:
            source = next(SAMPLE.glob(f"*/{db_id}"))
            (folder / name / db_id).mkdir(parents=True)
            shutil.copy(source / f"{db_id}.sqlite", folder / name / db_id)
    write_json(folder / "train_spider.json", rows_of("train_spider.parquet", "city_library"))
    write_json(folder / "train_others.json", rows_of("train_spider.parquet", "street_food"))
    write_json(folder / "dev.json", rows_of("test_dev.parquet", "bakery"))
    write_json(folder / "test.json", rows_of("test_dev.parquet", "zoo"))
    write_json(folder / "tables.json", [])
    return folder


def zipped(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder.parent / "spider_data"), "zip", folder.parent, folder.name))


def prepared(source: Path, *flags: str) -> Path:
    output = source.parent / "data"
    assert main([str(source), "--output", str(output), "--quiet", *flags]) == 0
    return output


def append(file: Path, *rows: object) -> None:
    write_json(file, json.loads(file.read_text(encoding="utf-8")) + list(rows))


def question(db_id: str, query: str = "SELECT 1") -> dict[str, object]:
    return {"question": "Which?", "db_id": db_id, "query": query}


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


def test_questions_without_a_database_are_counted_and_left_out(spider: Path) -> None:
    append(spider / "train_spider.json", question("nowhere"))
    output = prepared(spider)
    assert read_manifest(output)["splits"]["train_spider"]["left_out"] == {"no database": 1}
    assert read_manifest(output)["databases"]["missing"] == {"database/nowhere": ""}
    assert "nowhere" not in {task["db_id"] for task in load_tasks(output / "train_spider.parquet")}


@pytest.mark.parametrize(
    ("content", "reason"), [(b"this is no database, not at all", "unreadable database"), (b"", "empty database")]
)
def test_questions_of_a_useless_database_are_counted_and_left_out(spider: Path, content: bytes, reason: str) -> None:
    (spider / "database" / "useless").mkdir()
    (spider / "database" / "useless" / "useless.sqlite").write_bytes(content)
    append(spider / "train_spider.json", question("useless"))
    assert read_manifest(prepared(spider))["splits"]["train_spider"]["left_out"] == {reason: 1}


def test_tables_without_rows_make_an_empty_database(spider: Path) -> None:
    (spider / "database" / "bare").mkdir()
    with closing(sqlite3.connect(spider / "database" / "bare" / "bare.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a)")
    append(spider / "dev.json", question("bare"))
    assert read_manifest(prepared(spider))["databases"]["empty"] == {"test_database/bare": ""}


def test_failing_and_unstable_golds_are_counted_and_left_out(spider: Path) -> None:
    append(spider / "test.json", question("zoo", "SELECT nope FROM ghosts"), question("zoo", "SELECT random()"))
    report = read_manifest(prepared(spider))
    assert report["splits"]["test"]["left_out"] == {"failing gold": 1, "gold that doesn't match itself": 1}
    assert ["test", "zoo", "SELECT nope FROM ghosts", "no such table: ghosts"] in report["failing"]


def test_json_that_is_not_utf8_is_read_and_said(spider: Path) -> None:
    file = spider / "dev.json"
    rows = [*json.loads(file.read_text(encoding="utf-8")), {**question("bakery"), "question": "Où est le café?"}]
    file.write_bytes(json.dumps(rows, ensure_ascii=False).encode("cp1252", errors="replace"))
    output = prepared(spider)
    assert load_tasks(output / "dev.parquet")[-1]["question"] == "Où est le café?"
    assert "dev.json is not UTF-8: read as Windows-1252" in read_manifest(output)["notes"]


def test_text_in_a_database_that_is_not_utf8_is_counted(spider: Path) -> None:
    with closing(sqlite3.connect(spider / "test_database" / "zoo" / "zoo.sqlite")) as connection:
        connection.execute("CREATE TABLE note (text TEXT)")
        connection.execute("INSERT INTO note VALUES (CAST(x'636166e9' AS TEXT)), (x'ff00')")  # the second is a BLOB
        connection.commit()
    found = read_manifest(prepared(spider))["databases"]["with text that is not UTF-8"]
    assert found == {"test_database/zoo": "1 values"}


def test_malformed_rows_are_counted(spider: Path) -> None:
    append(spider / "dev.json", {"question": "Which?"}, "not a row", question("../../etc/passwd"), question(" "))
    assert "4 rows of dev.json lack a question, a query or a db_id" in read_manifest(prepared(spider))["notes"]


def test_tables_that_differ_from_tables_json_are_named(spider: Path) -> None:
    write_json(spider / "tables.json", [{"db_id": "zoo", "table_names_original": ["ghost"]}])
    found = read_manifest(prepared(spider))["databases"]["with other tables than tables.json"]
    assert "ghost" in found["test_database/zoo"]


@pytest.mark.parametrize("content", [b"{", b'{"a": 1}', b"PK\x03\x04 broken"])
def test_an_unreadable_question_file_is_one_line(
    spider: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (spider / "dev.json").write_bytes(content)
    assert main([str(spider), "--output", str(spider.parent / "data"), "--quiet"]) == 1
    assert "dev.json can't be read" in caplog.text
    assert len(caplog.records) == 1


def test_a_damaged_zip_is_one_line(spider: Path, caplog: pytest.LogCaptureFixture) -> None:
    archive = zipped(spider)
    with zipfile.ZipFile(archive) as opened:
        member = opened.getinfo("spider_data/test_database/zoo/zoo.sqlite")
    with archive.open("r+b") as file:
        file.seek(member.header_offset + member.compress_size // 2)
        file.write(b"damaged" * 20)
    assert main([str(archive), "--output", str(spider.parent / "data")]) == 1
    assert "zoo.sqlite can't be unpacked" in caplog.text


def test_what_is_not_spider_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "note.txt").write_text("nothing")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing")
    for name, message in (
        ("note.txt", "neither a folder nor a zip"),
        ("other.zip", "holds no train_spider"),
        ("none", "does not exist"),
    ):
        caplog.clear()
        assert main([str(tmp_path / name), "--output", str(tmp_path / "data")]) == 1
        assert message in caplog.text


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
