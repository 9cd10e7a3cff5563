"""The reward of a predicted query: 1.0 when it gives the gold query's result, else 0.0.

    evaluate_query("SELECT count(*) FROM pets", "SELECT count(petid) FROM pets", "database/pets_1/pets_1.sqlite")  # 1.0

With a ``Shaping``, a wrong query earns part of its weights: for executing, for the right columns, for overlapping rows.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from spider.sandbox import Limits, QueryFailed, Rows, SQLValue, run_query
from spider.spider_eval.exec_eval import DEFAULT_LIMITS, eval_exec_match
from spider.spider_eval.gold import GoldError, gold_cache
from spider.spider_eval.statement import reading_statement

__all__ = ["GoldError", "Shaping", "evaluate_query"]

SURPLUS_ROWS = 1_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shaping:
    """What a wrong query can earn. The weights' sum is below 1, so that a correct answer always earns more.

    Attributes:
        executes: The query runs within its limits.
        columns: Share of columns that hold the values of a gold column.
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
    end = time.monotonic() + limits.seconds
    try:
        reward = float(eval_exec_match(database, query, ground_truth, limits=limits))
        left = end - time.monotonic()
        if reward == 0.0 and shaping is not None and left > 0:
            gold = gold_cache.get(Path(database), ground_truth, limits).as_written.result
            return partial_reward(query, gold, Path(database), shaping, replace(limits, seconds=left))
        return reward
    except GoldError:
        if raise_on_error:
            raise
        logger.exception("gold_error: the gold query gives no result")
        return 0.0


def partial_reward(query: str, gold: Rows, database: Path, shaping: Shaping, limits: Limits) -> float:
    """What a wrong query earns; one with far more rows than the gold earns what executing does."""
    statement = reading_statement(query)
    if statement is None:
        return 0.0
    most = SURPLUS_ROWS + 10 * len(gold.rows)
    try:
        result = run_query(database, statement, replace(limits, max_rows=most), exact_text=True)
    except QueryFailed:
        return 0.0
    if result.truncated:
        return shaping.executes
    columns = shaping.columns * columns_in_common(gold, result)
    return shaping.executes + columns + shaping.overlap * values_in_common(gold, result)


def columns_in_common(gold: Rows, result: Rows) -> float:
    """Share, from 0 to 1, of columns that are right, each as far as its set of values is a gold column's.

    A surplus column counts like a missing one; more than twice the gold's columns count for nothing.
    """
    if len(result.columns) > 2 * len(gold.columns):
        return 0.0
    theirs = [set(column) for column in zip(*result.rows, strict=True)]
    common = 0.0
    for column in zip(*gold.rows, strict=True):
        ours = set(column)
        shares = [len(ours & other) / len(ours | other) for other in theirs]
        if shares:
            best = max(shares)
            common += best
            del theirs[shares.index(best)]
    return common / max(len(gold.columns), len(result.columns))


def values_in_common(gold: Rows, result: Rows) -> float:
    """Share, from 0 to 1, of values found in both results, of the larger one's number of values."""
    ours, theirs = Counter(cells(gold)), Counter(cells(result))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def cells(result: Rows) -> Iterable[SQLValue]:
    """All values of a result."""
    return (cell for row in result.rows for cell in row)
