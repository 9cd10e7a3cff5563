"""Execution match on a small database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from spider.sandbox import Limits
from spider.spider_eval.exec_eval import eval_exec_match, reference_exec_match
from spider.spider_eval.gold import GoldCache, GoldError
from tests.timing import within

RUNAWAY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Ages tie: bo and cy are 2, di and ed are 3; names tie but for case: Cy and cy."""
    path = tmp_path / "zoo.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE animal (id INTEGER PRIMARY KEY, name TEXT, age INT, kind TEXT);"
            "INSERT INTO animal VALUES (1, 'al', 1, 'cat'), (2, 'bo', 2, 'dog'), (3, 'cy', 2, 'cat'),"
            " (4, 'di', 3, 'dog'), (5, 'ed', 3, 'cat');"
            "CREATE TABLE nick (name TEXT COLLATE NOCASE, no INT);"
            "INSERT INTO nick VALUES ('cy', 1), ('Cy', 2), ('al', 3);"
        )
    connection.close()
    return path


def rows(*names: str) -> str:
    return " UNION ALL ".join(f"SELECT '{name}'" for name in names)


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name FROM animal ORDER BY age",
        "SELECT name FROM animal ORDER BY age ASC, kind = 'x'",
        "SELECT name FROM animal ORDER BY (SELECT max(a.age) FROM animal a WHERE a.id = animal.id)",
        "SELECT name FROM animal AS a ORDER BY a.age LIMIT 10",
        "SELECT name FROM animal GROUP BY id ORDER BY sum(age)",
        "WITH a AS (SELECT * FROM animal) SELECT name FROM a ORDER BY age",
        "SELECT a.name FROM animal a JOIN animal b ON a.id = b.id ORDER BY b.age",
    ],
)
def test_rows_that_tie_on_a_key_outside_the_result_come_in_any_order(zoo: Path, gold: str) -> None:
    assert eval_exec_match(zoo, rows("al", "cy", "bo", "ed", "di"), gold) == 1
    assert eval_exec_match(zoo, rows("al", "bo", "cy", "di", "ed"), gold) == 1
    assert eval_exec_match(zoo, rows("al", "bo", "di", "cy", "ed"), gold) == 0
    assert eval_exec_match(zoo, rows("ed", "di", "cy", "bo", "al"), gold) == 0


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name, age FROM animal ORDER BY 2",
        "SELECT name, age FROM animal ORDER BY (2)",
        "SELECT name, age FROM animal ORDER BY +2",
        "SELECT name, age FROM animal ORDER BY 0x2",
        "SELECT name, age AS years FROM animal ORDER BY years",
        "SELECT name, age AS years FROM animal ORDER BY years * 2",
        "SELECT name, age years FROM animal ORDER BY years + 1",
        "SELECT name, max(age) years FROM animal GROUP BY name ORDER BY years + 1",
        "SELECT name, age FROM animal ORDER BY animal.age",
        "SELECT DISTINCT name, age FROM animal ORDER BY age",
        "SELECT DISTINCT name, age FROM animal AS a ORDER BY a.age",
        "SELECT name, age FROM animal UNION SELECT name, age FROM animal ORDER BY age",
        "SELECT name, age FROM animal EXCEPT SELECT '', 0 ORDER BY 2",
        "SELECT name, (age + 0) FROM animal EXCEPT SELECT '', 0 ORDER BY (age + 0)",
        "SELECT name, (age + 0) * (1) FROM animal EXCEPT SELECT '', 0 ORDER BY ((age + 0) * (1))",
        'SELECT name, "age" FROM animal ORDER BY [age]',
    ],
)
def test_rows_that_tie_on_a_key_in_the_result_come_in_any_order(zoo: Path, gold: str) -> None:
    swapped = "SELECT age, name FROM animal ORDER BY age, name DESC"
    assert eval_exec_match(zoo, swapped, gold) == 1
    assert eval_exec_match(zoo, "SELECT age, name FROM animal ORDER BY age DESC, name", gold) == 0


def test_every_place_counts_when_nothing_ties(zoo: Path) -> None:
    gold = "SELECT name FROM animal ORDER BY age, name"
    assert eval_exec_match(zoo, rows("al", "bo", "cy", "di", "ed"), gold) == 1
    assert eval_exec_match(zoo, rows("al", "cy", "bo", "di", "ed"), gold) == 0


def test_a_limit_keeps_the_golds_own_choice_of_tied_rows(zoo: Path) -> None:
    gold = "SELECT name FROM animal ORDER BY age LIMIT 2"
    assert eval_exec_match(zoo, gold, gold) == 1
    assert sum(eval_exec_match(zoo, rows("al", other), gold) for other in ("bo", "cy")) == 1


def test_keys_that_differ_by_float_noise_tie(zoo: Path) -> None:
    sums = "(SELECT 'a' AS name, 0.1 + 0.2 AS total UNION ALL SELECT 'b', 0.3)"
    gold = f"SELECT name, total FROM {sums} ORDER BY total DESC"
    assert eval_exec_match(zoo, f"SELECT name, total FROM {sums} ORDER BY name DESC", gold) == 1


def test_letters_that_sqlite_tells_apart_do_not_tie(zoo: Path) -> None:
    names = "(SELECT 'é' COLLATE NOCASE AS name, 1 AS no UNION ALL SELECT 'É', 2)"
    gold = f"SELECT no FROM {names} ORDER BY name"
    assert eval_exec_match(zoo, gold, gold) == 1
    assert eval_exec_match(zoo, f"{gold} DESC", gold) == 0


def test_texts_tie_by_the_columns_collation(zoo: Path) -> None:
    gold = "SELECT no FROM nick ORDER BY name"
    assert eval_exec_match(zoo, "SELECT 3 UNION ALL SELECT 2 UNION ALL SELECT 1", gold) == 1
    assert eval_exec_match(zoo, "SELECT 3 UNION ALL SELECT 1 UNION ALL SELECT 2", gold) == 1
    assert eval_exec_match(zoo, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3", gold) == 0


@pytest.mark.parametrize(
    ("predicted", "gold", "score", "score_kept"),
    [
        ("SELECT kind FROM animal", "SELECT DISTINCT kind FROM animal", 1, 0),
        ("SELECT DISTINCT kind FROM animal", "SELECT kind FROM animal", 1, 0),
        ("SELECT kind FROM animal GROUP BY kind", "SELECT DISTINCT kind FROM animal", 1, 1),
        ("SELECT count(kind) FROM animal", "SELECT count(DISTINCT kind) FROM animal", 0, 0),
        ("SELECT kind FROM animal", "SELECT kind FROM animal UNION SELECT kind FROM animal", 0, 0),
        ("SELECT DISTINCT kind FROM animal", "SELECT kind FROM animal UNION SELECT kind FROM animal", 1, 1),
    ],
)
def test_distinct_counts_only_where_it_must(zoo: Path, predicted: str, gold: str, score: int, score_kept: int) -> None:
    assert eval_exec_match(zoo, predicted, gold) == score
    assert eval_exec_match(zoo, predicted, gold, keep_distinct=True) == score_kept


@pytest.mark.parametrize(
    "predicted",
    [
        "",
        "no SQL",
        "SELECT",
        "DELETE FROM animal",
        "EXPLAIN QUERY PLAN VALUES (1)",
        "PRAGMA foreign_keys=ON",
        "VACUUM",
        "SELECT 1; SELECT 2",
        "SELECT name FROM animal WHERE id = :v",
        "SELECT '�'",
        "SELECT '\x00'",
        "(" * 5000,
    ],
)
def test_what_gives_no_rows_is_wrong_even_for_an_empty_gold(zoo: Path, predicted: str) -> None:
    assert eval_exec_match(zoo, predicted, "SELECT name FROM animal WHERE age > 100") == 0


def test_an_unpredictable_prediction_must_be_right_each_time(zoo: Path) -> None:
    assert eval_exec_match(zoo, "SELECT name FROM animal ORDER BY random()", "SELECT name FROM animal") == 1
    for call in ("random()", '"random"()', "[random]()", "random/**/ ()"):
        one = f"SELECT kind FROM animal ORDER BY {call} LIMIT 1"
        assert [eval_exec_match(zoo, one, "SELECT 'cat'") for _ in range(20)] == [0] * 20


def test_a_runaway_prediction_scores_0_in_time(zoo: Path) -> None:
    def run() -> None:
        assert eval_exec_match(zoo, RUNAWAY, "SELECT 1", limits=Limits(seconds=0.5)) == 0

    assert within(0.5 + 1, run)


def test_more_rows_than_the_gold_are_not_cut_to_equality(zoo: Path) -> None:
    gold = "SELECT id FROM animal ORDER BY id LIMIT 3"
    assert eval_exec_match(zoo, "SELECT id FROM animal ORDER BY id", gold) == 0


def test_bytes_that_are_no_text_are_told_apart(zoo: Path) -> None:
    assert eval_exec_match(zoo, "SELECT CAST(x'e8' AS TEXT)", "SELECT CAST(x'e9' AS TEXT)") == 0


@pytest.mark.parametrize("gold", ["SELEC", "SELECT no_such FROM animal", "", "DELETE FROM animal", RUNAWAY])
def test_a_gold_without_result_is_an_error_of_its_own(zoo: Path, gold: str) -> None:
    with pytest.raises(GoldError):
        eval_exec_match(zoo, gold, gold, limits=Limits(seconds=0.3))


def test_a_missing_database_is_a_gold_error(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match="no database file"):
        eval_exec_match(tmp_path / "none.sqlite", "SELECT 1", "SELECT 1")


def test_a_gold_result_too_large_to_compare_is_a_gold_error(zoo: Path) -> None:
    with pytest.raises(GoldError, match="too large"):
        eval_exec_match(zoo, "SELECT 1", "SELECT id FROM animal", limits=Limits(max_rows=4))


def test_gold_results_follow_the_file(zoo: Path) -> None:
    assert eval_exec_match(zoo, "SELECT 5", "SELECT count(*) FROM animal") == 1
    with sqlite3.connect(zoo) as connection:
        connection.execute("DELETE FROM animal WHERE id = 5")
    connection.close()
    assert eval_exec_match(zoo, "SELECT 5", "SELECT count(*) FROM animal") == 0


@pytest.mark.parametrize(
    "gold", ["SELECT random()", "SELECT julianday('now')", "SELECT CURRENT_TIMESTAMP", "SELECT time()"]
)
def test_a_gold_that_changes_by_itself_is_not_kept(zoo: Path, gold: str) -> None:
    cache = GoldCache()
    assert cache.get(zoo, gold, Limits()) is not cache.get(zoo, gold, Limits())


def test_the_cache_drops_the_least_recently_used(zoo: Path) -> None:
    cache = GoldCache(max_cells=450)
    golds = [cache.get(zoo, f"SELECT {number} FROM animal", Limits()) for number in range(4)]
    assert cache.get(zoo, "SELECT 0 FROM animal", Limits()) is golds[0]
    cache.get(zoo, "SELECT 4 FROM animal", Limits())
    assert cache.get(zoo, "SELECT 0 FROM animal", Limits()) is golds[0]
    assert cache.get(zoo, "SELECT 1 FROM animal", Limits()) is not golds[1]
    assert cache.cells <= 450


@pytest.mark.parametrize(
    ("predicted", "gold", "score"),
    [
        ("SELECT name FROM animal WHERE age > 99", "SELECT name FROM animal WHERE age > 2", 1),
        (
            "SELECT name FROM animal WHERE kind = 'value' AND age < 0",
            "SELECT name FROM animal WHERE age < 3 AND kind = 'cat'",
            1,
        ),
        ('SELECT name FROM animal WHERE kind = "terminal"', "SELECT name FROM animal WHERE kind = 'dog'", 1),
        ('SELECT "name" FROM animal WHERE kind = 1', "SELECT name FROM animal WHERE kind = 'dog'", 1),
        ("SELECT kind FROM animal WHERE age > 99", "SELECT name FROM animal WHERE age > 2", 0),
        ("SELECT name FROM animal", "SELECT name FROM animal WHERE age > 2", 0),
    ],
)
def test_plug_value_takes_the_golds_literals(zoo: Path, predicted: str, gold: str, score: int) -> None:
    assert eval_exec_match(zoo, predicted, gold) == 0
    assert eval_exec_match(zoo, predicted, gold, plug_value=True) == score


@pytest.mark.parametrize("name", ["nick", "no"])
def test_a_text_in_double_quotes_that_is_a_name_elsewhere_is_plugged_as_a_text(zoo: Path, name: str) -> None:
    with sqlite3.connect(zoo) as connection:
        connection.execute("UPDATE animal SET kind = ? WHERE id = 1", (name,))
    connection.close()
    gold = f'SELECT name FROM animal WHERE kind = "{name}"'
    joined = "SELECT animal.name FROM animal LEFT JOIN nick ON nick.no = 99 WHERE kind = 'value'"
    assert eval_exec_match(zoo, joined, gold, plug_value=True) == 1


def test_plug_value_with_many_literals_ends(zoo: Path) -> None:
    many = "SELECT name FROM animal WHERE id IN (" + ", ".join(str(number) for number in range(10, 30)) + ")"
    gold = "SELECT name FROM animal WHERE kind = 'cat' AND age IN (1, 2, 3) AND id > 0"

    def run() -> None:
        assert eval_exec_match(zoo, many, gold, plug_value=True, limits=Limits(seconds=2)) == 0

    assert within(4, run)


def test_the_progress_bar_is_shown_on_request(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    eval_exec_match(zoo, "SELECT 1", "SELECT 1", progress_bar_for_each_datapoint=True)
    assert "query" in capsys.readouterr().err
    eval_exec_match(zoo, "SELECT 1", "SELECT 1")
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("predicted", "gold", "score"),
    [
        ("SELECT count(kind) FROM animal", "SELECT count(DISTINCT kind) FROM animal", 1),
        ("SELECT kind FROM animal GROUP BY kind", "SELECT DISTINCT kind FROM animal", 0),
        ("SELECT name FROM animal ORDER BY age, name DESC", "SELECT name FROM animal ORDER BY age, name", 0),
        ("SELECT name FROM animal ORDER BY name DESC", "SELECT name FROM animal WHERE name != 'order by'", 0),
        ("SELECT 1; SELECT 2", "SELECT 1", 1),
        ("DELETE FROM animal", "SELECT name FROM animal WHERE age > 100", 0),
    ],
)
def test_the_references_heuristics_can_be_had_for_tables(zoo: Path, predicted: str, gold: str, score: int) -> None:
    assert reference_exec_match(zoo, predicted, gold) == score


def test_the_reference_compares_every_database_in_the_folder(zoo: Path) -> None:
    other = zoo.with_name("other.sqlite")
    other.write_bytes(zoo.read_bytes())
    assert reference_exec_match(zoo, "SELECT 5", "SELECT count(*) FROM animal") == 1
    with sqlite3.connect(other) as connection:
        connection.execute("DELETE FROM animal")
    connection.close()
    assert reference_exec_match(zoo, "SELECT 5", "SELECT count(*) FROM animal") == 0


def test_a_number_with_a_point_orders_nothing(zoo: Path) -> None:
    assert eval_exec_match(zoo, "SELECT name FROM animal ORDER BY id DESC", "SELECT name FROM animal ORDER BY 1.0") == 1


def test_a_name_in_parentheses_is_the_result_columns_first(zoo: Path) -> None:
    gold = "SELECT abs(age) * 0 AS age, name FROM animal ORDER BY (age)"
    assert eval_exec_match(zoo, "SELECT 0, name FROM animal ORDER BY age DESC", gold) == 1
