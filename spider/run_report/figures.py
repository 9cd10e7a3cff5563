"""The pictures of a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from spider.evaluation.plots import COLOURS, new_figure
from spider.evaluation.statistics import wilson
from spider.run_report.reading import Rollout, RunLog

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOW = 10
"""Steps of the running mean of the training reward."""

TIMES = {
    "generation_seconds": "generation",
    "old_log_prob_seconds": "old log-probs",
    "update_seconds": "update",
    "sync_seconds": "weights to vLLM",
}
CURVES = {
    "response_length/mean": "mean response, tokens",
    "response_length/clip_ratio": "share of responses cut at the limit",
    "actor/entropy": "entropy",
    "actor/grad_norm": "gradient norm",
    "actor/ppo_kl": "KL of the update",
    "training/rollout_probs_diff_mean": "probability difference, rollout and trainer",
}
"""TensorBoard's names that get a picture, and what it says on the axis."""


def run_figures(run: RunLog) -> dict[str, Figure]:
    """All pictures that the run's logs allow, by title."""
    found: dict[str, Figure] = {}
    if run.progress:
        found["Learning curve"] = learning_curve(run)
    train, val = run.of_mode("train"), run.of_mode("val")
    if train:
        found["Groups of rollouts by reward"] = stacked(groups_by_step(train), "share of questions")
        found["Reward distribution"] = reward_distribution(train)
        found["Queries a rollout"] = stacked(queries_by_step(train), "share of training rollouts")
    if failures := failures_by_step([*train, *val]):
        found["Rollouts without a row, by reason"] = counts(failures)
    if any("generation_seconds" in row for row in run.progress):
        found["Seconds a step"] = seconds(run.progress)
    for name, label in CURVES.items():
        if points := run.scalars.get(name):
            found[label[0].upper() + label[1:]] = curve(points, label)
    return found


def learning_curve(run: RunLog) -> Figure:
    """Training reward with its running mean, and validation accuracy with its 95 % interval."""
    figure, axes = new_figure(7.0, 4.0)
    rewards = [(row["step"], row["reward"]) for row in run.progress if "reward" in row]
    if rewards:
        steps, values = zip(*rewards, strict=True)
        axes.plot(steps, values, ".", color="0.75", label="training reward")
        means = [fmean(values[max(0, at + 1 - WINDOW) : at + 1]) for at in range(len(values))]
        axes.plot(steps, means, color="0.45", label=f"its mean over {WINDOW} steps")
    validated = {int(row["step"]): row["validation_accuracy"] for row in run.progress if "validation_accuracy" in row}
    if validated:
        questions = Counter(rollout.step for rollout in run.of_mode("val"))
        bounds = {step: _interval(value, questions[step]) for step, value in validated.items()}
        errors = [
            [value - bounds[step][0] for step, value in validated.items()],
            [bounds[step][1] - value for step, value in validated.items()],
        ]
        axes.errorbar(
            list(validated),
            list(validated.values()),
            errors,
            marker="o",
            capsize=3,
            color=COLOURS[0],
            label="validation accuracy, 95 % interval",
        )
    axes.set(xlabel="step", ylabel="share of right answers", ylim=(0, 1))
    axes.legend(fontsize=8, frameon=False)
    return figure


def _interval(accuracy: float, questions: int) -> tuple[float, float]:
    return wilson(accuracy * questions, questions) if questions else (accuracy, accuracy)


def groups_by_step(rollouts: Sequence[Rollout]) -> dict[int, dict[str, float]]:
    """For each step the shares of questions whose rollouts are all right, differ (these teach GRPO), or none right."""
    groups: dict[tuple[int, str], list[float]] = defaultdict(list)
    for rollout in rollouts:
        groups[rollout.step, rollout.uid].append(rollout.reward or 0.0)
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for (step, _), rewards in groups.items():
        found[step]["mixed" if len(set(rewards)) > 1 else "all right" if rewards[0] == 1 else "none right"] += 1
    return {
        step: {name: counter[name] / counter.total() for name in ("all right", "mixed", "none right")}
        for step, counter in sorted(found.items())
    }


def queries_by_step(rollouts: Sequence[Rollout]) -> dict[int, dict[str, float]]:
    """For each step the shares of rollouts that wrote one, two, … queries."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for rollout in rollouts:
        if rollout.queries:
            found[rollout.step][rollout.queries] += 1
    most = max((count for counter in found.values() for count in counter), default=1)
    return {
        step: {_queries(count): counter[count] / counter.total() for count in range(1, most + 1)}
        for step, counter in sorted(found.items())
    }


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"


def failures_by_step(rollouts: Sequence[Rollout]) -> dict[int, dict[str, float]]:
    """For each step with failures how many rollouts gave no row, by reason; empty when there was none."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for rollout in rollouts:
        found[rollout.step][rollout.dropped or ""] += 1
    reasons = sorted({reason for counter in found.values() for reason in counter if reason})
    if not reasons:
        return {}
    return {step: {reason: float(counter[reason]) for reason in reasons} for step, counter in sorted(found.items())}


def stacked(steps: Mapping[int, Mapping[str, float]], label: str) -> Figure:
    """Shares that sum to 1, one bar a step."""
    figure, axes = new_figure()
    bottom = [0.0] * len(steps)
    names = list(next(iter(steps.values()), {}))
    for at, name in enumerate(names):
        values = [shares[name] for shares in steps.values()]
        axes.bar(list(steps), values, 1.0, bottom=bottom, label=name, color=COLOURS[at % len(COLOURS)])
        bottom = [below + value for below, value in zip(bottom, values, strict=True)]
    axes.set(xlabel="step", ylabel=label, ylim=(0, 1))
    axes.legend(fontsize=8, loc="lower left")
    return figure


def reward_distribution(rollouts: Sequence[Rollout]) -> Figure:
    """How many rollouts got which reward, in the first and in the last third of the steps."""
    steps = sorted({rollout.step for rollout in rollouts})
    third = max(1, len(steps) // 3)
    early, late = set(steps[:third]), set(steps[-third:])
    sides = {"first third of the steps": early, "last third": late} if early != late else {"all steps": early}
    figure, axes = new_figure()
    data = [[rollout.reward or 0.0 for rollout in rollouts if rollout.step in chosen] for chosen in sides.values()]
    weights = [[1 / len(values)] * len(values) for values in data]
    axes.hist(data, bins=[at / 10 for at in range(11)], weights=weights, label=list(sides), color=COLOURS[: len(data)])
    axes.set(xlabel="reward", ylabel="share of rollouts", ylim=(0, 1))
    axes.legend(fontsize=8, frameon=False)
    return figure


def counts(steps: Mapping[int, Mapping[str, float]]) -> Figure:
    """Counts by reason over the steps."""
    figure, axes = new_figure()
    for at, name in enumerate(next(iter(steps.values()))):
        values = [each[name] for each in steps.values()]
        axes.plot(list(steps), values, "o-", label=name, color=COLOURS[at % len(COLOURS)])
    axes.set(xlabel="step", ylabel="rollouts")
    axes.legend(fontsize=8, frameon=False)
    return figure


def seconds(progress: Sequence[Mapping[str, float]]) -> Figure:
    """What a step's time goes into."""
    rows = [row for row in progress if "reward" in row]
    figure, axes = new_figure()
    bottom = [0.0] * len(rows)
    for at, (name, label) in enumerate(TIMES.items()):
        values = [row.get(name, 0.0) for row in rows]
        axes.bar([row["step"] for row in rows], values, 1.0, bottom=bottom, label=label, color=COLOURS[at])
        bottom = [below + value for below, value in zip(bottom, values, strict=True)]
    axes.set(xlabel="step", ylabel="seconds")
    axes.legend(fontsize=8)
    return figure


def curve(points: Sequence[tuple[int, float]], label: str) -> Figure:
    """One value over the steps."""
    figure, axes = new_figure()
    steps, values = zip(*points, strict=True)
    axes.plot(steps, values, ".-", color=COLOURS[0])
    axes.set(xlabel="step", ylabel=label)
    return figure
