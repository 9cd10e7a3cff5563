import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spider.schema_text import quote_sqlite, render, sample_literal
from spider.sqlite_schema import read_tables

ROOT = Path(__file__).resolve().parents[2]
REAL = Path(os.environ.get("SPIDER_REAL_DATA") or ROOT.parent / "shared" / "spider")
Make = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a database file from a script."""

    def write(script: str) -> Path:
        path = tmp_path / "made.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return write


def schema(path: Path, question: str = "", max_chars: int = 2048) -> str:
    return render(read_tables(path), question, max_chars)


def test_a_table_is_shown_with_types_keys_and_samples(make: Make) -> None:
    path = make(
        """CREATE TABLE owner (id INTEGER PRIMARY KEY, name VARCHAR(20));
        CREATE TABLE pet (owner_id INT REFERENCES owner(id), n, age INT, PRIMARY KEY (owner_id, n));
        INSERT INTO owner VALUES (1, 'Ann'), (2, 'Bo'), (3, 'Bo'), (4, 'Cy'), (5, 'Di');
        INSERT INTO pet VALUES (1, 'x', NULL);"""
    )
    assert schema(path) == (
        "CREATE TABLE owner (\n"
        "id INTEGER PRIMARY KEY, -- 1, 2, 3\n"
        "name VARCHAR(20) -- 'Ann', 'Bo', 'Cy'\n"
        ");\n"
        "CREATE TABLE pet (\n"
        "owner_id INT REFERENCES owner(id), -- 1\n"
        "n, -- 'x'\n"
        "age INT,\n"
        "PRIMARY KEY (owner_id, n)\n"
        ");"
    )


def test_views_come_after_tables(make: Make) -> None:
    path = make("CREATE VIEW v AS SELECT 1 AS one; CREATE TABLE t (a);")
    assert schema(path) == "CREATE TABLE t (\na\n);\nCREATE VIEW v (\none -- 1\n);"


def test_composite_and_implied_foreign_keys_are_shown(make: Make) -> None:
    path = make(
        """CREATE TABLE a (x, y, PRIMARY KEY (x, y));
        CREATE TABLE b (x, y, FOREIGN KEY (x, y) REFERENCES a);
        CREATE TABLE c (id INTEGER PRIMARY KEY);
        CREATE TABLE d (c_id REFERENCES c);"""
    )
    text = schema(path)
    assert "FOREIGN KEY (x, y) REFERENCES a(x, y)" in text
    assert "c_id REFERENCES c(id)" in text


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("plain_1", "plain_1"),
        ("order", '"order"'),
        ("Group", '"Group"'),
        ("two words", '"two words"'),
        ("prénom", '"prénom"'),
        ("1st", '"1st"'),
        ('say "x"', '"say ""x"""'),
        ("", '""'),
    ],
)
def test_a_name_is_quoted_where_needed(name: str, quoted: str) -> None:
    assert quote_sqlite(name) == quoted


@pytest.mark.parametrize(
    "name", ["order", "select", "two words", "prénom", "1st", 'a"b', "name", "key", "rowid_", "a-b"]
)
def test_a_shown_name_works_in_a_query(make: Make, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    path = make(f"CREATE TABLE t ({quoted} TEXT); INSERT INTO t VALUES ('found');")
    shown = schema(path).splitlines()[1].rpartition(" TEXT")[0]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(f"SELECT {shown} FROM t WHERE {shown} = 'found'").fetchall() == [("found",)]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (1, "1"),
        (0.5, "0.5"),
        ("it's", "'it''s'"),
        ("two\nlines", "'two lines'"),
        ("x" * 99, "'" + "x" * 23 + "…'"),
        (b"\x00\xff", "x'00ff'"),
        (b"0123456789", "x'3031323334353637…'"),
    ],
)
def test_a_sample_is_a_short_literal_on_one_line(value: object, literal: str) -> None:
    assert sample_literal(value) == literal


def test_text_that_is_not_utf8_is_shown(make: Make) -> None:
    path = make("CREATE TABLE t (a TEXT); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT));")
    assert "a TEXT -- '\ufffdA'" in schema(path)


def test_a_view_that_cannot_be_read_is_still_named(make: Make) -> None:
    path = make("CREATE TABLE t (a); CREATE VIEW v AS SELECT a FROM t; PRAGMA writable_schema = 1; DROP TABLE t;")
    assert schema(path) == "CREATE VIEW v (\n);"


def test_a_view_that_never_ends_costs_a_second(make: Make) -> None:
    path = make(
        "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) AS m FROM c;"
    )
    assert schema(path) == "CREATE VIEW v (\nm\n);"


def test_full_text_tables_are_shown_without_their_inner_tables(make: Make) -> None:
    path = make("CREATE VIRTUAL TABLE note USING fts5(body); INSERT INTO note VALUES ('hello');")
    assert schema(path) == "CREATE TABLE note (\nbody -- 'hello'\n);"


def test_generated_columns_are_shown(make: Make) -> None:
    path = make("CREATE TABLE t (a INT, b INT AS (a * 2)); INSERT INTO t(a) VALUES (4);")
    assert "b INT -- 8" in schema(path)


def test_an_empty_database_has_an_empty_schema(make: Make) -> None:
    assert schema(make("")) == ""


def test_a_change_of_the_file_is_seen(make: Make) -> None:
    path = make("CREATE TABLE one (a);")
    assert "one" in schema(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE two (b)")
    os.utime(path, ns=(1, 1))
    assert "two" in schema(path)


def test_a_file_that_cannot_be_read_is_described_by_its_script(tmp_path: Path) -> None:
    path = tmp_path / "broken.sqlite"
    path.write_bytes(b"this is no database" * 100)
    (tmp_path / "schema.sql").write_text(
        "PRAGMA page_size=512;\nCREATE TABLE t (a TEXT DEFAULT ';', b INT);\nINSERT INTO t VALUES ('x;');\nnonsense;"
    )
    assert schema(path) == "CREATE TABLE t (\na TEXT,\nb INT\n);"


def test_a_script_beside_the_file_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.sqlite").write_bytes(b"this is no database" * 100)
    (tmp_path / "schema.sql").write_text(
        f"/* create */ VACUUM INTO '{tmp_path}/created.db';\n-- the only one\nCREATE TABLE t (a);"
    )
    assert schema(tmp_path / "broken.sqlite") == "CREATE TABLE t (\na\n);"
    assert not (tmp_path / "created.db").exists()


def test_a_file_that_is_not_there_is_an_error_that_names_the_fix(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="VERL_SPIDER_DATA_DIR"):
        read_tables(tmp_path / "none.sqlite")


def test_a_broken_file_without_a_script_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(OSError, match="can't read the database"):
        read_tables(path)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(NAMES, st.lists(NAMES, min_size=1, max_size=4, unique_by=str.casefold))
def test_any_names_are_read_back(tmp_path_factory: pytest.TempPathFactory, table: str, columns: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "any.sqlite"
    quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
    table_name = '"t_' + table.replace('"', '""') + '"'
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE {table_name} ({', '.join(quoted)})")
    except sqlite3.OperationalError:  # two columns that SQLite takes for one
        return
    (read,) = read_tables(path)
    assert (read.name, [column.name for column in read.columns]) == (f"t_{table}", columns)


def databases(folder: Path) -> list[Path]:
    return sorted(folder.glob("*database/*/*.sqlite"))


@pytest.mark.parametrize("path", databases(ROOT / "data" / "sample"), ids=lambda path: path.stem)
def test_every_sample_database_has_a_schema_within_the_limit(path: Path) -> None:
    check_database(path)


@pytest.mark.real_data
@pytest.mark.skipif(not databases(REAL), reason="no copy of Spider 1.0: set SPIDER_REAL_DATA")
def test_every_spider_database_has_a_schema_within_the_limit() -> None:
    for path in databases(REAL):
        check_database(path)


def check_database(path: Path) -> None:
    tables = read_tables(path)
    whole = render(tables, "", 10**9)
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert names
    for name in names:
        assert name.startswith("sqlite_") or quote_sqlite(name) in whole
    assert all(table.columns for table in tables)
    for limit in (2048, 1024, 300):
        assert len(render(tables, "How many are there?", limit)) <= limit
