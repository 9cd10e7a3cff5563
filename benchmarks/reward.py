"""Speed of the reward: evaluations a second, many equal columns, large results.

    python benchmarks/reward.py [--data FOLDER] [--repeats 3]

The gold queries of FOLDER's dev.parquet (or test_dev.parquet) are evaluated against themselves and against as many
wrong predictions (the gold of another question on the same database), in one process: cold (no gold result is known,
no worker runs) and warm (all gold results are known). FOLDER is, unless given, SPIDER_REAL_DATA, or a folder
shared/spider next to the repository, or data/sample. Of the repeats the best counts, and all are shown.
"""

from __future__ import annotations

import argparse
import logging
import os
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from spider.data import ROOT, load_tasks
from spider.reward import evaluate_query
from spider.sandbox import close_workers
from spider.spider_eval.gold import gold_cache
from spider.spider_eval.gold_outline import gold_outline

NEEDED = {"cold": 600.0, "warm": 1500.0}  # evaluations a second, on two cores
LARGE_ROWS, LARGE_SECONDS = 100_000, 2.0
EQUAL_COLUMNS, EQUAL_SECONDS = 12, 0.05

logger = logging.getLogger("benchmarks.reward")


def default_folder() -> Path:
    """The real data where they are at hand, else the sample."""
    if named := os.environ.get("SPIDER_REAL_DATA"):
        return Path(named)
    shared = ROOT.parent / "shared" / "spider"
    return shared if (shared / "test_dev.parquet").is_file() else ROOT / "data" / "sample"


def evaluations(folder: Path) -> list[tuple[str, str, str]]:
    """(prediction, gold, database): each gold against itself, and against another gold of its database."""
    every = folder / "dev.parquet"
    tasks = load_tasks(every if every.is_file() else folder / "test_dev.parquet")
    by_database: defaultdict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_database[task["db_path"]].append(task["query"])
    pairs: list[tuple[str, str, str]] = []
    for path, golds in by_database.items():
        database = str(folder / path)
        pairs += [(gold, gold, database) for gold in golds]
        for at, gold in enumerate(golds):
            others = [other for other in golds[at:] + golds[:at] if other != gold]
            pairs.append((others[len(others) // 2] if others else "SELECT 'wrong'", gold, database))
    return pairs


def forget() -> None:
    """Drop all golds' results and all that was read of queries."""
    gold_cache.clear()
    gold_outline.cache_clear()


def timed(pairs: list[tuple[str, str, str]]) -> tuple[float, float]:
    """Evaluations a second over ``pairs``, and the sum of the rewards."""
    started = time.perf_counter()
    total = sum(evaluate_query(*pair) for pair in pairs)
    return len(pairs) / (time.perf_counter() - started), total


def measure_speed(folder: Path, repeats: int) -> bool:
    """Report cold and warm speed; whether both are as needed."""
    pairs = evaluations(folder)
    speeds: dict[str, list[float]] = {"cold": [], "warm": []}
    total = 0.0
    for _ in range(repeats):
        forget()
        close_workers()
        for kind in speeds:
            speed, total = timed(pairs)
            speeds[kind].append(speed)
    logger.info("%d golds of %s against themselves and a wrong one: %d earn 1", len(pairs) // 2, folder.name, total)
    for kind, measured in speeds.items():
        shown = ", ".join(f"{speed:.0f}" for speed in measured)
        logger.info("%s: %.0f evaluations/s (needed %.0f; all: %s)", kind, max(measured), NEEDED[kind], shown)
    return all(max(measured) >= NEEDED[kind] for kind, measured in speeds.items())


def measure_one(name: str, query: str, gold: str, database: Path, repeats: int, needed: float) -> bool:
    """Report the seconds of one evaluation, gold and prediction run anew; whether it is as fast as needed."""
    seconds: list[float] = []
    for _ in range(repeats):
        forget()
        started = time.perf_counter()
        reward = evaluate_query(query, gold, database)
        seconds.append(time.perf_counter() - started)
        if reward != 1.0:
            raise AssertionError(f"{name}: the reward is {reward}, not 1")
    logger.info("%s: %.3f s (needed %.2f; all: %s)", name, min(seconds), needed, [round(value, 3) for value in seconds])
    return min(seconds) <= needed


def measure_large(repeats: int) -> bool:
    """Report the time of results with many columns and of results with many rows; whether all are fast enough."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "large.sqlite"
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL, day INT)")
            rows = ((at, f"name {at % 5000}", at * 1.1, at % 365) for at in range(LARGE_ROWS))
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        connection.close()
        columns = ", ".join(["day"] * EQUAL_COLUMNS)
        equal = f"SELECT {columns} FROM t WHERE id < 1000"
        free = ("SELECT day, price, name, id FROM t ORDER BY id DESC", "SELECT id, name, price, day FROM t")
        ordered = ("SELECT day, price, id FROM t ORDER BY day, id DESC", "SELECT id, price, day FROM t ORDER BY day")
        return all(
            [
                measure_one("12 equal columns", f"{equal} ORDER BY id DESC", equal, database, repeats, EQUAL_SECONDS),
                measure_one("100,000 rows, columns permuted", *free, database, repeats, LARGE_SECONDS),
                measure_one("100,000 rows, ties in another order", *ordered, database, repeats, LARGE_SECONDS),
            ]
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 when a figure isn't reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="folder with the questions and databases")
    parser.add_argument("--repeats", type=int, default=3, help="how often to measure (default: 3)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    folder = options.data or default_folder()
    reached = [measure_speed(folder.resolve(), options.repeats), measure_large(options.repeats)]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
