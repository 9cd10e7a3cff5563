"""Reading and editing of queries' text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spider.spider_eval.statement import (
    item_alias,
    mend,
    order_expression,
    outline,
    reading_statement,
    select_items,
    source,
    tokenize,
    with_columns,
    without_any_distinct,
    without_distinct,
)

PIECES = st.sampled_from(
    [
        "SELECT",
        "DISTINCT",
        "FROM t",
        "ORDER BY",
        "a",
        ",",
        "(",
        ")",
        "'",
        '"',
        "`",
        "[",
        "]",
        "--",
        "/*",
        "*/",
        ";",
        "\n",
        "UNION",
        "WITH x AS",
        "LIMIT 1",
        "1.5e3",
        "x'00'",
        "> =",
        "é",
        "\x00",
        "YEAR(CURDATE())",
        " ",
    ]
)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES).map(" ".join), st.lists(PIECES).map("".join)))
def test_any_text_can_be_read(text: str) -> None:
    statement = reading_statement(text)
    assert statement is None or statement.strip()
    assert len(without_distinct(text)) <= len(text)
    assert all(text[token.start : token.end] == token.text for token in tokenize(text))
    outline(text)


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT DISTINCT a FROM t", "SELECT a FROM t"),
        ("select\ndistinct(a), b from t", "select (a), b from t"),
        ("WITH c AS (SELECT DISTINCT a FROM t) SELECT DISTINCT a FROM c", None),
        ("SELECT count(DISTINCT a) FROM t", None),
        ("SELECT * FROM (SELECT DISTINCT a FROM t)", None),
        ("SELECT DISTINCT a FROM t UNION ALL SELECT b FROM t", None),
        ("SELECT a FROM t INTERSECT SELECT DISTINCT b FROM t", None),
        ("SELECT 'distinct' FROM t", None),
        ("SELECT a IS DISTINCT FROM b FROM t", None),
        ("SELECT /* x */ DISTINCT a FROM t -- distinct", "SELECT /* x */ a FROM t -- distinct"),
    ],
)
def test_only_the_outermost_distinct_is_removed(sql: str, plain: str | None) -> None:
    if "WITH" in sql:
        plain = "WITH c AS (SELECT DISTINCT a FROM t) SELECT a FROM c"
    assert without_distinct(sql).split() == (plain or sql).split()


@pytest.mark.parametrize(
    ("sql", "orders"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t ORDER/**/BY a", True),
        ("SELECT a FROM t order\nby a limit 3", True),
        ("SELECT a FROM t UNION SELECT b FROM t ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", False),
        ("SELECT a FROM t WHERE a IN (SELECT a FROM t ORDER BY a LIMIT 3)", False),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False),
        ("SELECT a FROM t WHERE a != 'order by'", False),
        ('SELECT "order by" FROM t', False),
        ("SELECT a FROM t -- ORDER BY a", False),
    ],
)
def test_only_the_outermost_order_by_orders(sql: str, orders: bool) -> None:
    assert bool(outline(sql).terms) == orders


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("SELECT 1;; -- done", "SELECT 1"),
        ("SELECT ';' ; This counts nothing.", "SELECT ';' "),
        ("SELECT 1; SELECT 2", None),
        ("SELECT 1; drop table t", None),
        ("SELECT 1;```", None),
        ("EXPLAIN SELECT 1", None),
        ("DELETE FROM t", None),
        ("-- nothing", None),
        ("", None),
    ],
)
def test_a_prediction_is_one_query(text: str, statement: str | None) -> None:
    assert reading_statement(text) == statement


@pytest.mark.parametrize(
    ("sql", "mended"),
    [
        ("a > = 1 AND b < = 2 AND c ! = 3", "a >= 1 AND b <= 2 AND c != 3"),
        ("a = '> =' AND b > = 1", "a = '> =' AND b >= 1"),
        ("SELECT year ( curdate() ) - 1 -- CURDATE()", "SELECT 2020- 1 -- CURDATE()"),
        ("a >  = 1", "a >  = 1"),
    ],
)
def test_spiders_own_repairs_leave_quoted_text_alone(sql: str, mended: str) -> None:
    assert mend(sql) == mended


def test_repairs_of_a_long_text_take_a_second_at_most() -> None:
    start = time.monotonic()
    mend("SELECT 1 " + "> =" * 100_000)
    assert time.monotonic() - start < 1


def test_the_reference_removes_every_distinct_that_is_a_keyword() -> None:
    assert without_any_distinct("SELECT count(DISTINCT a), 'DISTINCT' FROM t") == "SELECT count( a), 'DISTINCT' FROM t"


def test_order_keys_lose_direction_and_collation() -> None:
    sql = "SELECT a FROM t ORDER BY lower(a) COLLATE nocase DESC NULLS LAST, b ASC LIMIT 1"
    assert [source(sql, order_expression(term)) for term in outline(sql).terms] == ["lower(a)", "b"]


@pytest.mark.parametrize(
    ("item", "alias"),
    [
        ("a + 1 AS b", ("b", "a + 1")),
        ("a b", ("b", "a")),
        ('t.a "B"', ("b", "t.a")),
        ("count(*) c", ("c", "count(*)")),
        ("CASE a WHEN 1 THEN 2 END c", ("c", "CASE a WHEN 1 THEN 2 END")),
        ("t.a", None),
        ("a + b", None),
        ("a IS NULL", None),
        ("a NOTNULL", None),
        ("NOT a", None),
        ("a COLLATE nocase", None),
        ("CASE a WHEN 1 THEN b END", None),
        ("rank() OVER w", None),
    ],
)
def test_a_result_columns_name_is_told_from_the_end_of_an_expression(item: str, alias: tuple[str, str] | None) -> None:
    sql = f"SELECT {item} FROM t"
    found = item_alias(select_items(outline(sql))[0][0])
    assert (found and (found[0], source(sql, found[1]))) == alias


@pytest.mark.parametrize(
    ("sql", "wider"),
    [
        ("SELECT a FROM t WHERE b = 1", "SELECT a, (c) FROM t WHERE b = 1"),
        ("SELECT (SELECT a FROM t)", "SELECT (SELECT a FROM t), (c)"),
        ("SELECT a IS NOT DISTINCT FROM b FROM t", "SELECT a IS NOT DISTINCT FROM b, (c) FROM t"),
    ],
)
def test_columns_are_added_after_the_querys_own(sql: str, wider: str) -> None:
    assert " ".join(with_columns(outline(sql), ["c"]).split()) == wider
