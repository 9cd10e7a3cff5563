"""What is wrong with a query's result, in one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from spider.database import Execution
from spider.sandbox import Rows, SQLValue
from spider.spider_eval.compare import same_result

RIGHT = "right"

DESCRIPTIONS = {
    RIGHT: "gives the gold query's result",
    "no_query": "the reply held no query",
    "no_such_table": "names a table that isn't there",
    "no_such_column": "names a column that isn't there",
    "ambiguous_column": "names a column that two of its tables have",
    "syntax_error": "is not SQL that SQLite can parse",
    "misused_aggregate": "uses an aggregate where none may stand",
    "other_error": "fails for another reason",
    "timeout": "takes too long",
    "refused": "would do more than read",
    "no_rows": "finds nothing where there is something",
    "surplus_rows": "finds something where there is nothing",
    "wrong_column_count": "gives more or fewer columns",
    "wrong_row_count": "gives more or fewer rows",
    "wrong_order": "gives the right rows in the wrong order",
    "wrong_values": "gives as many rows and columns, with other values",
    "failed": "has no verdict: the model's server or the gold query failed",
}

_MESSAGES = (
    ("no such table", "no_such_table"),
    ("no such column", "no_such_column"),
    ("ambiguous column", "ambiguous_column"),
    ("syntax error", "syntax_error"),
    ("incomplete input", "syntax_error"),
    ("unrecognized token", "syntax_error"),
    ("misuse of aggregate", "misused_aggregate"),
    ("misuse of window", "misused_aggregate"),
)


def kind_of(execution: Execution, gold: Rows, right: bool) -> str:
    """The kind of a query's result; see `DESCRIPTIONS`."""
    if right:
        return RIGHT
    if execution.kind in ("empty_query", "timeout", "refused"):
        return "no_query" if execution.kind == "empty_query" else execution.kind
    if execution.kind == "error":
        text = execution.text.lower()
        return next((kind for message, kind in _MESSAGES if message in text), "other_error")
    if bool(execution.rows) != bool(gold.rows):
        return "no_rows" if gold.rows else "surplus_rows"
    if len(execution.columns) != len(gold.columns):
        return "wrong_column_count"
    if len(execution.rows) != len(gold.rows):
        return "wrong_row_count"
    # SQLite gives nothing but SQL's own values.
    rows = cast("Sequence[tuple[SQLValue, ...]]", execution.rows)
    return "wrong_order" if same_result(gold.rows, rows) else "wrong_values"
