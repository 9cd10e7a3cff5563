"""Literals that a gold query lends to a prediction: with their sign, and found in time."""

import sqlite3
import time
from pathlib import Path

import pytest

from spider.sandbox import Limits
from spider.spider_eval.exec_eval import eval_exec_match
from spider.spider_eval.plug_value import literals


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE t (n INT, x INT); INSERT INTO t VALUES (1, -5), (2, 5), (3, 7), (4, -7);"
        )
    connection.close()
    return path


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("SELECT n FROM t WHERE x = 7", "SELECT n FROM t WHERE x = -5"),
        ("SELECT n FROM t WHERE x = -7", "SELECT n FROM t WHERE x = 5"),
        ("SELECT n FROM t WHERE x > 1", "SELECT n FROM t WHERE x > -6"),
        ("SELECT n FROM t WHERE x -1 = 0", "SELECT n FROM t WHERE x - -5 = 0"),
    ],
)
def test_number_is_lent_with_its_sign(db: Path, predicted: str, gold: str) -> None:
    assert eval_exec_match(db, predicted, gold) == 0
    assert eval_exec_match(db, predicted, gold, plug_value=True) == 1


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT x - 1 FROM t", ["1"]),
        ("SELECT (x) - 1, 2 + 3, 'a' - 4 FROM t", ["1", "2", "3", "'a'", "4"]),
        ("SELECT -1 FROM t WHERE x IN (-2, + 3) AND x BETWEEN -4 AND -5", ["-1", "-2", "+ 3", "-4", "-5"]),
        ("SELECT CASE WHEN x THEN -1 ELSE -2 END LIMIT -1", ["-1", "-2", "-1"]),
    ],
)
def test_sign_is_told_from_an_operator(db: Path, sql: str, found: list[str]) -> None:
    assert [token.text for token in literals(db, sql)] == found


def test_thousands_of_texts_in_double_quotes_end_in_time(db: Path) -> None:
    names = ", ".join(['"n"'] * 2_000)
    start = time.monotonic()
    predicted = f"SELECT 1 FROM t WHERE n > 5 AND n IN ({names})"
    assert eval_exec_match(db, predicted, "SELECT x FROM t", plug_value=True, limits=Limits(seconds=2)) == 0
    assert time.monotonic() - start < 3
