"""The tables of any file that SQLite opens, read from `sqlite_master` and the PRAGMAs.

A file that can't be read is described by the `schema.sql` beside it.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, run_query
from spider.sandbox_worker import first_word
from spider.schema_text import SAMPLES, Column, ForeignKey, Table, sample_literal

logger = logging.getLogger(__name__)

SAMPLE_ROWS = 50  # the first rows of a table, in which sample values are looked for
SAMPLE_LIMITS = Limits(seconds=1.0)
SCRIPT_STEPS = 10_000_000  # of SQLite's virtual machine: how long a schema.sql may run


def read_tables(path: Path) -> tuple[Table, ...]:
    """Tables, then views, in the order they were created. Read again when the file changes.

    Raises:
        OSError: the file can't be read and no `schema.sql` lies beside it.
    """
    source = path if path.is_file() and path.stat().st_size else path.with_name("schema.sql")
    if not source.is_file():
        if path.is_file():
            return ()
        raise FileNotFoundError(f"no database at {path}: check db_path and VERL_SPIDER_DATA_DIR")
    stat = source.stat()
    return _read_cached(path, source, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=512)
def _read_cached(path: Path, source: Path, mtime_ns: int, size: int) -> tuple[Table, ...]:
    if source == path:
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
                return _introspect(connection, path)
        except sqlite3.Error as error:
            source = path.with_name("schema.sql")
            if not source.is_file():
                raise OSError(f"can't read the database {path}: {error}") from error
            logger.warning("can't read %s (%s): its schema.sql is used", path, error)
    with closing(sqlite3.connect(":memory:")) as connection:
        _run_script(connection, source.read_text(encoding="utf-8", errors="replace"))
        return _introspect(connection, None)


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run the CREATE statements of a script; others, and those that fail, are passed over."""
    connection.set_progress_handler(lambda: 1, SCRIPT_STEPS)
    statement = ""
    for piece in script.split(";"):
        statement += piece + ";"
        if not sqlite3.complete_statement(statement):
            continue
        if first_word(statement) == "CREATE":
            with suppress(sqlite3.Error, sqlite3.Warning):
                connection.execute(statement)
        statement = ""
    connection.set_progress_handler(None, 0)


def _introspect(connection: sqlite3.Connection, path: Path | None) -> tuple[Table, ...]:
    """All tables and views of an open database, with sample values from `path` when it is given."""
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    found: list[tuple[str, str]] = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, rowid"
    ).fetchall()
    # Nothing comes back from a SQLite older than 3.37: then a virtual table's own tables are shown too.
    shadows = {row[1] for row in connection.execute("PRAGMA table_list") if row[2] == "shadow"}
    tables = [_table(connection, name, kind == "view", path) for name, kind in found if name not in shadows]
    keys = {table.name.lower(): table.primary_key for table in tables}
    return tuple(_with_implied_references(table, keys) for table in tables)


def _table(connection: sqlite3.Connection, name: str, is_view: bool, path: Path | None) -> Table:
    try:
        info = connection.execute("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
        links = connection.execute(
            'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
        ).fetchall()
    except sqlite3.Error as error:  # a view over a missing table, a virtual table without its module
        logger.debug("the columns of %s can't be read: %s", name, error)
        return Table(name, (), is_view=is_view)
    visible = [(column, declared) for column, declared, _, hidden in info if hidden != 1]
    samples = _samples(path, name, [column for column, _ in visible]) if path else {}
    primary_key = sorted((pk, column) for column, _, pk, _ in info if pk)
    return Table(
        name,
        tuple(Column(column, declared or "", samples.get(column, ())) for column, declared in visible),
        tuple(column for _, column in primary_key),
        _foreign_keys(links),
        is_view,
    )


def _foreign_keys(links: list[tuple[int, str, str, str | None]]) -> tuple[ForeignKey, ...]:
    """Rows of `PRAGMA foreign_key_list`, one a column, put together by key in the order they were declared."""
    keys: dict[int, ForeignKey] = {}
    for number, table, column, target in links:
        key = keys.get(number, ForeignKey((), table, ()))
        keys[number] = ForeignKey(
            (*key.columns, column), table, (*key.references, target) if target is not None else key.references
        )
    return tuple(keys[number] for number in sorted(keys, reverse=True))


def _with_implied_references(table: Table, primary_keys: dict[str, tuple[str, ...]]) -> Table:
    """Foreign keys without named targets point at the other table's primary key."""
    keys = tuple(
        key if key.references else ForeignKey(key.columns, key.table, primary_keys.get(key.table.lower(), ()))
        for key in table.foreign_keys
    )
    return Table(table.name, table.columns, table.primary_key, keys, table.is_view)


def _samples(path: Path, table: str, columns: list[str]) -> dict[str, tuple[str, ...]]:
    """The first different values of each column, through the sandbox: a view may run for ever or fill the memory."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in (table, *columns)]
    values = ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN substr({name}, 1, 64) WHEN 'blob' THEN substr({name}, 1, 9) "
        f"ELSE {name} END"
        for name in quoted[1:]
    )
    try:
        rows = run_query(path, f"SELECT {values} FROM {quoted[0]} LIMIT {SAMPLE_ROWS}", SAMPLE_LIMITS).rows
    except QueryFailed as error:
        logger.debug("no sample values of %s: %s", table, error)
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
        literals = dict.fromkeys(sample_literal(cell) for cell in cells if cell is not None)
        found[column] = tuple(literals)[:SAMPLES]
    return found
