"""Predictions with the literals of the gold query in the place of their own.

Spider's leaderboard has a category in which values aren't predicted; there, a prediction counts as right when the
gold's values in some order make it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise, permutations, product
from pathlib import Path

from spider.sandbox import QueryFailed, run_query
from spider.spider_eval.statement import Token, tokenize, unquoted

MAX_CANDIDATES = 2_000
NAMES = (
    "SELECT lower(item.name) FROM sqlite_master AS item"
    " UNION SELECT lower(c.name) FROM sqlite_master AS item, pragma_table_info(item.name) AS c"
)


def plugged_predictions(db: Path, prediction: str, gold: str) -> Iterator[str]:
    """The prediction itself, then with the gold's literals: as they come, in other orders, with repetitions.

    Raises:
        QueryFailed: ``db`` can't be read.
    """
    yield prediction
    names = known_names(db)
    slots = literals(prediction, names)
    values = [token.text for token in literals(gold, names)]
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


def known_names(db: Path) -> frozenset[str]:
    """Names of tables and columns: what double quotes may enclose other than a literal."""
    try:
        return frozenset(str(name) for (name,) in run_query(db, NAMES).rows)
    except QueryFailed:
        return frozenset()


def literals(sql: str, names: frozenset[str]) -> list[Token]:
    """The numbers and texts in a query; in SQLite, double quotes around what is no name make a text."""
    tokens = tokenize(sql)
    aliases = {unquoted(token) for before, token in pairwise(tokens) if before.word == "AS"}
    return [
        token
        for token in tokens
        if token.kind in ("number", "string")
        or (token.text[0] == '"' and unquoted(token) not in names and unquoted(token) not in aliases)
    ]


def plug(sql: str, slots: list[Token], values: tuple[str, ...]) -> str:
    """The query with each slot replaced by a value."""
    parts, at = [], 0
    for slot, value in zip(slots, values, strict=True):
        parts += [sql[at : slot.start], value]
        at = slot.end
    return "".join([*parts, sql[at:]])
