"""Databases behind a server, by SQLAlchemy URL: PostgreSQL and MySQL, through LangChain's `SQLDatabase`.

Each query runs alone in a read-only transaction with a statement timeout that is rolled back; a second after its limit
this side ends it, too. What a query may read is the role's to decide: give the URL of one without rights to write, to
files of the server or to other sessions.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

from langchain_community.utilities import SQLDatabase
from sqlalchemy import Connection, CursorResult, Engine, create_engine, inspect
from sqlalchemy.dialects.mysql.base import MySQLDialect
from sqlalchemy.engine import Inspector, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from spider.database import EMPTY_QUERY, Execution, failure, rows_execution
from spider.sandbox import Limits, QueryFailed, QueryRefused, QueryTimeout
from spider.schema_text import SAMPLES, Column, ForeignKey, Table, render, sample_literal

Row = tuple[object, ...]
SERVER_LIMITS = Limits(max_rows=10_000, max_cell_bytes=10_000, max_total_bytes=8_000_000)
END_SECONDS = 1.0  # after its limit a query is ended from this side
FETCHED_ROWS = 100  # at once, of which all may be long
CELL_BYTES = 8  # of a value that is neither text nor blob
SAMPLE_ROWS = 50  # the first rows of a table, in which sample values are looked for

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_NAMES = {"postgresql": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB"}
# First statements of a transaction; {ms} is the time limit.
OPENING = {
    "postgresql": ("SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = {ms}"),
    "mysql": ("SET SESSION max_execution_time = {ms}", "START TRANSACTION READ ONLY"),
    "mariadb": ("SET SESSION max_statement_time = {ms} / 1000", "START TRANSACTION READ ONLY"),
}
_TIMED_OUT = {"57014", "3024", "1969"}  # the servers' codes: cancelled by the timeout
_LOST = "2013"  # MySQL's driver: the connection is lost, also when an answer takes longer than it may
_READ_ONLY = {"25006", "1792"}  # a write in a read-only transaction
_READING = re.compile(r"[\s(]*(?:SELECT|WITH|VALUES|EXPLAIN|TABLE)\b", re.IGNORECASE)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


class ServerDatabase:
    """A database behind a server. The schema is read once.

    Raises:
        ValueError: the URL is none, names another kind of database, or its driver is missing.
    """

    def __init__(self, url: str, limits: Limits = SERVER_LIMITS) -> None:
        """Connect on first use."""
        self.limits = limits
        self.engine = _engine(url, limits.seconds + END_SECONDS)

    @property
    def dialect(self) -> str:
        """The server's kind, as a prompt names it; a server that can't be reached is what its URL says."""
        return self._name

    @cached_property
    def _name(self) -> str:
        try:
            self.engine.connect().close()
        except SQLAlchemyError:
            return _NAMES[self.engine.dialect.name]
        return _NAMES[_kind(self.engine)]

    def schema(self, question: str = "", max_chars: int = 2048) -> str:
        """See `Database.schema`."""
        return render(self.tables, question, max_chars, self.engine.dialect.identifier_preparer.quote)

    def execute(self, sql: str, max_chars: int = 2048) -> Execution:
        """See `Database.execute`."""
        if not sql.strip():
            return EMPTY_QUERY
        try:
            columns, rows, more = self._run(sql)
        except QueryFailed as error:
            return failure(error, max_chars)
        return rows_execution(columns, rows, more, max_chars)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Tables and views of the default schema.

        Raises:
            OSError: the server can't be reached.
        """
        try:
            # With its views, `SQLDatabase` lists materialised ones too, which SQLAlchemy can't for MySQL.
            listed = SQLDatabase(self.engine, view_support=self.engine.dialect.name == "postgresql")
            inspector = inspect(self.engine)
            views = set(inspector.get_view_names())
            ordered = sorted({*listed.get_usable_table_names(), *views}, key=lambda name: (name in views, name))
            return tuple(self._table(inspector, name, name in views) for name in ordered)
        except SQLAlchemyError as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            raise OSError(f"can't read the schema of {self.engine.url!r}: {' '.join(str(reason).split())}") from error

    def _table(self, inspector: Inspector, name: str, is_view: bool) -> Table:
        columns = [(column["name"], str(column["type"])) for column in inspector.get_columns(name)]
        samples = self._samples(name)
        return Table(
            name,
            tuple(Column(column, declared, samples.get(column, ())) for column, declared in columns),
            tuple(inspector.get_pk_constraint(name)["constrained_columns"]) if not is_view else (),
            tuple(
                ForeignKey(tuple(k["constrained_columns"]), k["referred_table"], tuple(k["referred_columns"]))
                for k in inspector.get_foreign_keys(name)
            ),
            is_view,
        )

    def _samples(self, table: str) -> dict[str, tuple[str, ...]]:
        """The first different values of each column; none where they can't be read in time."""
        quoted = self.engine.dialect.identifier_preparer.quote(table)
        try:
            columns, rows, _ = self._run(f"SELECT * FROM {quoted} LIMIT {SAMPLE_ROWS}")
        except QueryFailed:
            return {}
        found = {}
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            literals = dict.fromkeys(_literal(cell) for cell in cells if cell is not None)
            found[column] = tuple(literals)[:SAMPLES]
        return found

    def _run(self, sql: str) -> tuple[list[str], list[Row], bool]:
        """Column names, rows within the limits, and whether there are more.

        Raises:
            QueryFailed: as `spider.sandbox.run_query`.
        """
        statement = _one_reading_statement(sql, self.engine.dialect.name)
        seconds = self.limits.seconds
        with self._read_only() as connection, _server_errors(seconds), _ended_after(connection, seconds + END_SECONDS):
            streams = not statement.lstrip().upper().startswith("EXPLAIN")
            # Without parameters, a percent sign is no placeholder to the driver.
            options = connection.execution_options(stream_results=streams, no_parameters=True)
            result = options.exec_driver_sql(statement)
            return list(result.keys()), *self._within_limits(result)

    def _within_limits(self, result: CursorResult[Any]) -> tuple[list[Row], bool]:
        """The first rows, long cells cut, and whether there are more."""
        rows: list[Row] = []
        room, given_up = self.limits.max_total_bytes, time.monotonic() + self.limits.seconds + END_SECONDS
        for row in result.yield_per(FETCHED_ROWS):
            if time.monotonic() > given_up:
                raise QueryTimeout(self.limits.seconds)
            cells = tuple(_cut(cell, self.limits.max_cell_bytes) for cell in row)
            room -= sum(len(cell) if isinstance(cell, str | bytes) else CELL_BYTES for cell in cells)
            if room < 0 or len(rows) == self.limits.max_rows:
                return rows, True
            rows.append(cells)
        return rows, False

    @contextmanager
    def _read_only(self) -> Iterator[Connection]:
        """A connection inside a read-only transaction with the time limit, rolled back at the end."""
        with _server_errors(self.limits.seconds):
            connection = self.engine.connect()
        try:
            with _server_errors(self.limits.seconds):
                for opening in OPENING[_kind(self.engine)]:
                    connection.exec_driver_sql(opening.format(ms=int(self.limits.seconds * 1000)))
            yield connection
        finally:
            connection.close()


@lru_cache(maxsize=16)
def server_database(url: str) -> ServerDatabase:
    """The database at `url`, one a process."""
    return ServerDatabase(url)


def _kind(engine: Engine) -> str:
    """The kind of server, known once it has been connected to: a MySQL URL leads to a MariaDB as well."""
    dialect = engine.dialect
    return "mariadb" if isinstance(dialect, MySQLDialect) and dialect.is_mariadb else dialect.name


def _engine(url: str, seconds: float) -> Engine:
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError) as error:  # the latter for a port that is none
        # SQLAlchemy's words may hold the password.
        raise ValueError("not a database URL: write it like postgresql://user:password@host:5432/name") from error
    try:
        kind = parsed.get_backend_name()
        if kind not in OPENING:
            raise ValueError(f"{kind} databases can't be opened read-only here: use SQLite, PostgreSQL or MySQL")
        # A query may change its session's settings (set_config): a connection serves one query only.
        driver = _DRIVERS.get(parsed.drivername, parsed.drivername)
        bound = {"read_timeout": seconds} if driver.endswith("pymysql") else {}
        return create_engine(parsed.set(drivername=driver), poolclass=NullPool, connect_args=bound)
    except ModuleNotFoundError as error:
        raise ValueError(f"the driver for {url.partition(':')[0]} is missing: pip install {error.name}") from error
    except SQLAlchemyError as error:
        raise ValueError(f"not a database URL: {error}") from error


def _one_reading_statement(sql: str, dialect: str) -> str:
    """`sql` without a closing semicolon.

    Raises:
        QueryRefused: more than one statement, or one that doesn't read.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = list(sqlglot.tokenize(sql, "postgres" if dialect == "postgresql" else "mysql"))
    except SqlglotError as error:
        raise QueryFailed(str(error)) from error
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        sql = sql[: tokens.pop().start]
    if any(token.token_type.name == "SEMICOLON" for token in tokens):
        raise QueryRefused("only one statement may be run at a time")
    if not _READING.match(_COMMENT.sub(" ", sql)):
        raise QueryRefused("only queries that read (SELECT, WITH, VALUES, EXPLAIN) are run")
    return sql


@contextmanager
def _server_errors(seconds: float) -> Iterator[None]:
    """Turn the driver's errors into the sandbox's."""
    try:
        yield
    except DBAPIError as error:
        # PostgreSQL's driver gives the standard's code, MySQL's the server's own number before its message.
        number, message = error.orig.args if error.orig and len(error.orig.args) == 2 else ("", str(error.orig).strip())
        codes = {str(number), str(getattr(error.orig, "sqlstate", None))}
        if codes & _TIMED_OUT or (_LOST in codes and "timed out" in str(message)):
            raise QueryTimeout(seconds) from error
        raise (QueryRefused if codes & _READ_ONLY else QueryFailed)(str(message)) from error
    except SQLAlchemyError as error:
        raise QueryFailed(str(error)) from error


@contextmanager
def _ended_after(connection: Connection, seconds: float) -> Iterator[None]:
    """End what the connection does after so many seconds: a query may lengthen the server's own limit.

    PostgreSQL's driver asks the server to cancel the query; MySQL's gives up an answer that doesn't come (`_engine`).
    """
    cancel = getattr(connection.connection.dbapi_connection, "cancel", None)
    if cancel is None:
        yield
        return
    timer = threading.Timer(seconds, cancel)
    timer.daemon = True  # a server that can't be reached must not hold up this process's end
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _cut(value: object, max_bytes: int) -> object:
    """A long text or blob's beginning."""
    if isinstance(value, memoryview):
        value = bytes(value)
    return value[:max_bytes] if isinstance(value, str | bytes) else value


def _literal(value: object) -> str:
    if isinstance(value, int | float | str | bytes):
        return sample_literal(value)
    return sample_literal(bytes(value) if isinstance(value, memoryview) else str(value))
