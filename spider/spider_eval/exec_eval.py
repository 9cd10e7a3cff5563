"""Execution match: does a predicted query give the rows that the gold query gives?

    eval_exec_match("database/pets_1/pets_1.sqlite", "SELECT count(*) FROM pets", "SELECT count(petid) FROM pets")  # 1

The meaning is that of Spider's test-suite evaluator: the same multiset of rows up to a permutation of columns; the
order of rows counts when the outermost gold query orders, but rows that tie on its keys may come in any order; unless
``keep_distinct``, queries match as they are written or with the DISTINCT of both outermost SELECTs removed. Queries
run in the sandbox. Gold results are kept, by database file, its modification time and the query.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from spider.sandbox import Limits, QueryFailed, Rows, run_query
from spider.spider_eval.compare import same_result
from spider.spider_eval.gold import Gold, GoldError, gold_cache
from spider.spider_eval.plug_value import plugged_predictions
from spider.spider_eval.statement import (
    PASSING,
    QUERIES,
    first_word,
    mend,
    reading_statement,
    split_statement,
    without_any_distinct,
    without_distinct,
)

__all__ = ["GoldError", "eval_exec_match", "reference_exec_match"]

PASSING_RUNS = 50  # a prediction that draws lots, or looks at the clock, must win each time
MIN_SECONDS = 0.001
DEFAULT_LIMITS = Limits()

Item = TypeVar("Item")


def eval_exec_match(
    db: str | Path,
    p_str: str,
    g_str: str,
    plug_value: bool = False,
    keep_distinct: bool = False,
    progress_bar_for_each_datapoint: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """1 when the prediction ``p_str`` gives the result of the gold query ``g_str`` on the SQLite file ``db``, else 0.

    A prediction that fails, does more than read, isn't one statement, or takes over ``limits`` scores 0.

    Args:
        db: The SQLite file.
        p_str: The predicted query.
        g_str: The gold query.
        plug_value: Also try the prediction with the gold's literals in the place of its own.
        keep_distinct: Only compare the queries as they are written.
        progress_bar_for_each_datapoint: Show a progress bar over the predictions tried.
        limits: What each query may use; the prediction's runs share ``limits.seconds``.

    Raises:
        GoldError: the gold query gives no result.
    """
    db = Path(db)
    gold = gold_cache.get(db, g_str, limits)
    deadline = Deadline(limits)
    predictions = plugged_predictions(db, p_str, g_str) if plug_value else iter((p_str,))
    for prediction in with_progress(predictions, progress_bar_for_each_datapoint):
        if matches(db, prediction, gold, keep_distinct, deadline):
            return 1
        if deadline.passed():
            break
    return 0


class Deadline:
    """The limits that are left to the runs of one evaluation."""

    def __init__(self, limits: Limits) -> None:
        """Starts now."""
        self.limits = limits
        self.end = time.monotonic() + limits.seconds

    def passed(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.end

    def run(self, db: Path, sql: str, max_rows: int) -> Rows:
        """Run a query in the time that is left."""
        seconds = max(MIN_SECONDS, self.end - time.monotonic())
        return run_query(db, sql, replace(self.limits, seconds=seconds, max_rows=max_rows), exact_text=True)


def matches(db: Path, prediction: str, gold: Gold, keep_distinct: bool, deadline: Deadline) -> bool:
    """Whether the prediction gives the gold's result, each time it is run."""
    statement = reading_statement(prediction)
    if statement is None:
        return False
    runs = PASSING_RUNS if PASSING.search(statement) else 1
    try:
        return all(matches_once(db, statement, gold, keep_distinct, deadline) for _ in range(runs))
    except QueryFailed:
        return False


def matches_once(db: Path, statement: str, gold: Gold, keep_distinct: bool, deadline: Deadline) -> bool:
    """Whether one run of the statement gives the gold's result.

    Raises:
        QueryFailed: it gave no result.
    """
    result = deadline.run(db, statement, gold.rows_needed)
    if gold.as_written.accepts(result):
        return True
    if keep_distinct or gold.plain is None:
        return False
    plain = without_distinct(statement)
    if plain != statement:
        return gold.plain.accepts(deadline.run(db, plain, gold.rows_needed))
    return gold.plain is not gold.as_written and gold.plain.accepts(result)


def reference_exec_match(
    db: str | Path, p_str: str, g_str: str, keep_distinct: bool = False, limits: Limits = DEFAULT_LIMITS
) -> int:
    """Execution match with the heuristics behind published numbers, for tables; never for training.

    Unless ``keep_distinct``, every DISTINCT of both queries is removed; the order of rows counts, ties included, when
    the words "order by" stand anywhere in the gold; only the first statement counts; all the SQLite files next to
    ``db`` are compared. Still, nothing is written, and what isn't a query scores 0.

    Raises:
        GoldError: the gold query gives no result.
    """
    queries = [mend(split_statement(text)[0]) for text in (p_str, g_str)]
    if not keep_distinct:
        queries = [without_any_distinct(query) for query in queries]
    prediction, gold = queries
    if first_word(prediction) not in QUERIES:
        return 0
    for file in sorted(Path(db).parent.glob("*.sqlite*")):
        try:
            expected = run_query(file, gold, limits, exact_text=True)
        except QueryFailed as error:
            raise GoldError(f"{error} (gold: {g_str!r}, database: {file})") from error
        groups = range(len(expected.rows)) if "order by" in gold.lower() else None
        try:
            result = run_query(file, prediction, limits, exact_text=True)
        except QueryFailed:
            return 0
        if result.truncated or not same_result(expected.rows, result.rows, groups):
            return 0
    return 1


def with_progress(items: Iterator[Item], shown: bool) -> Iterator[Item]:
    """The items, with a progress bar when ``shown``."""
    if not shown:
        return items
    from tqdm import tqdm  # here, because most callers show none

    return iter(tqdm(items, unit="query"))
