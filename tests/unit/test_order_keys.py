"""Orders that a gold asks for by a key that is easily mistaken for another."""

import sqlite3
from pathlib import Path

import pytest

from spider.spider_eval.exec_eval import eval_exec_match
from spider.spider_eval.order_keys import order_key
from spider.spider_eval.statement import order_expression, outline

SCHEMA = """
    CREATE TABLE visit (kind TEXT, x INT);
    INSERT INTO visit VALUES ('a', 1), ('b', 1), ('b', 1), ('c', 1), ('c', 1), ('c', 1);
    CREATE TABLE city (id INT, name TEXT, country TEXT);
    INSERT INTO city VALUES (3, 'c3', 'F'), (1, 'c1', 'F'), (2, 'c2', 'F');
    CREATE TABLE owner (id INT, name TEXT);
    INSERT INTO owner VALUES (3, 'z'), (1, 'x'), (2, 'y');
    CREATE TABLE pet (id INT, owner INT, name TEXT, age INT);
    INSERT INTO pet VALUES (11, 2, 'k', 1), (12, 1, 'k', 2), (13, 2, 'k', 3);
    CREATE TABLE log (name TEXT, at TEXT);
    INSERT INTO log VALUES ('a', '2024-01-01 10:00:00'), ('b', '2024-01-01 10:03:00'), ('c', '2024-01-01 10:06:00');
    CREATE TABLE person (first TEXT, last TEXT, desc INT);
    INSERT INTO person VALUES ('a', 'z', 1), ('b', 'z', 1), ('c', 'y', 3);
    CREATE TABLE t (a TEXT, b INT);
    INSERT INTO t VALUES ('x', 1), ('y', 1), ('z', 2);
    CREATE TABLE u (c TEXT, d INT);
    INSERT INTO u VALUES ('p', 1), ('q', 3);
"""


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "keys.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("gold", "wrong"),
    [
        pytest.param(
            'SELECT kind, count(*) AS "n" FROM visit GROUP BY kind ORDER BY abs("n") DESC',
            "SELECT kind, count(*) FROM visit GROUP BY kind ORDER BY kind",
            id="a quoted name of a result column in an expression",
        ),
        pytest.param(
            "SELECT T1.name AS country, T1.country FROM city T1 ORDER BY country",
            "SELECT name, country FROM city",
            id="a name that AS gives and a column has",
        ),
        pytest.param(
            "SELECT *, upper(country) AS id FROM city ORDER BY id",
            "SELECT *, upper(country) FROM city",
            id="a name that a star has, and AS gives behind it",
        ),
        pytest.param(
            "SELECT DISTINCT T1.name, T1.age FROM pet AS T1 JOIN owner AS T2 ON T1.owner = T2.id ORDER BY T2.name DESC",
            "SELECT name, age FROM pet ORDER BY age",
            id="another table's column of the same name",
        ),
        pytest.param(
            "SELECT pet.id, owner.name FROM owner LEFT JOIN pet USING (id) ORDER BY id",
            "SELECT pet.id, owner.name FROM owner LEFT JOIN pet USING (id)",
            id="a column that two tables are joined by",
        ),
        pytest.param(
            "SELECT name FROM log ORDER BY julianday(at)",
            "SELECT name FROM log ORDER BY at DESC",
            id="times that differ by minutes",
        ),
    ],
)
def test_wrong_order_earns_nothing(db: Path, gold: str, wrong: str) -> None:
    assert eval_exec_match(db, gold, gold) == 1
    assert eval_exec_match(db, wrong, gold) == 0


@pytest.mark.parametrize(
    ("gold", "other"),
    [
        ("SELECT first FROM person ORDER BY last", "SELECT first FROM person ORDER BY last, first DESC"),
        ("SELECT first FROM person ORDER BY person.desc", "SELECT first FROM person ORDER BY desc, first DESC"),
        ("SELECT first FROM person ORDER BY last DESC NULLS LAST", "SELECT first FROM person ORDER BY 1=1, last DESC"),
        *(
            (
                f"SELECT a, b FROM t UNION SELECT c, d AS k FROM u ORDER BY {key}",
                "SELECT a, b FROM (SELECT a, b FROM t UNION SELECT c, d FROM u) ORDER BY b, a DESC",
            )
            for key in ("k", "t.b", "b", "2")
        ),
        ("SELECT DISTINCT b FROM t ORDER BY t.b", "SELECT b FROM t GROUP BY b"),
    ],
)
def test_tied_rows_in_another_order_earn_the_point(db: Path, gold: str, other: str) -> None:
    assert eval_exec_match(db, other, gold) == 1


@pytest.mark.parametrize(
    ("sql", "columns", "key"),
    [
        ("SELECT a, b FROM t ORDER BY b", ("a", "b"), 1),
        ("SELECT a, b FROM t ORDER BY t.b", ("a", "b"), 1),
        ("SELECT t.a, u.a FROM t, u ORDER BY u.a", ("a", "a"), 1),
        ("SELECT *, a AS z FROM t ORDER BY z", ("a", "b", "z"), 2),
        ("SELECT * FROM t ORDER BY b", ("a", "b"), 1),
        ("SELECT * FROM t JOIN u USING (b) ORDER BY b", ("a", "b", "c"), 1),
        ("SELECT u.*, a FROM t JOIN u USING (b) ORDER BY b", ("b", "c", "a"), 0),
        ("SELECT u.b, a FROM t JOIN u USING (b) ORDER BY b", ("b", "a"), "b"),
        ("SELECT *, a AS b FROM t ORDER BY b", ("a", "b", "b"), 1),
        ("SELECT a AS b, * FROM t ORDER BY b", ("b", "a", "b"), 0),
        ("SELECT *, a AS z, u.* FROM t, u ORDER BY z", ("a", "b", "z", "c"), 2),
        ("SELECT a FROM t ORDER BY lower(a)", ("a",), "lower(a)"),
        ("SELECT (lower(a)) FROM t ORDER BY lower(a) COLLATE nocase", ("x",), 0),
        ("SELECT t.b AS a FROM t ORDER BY x.a", ("a",), "x.a"),
    ],
)
def test_term_stands_for_a_result_column_or_a_further_one(sql: str, columns: tuple[str, ...], key: int | str) -> None:
    parsed = outline(sql)
    assert order_key(parsed, parsed.terms[0], columns) == key


@pytest.mark.parametrize(
    ("term", "expression"),
    [
        ("last", ["last"]),
        ("desc DESC", ["desc"]),
        ("t.desc", ["t", ".", "desc"]),
        ("a ASC NULLS FIRST", ["a"]),
        ("a NULLS LAST", ["a"]),
    ],
)
def test_direction_is_told_from_a_column_of_its_name(term: str, expression: list[str]) -> None:
    (found,) = outline(f"SELECT a FROM t ORDER BY {term}").terms
    assert [token.text for token in order_expression(found)] == expression
