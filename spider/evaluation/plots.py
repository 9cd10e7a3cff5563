"""The report's figures, as SVG."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spider.evaluation.records import Answer
from spider.evaluation.summary import Share, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#2f6fab", "#d9822b", "#4a9a5b", "#8e5ea2", "#b04a5a", "#6b6f76", "#3a9a9a", "#a08a2f")


def new_figure(width: float = 6.0, height: float = 3.4) -> tuple[Figure, Axes]:
    """An empty figure of `width` x `height` inches, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def data_uri(figure: Figure) -> str:
    """The figure as an SVG in a URI, so that a page needs no other file."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()


def figures(summaries: Sequence[Summary], answers: Mapping[str, Sequence[Answer]]) -> dict[str, Figure]:
    """All figures that these summaries give, by title."""
    found = {"Accuracy by hardness": shares_figure({s["setting"]: s["by_hardness"] for s in summaries})}
    if any(len(s["by_turn"]) > 1 for s in summaries):
        found["Accuracy by turn"] = turns_figure(summaries)
    if any(s["samples"] > 1 for s in summaries):
        found["pass@k"] = pass_figure(summaries)
    if any(s["kinds"] for s in summaries):
        found["Kinds of failure"] = kinds_figure(summaries)
    found["Accuracy by database"] = databases_figure(summaries)
    found["Seconds an answer"] = seconds_figure(answers)
    return found


def shares_figure(settings: Mapping[str, Mapping[str, Share]]) -> Figure:
    """Bars of shares with their 95 % intervals, one colour a setting."""
    figure, axes = new_figure()
    groups = list(dict.fromkeys(name for shares in settings.values() for name in shares))
    width = 0.8 / max(len(settings), 1)
    for at, (setting, shares) in enumerate(settings.items()):
        known = [(x, shares[name]) for x, name in enumerate(groups) if name in shares]
        places = [x + (at - (len(settings) - 1) / 2) * width for x, _ in known]
        heights = [share["accuracy"] or 0.0 for _, share in known]
        errors = [
            [height - share["low"] for height, (_, share) in zip(heights, known, strict=True)],
            [share["high"] - height for height, (_, share) in zip(heights, known, strict=True)],
        ]
        axes.bar(places, heights, width * 0.92, yerr=errors, capsize=3, color=COLOURS[at % len(COLOURS)], label=setting)
    counts = {name: shares[name]["questions"] for shares in settings.values() for name in shares}
    axes.set_xticks(range(len(groups)), [f"{name}\n({counts[name]})" for name in groups])
    axes.set(ylim=(0, 1), ylabel="share of right answers")
    _legend(axes, len(settings))
    return figure


def turns_figure(summaries: Sequence[Summary]) -> Figure:
    """Accuracy if the agent stopped after each turn, with its interval."""
    figure, axes = new_figure()
    for at, summary in enumerate(summaries):
        turns = summary["by_turn"]
        accuracy = [turn["accuracy"] or 0.0 for turn in turns]
        errors = [
            [value - turn["low"] for value, turn in zip(accuracy, turns, strict=True)],
            [turn["high"] - value for value, turn in zip(accuracy, turns, strict=True)],
        ]
        colour = COLOURS[at % len(COLOURS)]
        places = [turn["turn"] for turn in turns]
        axes.errorbar(places, accuracy, errors, marker="o", capsize=3, color=colour, label=summary["setting"])
    axes.set_xticks(range(1, max(len(s["by_turn"]) for s in summaries) + 1))
    axes.set(ylim=(0, 1), xlabel="turns at most", ylabel="share of right answers")
    _legend(axes, len(summaries))
    return figure


def pass_figure(summaries: Sequence[Summary]) -> Figure:
    """pass@k over k."""
    figure, axes = new_figure()
    for at, summary in enumerate(summaries):
        ks = [int(k) for k in summary["pass_at_k"]]
        colour = COLOURS[at % len(COLOURS)]
        axes.plot(ks, list(summary["pass_at_k"].values()), "o-", color=colour, label=summary["setting"])
    axes.set_xscale("log", base=2)
    ticks = sorted({int(k) for s in summaries for k in s["pass_at_k"]})
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.set(ylim=(0, 1), xlabel="k", ylabel="pass@k")
    _legend(axes, len(summaries))
    return figure


def kinds_figure(summaries: Sequence[Summary]) -> Figure:
    """How often each kind of failure came up."""
    totals: dict[str, int] = {}
    for summary in summaries:
        for kind, entry in summary["kinds"].items():
            totals[kind] = totals.get(kind, 0) + entry["count"]
    order = sorted(totals, key=lambda kind: totals[kind])
    figure, axes = new_figure(height=max(2.0, 0.32 * len(order) * max(1, len(summaries) * 0.6) + 0.8))
    height = 0.8 / len(summaries)
    for at, summary in enumerate(summaries):
        counts = [summary["kinds"][kind]["count"] if kind in summary["kinds"] else 0 for kind in order]
        places = [y - (at - (len(summaries) - 1) / 2) * height for y in range(len(order))]
        axes.barh(places, counts, height * 0.92, color=COLOURS[at % len(COLOURS)], label=summary["setting"])
    axes.set_yticks(range(len(order)), order)
    axes.set(xlabel="answers")
    _legend(axes, len(summaries))
    return figure


def databases_figure(summaries: Sequence[Summary]) -> Figure:
    """Accuracy on each database; one dot a setting."""
    names = sorted(
        {name for summary in summaries for name in summary["by_database"]},
        key=lambda name: max(s["by_database"][name]["accuracy"] or 0.0 for s in summaries if name in s["by_database"]),
    )
    figure, axes = new_figure(height=max(2.0, 0.22 * len(names) + 0.9))
    for at, summary in enumerate(summaries):
        known = [(y, summary["by_database"][name]) for y, name in enumerate(names) if name in summary["by_database"]]
        places, accuracies = [y for y, _ in known], [share["accuracy"] or 0.0 for _, share in known]
        axes.hlines(places, [share["low"] for _, share in known], [share["high"] for _, share in known], color="0.8")
        axes.plot(accuracies, places, "o", color=COLOURS[at % len(COLOURS)], label=summary["setting"])
    counts = {name: s["by_database"][name]["questions"] for s in summaries for name in s["by_database"]}
    axes.set_yticks(range(len(names)), [f"{name} ({counts[name]})" for name in names], fontsize=8)
    axes.set(xlim=(-0.02, 1.02), xlabel="share of right answers")
    _legend(axes, len(summaries))
    return figure


def seconds_figure(answers: Mapping[str, Sequence[Answer]]) -> Figure:
    """How long the answers took."""
    figure, axes = new_figure()
    seconds = [[answer.seconds for answer in each] for each in answers.values()]
    axes.hist(seconds, bins=20, label=list(answers), color=[COLOURS[at % len(COLOURS)] for at in range(len(seconds))])
    axes.set(xlabel="seconds", ylabel="answers")
    _legend(axes, len(answers))
    return figure


def _legend(axes: Axes, entries: int) -> None:
    if entries > 1:
        axes.legend(fontsize=8, frameon=False)
