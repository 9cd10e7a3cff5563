"""What data/README.md says of data/sample, checked on the files as they are in the repository."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from functools import cache

import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp

from spider.data import COLUMNS, ROOT, load_tasks
from spider.spider_eval.hardness import LEVELS, hardness

SAMPLE = ROOT / "data" / "sample"
TRAIN = load_tasks(SAMPLE / "train_spider.parquet")
TEST = load_tasks(SAMPLE / "test_dev.parquet")
GOLDS = sorted({(task["db_path"], task["query"]) for task in TRAIN + TEST})
DATABASES = sorted({task["db_path"] for task in TRAIN + TEST})


@cache
def connect(db_path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{SAMPLE / db_path}?mode=ro&immutable=1", uri=True)


def execute(db_path: str, query: str) -> list[tuple[object, ...]]:
    """Rows of a query, by SQLite itself: these tests judge the data, not the project's own execution."""
    return connect(db_path).execute(query).fetchall()


def objects(kind: str) -> list[tuple[str, str, str]]:
    """(db_path, name, sql) of all tables or views."""
    query = f"SELECT name, sql FROM sqlite_master WHERE type = '{kind}'"
    return [(db_path, str(name), str(sql)) for db_path in DATABASES for name, sql in execute(db_path, query)]


def same_answer(db_path: str, one: str, other: str) -> bool:
    """Whether two queries answer alike: in order if the first one sorts, else as multisets."""
    try:
        rows, others = execute(db_path, one), execute(db_path, other)
    except sqlite3.Error:
        return False
    return rows == others if "ORDER BY" in one else Counter(rows) == Counter(others)


def test_there_are_enough_questions() -> None:
    assert len(TRAIN) >= 600
    assert len(TEST) >= 200


def test_there_are_enough_databases() -> None:
    assert len({task["db_id"] for task in TRAIN}) >= 10
    assert len({task["db_id"] for task in TEST}) >= 5


def test_validation_databases_are_unseen_in_training() -> None:
    assert not {task["db_id"] for task in TRAIN} & {task["db_id"] for task in TEST}


def test_validation_tables_are_unseen_in_training() -> None:
    schemas: dict[bool, set[str]] = defaultdict(set)
    for db_path, _, sql in objects("table"):
        schemas[db_path.startswith("test_database/")].add(sql)
    assert not schemas[True] & schemas[False]


@pytest.mark.parametrize("name", ["train_spider", "test_dev", "test_dev_500"])
def test_task_file_has_spiders_four_columns(name: str) -> None:
    assert tuple(pq.read_schema(SAMPLE / f"{name}.parquet").names) == COLUMNS


def test_test_dev_500_is_the_start_of_test_dev() -> None:
    assert load_tasks(SAMPLE / "test_dev_500.parquet") == TEST[:500]


@pytest.mark.parametrize(("tasks", "folder"), [(TRAIN, "database"), (TEST, "test_database")])
def test_db_path_follows_spiders_layout(tasks: list[dict[str, str]], folder: str) -> None:
    for task in tasks:
        assert task["db_path"] == f"{folder}/{task['db_id']}/{task['db_id']}.sqlite"
        assert (SAMPLE / task["db_path"]).is_file()


@pytest.mark.parametrize("db_path", DATABASES)
def test_schema_sql_makes_the_same_tables(db_path: str) -> None:
    listing = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript((SAMPLE / db_path).with_name("schema.sql").read_text(encoding="utf-8"))
        assert connection.execute(listing).fetchall() == execute(db_path, listing)


@pytest.mark.parametrize("db_path", DATABASES)
def test_database_is_sound(db_path: str) -> None:
    assert execute(db_path, "PRAGMA integrity_check") == [("ok",)]
    assert execute(db_path, "PRAGMA foreign_key_check") == []


def test_tables_have_5_to_60_rows() -> None:
    sizes = {
        (db_path, name): execute(db_path, f'SELECT count(*) FROM "{name}"')[0][0]
        for db_path, name, _ in objects("table")
    }
    assert {table: size for table, size in sizes.items() if not (isinstance(size, int) and 5 <= size <= 60)} == {}


def test_every_gold_query_runs_and_few_find_no_rows() -> None:
    empty = [query for db_path, query in GOLDS if not execute(db_path, query)]
    assert 5 <= len(empty) <= 0.05 * len(GOLDS)


def test_no_gold_query_answers_a_lone_zero_or_null() -> None:
    assert [query for db_path, query in GOLDS if execute(db_path, query) in ([(0,)], [(None,)])] == []


@pytest.mark.parametrize("clause", ["where", "group", "having", "order", "limit"])
def test_no_gold_query_keeps_its_answer_without_a_clause(clause: str) -> None:
    idle, tried = [], 0
    for db_path, query in GOLDS:
        tree = sqlglot.parse_one(query, read="sqlite")
        select = next((node for node in tree.find_all(exp.Select) if node.args.get(clause) is not None), None)
        if select is None:
            continue
        select.set(clause, None)
        tried += 1
        if same_answer(db_path, query, tree.sql("sqlite")):
            idle.append(query)
    assert tried
    assert idle == []


def test_no_sorted_gold_query_keeps_its_answer_the_other_way_round() -> None:
    descending = [(db_path, query) for db_path, query in GOLDS if " DESC" in query]
    assert [q for db_path, q in descending if same_answer(db_path, q, q.replace(" DESC", ""))] == []


@pytest.mark.parametrize("tasks", [TRAIN, TEST], ids=["train", "test"])
def test_all_hardness_levels_are_there_and_most_are_easy_or_medium(tasks: list[dict[str, str]]) -> None:
    counts = Counter(hardness(task["query"]) for task in tasks)
    assert set(counts) == set(LEVELS)
    assert counts["easy"] + counts["medium"] >= 0.7 * len(tasks)


def test_each_query_is_asked_in_several_phrasings() -> None:
    phrasings: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task in TRAIN + TEST:
        phrasings[task["db_id"], task["query"]].add(task["question"])
    assert {query for query, questions in phrasings.items() if len(questions) < 2} == set()


def test_no_question_is_asked_twice() -> None:
    counts = Counter((task["db_id"], task["question"].casefold()) for task in TRAIN + TEST)
    assert [key for key, count in counts.items() if count > 1] == []


def test_first_questions_span_the_databases() -> None:
    assert len({task["db_id"] for task in TRAIN[:40]}) >= 8
    assert len({task["db_id"] for task in TEST[:20]}) >= 4


@pytest.mark.parametrize("split", ["database", "test_database"])
def test_each_split_has_foreign_keys_nulls_dates_accents_reserved_words_and_views(split: str) -> None:
    tables = [(db_path, name, sql) for db_path, name, sql in objects("table") if db_path.startswith(f"{split}/")]
    schema = "\n".join(sql for _, _, sql in tables)
    cells = [cell for db_path, name, _ in tables for row in execute(db_path, f'SELECT * FROM "{name}"') for cell in row]
    text = "".join(cell for cell in cells if isinstance(cell, str))
    assert "REFERENCES" in schema
    assert "DATE" in schema
    assert '"order"' in schema or '"Group"' in schema
    assert None in cells
    assert set("éüñß") <= set(text)
    assert any(db_path.startswith(f"{split}/") for db_path, _, _ in objects("view"))


def test_sample_is_under_5_megabytes() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()) < 5_000_000


@pytest.mark.parametrize(("title", "tasks"), [("training", TRAIN), ("validation", TEST)])
def test_readme_states_the_sizes(title: str, tasks: list[dict[str, str]]) -> None:
    levels = Counter(hardness(task["query"]) for task in tasks)
    databases, queries = {task["db_id"] for task in tasks}, {(task["db_id"], task["query"]) for task in tasks}
    figures = [len(databases), len(tasks), len(queries), *(levels[level] for level in LEVELS)]
    row = " | ".join([title, *map(str, figures)])
    assert f"| {row} |" in (ROOT / "data" / "README.md").read_text(encoding="utf-8")
