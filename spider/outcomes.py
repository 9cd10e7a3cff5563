"""What became of a query, in one word, across the databases: the key under which runs count what rewriting mends."""

from __future__ import annotations

import re

from spider.database import Execution

# The servers' words for the same mistakes: SQLite, PostgreSQL, MySQL and MariaDB.
_ERRORS = {
    "no_such_column": r"no such column|column .*does not exist|unknown column|missing FROM-clause entry",
    "no_such_table": r"no such table|relation .*does not exist|table .*doesn't exist|unknown table",
    "no_such_function": r"no such function|function .*does not exist|unknown function",
    "ambiguous_column": r"ambiguous",
    "syntax": r"syntax error|error in your SQL syntax|incomplete input|unrecognized token|unterminated|tokeniz",
    "aggregate": r"misuse of (?:aggregate|window)|aggregate|GROUP BY|invalid use of group function",
    "arguments": r"wrong number of arguments|incorrect parameter count",
    "columns_differ": r"same number of (?:result )?columns|different number of columns",
}
_PATTERNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _ERRORS.items()}

OUTCOMES = (
    "rows",
    "no_rows",
    "empty_query",
    "refused",
    "timeout",
    *(f"error:{name}" for name in _ERRORS),
    "error:other",
)
"""Every value of `outcome`."""


def outcome(execution: Execution) -> str:
    """One of `OUTCOMES`: the execution's kind, and for an error what the database says is wrong."""
    if execution.kind != "error":
        return execution.kind
    found = (name for name, pattern in _PATTERNS.items() if pattern.search(execution.text))
    return f"error:{next(found, 'other')}"
