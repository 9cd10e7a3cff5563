"""One interface to the databases an agent may query: SQLite files and, by SQLAlchemy URL, others.

database = open_database("data/sample/database/library/library.sqlite")
database.schema("How many books are there?")
database.execute("SELECT count(*) FROM book").text
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from spider.sandbox import Limits, QueryFailed, QueryRefused, QueryTimeout, run_query
from spider.schema_text import render
from spider.sqlite_schema import read_tables

EXECUTION_LIMITS = Limits(max_rows=10_000, max_cell_bytes=10_000, max_total_bytes=8_000_000)
CELL_CHARS = 80  # of one value in the text a model reads
ANSWER_ROWS = 20  # rows that an answer spells out

Kind = Literal["rows", "no_rows", "error", "refused", "timeout", "empty_query"]


@dataclass(frozen=True)
class Execution:
    """What became of a query: `text` is what the model sees, `columns` and `rows` what came back, empty on failure.

    `more` says that there are rows beyond these.
    """

    kind: Kind
    text: str
    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[object, ...]] = ()
    more: bool = False


class Database(Protocol):
    """A database that can be read."""

    @property
    def dialect(self) -> str:
        """The name of its SQL."""
        ...

    def schema(self, question: str = "", max_chars: int = 2048) -> str:
        """The schema in at most `max_chars` characters; what has to do with `question` is kept longest.

        Raises:
            OSError: the database can't be read.
        """
        ...

    def execute(self, sql: str, max_chars: int = 2048) -> Execution:
        """Run one reading query. Whatever the query does, nothing is raised; the text has at most `max_chars`."""
        ...


class SQLiteDatabase:
    """A SQLite file, read through the sandbox."""

    dialect = "SQLite"

    def __init__(self, path: Path, limits: Limits = EXECUTION_LIMITS) -> None:
        """Nothing is opened here; a missing file fails at `schema`."""
        self.path = path.absolute()
        self.limits = limits

    def schema(self, question: str = "", max_chars: int = 2048) -> str:
        """See `Database.schema`."""
        read_tables(self.path)  # raises for a file that can't be read, and notices one that changed
        stat = self.path.stat() if self.path.exists() else None
        return _render_cached(self.path, stat and (stat.st_mtime_ns, stat.st_size), question, max_chars)

    def execute(self, sql: str, max_chars: int = 2048) -> Execution:
        """See `Database.execute`."""
        if not sql.strip():
            return EMPTY_QUERY
        try:
            result = run_query(self.path, sql, self.limits)
        except QueryFailed as error:
            return failure(error, max_chars)
        return rows_execution(result.columns, result.rows, result.more, max_chars)


@lru_cache(maxsize=4096)
def _render_cached(path: Path, version: object, question: str, max_chars: int) -> str:
    return render(read_tables(path), question, max_chars)


EMPTY_QUERY = Execution("empty_query", "No query was given.")


def open_database(db: str | Path) -> Database:
    """The database at a path or an SQLAlchemy URL (``postgresql+psycopg://user@host/name``, ``sqlite:///file``).

    Raises:
        ValueError: the URL can't be used; the message says why.
    """
    if isinstance(db, Path) or "://" not in db:
        return SQLiteDatabase(Path(db).expanduser())
    scheme, _, rest = db.partition("://")
    if scheme.partition("+")[0] == "sqlite":
        path = rest.removeprefix("/").partition("?")[0]
        if not path or path == ":memory:":
            raise ValueError(f"{db} is an empty database in memory: give the path of a file")
        return SQLiteDatabase(Path(path))
    from spider.sql_server import server_database

    return server_database(db)


class RecordingDatabase:
    """A database that keeps what its queries gave."""

    def __init__(self, database: Database) -> None:
        """Wrap a database."""
        self._database = database
        self.dialect = database.dialect
        self.executions: list[Execution] = []

    def schema(self, question: str = "", max_chars: int = 2048) -> str:
        """See `Database.schema`."""
        return self._database.schema(question, max_chars)

    def execute(self, sql: str, max_chars: int = 2048) -> Execution:
        """See `Database.execute`."""
        execution = self._database.execute(sql, max_chars)
        self.executions.append(execution)
        return execution


def without_password(db: str) -> str:
    """A path or URL as it may be shown."""
    if "://" not in db:
        return db
    from sqlalchemy import make_url

    return make_url(db).render_as_string(hide_password=True)


def failure(error: QueryFailed, max_chars: int) -> Execution:
    """The execution of a query that gave no result."""
    if isinstance(error, QueryTimeout):
        return Execution("timeout", f"Timed out after {error.seconds:g} s."[:max_chars])
    if isinstance(error, QueryRefused):
        return Execution("refused", f"Refused: {error}"[:max_chars])
    return Execution("error", f"Error: {error}"[:max_chars])


def rows_execution(columns: Sequence[str], rows: Sequence[tuple[object, ...]], more: bool, max_chars: int) -> Execution:
    """The execution of a query that gave `rows`; `more` says that they are only its first."""
    names = tuple(columns)
    if more and not rows:
        return Execution("error", "Error: a row is too large to be shown."[:max_chars], names)
    if not rows:
        return Execution(
            "no_rows", f"No rows. Columns: {' | '.join(cell_text(name) for name in names)}"[:max_chars], names
        )
    return Execution("rows", _table_text(names, rows, more, max_chars), names, rows, more)


def describe(execution: Execution) -> str:
    """A query's result in words: the columns and the rows, or why there are none."""
    if execution.kind not in ("rows", "no_rows"):
        return f"No answer. {execution.text}"
    columns = ", ".join(cell_text(name) for name in execution.columns)
    if not execution.rows:
        return f"Nothing was found (columns: {columns})."
    rows = [", ".join(cell_text(value) for value in row) for row in execution.rows[:ANSWER_ROWS]]
    if len(execution.rows) == 1 and len(execution.columns) == 1 and not execution.more:
        return f"{columns} is {rows[0]}."
    if execution.more:
        return f"More than {_row_count(len(execution.rows))} of {columns}: {'; '.join(rows)}; and more."
    more = f"; and {len(execution.rows) - len(rows)} more" if len(execution.rows) > len(rows) else ""
    return f"{_row_count(len(execution.rows))} of {columns}: {'; '.join(rows)}{more}."


def cell_text(value: object) -> str:
    """A value on one line, cut to `CELL_CHARS`; NULL and an empty text can be told apart."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return f"x'{raw[:16].hex()}{'…' if len(raw) > 16 else ''}'"
    text = " ".join(str(value)[: 4 * CELL_CHARS].split()) if value != "" else "''"
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + "…"


def _row_count(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _table_text(columns: tuple[str, ...], rows: Sequence[tuple[object, ...]], more: bool, max_chars: int) -> str:
    """Column names, as many rows as fit, and a last line with the row count that says whether rows were cut."""
    header = " | ".join(cell_text(name) for name in columns)
    total = f"more than {_row_count(len(rows))}" if more else _row_count(len(rows))
    room = max_chars - len(f"{header}\n\n(first {len(rows)} of {total})")
    lines: list[str] = []
    for row in rows:
        line = " | ".join(cell_text(value) for value in row)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    is_whole = len(lines) == len(rows) and not more
    count = f"({total})" if is_whole else f"(first {len(lines)} of {total})"
    text = "\n".join([header, *lines, count])
    return text if len(text) <= max_chars else count[:max_chars]
