"""Which rows of an ordered gold may change places, by the collation of its keys."""

import sqlite3
from pathlib import Path

import pytest

from spider.spider_eval.exec_eval import eval_exec_match


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Words that only a collation takes for alike: x and X, y and y with a blank; the last column says nothing."""
    path = tmp_path / "words.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE word (id INT, plain TEXT, folded TEXT COLLATE NOCASE, padded TEXT COLLATE RTRIM);"
            "INSERT INTO word VALUES (1, 'x', 'x', 'y'), (2, 'X', 'X', 'y ');"
        )
    connection.close()
    return path


@pytest.mark.parametrize(
    ("gold", "ties"),
    [
        ("SELECT id FROM word ORDER BY plain DESC", 0),
        ("SELECT id FROM word ORDER BY folded", 1),
        ("SELECT id FROM word ORDER BY padded", 1),
        ("SELECT id FROM word AS w ORDER BY +w.folded", 1),
        ("SELECT id FROM word ORDER BY plain COLLATE NOCASE", 1),
        ("SELECT id FROM word ORDER BY folded COLLATE BINARY DESC", 0),
        ("SELECT id FROM word ORDER BY lower(plain) COLLATE NOCASE, plain DESC", 0),
        ("SELECT id FROM word ORDER BY folded, plain DESC", 0),
        ("SELECT id FROM word ORDER BY folded || '' DESC", 0),
        ("SELECT id FROM (SELECT id, folded AS f FROM word) ORDER BY f", 1),
    ],
)
def test_rows_tie_by_the_collation_of_each_key(words: Path, gold: str, ties: int) -> None:
    """The table's order is 1, 2, and SQLite's own for all of these."""
    assert eval_exec_match(words, "SELECT 1 UNION ALL SELECT 2", gold) == 1
    assert eval_exec_match(words, "SELECT 2 UNION ALL SELECT 1", gold) == ties


@pytest.mark.parametrize(
    ("gold", "ties"),
    [
        ("SELECT folded FROM word ORDER BY 1", 1),
        ("SELECT plain FROM word ORDER BY 1 DESC", 0),
        ("SELECT plain AS folded FROM word ORDER BY folded DESC", 0),
        ("SELECT plain COLLATE NOCASE AS p FROM word ORDER BY p", 1),
        ("SELECT folded FROM word UNION ALL SELECT plain FROM word WHERE id = 3 ORDER BY 1", 1),
    ],
)
def test_rows_tie_by_the_collation_of_the_result_column(words: Path, gold: str, ties: int) -> None:
    assert eval_exec_match(words, "SELECT 'x' UNION ALL SELECT 'X'", gold) == 1
    assert eval_exec_match(words, "SELECT 'X' UNION ALL SELECT 'x'", gold) == ties


def test_rows_of_a_star_tie_by_the_columns_collation(words: Path) -> None:
    assert eval_exec_match(words, "SELECT * FROM word ORDER BY id DESC", "SELECT * FROM word ORDER BY 3") == 1
    assert eval_exec_match(words, "SELECT * FROM word ORDER BY id DESC", "SELECT * FROM word ORDER BY 2 DESC") == 0
