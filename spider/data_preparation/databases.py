"""One SQLite database of a data folder: copied, looked into, and its schema written beside it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from spider.data_preparation.source import DAMAGED, Place, SourceError
from spider.files import make_folder


@dataclass(frozen=True)
class Contents:
    """What a database holds; `error` says why it can't be read."""

    tables: frozenset[str] = frozenset()
    columns: int = 0
    rows: int = 0
    not_utf8: int = 0
    """Text values that are not UTF-8; the sandbox replaces their bad bytes."""
    error: str = ""


def connect(path: Path) -> sqlite3.Connection:
    """A connection that only reads; bytes of a text that are not UTF-8 are replaced."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = _replaced
    return connection


def copy_database(source: Place, target: Path) -> None:
    """Copy a SQLite file to its place, whole or not at all, and write `schema.sql` beside it.

    Raises:
        SourceError: the zip it lies in is damaged.
    """
    make_folder(target.parent)
    partial = target.with_name(f".{target.name}.partial")
    try:
        with source.open("rb") as reader, partial.open("wb") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
        partial.replace(target)
    except DAMAGED as error:
        raise SourceError(f"{source} can't be unpacked ({error}): fetch the zip again") from error
    finally:
        partial.unlink(missing_ok=True)
    try:
        script = schema_script(target)
    except sqlite3.Error:
        return  # reported when its contents are read
    (target.parent / "schema.sql").write_text(script, encoding="utf-8", newline="\n")


def schema_script(path: Path) -> str:
    """The CREATE statements of a database. Spider's own `schema.sql` files differ from it in names, or hold rows too.

    Raises:
        sqlite3.Error: it is no database.
    """
    with closing(connect(path)) as connection:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    return "\n".join(f"{sql.rstrip()};\n" for (sql,) in found)


def look_into(path: Path) -> Contents:
    """Count a database's tables, columns, rows and bad text; reads all of it."""
    bad = 0

    def counted(raw: bytes) -> str:
        nonlocal bad
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            bad += 1
            return ""

    try:
        with closing(connect(path)) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            names = [name for (name,) in connection.execute(query).fetchall()]
            connection.text_factory = counted
            rows, columns = 0, 0
            for name in names:
                cursor = connection.execute('SELECT * FROM "{}"'.format(name.replace('"', '""')))
                columns += len(cursor.description)
                rows += sum(1 for _ in cursor)
    except sqlite3.Error as error:
        return Contents(error=str(error))
    return Contents(frozenset(name.lower() for name in names), columns, rows, bad)


def integrity(path: Path) -> str | None:
    """What SQLite's own quick check finds wrong with a file; None when it is sound."""
    try:
        with closing(connect(path)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return str(error)
    return None if found == "ok" else found


def _replaced(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
