"""What an ORDER BY term stands for: a column of the result, or an expression that isn't in it.

The rules are SQLite's (https://www.sqlite.org/lang_select.html, 4): a whole number is a column's place; the name that
an AS gives is its column, the leftmost first, and so are the names of a star's columns; an expression that is a result
column's is that column; in a set operation this is asked of each SELECT from left to right. Any other name is a column
of the FROM clause.
"""

from __future__ import annotations

from spider.spider_eval.statement import (
    Outline,
    Token,
    item_alias,
    order_expression,
    select_items,
    source,
    spelled,
    unquoted,
    without_parentheses,
)

Items = list[tuple[Token, ...]]


def order_key(parsed: Outline, term: tuple[Token, ...], columns: tuple[str, ...]) -> int | str:
    """The place of the result column that a term stands for, or the expression that would be a further column.

    Args:
        parsed: The query.
        term: One of its ORDER BY terms.
        columns: The names of the result's columns.
    """
    expression = order_expression(term)
    if (number := ordinal(expression)) is not None:
        return number - 1
    name = unquoted(expression[0]) if len(expression) == 1 and is_name(expression[0]) else None
    joins_by_name = any(token.word in ("USING", "NATURAL") for token in parsed.tokens)
    for number, items in enumerate(select_items(parsed)):
        if name and (at := named(items, name, columns if number == 0 else ())) is not None:
            return at
        found = next((at for at, item in enumerate(items) if is_same(item, expression, joins_by_name)), None)
        if found is not None and (at := place(items, found, len(columns))) is not None:
            return at
    return source(parsed.sql, expression)


def ordinal(expression: tuple[Token, ...]) -> int | None:
    """The number of a result column, as SQLite reads it: ``2``, ``+2`` or ``0x2``; ``2.0`` is a constant."""
    if len(expression) == 2 and expression[0].text == "+":
        expression = expression[1:]
    if len(expression) != 1 or expression[0].kind != "number":
        return None
    text = expression[0].text.lower()
    return int(text) if text.isdecimal() else int(text, 16) if text.startswith("0x") else None


def named(items: Items, name: str, columns: tuple[str, ...]) -> int | None:
    """The place of the first result column that has this name by an AS, or by a star.

    Args:
        items: The result columns of one SELECT as written.
        name: The name, in lower case.
        columns: The result's names of them; none where these are another SELECT's.
    """
    stars = [at for at, item in enumerate(items) if item[-1].text == "*"]
    if stars and not columns:
        return None
    before, after = (stars[0], len(items) - 1 - stars[-1]) if stars else (len(items), 0)
    for at in range(len(columns) or len(items)):
        if before <= at < len(columns) - after:
            if columns[at].lower() == name:
                return at
        else:
            item = items[at if at < before else at - len(columns)]
            if (alias := item_alias(item)) and alias[0] == name:
                return at
    return None


def expression_of(item: tuple[Token, ...]) -> tuple[Token, ...]:
    """A result column as written, without its name and the parentheses around it."""
    alias = item_alias(item)
    return without_parentheses(alias[1] if alias else item)


def is_same(item: tuple[Token, ...], expression: tuple[Token, ...], joins_by_name: bool) -> bool:
    """Whether a result column is the expression; a name alone is the table's column that it can only mean.

    It can mean two where tables are joined by the names of their columns.
    """
    written = expression_of(item)
    if spelled(written) == spelled(expression):
        return True
    if joins_by_name or not (is_column(written) and is_column(expression)) or 1 not in (len(written), len(expression)):
        return False
    return unquoted(written[-1]) == unquoted(expression[-1])


def is_column(expression: tuple[Token, ...]) -> bool:
    """Whether an expression is the name of a column, with its table's or without."""
    alternate = all(token.text == "." if at % 2 else is_name(token) for at, token in enumerate(expression))
    return len(expression) % 2 == 1 and alternate


def is_name(token: Token) -> bool:
    """Whether a token can be a name."""
    return token.kind in ("word", "name")


def place(items: Items, at: int, width: int) -> int | None:
    """The place in a result of so many columns of an item as written; None between stars."""
    stars = [number for number, item in enumerate(items) if item[-1].text == "*"]
    if not stars or at < stars[0]:
        return at
    return at + width - len(items) if at > stars[-1] else None
