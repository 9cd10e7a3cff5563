"""What the evaluator must know about a query's text, read with SQLite's own lexical rules.

The keywords that matter here (SELECT, DISTINCT, ORDER BY, UNION, ...) are reserved in SQLite, so the nesting of
parentheses is enough to tell the outermost query's from all others. Edits keep the rest of the text as it was
written: a rendered parse tree would change what SQLite makes of quotes and of the names of columns. Of a gold query
sqlglot's parse has the last word (``gold_outline.py``); docs/reward.md says why not of a prediction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from spider.sandbox_worker import OTHER_STATEMENTS, READS, TOKEN, first_word, split_statement

QUERIES = ("SELECT", "WITH", "VALUES")
SET_OPERATORS = ("UNION", "INTERSECT", "EXCEPT")
AFTER_SELECT_LIST = ("FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT")
OPERATORS = ("AND", "OR", "NOT", "IS", "IN", "LIKE", "GLOB", "MATCH", "REGEXP", "BETWEEN", "ESCAPE", "COLLATE")
BEFORE_OPERAND = (*OPERATORS, "OVER", "FROM", "CASE", "WHEN", "THEN", "ELSE")
AFTER_OPERAND = ("END", "ISNULL", "NOTNULL")
SPLIT_OPERATOR = re.compile(r"([<>!]) =")
CURRENT_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)
TO_MEND = re.compile(rf"{SPLIT_OPERATOR.pattern}|CURDATE", re.IGNORECASE)
PASSING = re.compile(
    r"\brandom(?:blob)?[\"`\]]?(?:\s|/\*.*?\*/|--[^\n]*\n)*\(|'now'|\bcurrent_(?:date|time|timestamp)\b"
    r"|\b(?:date|time|datetime|julianday|unixepoch|strftime)\s*\(\s*(?:'[^']*'\s*)?\)",
    re.IGNORECASE | re.DOTALL,
)
"""What gives another result each time, or with time."""
CLOSING_QUOTE = {'"': '"', "`": "`", "[": "]"}


@dataclass(frozen=True)
class Token:
    """A token that is neither blank nor comment; ``word`` is its text in upper case, ``depth`` counts parentheses."""

    kind: str
    text: str
    word: str
    start: int
    end: int
    depth: int


@dataclass(frozen=True)
class Outline:
    """The outermost query of a statement.

    ``select`` is the position among ``tokens`` of its (first) SELECT, ``terms`` are the ORDER BY terms, each as the
    list of its tokens; empty when it does not order. ``distinct`` is the DISTINCT of the outermost SELECT; none for a
    set operation, where it belongs to an operand.
    """

    sql: str
    tokens: tuple[Token, ...]
    select: int | None
    distinct: Token | None
    is_set_operation: bool
    terms: tuple[tuple[Token, ...], ...]


def tokenize(sql: str) -> tuple[Token, ...]:
    """The tokens of ``sql`` without blanks and comments."""
    tokens: list[Token] = []
    depth = 0
    for match in TOKEN.finditer(sql):
        kind = match.lastgroup or ""
        if kind in ("blank", "semicolon"):
            continue
        text = match.group()
        depth -= text == ")"
        word = text.upper() if kind in ("word", "other") else text
        tokens.append(Token(kind, text, word, match.start(), match.end(), depth))
        depth += text == "("
    return tuple(tokens)


def outline(sql: str) -> Outline:
    """The outline of one statement."""
    tokens = tokenize(sql)
    outer = [position for position, token in enumerate(tokens) if token.depth == 0 and token.kind == "word"]
    select = next((position for position in outer if tokens[position].word == "SELECT"), None)
    is_set_operation = any(tokens[position].word in SET_OPERATORS for position in outer)
    following = tokens[select + 1 : select + 2] if select is not None and not is_set_operation else ()
    distinct = next((token for token in following if token.word == "DISTINCT"), None)
    order = [at for at in outer if tokens[at].word == "ORDER" and at + 1 < len(tokens) and tokens[at + 1].word == "BY"]
    terms: tuple[tuple[Token, ...], ...] = ()
    if order:
        end = next((at for at in outer if at > order[-1] and tokens[at].word == "LIMIT"), len(tokens))
        terms = tuple(split_at_commas(tokens[order[-1] + 2 : end]))
    return Outline(sql, tokens, select, distinct, is_set_operation, terms)


def split_at_commas(tokens: Iterable[Token], depth: int = 0) -> list[tuple[Token, ...]]:
    """The parts of a list at a level of parentheses."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == "," and token.depth == depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts if part]


def without_distinct(sql: str, read: Callable[[str], Outline] = outline) -> str:
    """``sql`` without the DISTINCT of its outermost SELECT, as ``read`` finds it; itself where there is none."""
    if "distinct" not in sql.lower():
        return sql
    distinct = read(sql).distinct
    return f"{sql[: distinct.start]} {sql[distinct.end :]}" if distinct else sql


def without_any_distinct(sql: str) -> str:
    """``sql`` without the word DISTINCT wherever it is a keyword."""
    return "".join(match.group() for match in TOKEN.finditer(sql) if match.group().lower() != "distinct")


def select_items(parsed: Outline) -> list[list[tuple[Token, ...]]]:
    """The result columns as written, for each SELECT of the outermost level."""
    lists: list[list[tuple[Token, ...]]] = []
    starts = [at for at, token in enumerate(parsed.tokens) if token.depth == 0 and token.word == "SELECT"]
    for start in starts:
        start += parsed.tokens[start + 1 : start + 2] != () and parsed.tokens[start + 1].word in ("DISTINCT", "ALL")
        lists.append(split_at_commas(parsed.tokens[start + 1 : end_of_select_list(parsed, start)]))
    return lists


def end_of_select_list(parsed: Outline, select: int) -> int:
    """The position of the first token after the result columns of the SELECT at ``select``."""
    for at in range(select + 1, len(parsed.tokens)):
        token = parsed.tokens[at]
        ends = token.word in AFTER_SELECT_LIST or token.word in SET_OPERATORS
        is_comparison = token.word == "FROM" and at > select + 1 and parsed.tokens[at - 1].word == "DISTINCT"
        if token.depth == 0 and token.kind == "word" and ends and not is_comparison:
            return at
    return len(parsed.tokens)


def item_alias(item: tuple[Token, ...]) -> tuple[str, tuple[Token, ...]] | None:
    """The name given to a result column, with or without AS, and the expression it names."""
    if len(item) < 2:
        return None
    before, last = item[-2:]
    if before.word == "AS":
        return unquoted(last), item[:-2]
    is_whole = before.text == ")" or (before.kind != "other" and before.word not in BEFORE_OPERAND)
    if is_whole and last.kind in ("word", "name") and last.word not in AFTER_OPERAND:
        return unquoted(last), item[:-1]
    return None


def order_expression(term: tuple[Token, ...]) -> tuple[Token, ...]:
    """An ORDER BY term without direction, treatment of NULLs, collation and parentheses around it."""
    if len(term) > 2 and term[-2].word == "NULLS" and term[-1].word in ("FIRST", "LAST"):
        term = term[:-2]
    if len(term) > 1 and term[-1].word in ("ASC", "DESC") and term[-2].text != ".":  # these can be names, too
        term = term[:-1]
    term = without_parentheses(term)
    while len(term) > 2 and term[-2].word == "COLLATE":
        term = without_parentheses(term[:-2])
    return term


def without_parentheses(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """An expression without the parentheses around all of it; a query keeps its own."""
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[1].word not in QUERIES:
        if any(token.depth <= tokens[0].depth for token in tokens[1:-1]):
            break  # the first one closes before the end
        tokens = tokens[1:-1]
    return tokens


def unquoted(token: Token) -> str:
    """A name without its quotes, in lower case: SQLite's names know no case."""
    closing = CLOSING_QUOTE.get(token.text[0])
    text = token.text[1:-1].replace(closing * 2, closing) if closing and len(token.text) > 1 else token.text
    return text.lower()


def source(sql: str, tokens: tuple[Token, ...]) -> str:
    """The text of consecutive tokens as it stands in ``sql``."""
    return sql[tokens[0].start : tokens[-1].end] if tokens else ""


def spelled(tokens: Iterable[Token]) -> tuple[str, ...]:
    """What two spellings of the same expression have in common."""
    return tuple(unquoted(token) if token.kind in ("word", "name") else token.text for token in tokens)


def with_columns(parsed: Outline, expressions: list[str]) -> str:
    """The query with more result columns, after its own."""
    assert parsed.select is not None
    end = end_of_select_list(parsed, parsed.select)
    at = parsed.tokens[end - 1].end
    added = "".join(f", ({expression})" for expression in expressions)
    return f"{parsed.sql[:at]}{added} {parsed.sql[at:]}"


def mend(sql: str) -> str:
    """Spider's own repairs: a blank inside ``>=``, ``<=`` and ``!=``, and the current year, which stands for 2020."""
    if not TO_MEND.search(sql):
        return sql
    runs: list[list[str]] = [[]]
    for match in TOKEN.finditer(sql):  # even runs are code, odd ones are quoted text or comments
        is_code = match.lastgroup not in ("string", "name", "blob") and not match.group().startswith(("--", "/*"))
        if is_code == (len(runs) % 2 == 1):
            runs[-1].append(match.group())
        else:
            runs.append([match.group()])
    texts = ["".join(run) for run in runs]
    texts[::2] = [CURRENT_YEAR.sub("2020", SPLIT_OPERATOR.sub(r"\1=", text)) for text in texts[::2]]
    return "".join(texts)


def reading_statement(text: str) -> str | None:
    """The one SELECT (or WITH or VALUES) statement in ``text``, mended; None when there is none.

    Prose after the statement's semicolon is left out, as a reader would; a second statement, or a rest that isn't even
    words, leaves no single answer.
    """
    statement, rest = split_statement(text)
    if first_word(statement) not in QUERIES:
        return None
    if rest and (not rest[0].isalpha() or first_word(rest) in OTHER_STATEMENTS or first_word(rest) in READS):
        return None
    return mend(statement)
