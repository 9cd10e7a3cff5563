"""What each call of a rollout achieved itself, for training with a reward a call (``--call-rewards``).

A query earns what it would as the last one, a check 1 for the right verdict. With the rollout's one reward for all of
its calls a checker learns nothing: a refusal earns as much as an acceptance where the answer stays wrong
(docs/results/README.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from spider.prompts import verdict

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

RIGHT = 1.0
"""The reward of a right answer; shaped rewards of wrong ones are lower."""


class CallReward(NamedTuple):
    """The reward, from 0 to 1, of one call, and the node that made it."""

    node: str
    reward: float


def call_rewards(messages: Iterable[BaseMessage], query_rewards: Sequence[float]) -> tuple[CallReward, ...]:
    """The rewards of a rollout's calls, in call order.

    Args:
        messages: The agent's messages; its replies are named after the nodes.
        query_rewards: What each query that was run is worth. A rewrite that repeats its predecessor isn't run again,
            and is worth the same.
    """
    earned: list[CallReward] = []
    written = 0
    for reply in messages:
        if reply.type != "ai" or not reply.name:
            continue
        if reply.name == "check_query":
            is_right = query_rewards[written - 1] >= RIGHT
            earned.append(CallReward(reply.name, float(verdict(reply.text) is is_right)))
        else:
            written = min(written + 1, len(query_rewards))
            earned.append(CallReward(reply.name, query_rewards[written - 1]))
    return tuple(earned)
