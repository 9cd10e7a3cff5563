"""By which collation SQLite compares the keys of an ORDER BY: which different texts it takes for alike."""

from __future__ import annotations

import string
from collections.abc import Callable
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, run_query
from spider.spider_eval.order_keys import expression_of, is_column
from spider.spider_eval.statement import (
    Outline,
    Token,
    order_expression,
    select_items,
    split_at_commas,
    tokenize,
    unquoted,
    without_parentheses,
)

Fold = Callable[[str], str]
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)  # SQLite's NOCASE knows no other letters
FOLDS: dict[str, Fold] = {"NOCASE": lambda text: text.translate(_UPPER), "RTRIM": lambda text: text.rstrip(" ")}
"""What makes texts equal that a collation takes for alike; BINARY, the default, takes none."""

DECLARATIONS = "SELECT sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%COLLATE%'"


def key_folds(
    db: Path, parsed: Outline, places: list[int | None], columns: tuple[str, ...], limits: Limits
) -> list[list[Fold]]:
    """For each ORDER BY term, what makes its texts equal that tie.

    A COLLATE in the term, or in the result column it stands for, is its collation, else the one that its column was
    declared with (https://www.sqlite.org/datatype3.html, 7.1). Through a subquery or a CTE a column's origin isn't
    followed: there it may have any collation that the query or the schema names.

    Args:
        db: The database.
        parsed: The query.
        places: For each term, the place of the result column it stands for, or None.
        columns: The names of the result's columns.
        limits: The limits of a query.
    """
    declared = declared_collations(db, limits)
    order = parsed.terms[0][0].start if parsed.terms else len(parsed.sql)
    inner = named_collations(tuple(token for token in parsed.tokens if token.start < order))
    nested = any(token.word == "SELECT" and token.depth for token in parsed.tokens)
    anywhere = inner.union(*declared.values()) if nested else set[str]()
    folds: list[list[Fold]] = []
    for term, at in zip(parsed.terms, places, strict=True):
        expressions = [term] if at is None else result_columns(parsed, at)
        found = next((names for names in map(named_collations, [term, *expressions]) if names), None)
        if found is None:
            # Of a star's columns the result has the names.
            names = {column_name(expression) for expression in expressions} or {columns[at or 0].lower()}
            found = anywhere.union(*(declared.get(name, set()) for name in names if name)) if any(names) else set()
        folds.append([FOLDS[name] for name in sorted(found) if name in FOLDS])
    return folds


def result_columns(parsed: Outline, at: int) -> list[tuple[Token, ...]]:
    """The expressions of the result column at a place, one for each SELECT that writes all of its columns out."""
    written = [items for items in select_items(parsed) if not any(item[-1].text == "*" for item in items)]
    return [expression_of(items[at]) for items in written if at < len(items)]


def named_collations(tokens: tuple[Token, ...]) -> set[str]:
    """The collations that a COLLATE among the tokens names, in upper case."""
    after = [tokens[at + 1] for at, token in enumerate(tokens[:-1]) if token.word == "COLLATE"]
    return {unquoted(token).upper() for token in after}


def column_name(expression: tuple[Token, ...]) -> str | None:
    """The name of the column that an expression is, and nothing but is; None for any other."""
    expression = order_expression(expression)
    while expression and expression[0].text == "+":  # such a column keeps its collation
        expression = without_parentheses(expression[1:])
    return unquoted(expression[-1]) if is_column(expression) else None


def declared_collations(db: Path, limits: Limits) -> dict[str, set[str]]:
    """The collations that the schema's tables declare, by the column's name in lower case."""
    try:
        tables = run_query(db, DECLARATIONS, limits).rows
    except QueryFailed:
        return {}
    declared: dict[str, set[str]] = {}
    for (sql,) in tables:
        tokens = tokenize(str(sql))
        start = next((at for at, token in enumerate(tokens) if token.text == "("), len(tokens))
        body = [token for token in tokens[start + 1 :] if token.depth]
        for definition in split_at_commas(body, depth=1):
            declared.setdefault(unquoted(definition[0]), set()).update(named_collations(definition))
    return declared
