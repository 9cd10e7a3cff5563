"""The published table of the SQL agent beside this one's: context, turns, and whether the checker is trained too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spider.evaluation.summary import Summary
from spider.evaluation.table import columns, percent, share_cells

CONTEXTS = (2048, 4096)
TURNS = (1, 3)

PUBLISHED: Mapping[tuple[int, int, bool], float] = {
    (2048, 1, False): 0.732,
    (2048, 3, False): 0.764,
    (2048, 3, True): 0.776,
    (4096, 1, False): 0.802,
    (4096, 3, False): 0.804,
}
"""Accuracy of Qwen2.5-Coder-3B-Instruct after training, by context in characters, turns, and whether the checker is
trained, from agentlightning's SQL agent report (2025), on 500 questions. Each cell is a model trained in that setting.
The two figures for 4096 are taken in the order in which they are given: 1 turn, 3 turns."""


def published_table(rows: Sequence[tuple[int, int, bool, Summary | None]]) -> str:
    """The table; a setting that was not run says so."""
    lines = [["context", "turns", "checker", "questions", "accuracy", "95 % interval", "published rule", "published"]]
    for context, turns, checker, summary in rows:
        cells = share_cells(summary["strict"]) if summary else ["not run", "-", "-"]
        loose = percent(summary["published"]["accuracy"]) if summary else "-"
        figure = percent(PUBLISHED.get((context, turns, checker)))
        lines.append([f"{context}", f"{turns}", "trained" if checker else "untrained", *cells, loose, figure])
    return columns(lines)
