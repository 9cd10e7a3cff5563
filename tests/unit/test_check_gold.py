from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scripts.check_gold import check_file, main

WriteTasks = Callable[..., Path]


@pytest.fixture
def write_tasks(tmp_path: Path) -> WriteTasks:
    """Writes a task file with these gold queries over a database with one row."""
    with sqlite3.connect(tmp_path / "zoo.sqlite") as connection:
        connection.executescript("CREATE TABLE animal (name TEXT); INSERT INTO animal VALUES ('al');")
    connection.close()

    def write(*golds: str) -> Path:
        tasks = [{"question": "?", "db_id": "zoo", "query": gold, "db_path": "zoo.sqlite"} for gold in golds]
        pq.write_table(pa.Table.from_pylist(tasks), tmp_path / "tasks.parquet")
        return tmp_path / "tasks.parquet"

    return write


def test_good_golds_pass(write_tasks: WriteTasks) -> None:
    assert main([str(write_tasks("SELECT name FROM animal", "SELECT count(*) FROM animal"))]) == 0


def test_bad_golds_are_listed_by_kind(write_tasks: WriteTasks) -> None:
    file = write_tasks("SELECT nope FROM animal", "SELECT random()", "SELECT name FROM animal WHERE 0", "SELECT 1")
    assert [(found.row, found.kind) for found in check_file(file, None, 5)] == [
        (0, "fails"),
        (1, "differs"),
        (2, "no rows"),
    ]
    assert main([str(file)]) == 1


def test_the_limit_counts_rows(write_tasks: WriteTasks) -> None:
    assert main([str(write_tasks("SELECT 1", "SELECT nope FROM animal")), "--limit", "1"]) == 0


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.parquet")]) == 2
