"""The reward and its shaping."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from spider.reward import GoldError, Shaping, evaluate_query

GOLD = "SELECT name, age FROM animal"


@pytest.fixture
def zoo(tmp_path: Path) -> str:
    path = tmp_path / "zoo.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE animal (name TEXT, age INT); INSERT INTO animal VALUES ('al', 1), ('bo', 2), ('cy', 3);"
        )
    connection.close()
    return str(path)


def test_a_correct_query_earns_1(zoo: str) -> None:
    assert evaluate_query("SELECT age, name FROM animal", GOLD, zoo) == 1.0


@pytest.mark.parametrize("query", ["SELECT name FROM animal", "SELECT", "", "DROP TABLE animal"])
def test_a_wrong_query_earns_0(zoo: str, query: str) -> None:
    assert evaluate_query(query, GOLD, zoo) == 0.0


def test_a_failing_gold_raises(zoo: str) -> None:
    with pytest.raises(GoldError, match="no_such"):
        evaluate_query("SELECT 1", "SELECT no_such FROM animal", zoo)


def test_a_failing_gold_is_logged_on_request(zoo: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert evaluate_query("SELECT 1", "SELECT no_such FROM animal", zoo, raise_on_error=False) == 0.0
    assert "gold_error" in caplog.text


def test_shaping_grows_with_what_is_right(zoo: str) -> None:
    shaping = Shaping(executes=0.1, columns=0.2, overlap=0.3)
    queries = [
        "SELECT no_such",
        "SELECT 99 UNION SELECT 98",
        "SELECT name FROM animal WHERE name != 'al'",
        "SELECT name FROM animal",
        "SELECT name, age + 2 FROM animal",
        "SELECT name, age FROM animal WHERE age < 3",
    ]
    rewards = [evaluate_query(query, GOLD, zoo, shaping=shaping) for query in queries]
    assert rewards[0] == 0.0
    assert rewards[1] == pytest.approx(0.1)
    assert rewards[3] == pytest.approx(0.1 + 0.2 / 2 + 0.3 / 2)
    assert rewards[4] == pytest.approx(0.1 + 0.2 * (1 + 1 / 5) / 2 + 0.3 * 4 / 6)
    assert rewards == sorted(rewards)
    assert max(rewards) < 0.6 < evaluate_query(GOLD, GOLD, zoo, shaping=shaping) == 1.0


def test_surplus_columns_do_not_pay(zoo: str) -> None:
    shaping = Shaping()
    exact = evaluate_query("SELECT name FROM animal", GOLD, zoo, shaping=shaping)
    assert evaluate_query("SELECT name, 7, 8, 9 FROM animal", GOLD, zoo, shaping=shaping) < exact


def test_shaping_never_reaches_a_correct_answer(zoo: str) -> None:
    shaping = Shaping(executes=0.3, columns=0.3, overlap=0.39)
    shuffled = "SELECT 'al', 2 UNION ALL SELECT 'bo', 1 UNION ALL SELECT 'cy', 3"
    assert evaluate_query(shuffled, GOLD, zoo, shaping=shaping) == pytest.approx(0.99)


@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (-0.1, 0.1, 0.1)])
def test_shaping_that_could_mislead_is_refused(weights: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="sum to less than 1"):
        Shaping(*weights)
