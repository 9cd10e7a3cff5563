"""Whether a gold query can serve as a reward's measure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spider.sandbox import Limits

Kind = Literal["ok", "no rows", "differs", "fails"]
BAD: dict[Kind, str] = {"fails": "failing gold", "differs": "gold that doesn't match itself"}


@dataclass(frozen=True)
class Verdict:
    """What becomes of a gold query: `message` says why it fails."""

    kind: Kind
    message: str = ""


def judge(db: Path, query: str, limits: Limits) -> Verdict:
    """Run a gold query, and evaluate it against itself.

    It fails when it gives an error, takes too long or is too large to compare; it differs when a second run doesn't
    match; without rows it is matched by every query without rows.
    """
    from spider.spider_eval.exec_eval import eval_exec_match
    from spider.spider_eval.gold import GoldError, gold_cache

    try:
        rows = gold_cache.get(db, query, limits).as_written.result.rows
    except GoldError as error:
        return Verdict("fails", str(error.__cause__ or error))
    if not eval_exec_match(db, query, query, keep_distinct=True, limits=limits):
        return Verdict("differs")
    return Verdict("ok" if rows else "no rows")


def judge_all(golds: Iterable[tuple[Path, str]], seconds: float, quiet: bool) -> dict[tuple[Path, str], Verdict]:
    """The verdict on each (database, query), judged once and several at a time; with a progress bar on a terminal."""
    from tqdm import tqdm

    limits = Limits(seconds=seconds)
    # Together by database, so that the workers keep it open.
    unique = sorted(set(golds))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        silent = quiet or not sys.stderr.isatty()
        verdicts = tqdm(
            pool.map(lambda gold: judge(gold[0], gold[1], limits), unique),
            desc="gold queries",
            total=len(unique),
            unit="gold",
            disable=silent,
        )
        try:
            return dict(zip(unique, verdicts, strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
