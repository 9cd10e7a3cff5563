"""What a rollout tells beside its reward, as attributes of the trace's root span: no span and no request more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from spider.call_rewards import CallReward

PREFIX = "sql_agent."

FAILED_EXECUTIONS = ("error", "refused", "timeout", "empty_query")
"""Outcomes of queries that gave no result; an ``error:…`` is an ``error``."""


class Traced(Protocol):
    """A span, as the store gives it back."""

    @property
    def attributes(self) -> Mapping[str, object]:
        """Its attributes."""
        ...


@dataclass(frozen=True)
class RolloutFacts:
    """What happened on the way to a rollout's reward.

    Attributes:
        turns: Queries that the model wrote; the first one is turn 1.
        executions: What became of each query that was run: one of `spider.outcomes.OUTCOMES`.
        first_reward: Reward of the first query where the model wrote another one, else None.
        calls: What each call earned, in call order; empty where the rollout's reward is that of all its calls.
    """

    turns: int = 0
    executions: tuple[str, ...] = ()
    first_reward: float | None = None
    calls: tuple[CallReward, ...] = ()


def record(facts: RolloutFacts) -> None:
    """Put the facts on the span that is open; does nothing outside a trace."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    span.set_attribute(f"{PREFIX}turns", facts.turns)
    span.set_attribute(f"{PREFIX}executions", facts.executions)
    if facts.first_reward is not None:
        span.set_attribute(f"{PREFIX}first_reward", facts.first_reward)
    if facts.calls:
        span.set_attribute(f"{PREFIX}call_nodes", [call.node for call in facts.calls])
        span.set_attribute(f"{PREFIX}call_rewards", [call.reward for call in facts.calls])


def read(spans: Iterable[Traced]) -> RolloutFacts:
    """Return the facts that the spans of a rollout carry; nothing but zeros where none does."""
    for span in spans:
        turns = span.attributes.get(f"{PREFIX}turns")
        if not isinstance(turns, int):
            continue
        first = span.attributes.get(f"{PREFIX}first_reward")
        nodes = _strings(span.attributes.get(f"{PREFIX}call_nodes"))
        rewards = map(float, _strings(span.attributes.get(f"{PREFIX}call_rewards")))
        return RolloutFacts(
            turns,
            _strings(span.attributes.get(f"{PREFIX}executions")),
            float(first) if isinstance(first, int | float) else None,
            tuple(map(CallReward, nodes, rewards)),
        )
    return RolloutFacts()


def _strings(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
