"""Databases by URL, against a real PostgreSQL and a real MariaDB: what holds for both, then what each needs."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from spider import sql_server
from spider.database import Database, open_database
from spider.sandbox import Limits
from spider.sql_server import ServerDatabase
from tests.timing import within


@dataclass(frozen=True)
class Server:
    """A server, its way to sleep and to make many rows, and what it says of a column that isn't there."""

    url: str
    driver: str
    dialect: str
    sleep: str
    many_rows: str
    no_column: str

    def count_pets(self) -> int:
        """How many there are, past the code under test."""
        with create_engine(make_url(self.url).set(drivername=self.driver)).connect() as connection:
            return connection.execute(text("SELECT count(*) FROM pet")).scalar_one()


@pytest.fixture
def postgres(postgres_url: str) -> Server:
    many_rows = "SELECT 1 FROM generate_series(1, 10000) a, generate_series(1, 10000) b"
    no_column = 'column "nope" does not exist'
    return Server(postgres_url, "postgresql+psycopg", "PostgreSQL", "SELECT pg_sleep(30)", many_rows, no_column)


@pytest.fixture
def mariadb(mariadb_url: str) -> Server:
    sleep = "SELECT sleep(30), count(*) FROM pet"
    many_rows = "SELECT a.seq FROM seq_1_to_1000 a, seq_1_to_1000 b"
    return Server(mariadb_url, "mysql+pymysql", "MariaDB", sleep, many_rows, "Unknown column 'nope'")


@pytest.fixture(
    params=[pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("mariadb", marks=pytest.mark.mariadb)]
)
def server(request: pytest.FixtureRequest) -> Server:
    return request.getfixturevalue(request.param)


@pytest.fixture
def database(server: Server) -> Database:
    return open_database(server.url)


def test_the_dialect_names_the_server(database: Database, server: Server) -> None:
    assert database.dialect == server.dialect


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


def test_an_error_shows_the_servers_message(database: Database, server: Server) -> None:
    execution = database.execute("SELECT nope FROM pet")
    assert execution.kind == "error"
    assert server.no_column in execution.text


def test_explain_is_run(database: Database) -> None:
    assert database.execute("EXPLAIN SELECT 1").kind == "rows"


def test_a_query_over_its_time_is_interrupted(server: Server) -> None:
    def run() -> None:
        execution = ServerDatabase(server.url, Limits(seconds=0.5)).execute(server.sleep)
        assert (execution.kind, execution.text) == ("timeout", "Timed out after 0.5 s.")

    assert within(5, run)


@pytest.mark.postgres
def test_a_query_that_lengthens_its_time_is_ended_all_the_same(postgres: Server) -> None:
    sql = (
        "SELECT CASE n WHEN 1 THEN set_config('statement_timeout', '0', true) ELSE pg_sleep(30)::text END"
        " FROM generate_series(1, 3) n"
    )

    def run() -> None:
        assert ServerDatabase(postgres.url, Limits(seconds=0.5)).execute(sql).text == "Timed out after 0.5 s."

    assert within(5, run)


@pytest.mark.mariadb
def test_an_answer_that_does_not_come_is_given_up(mariadb: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sql_server.OPENING, "mariadb", ("START TRANSACTION READ ONLY",))

    def run() -> None:
        assert ServerDatabase(mariadb.url, Limits(seconds=0.5)).execute(mariadb.sleep).text == "Timed out after 0.5 s."

    assert within(5, run)


def test_a_long_cell_is_cut(server: Server) -> None:
    execution = ServerDatabase(server.url, Limits(max_cell_bytes=1000)).execute("SELECT repeat('x', 5000)")
    assert execution.rows == [("x" * 1000,)]


def test_more_bytes_than_may_be_read_are_said_to_be_more_rows(server: Server) -> None:
    database = ServerDatabase(server.url, Limits(max_total_bytes=12_000))
    execution = database.execute("SELECT repeat('x', 5000) FROM pet")
    assert (len(execution.rows), execution.more) == (2, True)


def test_a_result_of_many_rows_is_capped(server: Server) -> None:
    execution = ServerDatabase(server.url, Limits(max_rows=100)).execute(server.many_rows)
    assert len(execution.rows) == 100
    assert execution.text.endswith("of more than 100 rows)")


@pytest.mark.postgres
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
def test_a_query_that_does_more_than_read_changes_nothing_in_postgresql(postgres: Server, sql: str) -> None:
    assert open_database(postgres.url).execute(sql).kind in ("refused", "error")
    assert postgres.count_pets() == 3


@pytest.mark.mariadb
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
def test_a_query_that_does_more_than_read_changes_nothing_in_mariadb(mariadb: Server, sql: str) -> None:
    assert open_database(mariadb.url).execute(sql).kind in ("refused", "error", "rows")
    assert mariadb.count_pets() == 3


@pytest.mark.mariadb
def test_a_write_inside_a_query_is_refused_by_mariadb(mariadb: Server) -> None:
    assert open_database(mariadb.url).execute("SELECT * FROM pet FOR UPDATE; COMMIT").kind == "refused"


@pytest.mark.postgres
def test_settings_do_not_outlive_their_query(postgres: Server) -> None:
    database = open_database(postgres.url)
    database.execute("SELECT set_config('default_transaction_read_only', 'off', false)")
    database.execute("SELECT set_config('statement_timeout', '0', false)")
    assert "10s" in database.execute("SELECT current_setting('statement_timeout')").text


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_not_there_is_an_error_not_an_exception(scheme: str) -> None:
    assert ServerDatabase(f"{scheme}://nobody@127.0.0.1:1/none").execute("SELECT 1").kind == "error"


def test_another_kind_of_database_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match=r"not a database URL|can't be opened read-only"):
        open_database("nosuchkind://host/name")


def test_a_sqlite_url_opens_the_file(pets: Path) -> None:
    assert open_database(f"sqlite:///{pets}").execute("SELECT count(*) FROM pet").rows == [(3,)]
