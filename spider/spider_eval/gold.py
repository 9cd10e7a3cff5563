"""Gold queries' answers, computed once: what a prediction is compared with."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, Rows, run_query
from spider.spider_eval.compare import same_result
from spider.spider_eval.gold_outline import gold_outline, orders_rows
from spider.spider_eval.ordering import Ordered, keys_are_in_result, tie_groups
from spider.spider_eval.statement import PASSING, reading_statement, without_distinct

KEPT_CELLS = 1_000_000


class GoldError(Exception):
    """The gold query gives no result to compare with: it fails, takes too long or is too large."""


@dataclass
class Answer:
    """A gold query and its rows."""

    db: Path
    sql: str
    result: Rows
    limits: Limits
    ordered: Ordered | None = None

    def accepts(self, predicted: Rows) -> bool:
        """Whether ``predicted`` is the same result."""
        if predicted.truncated or len(predicted.rows) != len(self.result.rows):
            return False
        if predicted.rows == self.result.rows:
            return True
        if not orders_rows(self.sql):
            return same_result(self.result.rows, predicted.rows)
        if self.ordered is None:
            is_cheap = keys_are_in_result(self.sql, self.result)
            if not is_cheap and not same_result(self.result.rows, predicted.rows):
                return False
            self.ordered = tie_groups(self.db, self.sql, self.result, self.limits)
        return same_result(self.ordered.rows, predicted.rows, self.ordered.groups)


@dataclass(frozen=True)
class Gold:
    """A gold query's answer as it is written and, where its DISTINCT counts for nothing, without it."""

    as_written: Answer
    plain: Answer | None

    @property
    def rows_needed(self) -> int:
        """How many rows of a prediction decide: more than any of the answers."""
        plain_rows = len(self.plain.result.rows) if self.plain else 0
        return max(len(self.as_written.result.rows), plain_rows) + 1

    @property
    def cells(self) -> int:
        """What it costs to keep."""
        answers = {id(answer): answer for answer in (self.as_written, self.plain) if answer}
        return 100 + sum(len(answer.result.rows) * len(answer.result.columns) for answer in answers.values())


class GoldCache:
    """Gold answers, the least recently used ones dropped beyond ``max_cells`` cells."""

    def __init__(self, max_cells: int = KEPT_CELLS) -> None:
        """Starts empty."""
        self.max_cells, self.cells = max_cells, 0
        self.golds: OrderedDict[tuple[object, ...], Gold] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, db: Path, sql: str, limits: Limits) -> Gold:
        """The answers of a gold query; one that depends on the time or on chance is run each time.

        Raises:
            GoldError: it has none.
        """
        try:
            stat = os.stat(db)
        except OSError as error:
            raise GoldError(f"no database file {db}: {error.strerror}") from None
        key = (str(db), stat.st_mtime_ns, stat.st_size, sql, limits)
        with self.lock:
            if gold := self.golds.get(key):
                self.golds.move_to_end(key)
                return gold
        gold = answer_gold(db, sql, limits)
        if PASSING.search(sql):
            return gold
        with self.lock:
            if key not in self.golds:
                self.golds[key] = gold
                self.cells += gold.cells
            while self.cells > self.max_cells and len(self.golds) > 1:
                self.cells -= self.golds.popitem(last=False)[1].cells
        return gold

    def clear(self) -> None:
        """Forget everything."""
        with self.lock:
            self.golds.clear()
            self.cells = 0


gold_cache = GoldCache()


def answer_gold(db: Path, sql: str, limits: Limits) -> Gold:
    """Run a gold query.

    Raises:
        GoldError: it fails, takes too long or is too large.
    """
    statement = reading_statement(sql)
    if statement is None:
        raise GoldError(f"not one SELECT statement (gold: {sql!r}, database: {db})")
    try:
        result = run_query(db, statement, limits, exact_text=True)
    except QueryFailed as error:
        raise GoldError(f"{error} (gold: {sql!r}, database: {db})") from error
    if result.truncated:
        raise GoldError(f"the result is too large to compare (gold: {sql!r}, database: {db})")
    as_written = Answer(db, statement, result, limits)
    if (plain := without_distinct(statement, gold_outline)) == statement:
        return Gold(as_written, as_written)
    try:
        plain_result = run_query(db, plain, limits, exact_text=True)
    except QueryFailed:
        return Gold(as_written, None)
    return Gold(as_written, None if plain_result.truncated else Answer(db, plain, plain_result, limits))
