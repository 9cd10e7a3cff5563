"""Answers in numbers: what `results.json`, the tables and the report show of one setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypedDict

from spider.evaluation.kinds import RIGHT
from spider.evaluation.records import Answer
from spider.evaluation.statistics import pass_at_k, quantile, wilson
from spider.spider_eval.hardness import LEVELS

EXAMPLES = 3  # of each kind of failure


class Share(TypedDict):
    """A share of questions, 0 to 1, with its 95 % interval (Wilson). With several samples, a question counts its mean.

    None where there are no questions.
    """

    right: float
    questions: int
    accuracy: float | None
    low: float
    high: float


class TurnShare(Share):
    """Accuracy if the agent stopped after `turn` queries, and how many questions took that many."""

    turn: int
    reached: int


class Example(TypedDict):
    """A question of a kind of failure."""

    number: int
    question: str
    db_id: str
    query: str
    gold: str


class Kind(TypedDict):
    """A kind of failure: how many answers, and some of them."""

    count: int
    examples: list[Example]


class Rewriting(TypedDict):
    """What became of answers whose first query was of a kind."""

    first: int
    rewritten: int
    right_at_the_end: int


class Checker(TypedDict):
    """The checker's verdicts beside the truth."""

    right_said_correct: int
    right_said_incorrect: int
    wrong_said_correct: int
    wrong_said_incorrect: int


class Cost(TypedDict):
    """What an answer takes: tokens as the server counted them, seconds as they passed here."""

    calls: float
    prompt_tokens: float
    reply_tokens: float
    total_tokens: int
    seconds: float
    seconds_median: float
    seconds_95: float


class Summary(TypedDict):
    """One setting in numbers. `failures` have no verdict: they count for nothing, neither right nor wrong."""

    setting: str
    questions: int
    samples: int
    answers: int
    failures: dict[str, int]
    failure_details: dict[str, str]
    strict: Share
    published: Share
    by_hardness: dict[str, Share]
    by_database: dict[str, Share]
    by_turn: list[TurnShare]
    pass_at_k: dict[str, float]
    kinds: dict[str, Kind]
    rewriting: dict[str, Rewriting]
    checker: Checker
    cost: Cost


def summarise(setting: str, answers: Sequence[Answer]) -> Summary:
    """The numbers of one setting's answers."""
    judged = [answer for answer in answers if answer.strict is not None]
    failed = [answer for answer in answers if answer.failure]
    details: dict[str, str] = {}
    for answer in failed:
        details.setdefault(answer.failure, answer.detail)
    return {
        "setting": setting,
        "questions": len({answer.number for answer in answers}),
        "samples": len({answer.sample for answer in answers}),
        "answers": len(answers),
        "failures": dict(Counter(answer.failure for answer in failed).most_common()),
        "failure_details": details,
        "strict": share(judged, _strict),
        "published": share(judged, lambda answer: bool(answer.published)),
        "by_hardness": _by(judged, lambda answer: answer.hardness, [*LEVELS, "unknown"]),
        "by_database": _by(judged, lambda answer: answer.db_id, sorted({answer.db_id for answer in judged})),
        "by_turn": _by_turn(judged),
        "pass_at_k": _pass_at_k(judged),
        "kinds": _kinds(judged),
        "rewriting": _rewriting(judged),
        "checker": _checker(judged),
        "cost": _cost(answers),
    }


def share(answers: Iterable[Answer], is_right: Callable[[Answer], bool]) -> Share:
    """The share of right answers, each question counted once."""
    questions: dict[int, list[bool]] = defaultdict(list)
    for answer in answers:
        questions[answer.number].append(is_right(answer))
    right = sum(fmean(each) for each in questions.values())
    low, high = wilson(right, len(questions))
    accuracy = right / len(questions) if questions else None
    return {"right": right, "questions": len(questions), "accuracy": accuracy, "low": low, "high": high}


def _strict(answer: Answer) -> bool:
    return bool(answer.strict)


def _by(answers: Sequence[Answer], group: Callable[[Answer], str], order: Sequence[str]) -> dict[str, Share]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[group(answer)].append(answer)
    return {name: share(groups[name], _strict) for name in order if name in groups}


def _by_turn(answers: Sequence[Answer]) -> list[TurnShare]:
    most = max((len(answer.turns) for answer in answers), default=0)
    found: list[TurnShare] = []
    for turn in range(1, most + 1):
        reached = sum(len(answer.turns) >= turn for answer in answers)
        found.append(
            {**share(answers, lambda answer, at=turn: _right_after(answer, at)), "turn": turn, "reached": reached}
        )
    return found


def _right_after(answer: Answer, turn: int) -> bool:
    return bool(answer.turns) and answer.turns[min(turn, len(answer.turns)) - 1]["right"]


def _pass_at_k(answers: Sequence[Answer]) -> dict[str, float]:
    """pass@k for 1, 2, 4, …, over the questions that have as many verdicts."""
    questions: dict[int, list[bool]] = defaultdict(list)
    for answer in answers:
        questions[answer.number].append(_strict(answer))
    most = max((len(each) for each in questions.values()), default=0)
    ks = sorted({2**power for power in range(most.bit_length()) if 2**power <= most} | ({most} if most else set()))
    return {
        str(k): fmean(pass_at_k(len(each), sum(each), k) for each in questions.values() if len(each) >= k) for k in ks
    }


def _kinds(answers: Sequence[Answer]) -> dict[str, Kind]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.kind].append(answer)
    ordered = sorted((kind for kind in groups if kind != RIGHT), key=lambda kind: -len(groups[kind]))
    return {
        kind: {"count": len(groups[kind]), "examples": [_example(each) for each in groups[kind][:EXAMPLES]]}
        for kind in ordered
    }


def _example(answer: Answer) -> Example:
    return {
        "number": answer.number,
        "question": answer.question,
        "db_id": answer.db_id,
        "query": answer.query,
        "gold": answer.gold,
    }


def _rewriting(answers: Sequence[Answer]) -> dict[str, Rewriting]:
    found: dict[str, Rewriting] = {}
    for answer in answers:
        if not answer.turns:
            continue
        entry = found.setdefault(answer.turns[0]["kind"], {"first": 0, "rewritten": 0, "right_at_the_end": 0})
        entry["first"] += 1
        entry["rewritten"] += len(answer.turns) > 1
        entry["right_at_the_end"] += _strict(answer)
    return dict(sorted(found.items(), key=lambda item: -item[1]["first"]))


def _checker(answers: Sequence[Answer]) -> Checker:
    counts = Counter(
        (turn["right"], turn["said_correct"])
        for answer in answers
        for turn in answer.turns
        if turn["said_correct"] is not None
    )
    return {
        "right_said_correct": counts[True, True],
        "right_said_incorrect": counts[True, False],
        "wrong_said_correct": counts[False, True],
        "wrong_said_incorrect": counts[False, False],
    }


def _cost(answers: Sequence[Answer]) -> Cost:
    rows = max(len(answers), 1)
    calls = [call for answer in answers for call in answer.calls]
    prompt, reply = sum(call["prompt_tokens"] for call in calls), sum(call["reply_tokens"] for call in calls)
    seconds = [answer.seconds for answer in answers]
    return {
        "calls": len(calls) / rows,
        "prompt_tokens": prompt / rows,
        "reply_tokens": reply / rows,
        "total_tokens": prompt + reply,
        "seconds": sum(seconds) / rows,
        "seconds_median": quantile(seconds, 0.5),
        "seconds_95": quantile(seconds, 0.95),
    }


def failure_text(failures: Mapping[str, int]) -> str:
    """Failures by reason in words, or ``none``."""
    return ", ".join(f"{reason} {count}" for reason, count in failures.items()) or "none"
