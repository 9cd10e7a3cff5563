"""The reward of a predicted query: 1.0 when it gives the gold query's result, else 0.0.

    evaluate_query("SELECT count(*) FROM pets", "SELECT count(petid) FROM pets", "database/pets_1/pets_1.sqlite")  # 1.0

With a ``Shaping``, a wrong query earns part of its weights: for executing, for the right columns, for overlapping rows.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, Rows, SQLValue, run_query
from spider.spider_eval.exec_eval import DEFAULT_LIMITS, eval_exec_match
from spider.spider_eval.gold import GoldError, gold_cache
from spider.spider_eval.statement import reading_statement

__all__ = ["GoldError", "Shaping", "evaluate_query"]

ROWS_COMPARED = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shaping:
    """What a wrong query can earn. The weights' sum is below 1, so that a correct answer always earns more.

    Attributes:
        executes: The query runs within its limits.
        columns: Share of columns whose values are those of a gold column.
        overlap: Share of values in common, counted with repetition.

    Raises:
        ValueError: a weight is negative, or their sum isn't below 1.
    """

    executes: float = 0.05
    columns: float = 0.1
    overlap: float = 0.15

    def __post_init__(self) -> None:
        """Check the weights."""
        weights = astuple(self)
        if min(weights) < 0 or sum(weights) >= 1:
            raise ValueError(f"shaping weights must be 0 or more and sum to less than 1, not {weights}")


def evaluate_query(
    query: str,
    ground_truth: str,
    database: str | Path,
    raise_on_error: bool = True,
    *,
    shaping: Shaping | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> float:
    """The reward, from 0.0 to 1.0, of ``query`` where ``ground_truth`` is the gold query on the file ``database``.

    A query that is empty, fails, is refused or runs over its limits earns 0.0.

    Raises:
        GoldError: the gold query gives no result. Logged, with a reward of 0.0, unless ``raise_on_error``.
    """
    try:
        reward = float(eval_exec_match(database, query, ground_truth, limits=limits))
        if reward == 0.0 and shaping is not None:
            return partial_reward(query, ground_truth, Path(database), shaping, limits)
        return reward
    except GoldError:
        if raise_on_error:
            raise
        logger.exception("gold_error: the gold query gives no result")
        return 0.0


def partial_reward(query: str, ground_truth: str, database: Path, shaping: Shaping, limits: Limits) -> float:
    """What a wrong query earns.

    Raises:
        GoldError: the gold query gives no result.
    """
    gold = gold_cache.get(database, ground_truth, limits).as_written.result
    statement = reading_statement(query)
    if statement is None:
        return 0.0
    try:
        result = run_query(database, statement, replace(limits, max_rows=ROWS_COMPARED), exact_text=True)
    except QueryFailed:
        return 0.0
    columns = shaping.columns * columns_in_common(gold, result)
    return shaping.executes + columns + shaping.overlap * values_in_common(gold, result)


def columns_in_common(gold: Rows, result: Rows) -> float:
    """Share, from 0 to 1, of columns that hold the same set of values; a surplus column counts like a missing one."""
    common = Counter(column_values(gold)) & Counter(column_values(result))
    return common.total() / max(len(gold.columns), len(result.columns), 1)


def column_values(result: Rows) -> Iterable[frozenset[SQLValue]]:
    """For each column the values it holds; none for a result without rows."""
    return (frozenset(column) for column in zip(*result.rows, strict=True))


def values_in_common(gold: Rows, result: Rows) -> float:
    """Share, from 0 to 1, of values found in both results, of the larger one's number of values."""
    ours, theirs = Counter(cells(gold)), Counter(cells(result))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def cells(result: Rows) -> Iterable[SQLValue]:
    """All values of a result."""
    return (cell for row in result.rows for cell in row)
