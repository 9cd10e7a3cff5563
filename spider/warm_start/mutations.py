"""Wrong versions of a gold query, each with the one line a careful checker would say about it.

Every edit replaces one span of the query's own text, found with sqlglot's tokens, so that a wrong query looks in all
other respects like the gold: its style gives nothing away. Whether an edit changes the result is for the caller to
check: some don't.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sqlglot.dialects import SQLite
from sqlglot.tokenizer_core import Token, TokenType

from spider.sqlite_schema import read_tables

Tables = Mapping[str, Sequence[str]]
"""Column names by table name, both as the database spells them."""

_AGGREGATES = ("count", "sum", "avg", "min", "max")
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_CLAUSES = (
    TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT,
    TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT,
)  # fmt: skip
_JOINS = (TokenType.JOIN, TokenType.LEFT, TokenType.INNER, TokenType.CROSS, TokenType.COMMA)
_SWAPS = {
    ">": ("<", ">="), "<": (">", "<="), ">=": (">", "<="), "<=": ("<", ">="), "=": ("!=", ">"), "!=": ("=",),
    "<>": ("=",), "AND": ("OR",), "OR": ("AND",), "DESC": ("ASC",), "ASC": ("DESC",),
    "UNION": ("INTERSECT", "EXCEPT"), "INTERSECT": ("UNION", "EXCEPT"), "EXCEPT": ("UNION", "INTERSECT"),
}  # fmt: skip
_ROLES = {
    TokenType.WHERE: "a condition", TokenType.GROUP_BY: "the grouping", TokenType.HAVING: "a condition on the groups",
    TokenType.ORDER_BY: "the order", TokenType.LIMIT: "the limit",
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One wrong query, its kind (for counting) and the line that names the mistake."""

    kind: str
    query: str
    feedback: str


def table_columns(db: Path) -> dict[str, list[str]]:
    """Tables and views of a database file, with their columns in order."""
    return {table.name: [column.name for column in table.columns] for table in read_tables(db)}


def mutations(query: str, tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Wrong versions of `query`, one kind after another in random order, so that rare kinds get their turn.

    Raises:
        sqlglot.errors.TokenError: `query` can't be cut into tokens.
    """
    tokens = SQLite().tokenize(query)
    kinds = list(_KINDS)
    rng.shuffle(kinds)
    pending = [edits for kind in kinds if (edits := list(kind(query, tokens, tables, rng)))]
    for edits in pending:
        rng.shuffle(edits)
    while pending:
        for edits in pending:
            yield edits.pop()
        pending = [edits for edits in pending if edits]


def _columns(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Another column of the same table, or one that no table has."""
    known = {column.lower(): table for table, columns in tables.items() for column in columns}
    names = {table.lower() for table in tables}
    for token in tokens:
        table = known.get(token.text.lower())
        if table is None or token.text.lower() in names or token.token_type == TokenType.STRING:
            continue
        others = [column for column in tables[table] if column.lower() != token.text.lower()]
        if others:
            new = rng.choice(others)
            yield _edit("column", query, token, _quoted(new), f"Wrong column: it needs {token.text}, not {new}.")
        invented = rng.choice([f"{table}_{token.text}", f"{token.text}_name", f"{token.text}_value", f"num_{table}"])
        if invented.lower() not in known:
            feedback = f"There is no column {invented}; it needs {token.text}."
            yield _edit("invented column", query, token, _quoted(invented), feedback)


def _tables(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Another table of the same database."""
    for before, token in pairwise(tokens):
        others = [table for table in tables if table.lower() != token.text.lower()]
        if before.token_type not in (TokenType.FROM, TokenType.JOIN) or len(others) == len(tables) or not others:
            continue
        new = rng.choice(others)
        yield _edit("table", query, token, _quoted(new), f"Wrong table: it needs {token.text}, not {new}.")


def _aggregates(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Another aggregate function, or none."""
    for token, following in pairwise(tokens):
        old = token.text.lower()
        if old not in _AGGREGATES or following.token_type != TokenType.L_PAREN:
            continue
        new = rng.choice([name for name in _AGGREGATES if name != old])
        new = new.upper() if token.text.isupper() else new
        yield _edit("aggregate", query, token, new, f"Wrong aggregate: it needs {old}, not {new.lower()}.")


def _operators(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Another comparison, connective, set operation or sort order; NOT left out."""
    for token in tokens:
        if choices := _SWAPS.get(token.text.upper()):
            new = rng.choice(choices)
            yield _edit("operator", query, token, new, f"Wrong operator: it needs {token.text.upper()}, not {new}.")
        elif token.token_type == TokenType.NOT:
            yield _edit("operator", query, token, "", "The condition is the wrong way round: NOT is missing.")


def _literals(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """Another number, another text or another case of it."""
    columns = {column.lower() for names in tables.values() for column in names}
    for token in tokens:
        source = query[token.start : token.end + 1]
        if token.token_type == TokenType.NUMBER:
            number = float(token.text)
            changed = f"{number + rng.choice([1, 2, -1, 10]):g}"
        elif token.token_type == TokenType.STRING or (source[0] == '"' and token.text.lower() not in columns):
            text = token.text
            choices = [text.swapcase(), text.lower(), text.upper(), text[: len(text) // 2], text + "s"]
            changed = source[0] + rng.choice(choices).replace(source[0], source[0] * 2) + source[-1]
        else:
            continue
        if changed != source:
            yield _edit("literal", query, token, changed, f"Wrong value: it needs {source}, not {changed}.")


def _dropped(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """A clause, a join's condition or DISTINCT left out."""
    for index, token in enumerate(tokens):
        if token.token_type in _ROLES:
            end = _end(tokens, index, _CLAUSES)
            text = query[token.start : end]
            role = _ROLES[token.token_type]
            yield Mutation("clause", _cut(query, token.start, end), f"It lacks {role}: {' '.join(text.split())}.")
        elif token.token_type == TokenType.ON:
            end = _end(tokens, index, _CLAUSES + _JOINS)
            text = " ".join(query[token.start : end].split())
            yield Mutation("join", _cut(query, token.start, end), f"The join has no condition: {text} is missing.")
        elif token.token_type == TokenType.DISTINCT:
            yield _edit("distinct", query, token, "", "It counts or lists repeated values: DISTINCT is missing.")


def _syntax(query: str, tokens: list[Token], tables: Tables, rng: random.Random) -> Iterator[Mutation]:
    """A bracket, a comma or a keyword left out."""
    for token in tokens[1:]:
        if token.token_type in (TokenType.R_PAREN, TokenType.COMMA, TokenType.FROM):
            feedback = f"The query does not run: {token.text} is missing."
            yield _edit("syntax", query, token, "", feedback)


_KINDS: tuple[Callable[[str, list[Token], Tables, random.Random], Iterator[Mutation]], ...] = (
    _columns, _tables, _aggregates, _operators, _literals, _dropped, _syntax,
)  # fmt: skip


def _edit(kind: str, query: str, token: Token, new: str, feedback: str) -> Mutation:
    if not new:
        return Mutation(kind, _cut(query, token.start, token.end + 1), feedback)
    return Mutation(kind, query[: token.start] + new + query[token.end + 1 :], feedback)


def _cut(query: str, start: int, end: int) -> str:
    return f"{query[:start].rstrip()} {query[end:].lstrip()}".strip()


def _end(tokens: list[Token], index: int, stops: tuple[TokenType, ...]) -> int:
    """Where the clause that opens at `tokens[index]` ends: before the next of `stops` or the bracket around it."""
    depth = 0
    for before, token in zip(tokens[index:], tokens[index + 1 :], strict=False):
        if depth == 0 and (token.token_type in stops or token.token_type == TokenType.R_PAREN):
            return before.end + 1
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
    return tokens[-1].end + 1


def _quoted(name: str) -> str:
    plain = name.isascii() and name.isidentifier()
    return name if plain else '"' + name.replace('"', '""') + '"'
