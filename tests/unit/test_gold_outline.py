"""What a gold query asks of a result, by sqlglot's parse."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from spider.data import ROOT, load_tasks
from spider.spider_eval import gold_outline as module
from spider.spider_eval.exec_eval import eval_exec_match
from spider.spider_eval.gold_outline import gold_outline, orders_rows, parse
from spider.spider_eval.statement import outline

TOO_DEEP = "SELECT DISTINCT " + "abs(" * 200 + "a" + ")" * 200 + " FROM t ORDER BY a"


@pytest.fixture(autouse=True)
def forgotten() -> None:
    gold_outline.cache_clear()


@pytest.mark.parametrize(
    ("sql", "distinct", "orders", "is_set_operation"),
    [
        ("SELECT DISTINCT a FROM t ORDER BY a", True, True, False),
        ("WITH c AS (SELECT DISTINCT a FROM t ORDER BY a) SELECT a FROM c", False, False, False),
        ("SELECT DISTINCT a FROM t UNION ALL SELECT b FROM t ORDER BY 1;", False, True, True),
        ("SELECT count(DISTINCT a), rank() OVER (ORDER BY a) FROM t", False, False, False),
        ("SELECT a FROM t WHERE a != 'DISTINCT ORDER BY' -- ORDER BY a", False, False, False),
        ("VALUES (1), (2)", False, False, False),
    ],
)
def test_only_the_outermost_query_counts(sql: str, distinct: bool, orders: bool, is_set_operation: bool) -> None:
    found = gold_outline(sql)
    assert parse(sql) is not None
    assert (found.distinct is not None, orders_rows(sql), found.is_set_operation) == (
        distinct,
        orders,
        is_set_operation,
    )


@pytest.mark.parametrize(
    "sql", ["SELECT DISTINCT a FROM t ORDER/**/BY a", "SELECT DISTINCT a FROM t ORDER BY a /* no end", TOO_DEEP]
)
def test_what_sqlglot_cannot_parse_is_read_by_sqlites_lexical_rules(sql: str) -> None:
    assert parse(sql) is None
    assert gold_outline(sql) == outline(sql)
    assert orders_rows(sql)


def test_the_tree_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parse", lambda _sql: sqlglot.parse_one("SELECT a FROM t UNION SELECT b FROM t"))
    found = gold_outline("SELECT DISTINCT a FROM t ORDER BY a")
    assert (found.distinct, found.terms, found.is_set_operation) == (None, (), True)


def test_a_prediction_is_not_parsed_because_nested_calls_take_sqlglot_for_ever(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        connection.execute("CREATE TABLE t (a)")
    started = time.monotonic()
    prediction = "SELECT DISTINCT " + "date(" * 22 + "a" + ")" * 22 + " FROM t ORDER BY 1"
    assert eval_exec_match(tmp_path / "d.sqlite", prediction, "SELECT a FROM t WHERE 0") == 1
    assert time.monotonic() - started < 5


def test_both_readings_of_the_sample_golds_agree() -> None:
    golds = {task["query"] for task in load_tasks(ROOT / "data" / "sample" / "train_spider.parquet")}
    assert golds
    for gold in golds:
        assert isinstance(parse(gold), exp.Query), gold
        assert gold_outline(gold) == outline(gold), gold
