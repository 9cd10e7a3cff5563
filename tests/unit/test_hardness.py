from __future__ import annotations

import pytest

from spider.spider_eval.hardness import hardness


@pytest.mark.parametrize(
    ("query", "level"),
    [
        ("SELECT count(*) FROM singer", "easy"),
        ("SELECT name FROM singer WHERE age > 20", "easy"),
        ("SELECT name FROM singer ORDER BY age DESC", "easy"),
        ("SELECT name FROM singer LIMIT 1", "easy"),
        ("SELECT name , age FROM singer", "medium"),
        ("SELECT max(age) , min(age) FROM singer", "medium"),
        ("SELECT country , count(*) FROM singer GROUP BY country", "medium"),
        ("SELECT name FROM singer ORDER BY age LIMIT 1", "medium"),
        ("SELECT name FROM singer WHERE age > 20 AND country = 'France'", "medium"),
        ("SELECT name FROM singer WHERE name LIKE '%a%'", "medium"),
        ("SELECT name FROM singer WHERE age > 20 OR age < 5", "medium"),
        ("SELECT T1.name FROM singer AS T1 JOIN concert AS T2 ON T1.id = T2.singer WHERE T2.year = 2014", "medium"),
        ("SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer)", "hard"),
        ("SELECT name FROM singer WHERE id NOT IN (SELECT singer FROM concert)", "hard"),
        ("SELECT country FROM singer WHERE age > 40 INTERSECT SELECT country FROM singer WHERE age < 30", "hard"),
        ("SELECT name FROM singer WHERE age > 20 GROUP BY name ORDER BY count(*)", "hard"),
        ("SELECT T1.a FROM x AS T1 JOIN y AS T2 ON T1.i = T2.i JOIN z AS T3 ON T2.j = T3.j WHERE T3.k = 1", "hard"),
        ("SELECT max(a) , min(a) FROM t WHERE b = 1 AND c = 2", "hard"),
        ("SELECT name , age FROM singer WHERE age > (SELECT avg(age) FROM singer)", "extra"),
        ("SELECT T1.a FROM x AS T1 JOIN y AS T2 ON T1.i = T2.i GROUP BY T1.i ORDER BY count(*) DESC LIMIT 1", "extra"),
    ],
)
def test_level_follows_the_published_rule(query: str, level: str) -> None:
    assert hardness(query) == level


def test_clauses_of_an_inner_query_do_not_count() -> None:
    inner = "SELECT b FROM u WHERE c = 1 OR c = 2 GROUP BY b ORDER BY count(*) LIMIT 5"
    assert hardness(f"SELECT a FROM t WHERE a IN ({inner})") == hardness("SELECT a FROM t WHERE a IN (SELECT b FROM u)")


@pytest.mark.parametrize("text", ["", "DELETE FROM singer", "SELECT name FROM (", "SELECT 1; SELECT 2"])
def test_text_that_is_not_one_select_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        hardness(text)
