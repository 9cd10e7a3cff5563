"""A database's schema as the text the model reads, within a number of characters.

Over the limit it gives up detail in steps: sample values, then views, then the tables least related to the question,
then the columns of the last table. What is left out is named. A line is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

SAMPLE_CHARS = 24  # of one sample value
SAMPLES = 3  # values a column

# The SQLite keywords that fail or change meaning as a bare name, found by trying all 147 of its list as a table's and a
# column's name in five queries.
SQLITE_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """ADD ALL ALTER AND AS AUTOINCREMENT BETWEEN CASE CAST CHECK COLLATE COMMIT CONSTRAINT CREATE CURRENT_DATE
        CURRENT_TIME CURRENT_TIMESTAMP DEFAULT DEFERRABLE DELETE DISTINCT DROP ELSE ESCAPE EXCEPT EXISTS FOREIGN FROM
        GROUP HAVING IN INDEX INSERT INTERSECT INTO IS ISNULL JOIN LIMIT NOT NOTHING NOTNULL NULL ON OR ORDER PRIMARY
        RAISE REFERENCES RETURNING SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USING VALUES WHEN WHERE""",
    )
)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Column:
    """A column; `type` is as declared, ``""`` when it has none, and `samples` are SQL literals ready to show."""

    name: str
    type: str
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ForeignKey:
    """`columns` point at `references` of `table`; `references` is empty when the target isn't known."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table or view with what a query's author needs to know of it."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    is_view: bool = False


TextOf = Callable[[Sequence[Table], Sequence[str]], str]
"""The schema of tables, with the names that it leaves out."""


def quote_sqlite(name: str) -> str:
    """`name` as a query must write it: quoted when it is reserved or more than ASCII letters, digits and ``_``."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in SQLITE_RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def sample_literal(value: object) -> str:
    """A value as a short SQL literal on one line."""
    if isinstance(value, bytes):
        return f"x'{value[:8].hex()}{'…' if len(value) > 8 else ''}'"
    if not isinstance(value, str):
        return str(value)
    text = " ".join(value.split())
    if len(text) > SAMPLE_CHARS:
        text = text[: SAMPLE_CHARS - 1] + "…"
    return "'" + text.replace("'", "''") + "'"


def render(
    tables: Sequence[Table], question: str = "", max_chars: int = 2048, quote: Callable[[str], str] = quote_sqlite
) -> str:
    """The schema of `tables` in at most `max_chars` characters, with what helps to answer `question` kept longest."""

    def text_of(shown: Sequence[Table], left_out: Sequence[str]) -> str:
        return _join(shown, left_out, quote, max_chars // 2)

    shown: list[Table] = []
    for shown, left_out in _without_samples_and_views(tables):
        if len(text := text_of(shown, left_out)) <= max_chars:
            return text
    return _of_some_tables(tables, shown, question, max_chars, text_of)


def _without_samples_and_views(tables: Sequence[Table]) -> Iterator[tuple[list[Table], list[str]]]:
    """Ever smaller selections of the schema with all tables, each with the names it leaves out."""
    for samples in range(SAMPLES, -1, -1):
        yield [_with_samples(table, samples) for table in tables], []
    views = [table.name for table in tables if table.is_view]
    if 0 < len(views) < len(tables):
        yield [_with_samples(table, 0) for table in tables if not table.is_view], views


def _of_some_tables(
    tables: Sequence[Table],
    shown: Sequence[Table],
    question: str,
    max_chars: int,
    text_of: TextOf,
) -> str:
    """As many of the tables as fit, those first that have to do with the question; else as many columns of one."""
    kept = sorted(shown, key=_relevance(shown, question), reverse=True)

    def with_tables(count: int) -> str:
        names = {table.name for table in kept[:count]}
        left_out = [table.name for table in tables if table.name not in names]
        return text_of([table for table in shown if table.name in names], left_out)

    return (
        _longest(with_tables, len(kept) - 1, max_chars)
        or _of_some_columns(tables, kept[0], question, max_chars, text_of)
        or _left_out_note([table.name for table in tables], max_chars)
    )


def _of_some_columns(tables: Sequence[Table], table: Table, question: str, max_chars: int, text_of: TextOf) -> str:
    """As many columns of one table as fit; ``""`` when not even one does."""
    keys = {name for key in table.foreign_keys for name in key.columns} | set(table.primary_key)
    words = _words(question)
    columns = sorted(table.columns, key=lambda c: 2 * len(words & _words(c.name)) + (c.name in keys), reverse=True)
    others = [other.name for other in tables if other.name != table.name]

    def with_columns(count: int) -> str:
        names = {column.name for column in columns[:count]}
        some = replace(table, columns=tuple(column for column in table.columns if column.name in names))
        return text_of([some], [f"{len(table.columns) - count} columns of {table.name}", *others])

    return _longest(with_columns, len(columns) - 1, max_chars)


def _longest(text_of: Callable[[int], str], most: int, max_chars: int) -> str:
    """The text of the largest number from `most` down to 1 that fits, texts growing with it; ``""`` when none does."""
    found, low = "", 1
    while low <= most:
        middle = (low + most) // 2
        text = text_of(middle)
        if len(text) <= max_chars:
            found, low = text, middle + 1
        else:
            most = middle - 1
    return found


def _with_samples(table: Table, count: int) -> Table:
    columns = tuple(replace(column, samples=column.samples[:count]) for column in table.columns)
    return replace(table, columns=columns)


def _relevance(tables: Sequence[Table], question: str) -> Callable[[Table], tuple[float, int]]:
    """A sort key: words shared with the question, then links to tables that share some, then links at all."""
    words = _words(question)
    own = {
        table.name.lower(): 3 * len(words & _words(table.name))
        + len(words & {word for column in table.columns for word in _words(column.name)})
        for table in tables
    }
    links: dict[str, set[str]] = {table.name.lower(): set() for table in tables}
    for table in tables:
        for key in table.foreign_keys:
            if key.table.lower() in links:
                links[table.name.lower()].add(key.table.lower())
                links[key.table.lower()].add(table.name.lower())

    def rank(table: Table) -> tuple[float, int]:
        linked = links[table.name.lower()]
        return own[table.name.lower()] + sum(0.5 for name in linked if own[name]), len(linked)

    return rank


def words_in_common(tables: Sequence[Table], question: str) -> int:
    """How much a database has to do with a question: words shared with tables' names count thrice, with columns' once.

    A word counts once, wherever it stands.
    """
    words = _words(question)
    in_tables = words & {word for table in tables for word in _words(table.name)}
    in_columns = words & {word for table in tables for column in table.columns for word in _words(column.name)}
    return 3 * len(in_tables) + len(in_columns - in_tables)


def _words(text: str) -> set[str]:
    """Lower-case words of a name or a question, without a plural's ending."""
    return {_singular(word) for word in _WORD.findall(_CAMEL.sub(" ", text).lower())}


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _join(tables: Sequence[Table], left_out: Sequence[str], quote: Callable[[str], str], note_chars: int) -> str:
    parts = [_table_text(table, quote) for table in tables]
    if left_out:
        parts.append(_left_out_note(left_out, note_chars))
    return "\n".join(parts)


def _left_out_note(names: Sequence[str], max_chars: int) -> str:
    """A comment that names what isn't shown: all of it, or as much as fits into `max_chars`."""
    names = [" ".join(name.split()) for name in names]
    note = f"-- Left out: {', '.join(names)}"
    if len(note) <= max_chars:
        return note
    some = _longest(
        lambda count: f"-- Left out: {', '.join(names[:count])} and {len(names) - count} more",
        len(names) - 1,
        max_chars,
    )
    note = some or f"-- Left out: {len(names)} tables"
    return note if len(note) <= max_chars else ""


def _table_text(table: Table, quote: Callable[[str], str]) -> str:
    """One line a column or composite key, so that a line is the unit of what is shown."""
    lines = [(_column_text(table, column, quote), column.samples) for column in table.columns]
    if len(table.primary_key) > 1:
        lines.append((f"PRIMARY KEY ({_names(table.primary_key, quote)})", ()))
    shown = {column.name for column in table.columns}
    for key in table.foreign_keys:
        if len(key.columns) > 1 and shown.issuperset(key.columns):
            lines.append((f"FOREIGN KEY ({_names(key.columns, quote)}) {_references(key, quote)}", ()))
    body = [
        text + ("," if index < len(lines) - 1 else "") + (f" -- {', '.join(samples)}" if samples else "")
        for index, (text, samples) in enumerate(lines)
    ]
    kind = "VIEW" if table.is_view else "TABLE"
    return "\n".join([f"CREATE {kind} {quote(table.name)} (", *body, ");"])


def _column_text(table: Table, column: Column, quote: Callable[[str], str]) -> str:
    text = " ".join([quote(column.name), *column.type.split()])
    if table.primary_key == (column.name,):
        text += " PRIMARY KEY"
    for key in table.foreign_keys:
        if key.columns == (column.name,):
            text += " " + _references(key, quote)
    return text


def _references(key: ForeignKey, quote: Callable[[str], str]) -> str:
    columns = f"({_names(key.references, quote)})" if key.references else ""
    return f"REFERENCES {quote(key.table)}{columns}"


def _names(names: Sequence[str], quote: Callable[[str], str]) -> str:
    return ", ".join(quote(name) for name in names)
