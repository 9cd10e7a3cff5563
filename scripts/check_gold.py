"""List the gold queries of a data set that can't serve as a reward's measure.

    python scripts/check_gold.py [FILE.parquet ...] [--limit N] [--seconds 10]

Each row's gold query is run and evaluated against itself. Bad are those that fail, take too long, are too large to
compare, or don't match themselves on a second run; golds without rows are listed too, for every query without rows
matches them. Without files, the task files of the data folder are checked. The exit code is 1 when a gold is bad.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import duration, interruptible, positive
from spider.data import data_dir, load_environment, load_tasks
from spider.output import OutputHandler

TASK_FILES = ("train_spider.parquet", "test_dev.parquet")
KINDS = {"fails": "gives no result", "differs": "doesn't match itself", "no rows": "has no rows (not counted as bad)"}

logger = logging.getLogger("check_gold")


@dataclass(frozen=True)
class Finding:
    """What is wrong with a gold query."""

    kind: str
    file: Path
    row: int
    db_id: str
    query: str
    message: str = ""


def check_file(file: Path, limit: int | None, seconds: float, quiet: bool = False) -> Iterator[Finding]:
    """The findings in one task file, whose databases lie in its folder.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no task file.
    """
    from tqdm import tqdm

    from spider.data_preparation.golds import judge
    from spider.sandbox import Limits

    limits = Limits(seconds=seconds)
    tasks = load_tasks(file, limit)
    for row, task in enumerate(tqdm(tasks, desc=file.name, unit="gold", disable=quiet or None)):
        verdict = judge(file.parent / task["db_path"], task["query"], limits)
        if verdict.kind != "ok":
            yield Finding(verdict.kind, file, row, task["db_id"], task["query"], verdict.message)


def parse_args(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="task files (default: those of the data folder)")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N rows of each file")
    parser.add_argument("--seconds", type=duration, default=10.0, help="time limit of one query (default: 10)")
    parser.add_argument("--quiet", action="store_true", help="show bad golds and errors alone")
    return parser.parse_args(arguments)


@interruptible
def main(arguments: list[str] | None = None) -> int:
    """Check the files; 1 when a gold is bad, 2 when a file can't be read, 130 after Ctrl-C."""
    options = parse_args(arguments)
    load_environment()
    level = logging.WARNING if options.quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", handlers=[OutputHandler()], force=True)
    counts: Counter[str] = Counter()
    try:
        files = [file.resolve() for file in options.files] or [data_dir() / name for name in TASK_FILES]
        for file in files:
            for found in check_file(file, options.limit, options.seconds, options.quiet):
                counts[found.kind] += 1
                place = f"{found.file.name}:{found.row} {found.db_id}"
                message = found.message and f": {found.message}"
                level = logging.INFO if found.kind == "no rows" else logging.WARNING
                logger.log(level, "%s: %s%s\n    %s", place, KINDS[found.kind], message, found.query)
    except (OSError, ValueError) as error:
        logger.error("check_gold: %s", error)
        return 2
    bad = counts["fails"] + counts["differs"]
    logger.info("%d bad golds, %d without rows, in %s", bad, counts["no rows"], ", ".join(file.name for file in files))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
