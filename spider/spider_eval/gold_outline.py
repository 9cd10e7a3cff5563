"""What a gold query asks of a result, by sqlglot's parse: an order of its rows, no row twice.

A gold query is parsed once, and comes from a data set. Predictions are not parsed: sqlglot takes 30 seconds for twenty
calls of ``date`` within each other, and fails on texts that SQLite runs (docs/reward.md). Their DISTINCT is found as
the places in a gold's text are: by SQLite's lexical rules.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from spider.spider_eval.statement import Outline, outline

if TYPE_CHECKING:
    from sqlglot import exp


@lru_cache(maxsize=4096)
def gold_outline(sql: str) -> Outline:
    """The outline of a gold query; what it says of the outermost one is sqlglot's word, where it can parse it."""
    from sqlglot import exp  # here, because importing takes a tenth of a second

    found = outline(sql)
    tree = parse(sql)
    if tree is None:
        return found
    return replace(
        found,
        distinct=found.distinct if isinstance(tree, exp.Select) and tree.args.get("distinct") else None,
        is_set_operation=isinstance(tree, exp.SetOperation),
        terms=found.terms if tree.args.get("order") else (),
    )


def parse(sql: str) -> exp.Query | exp.Values | None:
    """The tree of one statement that reads; None where sqlglot has none."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = [tree for tree in sqlglot.parse(sql, read="sqlite") if not isinstance(tree, exp.Semicolon | None)]
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 and isinstance(trees[0], exp.Query | exp.Values) else None


def orders_rows(sql: str) -> bool:
    """Whether a gold query's outermost query has an ORDER BY."""
    return "order" in sql.lower() and bool(gold_outline(sql).terms)
