"""Rollouts of a run for people to read: validation questions before and after training, and training rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from spider.evaluation.statistics import mcnemar
from spider.run_report.reading import Rollout, RunLog

TRAINING_SHOWN = 400


class Change(TypedDict):
    """What validation questions did between the first and the last validation; `p` is McNemar's exact test."""

    first_step: int
    last_step: int
    questions: int
    gained: int
    lost: int
    p: float


def pairs(run: RunLog) -> tuple[Change | None, list[dict[str, Any]]]:
    """Each validation question's first rollout in the first and in the last validation.

    The first value is None when there were fewer than two validations; then the only one is shown.
    """
    rollouts = run.of_mode("val")
    steps = sorted({rollout.step for rollout in rollouts})
    if not steps:
        return None, []
    before, after = _by_question(rollouts, steps[0]), _by_question(rollouts, steps[-1])
    rows = [_row("val", before.get(key), after.get(key)) for key in before | after]
    if len(steps) == 1:
        return None, rows
    both = [(before[key], after[key]) for key in before if key in after]
    judged = [(a, b) for a, b in both if a.reward is not None and b.reward is not None]
    gained = sum(a.reward != 1 and b.reward == 1 for a, b in judged)
    lost = sum(a.reward == 1 and b.reward != 1 for a, b in judged)
    change: Change = {
        "first_step": steps[0],
        "last_step": steps[-1],
        "questions": len(judged),
        "gained": gained,
        "lost": lost,
        "p": mcnemar(lost, gained),
    }
    return change, rows


def training_samples(run: RunLog) -> list[dict[str, Any]]:
    """Training rollouts of the first and the last steps, at most `TRAINING_SHOWN`, in order."""
    rollouts = run.of_mode("train")
    half = TRAINING_SHOWN // 2
    chosen = rollouts if len(rollouts) <= TRAINING_SHOWN else [*rollouts[:half], *rollouts[-half:]]
    return [_row("train", None, rollout) for rollout in chosen]


def _by_question(rollouts: Sequence[Rollout], step: int) -> dict[tuple[str, str, str], Rollout]:
    found: dict[tuple[str, str, str], Rollout] = {}
    for rollout in rollouts:
        if rollout.step == step:
            found.setdefault((rollout.db_id, rollout.question, rollout.gold), rollout)
    return found


def _row(mode: str, before: Rollout | None, after: Rollout | None) -> dict[str, Any]:
    either = after or before
    assert either
    return {
        "mode": "validation" if mode == "val" else "training",
        "question": either.question,
        "db": either.db_id,
        "gold": either.gold,
        "change": _change(mode, before, after),
        "before": _side(before),
        "after": _side(after) if after is not before else None,
    }


def _change(mode: str, before: Rollout | None, after: Rollout | None) -> str:
    if mode == "train" or before is None or after is None or before is after:
        return _verdict(after or before)
    return f"{_verdict(before)} → {_verdict(after)}"


def _verdict(rollout: Rollout | None) -> str:
    if rollout is None or rollout.reward is None:
        return "failed"
    return "right" if rollout.reward == 1 else "wrong"


def _side(rollout: Rollout | None) -> dict[str, Any] | None:
    if rollout is None:
        return None
    return {
        "step": rollout.step,
        "query": rollout.query,
        "turns": rollout.turns,
        "reward": rollout.reward,
        "failure": " ".join(part for part in (rollout.dropped, rollout.detail) if part),
    }
