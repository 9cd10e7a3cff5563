"""Why sqlglot parses gold queries and not predictions: what it and SQLite's lexical rules make of queries.

    python -m benchmarks.sql_parse [--data FOLDER] [--cases FILE]

Of every query that SQLite can prepare: does sqlglot parse it, do both agree on what the evaluator asks (a DISTINCT and
an ORDER BY of the outermost query, a set operation), and how long does each take? The queries are the gold queries of
FOLDER's development and training questions, the gold and predicted queries of the cases, and the idioms of SQLite in
sqlite_idioms.txt, picked by hand from its documentation. At last, calls within each other, which SQLite runs, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from benchmarks.reward import default_folder
from spider.data import load_tasks
from spider.spider_eval.statement import outline, tokenize

SHOWN = 5
DEPTHS = (5, 10, 15)
IDIOMS = Path(__file__).with_name("sqlite_idioms.txt")
IDIOMS_SCHEMA = """
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, d REAL, "order" INT, "a b" TEXT);
CREATE INDEX i ON t (b);
CREATE TABLE u (a, b);
CREATE VIRTUAL TABLE f USING fts5 (x);
"""
Facts = tuple[bool, bool, bool]

logger = logging.getLogger("benchmarks.sql_parse")


def with_lexer(sql: str) -> Facts:
    """Whether the outermost query has a DISTINCT, orders its rows, is a set operation."""
    parsed = outline(sql)
    return parsed.distinct is not None, bool(parsed.terms), parsed.is_set_operation


def with_sqlglot(sql: str) -> Facts:
    """The same from sqlglot's tree.

    Raises:
        SqlglotError: it can't parse the query.
    """
    (tree,) = (tree for tree in sqlglot.parse(sql, read="sqlite") if not isinstance(tree, exp.Semicolon | None))
    if not isinstance(tree, exp.Query | exp.Values):
        raise SqlglotError(f"a {type(tree).__name__}")
    is_set_operation = isinstance(tree, exp.SetOperation)
    distinct = isinstance(tree, exp.Select) and tree.args.get("distinct") is not None
    return distinct, tree.args.get("order") is not None, is_set_operation


def prepares(database: Path, sql: str) -> bool:
    """Whether SQLite can prepare a query over this database; it isn't run."""
    if not tokenize(sql) or tokenize(sql)[0].word not in ("SELECT", "WITH", "VALUES"):
        return False
    with contextlib.closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        try:
            connection.execute(f"EXPLAIN {sql}").fetchone()
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            return False
    return True


def seconds_each(read: Callable[[str], object], queries: list[str]) -> float:
    """Mean time of one query, in seconds."""
    started = time.perf_counter()
    for sql in queries:
        with contextlib.suppress(SqlglotError, ValueError, RecursionError):
            read(sql)
    return (time.perf_counter() - started) / len(queries)


def report(name: str, pairs: Iterable[tuple[Path, str]]) -> None:
    """Log how the two readings compare over one set of queries."""
    prepared = [sql for database, sql in dict.fromkeys(pairs) if database.is_file() and prepares(database, sql)]
    failed, differ = [], []
    for sql in prepared:
        try:
            if with_sqlglot(sql) != with_lexer(sql):
                differ.append(sql)
        except (SqlglotError, ValueError, RecursionError):
            failed.append(sql)
    ours, theirs = seconds_each(with_lexer, prepared), seconds_each(with_sqlglot, prepared)
    logger.info("%s: %d queries that SQLite prepares", name, len(prepared))
    logger.info("  lexer %.3f ms a query, sqlglot %.3f ms", 1000 * ours, 1000 * theirs)
    logger.info("  sqlglot can't parse %d, reads %d otherwise", len(failed), len(differ))
    for what, queries in (("can't parse", failed), ("otherwise", differ)):
        for sql in queries[:SHOWN]:
            logger.info("    %s: %.100s", what, " ".join(sql.split()))


def main(arguments: list[str] | None = None) -> int:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="folder with the questions and databases")
    parser.add_argument("--cases", type=Path, default=None, help="JSON lines with db, gold and prediction")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    folder = (options.data or default_folder()).resolve()
    for choices in (("dev.parquet", "test_dev.parquet"), ("train_spider_usable.parquet", "train_spider.parquet")):
        file = next((folder / name for name in choices if (folder / name).is_file()), None)
        if file:
            report(file.name, ((folder / task["db_path"], task["query"]) for task in load_tasks(file)))
    if options.cases:
        lines = [json.loads(line) for line in options.cases.read_text(encoding="utf-8").splitlines()]
        both = ((folder / line["db"], line[name]) for line in lines for name in ("gold", "pred"))
        report(options.cases.name, both)
    with tempfile.TemporaryDirectory() as temporary:
        database = Path(temporary) / "idioms.sqlite"
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.executescript(IDIOMS_SCHEMA)
        report(IDIOMS.name, ((database, line) for line in IDIOMS.read_text(encoding="utf-8").splitlines()))
    for depth in DEPTHS:
        nested = "SELECT " + "date(" * depth + "b" + ")" * depth + " FROM t"
        ours, theirs = seconds_each(with_lexer, [nested]), seconds_each(with_sqlglot, [nested])
        logger.info("date( %d times: lexer %.1f ms, sqlglot %.1f ms", depth, 1000 * ours, 1000 * theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
