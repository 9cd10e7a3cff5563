import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spider.database import Database, Execution, SQLiteDatabase, describe, open_database
from spider.prompts import cut_lines
from spider.sandbox import Limits
from tests.timing import within

FOR_EVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pets.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE pet (name TEXT, age INT); INSERT INTO pet VALUES ('Rex', 3), ('Tom', NULL), ('', 9);"
        )
    return path


@pytest.fixture
def database(path: Path) -> Database:
    return open_database(path)


def test_rows_are_shown_with_names_count_and_nulls(database: Database) -> None:
    execution = database.execute("SELECT name, age FROM pet")
    assert execution.kind == "rows"
    assert execution.text == "name | age\nRex | 3\nTom | NULL\n'' | 9\n(3 rows)"
    assert execution.columns == ("name", "age")
    assert execution.rows == [("Rex", 3), ("Tom", None), ("", 9)]


def test_rows_that_do_not_fit_are_cut_and_said_to_be(database: Database) -> None:
    execution = database.execute(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500) SELECT x FROM c", 60
    )
    assert len(execution.text) <= 60
    assert execution.text.startswith("x\n1\n2\n")
    assert execution.text.endswith(" of 500 rows)")


def test_more_rows_than_are_read_are_said_to_be_more(path: Path) -> None:
    execution = SQLiteDatabase(path, Limits(max_rows=2)).execute("SELECT age FROM pet")
    assert execution.text == "age\n3\nNULL\n(first 2 of more than 2 rows)"


def test_one_row_of_several_is_a_row_not_rows(path: Path) -> None:
    execution = SQLiteDatabase(path, Limits(max_rows=1)).execute("SELECT age FROM pet")
    assert execution.text == "age\n3\n(first 1 of more than 1 row)"


def test_more_bytes_than_are_read_are_said_to_be_more_rows(path: Path) -> None:
    database = SQLiteDatabase(path, Limits(max_total_bytes=50_000))
    execution = database.execute("SELECT hex(zeroblob(2000)) FROM pet a, pet b, pet c")
    assert 0 < len(execution.rows) < 27
    assert execution.text.endswith(f" of more than {len(execution.rows)} rows)")


def test_a_row_that_is_too_large_is_not_said_to_be_missing(path: Path) -> None:
    execution = SQLiteDatabase(path, Limits(max_total_bytes=1000)).execute("SELECT hex(zeroblob(2000))")
    assert (execution.kind, execution.text) == ("error", "Error: a row is too large to be shown.")


def test_a_long_value_is_cut(database: Database) -> None:
    lines = database.execute("SELECT printf('%.*c', 5000, 'x') AS v").text.splitlines()
    assert lines[1].endswith("…")
    assert len(lines[1]) == 80


def test_no_rows_are_said_to_be_none(database: Database) -> None:
    execution = database.execute("SELECT name FROM pet WHERE age > 99")
    assert (execution.kind, execution.text) == ("no_rows", "No rows. Columns: name")


def test_an_error_is_sqlites_message(database: Database) -> None:
    execution = database.execute("SELECT nope FROM pet")
    assert (execution.kind, execution.text) == ("error", "Error: no such column: nope")


@pytest.mark.parametrize("sql", ["DELETE FROM pet", "SELECT 1; SELECT 2", "ATTACH 'x' AS y", "PRAGMA journal_mode=WAL"])
def test_what_does_more_than_read_is_refused_with_a_reason(database: Database, sql: str) -> None:
    execution = database.execute(sql)
    assert execution.kind == "refused"
    assert len(execution.text) > len("Refused: ")


def test_a_query_without_end_times_out(path: Path) -> None:
    def run() -> None:
        execution = SQLiteDatabase(path, Limits(seconds=0.3)).execute(FOR_EVER)
        assert (execution.kind, execution.text) == ("timeout", "Timed out after 0.3 s.")

    assert within(0.3 + 1, run)


@pytest.mark.parametrize("sql", ["", "  \n"])
def test_an_empty_query_is_said_to_be_empty(database: Database, sql: str) -> None:
    assert database.execute(sql).kind == "empty_query"


def test_text_that_is_not_utf8_is_shown(database: Database) -> None:
    assert database.execute("SELECT CAST(x'ff41' AS TEXT) AS t").text == "t\n\ufffdA\n(1 row)"


def test_a_query_on_a_missing_file_is_an_error_not_an_exception(tmp_path: Path) -> None:
    assert open_database(tmp_path / "none.sqlite").execute("SELECT 1").kind == "error"


def test_the_schema_depends_on_the_room_for_it(database: Database) -> None:
    assert database.schema() == "CREATE TABLE pet (\nname TEXT, -- 'Rex', 'Tom', ''\nage INT -- 3, 9\n);"
    assert database.schema("", 45) == "CREATE TABLE pet (\nname TEXT,\nage INT\n);"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="give the path of a file"):
        open_database(url)


def test_a_windows_like_path_is_a_path() -> None:
    assert open_database("a:b.sqlite").dialect == "SQLite"


@pytest.mark.parametrize(
    ("execution", "answer"),
    [
        (Execution("rows", "", ("count(*)",), [(3,)]), "count(*) is 3."),
        (Execution("rows", "", ("a", "b"), [(1, None)]), "1 row of a, b: 1, NULL."),
        (Execution("rows", "", ("a",), [(n,) for n in range(22)]), "; and 2 more."),
        (Execution("rows", "", ("a",), [(1,)], more=True), "More than 1 row of a: 1; and more."),
        (Execution("no_rows", "", ("a",)), "Nothing was found (columns: a)."),
        (Execution("error", "Error: no such table: t"), "No answer. Error: no such table: t"),
    ],
)
def test_an_answer_is_the_result_in_words(execution: Execution, answer: str) -> None:
    assert describe(execution).endswith(answer)


def test_lines_are_cut_whole_and_marked() -> None:
    assert cut_lines("one\ntwo\nthree", 13) == "one\ntwo\nthree"
    assert cut_lines("one\ntwo\nthree", 12) == "one\n(cut)"


def test_a_path_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    opened = open_database("~/my.sqlite")
    assert isinstance(opened, SQLiteDatabase)
    assert opened.path == tmp_path / "my.sqlite"
