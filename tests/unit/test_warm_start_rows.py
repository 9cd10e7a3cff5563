"""Training rows of the warm start, over a database made here."""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from spider.database import open_database
from spider.prompts import extract_query, is_correct, write_messages
from spider.reward import evaluate_query
from spider.warm_start.rows import Row, Task, build_rows, load_rows, read_sources, tidy, write_rows, wrong_query

QUERIES = {
    "How many heads are older than 56?": "SELECT count(*) FROM head WHERE age > 56",
    "Which heads were born in Texas?": "SELECT name FROM head WHERE state = 'Texas'",
    "What is the mean age?": "SELECT avg(age) FROM head",
    "List the names, oldest first.": "SELECT name FROM head ORDER BY age DESC",
}


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    db = tmp_path / "club.sqlite"
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("CREATE TABLE head (head_id INTEGER PRIMARY KEY, name TEXT, state TEXT, age INTEGER)")
        people = [("Ann", "Texas", 61), ("Bob", "Ohio", 44), ("Cy", "Texas", 58), ("Di", "Iowa", 70)]
        connection.executemany("INSERT INTO head (name, state, age) VALUES (?, ?, ?)", people)
    return [Task(question, query, db) for question, query in QUERIES.items()] * 15


@pytest.fixture
def rows(tasks: list[Task]) -> list[Row]:
    return list(build_rows(tasks, 1, seed=3))


def test_turns_come_in_the_promised_shares(rows: list[Row]) -> None:
    assert Counter(row.turn for row in rows) == {"write": 60, "check": 25, "rewrite": 15}


def test_the_check_turns_have_both_verdicts_in_equal_number(rows: list[Row]) -> None:
    verdicts = Counter(is_correct(row.reply) for row in rows if row.turn == "check")
    assert abs(verdicts[True] - verdicts[False]) <= 1


def test_a_check_row_approves_exactly_the_queries_that_earn_the_reward(rows: list[Row], tasks: list[Task]) -> None:
    for row in (row for row in rows if row.turn == "check"):
        prompt = row.messages[-1]["content"]
        task = next(task for task in tasks if f"Question: {task.question}\n" in prompt)
        query = prompt.split("```sql\n")[1].split("\n```")[0]
        assert is_correct(row.reply) == bool(evaluate_query(query, task.query, str(task.db)))


def test_write_and_rewrite_rows_reply_with_the_gold(rows: list[Row]) -> None:
    assert {extract_query(row.reply) for row in rows if row.turn != "check"} == set(QUERIES.values())


def test_a_write_prompt_is_the_agents_own(rows: list[Row], tasks: list[Task]) -> None:
    schema = open_database(tasks[0].db).schema(tasks[0].question)
    assert write_messages(tasks[0].question, schema) in [row.messages for row in rows if row.turn == "write"]


def test_another_epoch_draws_other_wrong_queries(tasks: list[Task]) -> None:
    rows = list(build_rows(tasks, 2, seed=3))
    wrong = [{row.messages[-1]["content"] for row in rows if row.turn == "rewrite" and row.epoch == e} for e in (0, 1)]
    assert wrong[0] != wrong[1]


def test_the_same_seed_gives_the_same_rows(rows: list[Row], tasks: list[Task]) -> None:
    assert list(build_rows(tasks, 1, seed=3)) == rows


def test_a_wrong_query_never_earns_the_reward(tasks: list[Task]) -> None:
    for seed in range(20):
        wrong = wrong_query(tasks[seed], tasks, random.Random(seed))
        assert wrong is not None
        assert evaluate_query(wrong.query, tasks[seed].query, str(tasks[seed].db), raise_on_error=False) == 0


def test_rows_come_back_as_they_were_stored(rows: list[Row], tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.parquet"
    assert write_rows(iter(rows), path, {"club": 60}) == len(rows)
    assert load_rows(path) == rows
    assert read_sources(path) == {"club": 60}


def test_tidy_leaves_quoted_text_alone() -> None:
    assert tidy("SELECT  a ,\n b FROM t WHERE c  =  'x  ,y' ; ") == "SELECT a, b FROM t WHERE c = 'x  ,y'"
