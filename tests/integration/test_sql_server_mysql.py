"""Databases by a MySQL URL, against a real MariaDB."""

import time

import pymysql
import pytest
from sqlalchemy.engine import make_url

from spider.database import Database, open_database
from spider.sandbox import Limits
from spider.sql_server import ServerDatabase

pytestmark = pytest.mark.mariadb


@pytest.fixture
def database(mariadb_url: str) -> Database:
    return open_database(mariadb_url)


def count_pets(url: str) -> int:
    parsed = make_url(url)
    connection = pymysql.connect(
        host=parsed.host, port=parsed.port or 3306, user=parsed.username, database=parsed.database
    )
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pet")
        row = cursor.fetchone()
    assert row
    return row[0]


def test_the_dialect_names_the_server(database: Database) -> None:
    assert database.dialect == "MariaDB"


def test_the_schema_shows_tables_keys_and_samples(database: Database) -> None:
    schema = database.schema()
    assert "CREATE TABLE pet (\nid INTEGER PRIMARY KEY, -- 1, 2, 3\nname TEXT, -- 'Rex', 'Tom', 'Ada'" in schema
    assert "owner_id INTEGER REFERENCES owner(id) -- 1, 2" in schema


def test_rows_come_back_with_their_columns(database: Database) -> None:
    execution = database.execute("SELECT name, age FROM pet ORDER BY id;")
    assert execution.kind == "rows"
    assert execution.text == "name | age\nRex | 3\nTom | NULL\nAda | 9\n(3 rows)"


def test_a_percent_sign_is_no_placeholder(database: Database) -> None:
    assert database.execute("SELECT name FROM pet WHERE name LIKE 'R%'").rows == [("Rex",)]


def test_no_rows_are_said_to_be_none(database: Database) -> None:
    assert database.execute("SELECT name FROM pet WHERE id = 9").kind == "no_rows"


def test_an_error_shows_the_servers_message(database: Database) -> None:
    execution = database.execute("SELECT nope FROM pet")
    assert execution.kind == "error"
    assert "Unknown column 'nope'" in execution.text


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM pet",
        "DROP TABLE pet",
        "EXPLAIN DELETE FROM pet",
        "ANALYZE DELETE FROM pet",
        "SELECT 1; DROP TABLE pet",
        "SELECT /*! 1; */ 1; DROP TABLE pet",
        "/*! DELETE FROM pet */",
        "SET SESSION max_statement_time = 0",
        "SELECT * FROM pet INTO OUTFILE '/tmp/agent-mariadb-pets'",
        "CREATE TABLE other (id INT)",
        "CALL nothing()",
        "TRUNCATE pet",
    ],
)
def test_a_query_that_does_more_than_read_changes_nothing(database: Database, mariadb_url: str, sql: str) -> None:
    assert database.execute(sql).kind in ("refused", "error", "rows")
    assert count_pets(mariadb_url) == 3


def test_a_write_inside_a_query_is_refused(database: Database) -> None:
    assert database.execute("SELECT * FROM pet FOR UPDATE; COMMIT").kind == "refused"


def test_a_query_over_its_time_is_interrupted(mariadb_url: str) -> None:
    started = time.monotonic()
    execution = ServerDatabase(mariadb_url, Limits(seconds=0.5)).execute("SELECT sleep(30), count(*) FROM pet")
    assert execution.kind == "timeout"
    assert execution.text == "Timed out after 0.5 s."
    assert time.monotonic() - started < 5


def test_a_result_of_many_rows_is_capped(mariadb_url: str) -> None:
    database = ServerDatabase(mariadb_url, Limits(max_rows=100))
    execution = database.execute("SELECT a.seq FROM seq_1_to_1000 a, seq_1_to_1000 b")
    assert len(execution.rows) == 100
    assert execution.text.endswith("of more than 100 rows)")


def test_a_server_that_is_not_there_is_an_error_not_an_exception() -> None:
    assert ServerDatabase("mysql://nobody@127.0.0.1:1/none").execute("SELECT 1").kind == "error"
