"""Predictions with the literals of the gold query in the place of their own.

Spider's leaderboard has a category in which values aren't predicted; there, a prediction counts as right when the
gold's values in some order make it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice, permutations, product
from pathlib import Path

from spider.sandbox import QueryFailed, run_query
from spider.spider_eval.statement import BEFORE_OPERAND, Token, reading_statement, tokenize

MAX_CANDIDATES = 2_000
MAX_QUOTED = 64  # names in double quotes that SQLite is asked about; each costs as much as preparing the query
BEFORE_NUMBER = (*BEFORE_OPERAND, "SELECT", "DISTINCT", "ALL", "WHERE", "HAVING", "ON", "BY", "LIMIT", "OFFSET")


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
    """The numbers, with their sign, and texts in a query; SQLite takes what is no name in double quotes for a text."""
    found: list[Token] = []
    asked = 0
    tokens = tokenize(sql)
    for at, token in enumerate(tokens):
        if token.kind == "number":
            found.append(signed(sql, tokens, at))
        elif token.kind == "string":
            found.append(token)
        elif token.text[0] == '"' and asked < MAX_QUOTED:
            asked += 1
            if not is_name(db, sql, token):
                found.append(token)
    return found


def signed(sql: str, tokens: tuple[Token, ...], at: int) -> Token:
    """A number with the sign before it, if it isn't the operator between two operands."""
    if at == 0 or tokens[at - 1].text not in ("-", "+"):
        return tokens[at]
    before = tokens[at - 2] if at > 1 else None
    is_operand = before is not None and (before.kind not in ("word", "other") or before.text == ")")
    is_column = before is not None and before.kind == "word" and before.word not in BEFORE_NUMBER
    if is_operand or is_column:
        return tokens[at]
    start, end = tokens[at - 1].start, tokens[at].end
    return replace(tokens[at], start=start, text=sql[start:end])


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
    if token.text[0] == '"':
        return "'" + in_double_quotes(token).replace("'", "''") + "'"
    return f"({token.text})" if token.text[0] in "+-" else token.text  # after a minus, another would open a comment


def plug(sql: str, slots: list[Token], values: tuple[str, ...]) -> str:
    """The query with each slot replaced by a value."""
    parts, at = [], 0
    for slot, value in zip(slots, values, strict=True):
        parts += [sql[at : slot.start], value]
        at = slot.end
    return "".join([*parts, sql[at:]])
