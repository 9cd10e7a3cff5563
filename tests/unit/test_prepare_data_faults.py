"""What copies of Spider get wrong, through scripts/prepare_data.py."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from scripts.prepare_data import main
from spider.data import load_tasks
from spider.data_preparation.report import read_manifest
from tests.unit.spider_layout import (
    append,
    prepared,
    question,
    write_json,
    zipped,
)


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
