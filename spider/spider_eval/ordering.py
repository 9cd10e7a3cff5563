"""Which rows of an ordered gold result tie on its ORDER BY keys, and so may come in any order.

The keys are read off the result where they are among its columns. Where they aren't, the query runs once more with
the keys as further columns. Where neither works, every row has its place.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, Rows, SQLValue, run_query
from spider.spider_eval.collation import Fold, key_folds
from spider.spider_eval.gold_outline import gold_outline
from spider.spider_eval.order_keys import order_key
from spider.spider_eval.statement import Outline, item_alias, select_items, source, tokenize, unquoted, with_columns

KEY_TOLERANCE = 1e-12
"""Sums of the same numbers in another order differ by less; a second of a Julian day number is 5e-12 of it."""

Row = tuple[SQLValue, ...]


@dataclass(frozen=True)
class Ordered:
    """Rows in order and, for each, the number of the group of tied rows it belongs to."""

    rows: list[Row]
    groups: list[int]


def keys_are_in_result(sql: str, result: Rows) -> bool:
    """Whether the groups of ``tie_groups`` can be had without running a query of the result's size."""
    parsed = gold_outline(sql)
    return all(isinstance(order_key(parsed, term, result.columns), int) for term in parsed.terms)


def tie_groups(db: Path, sql: str, result: Rows, limits: Limits) -> Ordered:
    """The groups of tied rows of ``result``, which ``sql`` gave; ``sql`` orders its rows."""
    parsed = gold_outline(sql)
    found = [order_key(parsed, term, result.columns) for term in parsed.terms]
    missing = [key for key in found if isinstance(key, str)]
    rows: list[Row] | None = result.rows
    keyed: list[Row] = result.rows
    if missing:
        rows, keyed = rerun(db, parsed, missing, result, limits)
    if rows is None:
        return Ordered(result.rows, list(range(len(result.rows))))
    added = iter(range(len(result.columns), len(result.columns) + len(missing)))
    positions = [next(added) if isinstance(key, str) else key for key in found]
    keys = [tuple(row[at] for at in positions) for row in keyed]
    places = [None if isinstance(key, str) else key for key in found]
    folds = key_folds(db, parsed, places, result.columns, limits)
    if any(folds):
        keys = [tuple(map(folded, key, folds)) for key in keys]
    groups, first = [0] * len(keys), 0
    for at in range(1, len(keys)):
        is_tied = tie(keys[first], keys[at])  # with the first of its group, so that small steps don't add up
        groups[at] = groups[at - 1] + (not is_tied)
        first = first if is_tied else at
    return Ordered(rows, groups)


def folded(key: SQLValue, folds: list[Fold]) -> SQLValue:
    """A key as its collation sees it."""
    for fold in folds if isinstance(key, str) else ():
        key = fold(str(key))
    return key


def tie(key: Row, following: Row) -> bool:
    """Whether two rows' keys are alike, but for rounding."""
    return all(
        math.isclose(a, b, rel_tol=KEY_TOLERANCE) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(key, following, strict=True)
    )


def rerun(
    db: Path, parsed: Outline, missing: list[str], result: Rows, limits: Limits
) -> tuple[list[Row] | None, list[Row]]:
    """The query's rows once more, without and with the missing keys after them; None when they can't be had.

    A further column may lead SQLite to visit tied rows in another order. That changes nothing, unless a LIMIT then
    keeps others of them.
    """
    distinct_or_set = parsed.distinct is not None or parsed.is_set_operation or parsed.select is None
    if distinct_or_set:
        return None, []
    wider = replace(limits, max_rows=len(result.rows) + 1)
    written = [with_aliases_quoted(parsed, expression) for expression in missing]
    for expressions in (written, [with_aliases_replaced(parsed, expression) for expression in missing]):
        try:
            keyed = run_query(db, with_columns(parsed, expressions), wider, exact_text=True).rows
        except QueryFailed:
            continue
        rows = [row[: len(result.columns)] for row in keyed]
        if rows == result.rows or Counter(rows) == Counter(result.rows):
            return rows, keyed
        return None, []
    return None, []


def with_aliases_quoted(parsed: Outline, expression: str) -> str:
    """An ORDER BY expression that fails in a SELECT list for its use of a result column's name.

    In double quotes, the name would be taken for a text there.
    """
    return edited(expression, {name: f"`{name.replace('`', '``')}`" for name in aliases(parsed)}, '"')


def with_aliases_replaced(parsed: Outline, expression: str) -> str:
    """An ORDER BY expression with result columns' names replaced by what they name: a SELECT list can't use them."""
    return edited(expression, {name: f"({text})" for name, text in aliases(parsed).items()})


def aliases(parsed: Outline) -> dict[str, str]:
    """What each name that the first SELECT gives its columns stands for; the leftmost counts."""
    named = [alias for item in select_items(parsed)[0] if (alias := item_alias(item))]
    return {name: source(parsed.sql, expression) for name, expression in reversed(named)}


def edited(expression: str, replacements: dict[str, str], quote: str = "") -> str:
    """An expression with the names in it replaced that begin with ``quote``; not those of a table's column."""
    replaced, at = "", 0
    for token in tokenize(expression):
        is_name = token.kind in ("word", "name") and token.text.startswith(quote)
        if is_name and unquoted(token) in replacements and not expression[: token.start].rstrip().endswith("."):
            replaced += f"{expression[at : token.start]}{replacements[unquoted(token)]}"
            at = token.end
    return replaced + expression[at:]
