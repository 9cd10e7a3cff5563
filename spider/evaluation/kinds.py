"""What is wrong with a query's result, in one word: its outcome, and for rows how they differ from the gold query's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from spider.database import Execution
from spider.outcomes import outcome
from spider.sandbox import Rows, SQLValue
from spider.spider_eval.compare import same_result

RIGHT = "right"

DESCRIPTIONS = {
    RIGHT: "gives the gold query's result",
    "empty_query": "the reply held no query",
    "refused": "would do more than read",
    "timeout": "takes too long",
    "error:no_such_column": "names a column that isn't there",
    "error:no_such_table": "names a table that isn't there",
    "error:no_such_function": "calls a function that isn't there",
    "error:ambiguous_column": "names a column that two of its tables have",
    "error:syntax": "is not SQL that the database can parse",
    "error:aggregate": "uses an aggregate where none may stand",
    "error:arguments": "calls a function with the wrong number of arguments",
    "error:columns_differ": "combines queries of different widths",
    "error:other": "fails for another reason",
    "rows:none": "finds nothing where there is something",
    "rows:surplus": "finds something where there is nothing",
    "rows:columns": "gives more or fewer columns",
    "rows:count": "gives more or fewer rows",
    "rows:order": "gives the right rows in the wrong order",
    "rows:values": "gives as many rows and columns, with other values",
    "failed": "has no verdict: the model's server or the gold query failed",
}


def kind_of(execution: Execution, gold: Rows, right: bool) -> str:
    """The kind of a query's result: one of `DESCRIPTIONS`."""
    if right:
        return RIGHT
    if execution.kind not in ("rows", "no_rows"):
        return outcome(execution)
    if bool(execution.rows) != bool(gold.rows):
        return "rows:none" if gold.rows else "rows:surplus"
    if len(execution.columns) != len(gold.columns):
        return "rows:columns"
    if len(execution.rows) != len(gold.rows):
        return "rows:count"
    # SQLite gives nothing but SQL's own values.
    rows = cast("Sequence[tuple[SQLValue, ...]]", execution.rows)
    return "rows:order" if same_result(gold.rows, rows) else "rows:values"
