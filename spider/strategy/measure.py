"""From a run's rollouts to rules: which queries rewriting mends, how many attempts pay, which ways questions take."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from spider.database import open_database
from spider.outcomes import outcome
from spider.prompts import extract_query, is_correct
from spider.reward import evaluate_query
from spider.spider_eval.gold import GoldError
from spider.strategy.schema import DecisionRules, End, Exchange, InteractionPattern, OutcomeRule

MIN_EVIDENCE = 10  # rewrites of one outcome before the counts overrule the checker
MAX_PATTERNS = 20


@dataclass(frozen=True)
class Query:
    """A query of a rollout: its text, one of `spider.outcomes.OUTCOMES`, and whether its result is the gold's."""

    sql: str
    outcome: str
    right: bool


@dataclass(frozen=True)
class Trace:
    """A rollout's queries in order, how it ended, and how many calls of the model it took."""

    question: str
    queries: tuple[Query, ...]
    end: End
    calls: int

    @property
    def right(self) -> bool:
        """Whether the last query is right."""
        return self.queries[-1].right

    def right_after(self, attempts: int) -> bool:
        """Whether the answer had been right with at most `attempts` queries."""
        return self.queries[min(attempts, len(self.queries)) - 1].right


def trace(record: Mapping[str, object], database: Path) -> Trace | None:
    """A recorded rollout (see `spider.verl_bridge.rollout_log`) with every query run again on `database`.

    None for one without a query that can be judged: it failed, its texts were left out, or its gold query fails.

    Raises:
        OSError: the database isn't there.
    """
    turns, gold = record.get("turns"), str(record.get("gold") or "")
    if not isinstance(turns, list) or record.get("reward") is None:
        return None
    if not database.is_file():
        raise FileNotFoundError(f"no database at {database}: set VERL_SPIDER_DATA_DIR to the data the run used")
    written = [extract_query(turn["text"]) for turn in turns if "write" in turn["node"]]
    if not written:
        return None
    repeated = len(written) > 1 and written[-1].split() == written[-2].split()
    try:
        queries = tuple(judge(sql, gold, database) for sql in (written[:-1] if repeated else written))
    except GoldError:
        return None
    last = turns[-1]
    accepted = "check" in last["node"] and is_correct(last["text"])
    end: End = "repeated" if repeated else "accepted" if accepted else "out_of_turns"
    return Trace(str(record.get("question")), queries, end, len(turns))


@lru_cache(maxsize=100_000)
def judge(sql: str, gold: str, database: Path) -> Query:
    """Run a query and compare its result with the gold query's.

    Raises:
        GoldError: the gold query fails.
    """
    ended = outcome(open_database(database).execute(sql))
    return Query(sql, ended, evaluate_query(sql, gold, database) == 1.0)


def decision_rules(traces: Sequence[Trace], min_evidence: int = MIN_EVIDENCE) -> DecisionRules:
    """Rules from counts.

    `max_attempts` is the smallest number of queries with the best accuracy. An outcome is final when at least
    `min_evidence` of its queries were rewritten and rewriting made no more of them right than wrong.
    """
    most = max(len(each.queries) for each in traces)
    accuracy = {n: fmean(each.right_after(n) for each in traces) for n in range(1, most + 1)}
    best = max(accuracy.values())
    return DecisionRules(
        max_attempts=min(n for n, share in accuracy.items() if share == best),
        accuracy_by_attempts={n: round(share, 4) for n, share in accuracy.items()},
        by_outcome=outcome_rules(traces, min_evidence),
    )


def outcome_rules(traces: Iterable[Trace], min_evidence: int) -> dict[str, OutcomeRule]:
    """A rule for each outcome that queries of the run had, the most frequent first."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in traces:
        for number, query in enumerate(each.queries):
            count = counts[query.outcome]
            count["queries"] += 1
            count["right"] += query.right
            is_last = number + 1 == len(each.queries)
            if is_last and each.end != "repeated":
                continue
            after = query if is_last else each.queries[number + 1]
            count["rewritten"] += 1
            count["repaired"] += after.right and not query.right
            count["broken"] += query.right and not after.right
    rules: dict[str, OutcomeRule] = {}
    for name, count in sorted(counts.items(), key=lambda item: (-item[1]["queries"], item[0])):
        useless = count["rewritten"] >= min_evidence and count["repaired"] <= count["broken"]
        rules[name] = OutcomeRule(action="stop" if useless else "check", **count)
    return rules


def under_rules(each: Trace, rules: DecisionRules) -> Trace:
    """The rollout as it had gone under the rules: ended sooner, perhaps, with the calls that remain."""
    for number, query in enumerate(each.queries, 1):
        final = query.outcome in rules.final_outcomes
        if final or (number == rules.max_attempts and number < len(each.queries)):
            end: End = "final_outcome" if final else "out_of_turns"
            return replace(each, queries=each.queries[:number], end=end, calls=2 * number - final)
    return each


def interaction_patterns(traces: Iterable[Trace], rules: DecisionRules) -> tuple[InteractionPattern, ...]:
    """The ways that questions take under the rules, the most frequent first, at most `MAX_PATTERNS`."""
    groups: defaultdict[tuple[tuple[str, ...], End], list[Trace]] = defaultdict(list)
    for each in (under_rules(each, rules) for each in traces):
        groups[tuple(query.outcome for query in each.queries), each.end].append(each)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    patterns: list[InteractionPattern] = []
    for (outcomes, end), members in ordered[:MAX_PATTERNS]:
        shown = next((member for member in members if member.right), members[0])
        patterns.append(
            InteractionPattern(
                outcomes=outcomes,
                end=end,
                count=len(members),
                right=sum(member.right for member in members),
                calls=round(fmean(member.calls for member in members), 2),
                example=Exchange(question=shown.question, queries=tuple(query.sql for query in shown.queries)),
            )
        )
    return tuple(patterns)
