import time
from pathlib import Path

import psycopg
import pytest

from spider.database import Database, open_database
from spider.sandbox import Limits
from spider.sql_server import ServerDatabase

pytestmark = pytest.mark.postgres


@pytest.fixture
def database(postgres_url: str) -> Database:
    return open_database(postgres_url)


def count_pets(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pet").fetchone()
    assert row
    return row[0]


def test_the_dialect_is_postgresql(database: Database) -> None:
    assert database.dialect == "PostgreSQL"


def test_the_schema_shows_tables_keys_and_samples(database: Database) -> None:
    schema = database.schema()
    assert "CREATE TABLE pet (\nid INTEGER PRIMARY KEY, -- 1, 2, 3\nname TEXT, -- 'Rex', 'Tom', 'Ada'" in schema
    assert "owner_id INTEGER REFERENCES owner(id) -- 1, 2" in schema


def test_the_schema_keeps_to_its_length(database: Database) -> None:
    assert len(database.schema("", 120)) <= 120


def test_rows_come_back_with_their_columns(database: Database) -> None:
    execution = database.execute("SELECT name, age FROM pet ORDER BY id;")
    assert execution.kind == "rows"
    assert execution.text == "name | age\nRex | 3\nTom | NULL\nAda | 9\n(3 rows)"
    assert execution.rows == [("Rex", 3), ("Tom", None), ("Ada", 9)]


def test_a_percent_sign_is_no_placeholder(database: Database) -> None:
    assert database.execute("SELECT name FROM pet WHERE name LIKE 'R%'").rows == [("Rex",)]


def test_no_rows_are_said_to_be_none(database: Database) -> None:
    assert database.execute("SELECT name FROM pet WHERE id = 9").kind == "no_rows"


def test_an_error_shows_the_servers_message(database: Database) -> None:
    execution = database.execute("SELECT nope FROM pet")
    assert execution.kind == "error"
    assert 'column "nope" does not exist' in execution.text


def test_explain_is_run(database: Database) -> None:
    assert database.execute("EXPLAIN SELECT 1").kind == "rows"


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM pet",
        "DROP TABLE pet",
        "WITH gone AS (DELETE FROM pet RETURNING id) SELECT * FROM gone",
        "EXPLAIN ANALYZE DELETE FROM pet",
        "SELECT * INTO copied FROM pet",
        "COMMIT; DROP TABLE pet",
        "SELECT 1; COMMIT; DROP TABLE pet",
        "SET TRANSACTION READ WRITE",
        "COPY pet TO '/tmp/pets'",
    ],
)
def test_a_query_that_does_more_than_read_changes_nothing(database: Database, postgres_url: str, sql: str) -> None:
    assert database.execute(sql).kind in ("refused", "error")
    assert count_pets(postgres_url) == 3


def test_settings_do_not_outlive_their_query(database: Database) -> None:
    database.execute("SELECT set_config('default_transaction_read_only', 'off', false)")
    database.execute("SELECT set_config('statement_timeout', '0', false)")
    assert "10s" in database.execute("SELECT current_setting('statement_timeout')").text


def test_a_query_over_its_time_is_interrupted(postgres_url: str) -> None:
    started = time.monotonic()
    execution = ServerDatabase(postgres_url, Limits(seconds=0.5)).execute("SELECT pg_sleep(30)")
    assert execution.kind == "timeout"
    assert execution.text == "Timed out after 0.5 s."
    assert time.monotonic() - started < 5


def test_a_result_of_many_rows_is_capped(postgres_url: str) -> None:
    database = ServerDatabase(postgres_url, Limits(max_rows=100))
    execution = database.execute("SELECT 1 FROM generate_series(1, 10000) a, generate_series(1, 10000) b")
    assert len(execution.rows) == 100
    assert execution.text.endswith("of more than 100 rows)")


def test_a_server_that_is_not_there_is_an_error_not_an_exception() -> None:
    execution = ServerDatabase("postgresql://nobody@127.0.0.1:1/none").execute("SELECT 1")
    assert execution.kind == "error"


def test_another_kind_of_database_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match=r"not a database URL|can't be opened read-only"):
        open_database("nosuchkind://host/name")


def test_a_sqlite_url_opens_the_file(pets: Path) -> None:
    assert open_database(f"sqlite:///{pets}").execute("SELECT count(*) FROM pet").rows == [(3,)]
