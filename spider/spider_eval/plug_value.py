"""Predictions with the literals of the gold query in the place of their own.

Spider's leaderboard has a category in which values aren't predicted; there, a prediction counts as right when the
gold's values in some order make it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, permutations, product
from pathlib import Path

from spider.sandbox import QueryFailed, run_query
from spider.spider_eval.statement import Token, reading_statement, tokenize

MAX_CANDIDATES = 2_000


def plugged_predictions(db: Path, prediction: str, gold: str) -> Iterator[str]:
    """The prediction itself, then with the gold's literals: as they come, in other orders, with repetitions."""
    yield prediction
    slots = literals(db, prediction)
    values = [literal(token) for token in literals(db, gold)]
    if not slots or not values:
        return
    unique = list(dict.fromkeys(values))
    in_order = (choice for choice in permutations(values, len(slots)))
    repeated = (choice for choice in product(unique, repeat=len(slots)))
    seen: set[tuple[str, ...]] = set()
    for choice in islice(chain(islice(in_order, MAX_CANDIDATES // 2), repeated), MAX_CANDIDATES):
        if choice not in seen:
            seen.add(choice)
            yield plug(prediction, slots, choice)


def literals(db: Path, sql: str) -> list[Token]:
    """The numbers and texts in a query; in SQLite, double quotes around what is no name make a text."""
    return [
        token
        for token in tokenize(sql)
        if token.kind in ("number", "string") or (token.text[0] == '"' and not is_name(db, sql, token))
    ]


def is_name(db: Path, sql: str, token: Token) -> bool:
    """Whether double quotes enclose a name where they stand: SQLite prepares the query with backticks then, too.

    A column of a table that the query doesn't read is none, nor is a table's name in the place of a value.
    """
    name = in_double_quotes(token).replace("`", "``")
    statement = reading_statement(f"{sql[: token.start]}`{name}`{sql[token.end :]}")
    if statement is None:
        return False
    try:
        run_query(db, f"EXPLAIN {statement}")
    except QueryFailed:
        return False
    return True


def in_double_quotes(token: Token) -> str:
    """What stands between double quotes."""
    return token.text[1:-1].replace('""', '"')


def literal(token: Token) -> str:
    """A literal that means the same in any other query."""
    return "'" + in_double_quotes(token).replace("'", "''") + "'" if token.text[0] == '"' else token.text


def plug(sql: str, slots: list[Token], values: tuple[str, ...]) -> str:
    """The query with each slot replaced by a value."""
    parts, at = [], 0
    for slot, value in zip(slots, values, strict=True):
        parts += [sql[at : slot.start], value]
        at = slot.end
    return "".join([*parts, sql[at:]])
