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
from spider.spider_eval.compare import RELATIVE_TOLERANCE
from spider.spider_eval.gold_outline import gold_outline
from spider.spider_eval.statement import (
    Outline,
    Token,
    item_alias,
    order_expression,
    outline,
    select_items,
    source,
    spelled,
    unquoted,
    with_columns,
    without_parentheses,
)

Row = tuple[SQLValue, ...]


@dataclass(frozen=True)
class Ordered:
    """Rows in order and, for each, the number of the group of tied rows it belongs to."""

    rows: list[Row]
    groups: list[int]


def keys_are_in_result(sql: str, result: Rows) -> bool:
    """Whether the groups of ``tie_groups`` can be had without running a query of the result's size."""
    parsed = gold_outline(sql)
    return all(key_column(parsed, term, result.columns) is not None for term in parsed.terms)


def tie_groups(db: Path, sql: str, result: Rows, limits: Limits) -> Ordered:
    """The groups of tied rows of ``result``, which ``sql`` gave; ``sql`` orders its rows."""
    parsed = gold_outline(sql)
    columns = [key_column(parsed, term, result.columns) for term in parsed.terms]
    missing = [
        source(sql, order_expression(term)) for term, at in zip(parsed.terms, columns, strict=True) if at is None
    ]
    rows: list[Row] | None = result.rows
    keyed: list[Row] = result.rows
    if missing:
        rows, keyed = rerun(db, parsed, missing, result, limits)
    if rows is None:
        return Ordered(result.rows, list(range(len(result.rows))))
    added = iter(range(len(result.columns), len(result.columns) + len(missing)))
    positions = [next(added) if at is None else at for at in columns]
    keys = [tuple(row[at] for at in positions) for row in keyed]
    folds = key_folds(db, parsed, columns, result.columns, limits)
    if any(folds):
        keys = [tuple(map(folded, key, folds)) for key in keys]
    groups = [0] * len(keys)
    for at in range(1, len(keys)):
        groups[at] = groups[at - 1] + (not tie(keys[at - 1], keys[at]))
    return Ordered(rows, groups)


def folded(key: SQLValue, folds: list[Fold]) -> SQLValue:
    """A key as its collation sees it."""
    for fold in folds if isinstance(key, str) else ():
        key = fold(str(key))
    return key


def tie(key: Row, following: Row) -> bool:
    """Whether two rows' keys are alike; between two floating-point values as `same_result` compares them."""
    return all(
        math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(key, following, strict=True)
    )


def key_column(parsed: Outline, term: tuple[Token, ...], columns: tuple[str, ...]) -> int | None:
    """The result column that an ORDER BY term stands for: by number, by name, or written alike."""
    expression = order_expression(term)
    if (number := ordinal(expression)) is not None:
        return number - 1
    names = [column.lower() for column in columns]
    if len(expression) == 1 and names.count(unquoted(expression[0])) == 1:
        return names.index(unquoted(expression[0]))
    for items in select_items(parsed):
        if len(items) != len(columns):  # a star stands for several columns
            continue
        for at, item in enumerate(items):
            alias = item_alias(item)
            if spelled(without_parentheses(alias[1] if alias else item)) == spelled(expression):
                return at
    match [token.text for token in expression], expression:
        case [_, ".", _], [*_, last] if parsed.distinct and names.count(unquoted(last)) == 1:
            return names.index(unquoted(last))
    return None


def ordinal(expression: tuple[Token, ...]) -> int | None:
    """The number of a result column, as SQLite reads it: ``2``, ``+2`` or ``0x2``; ``2.0`` is a constant."""
    if len(expression) == 2 and expression[0].text == "+":
        expression = expression[1:]
    if len(expression) != 1 or expression[0].kind != "number":
        return None
    text = expression[0].text.lower()
    return int(text) if text.isdecimal() else int(text, 16) if text.startswith("0x") else None


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
    for expressions in (missing, [with_aliases_replaced(parsed, expression) for expression in missing]):
        try:
            keyed = run_query(db, with_columns(parsed, expressions), wider, exact_text=True).rows
        except QueryFailed:
            continue
        rows = [row[: len(result.columns)] for row in keyed]
        if rows == result.rows or Counter(rows) == Counter(result.rows):
            return rows, keyed
        return None, []
    return None, []


def with_aliases_replaced(parsed: Outline, expression: str) -> str:
    """An ORDER BY expression with result columns' names replaced by what they name: a SELECT list can't use them."""
    aliases = {
        alias[0]: source(parsed.sql, alias[1]) for item in select_items(parsed)[0] if (alias := item_alias(item))
    }
    replaced, at = "", 0
    for token in outline(expression).tokens:
        if token.kind in ("word", "name") and unquoted(token) in aliases:
            replaced += f"{expression[at : token.start]}({aliases[unquoted(token)]})"
            at = token.end
    return replaced + expression[at:]
