"""From a finished rollout's triplets to training rows: token ids and log-probs as the server returned them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spider.call_rewards import CallReward
from spider.rollout_facts import RolloutFacts

if TYPE_CHECKING:
    from agentlightning import Triplet

    from spider.verl_bridge.rollout_log import CallText

# Why a call or a rollout gives no training row.
ROLLOUT_FAILED = "rollout_failed"
TIMED_OUT = "timed_out"
NO_REWARD = "no_reward"
NO_TRACED_CALL = "no_traced_call"
NO_MATCHED_NODE = "no_matched_node"
EMPTY_TOKEN_IDS = "empty_token_ids"
NO_LOG_PROBS = "no_log_probs"
PROMPT_OVER_LIMIT = "prompt_over_limit"
RESPONSE_OVER_LIMIT = "response_over_limit"
REASONS = (
    ROLLOUT_FAILED,
    TIMED_OUT,
    NO_REWARD,
    NO_TRACED_CALL,
    NO_MATCHED_NODE,
    EMPTY_TOKEN_IDS,
    NO_LOG_PROBS,
    PROMPT_OVER_LIMIT,
    RESPONSE_OVER_LIMIT,
)


NO_TRACED_CALL_DETAIL = (
    "the tracer saw no call of a model: do opentelemetry's packages have the versions of requirements/ (1.45 and later "
    "record nothing)?"
)


@dataclass(frozen=True)
class Row:
    """One LLM call of a trained node.

    Attributes:
        prompt_ids: Token ids of the prompt, shape (prompt length,).
        response_ids: Token ids that the server sampled, shape (response length,).
        log_probs: Log-probability of each sampled token under the server's sampling distribution, natural logarithm,
            shape (response length,).
        node: Name of the node that made the call.
        reward: What the call itself earned; None where the rollout's reward is that of all its calls.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    log_probs: list[float]
    node: str
    reward: float | None = None


@dataclass
class SessionResult:
    """What one rollout brought: its rows, its reward, and why calls were left out.

    Attributes:
        reward: The rollout's reward; None when it failed.
        calls: Number of LLM calls of all nodes.
        left_out: Calls of the trained nodes that gave no row, by reason.
        dropped: The reason why there is no row; None when there is one.
        detail: The server's or the agent's own words for a failed rollout.
        nodes_seen: Names of the nodes that made calls; filled when no node matched.
        texts: The replies of all nodes, for the run's record.
        facts: What the agent told of the way to the reward.
    """

    rows: list[Row] = field(default_factory=list)
    reward: float | None = None
    calls: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    dropped: str | None = None
    detail: str = ""
    nodes_seen: frozenset[str] = frozenset()
    texts: "list[CallText]" = field(default_factory=list)
    facts: RolloutFacts = field(default_factory=RolloutFacts)


def rows_from_triplets(
    triplets: "Sequence[Triplet]",
    max_prompt_length: int,
    max_response_length: int,
    call_rewards: Iterable[CallReward] = (),
) -> tuple[list[Row], Counter[str]]:
    """Turn the matched calls of one rollout into rows, in call order.

    Args:
        triplets: The adapter's triplets of the rollout.
        max_prompt_length: Longest prompt to train on, in tokens.
        max_response_length: Longest response to train on, in tokens.
        call_rewards: What the rollout's answered calls earned themselves, of all nodes, in call order.

    Returns:
        The rows, and how many calls were left out by reason.
    """
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    earned: dict[str, list[float]] = {}
    for call in call_rewards:
        earned.setdefault(call.node, []).insert(0, call.reward)
    for triplet in triplets:
        node = str(triplet.metadata.get("agent_name", ""))
        answered = bool(triplet.response.get("token_ids"))
        row = Row(
            prompt_ids=list(triplet.prompt.get("token_ids") or []),
            response_ids=list(triplet.response.get("token_ids") or []),
            log_probs=[entry["logprob"] for entry in triplet.response.get("logprobs") or []],
            node=node,
            reward=earned[node].pop() if answered and earned.get(node) else None,
        )
        reason = _unusable(row, max_prompt_length, max_response_length)
        if reason:
            left_out[reason] += 1
        else:
            rows.append(row)
    return rows, left_out


def _unusable(row: Row, max_prompt_length: int, max_response_length: int) -> str | None:
    if not row.prompt_ids or not row.response_ids:
        return EMPTY_TOKEN_IDS
    if len(row.log_probs) != len(row.response_ids):
        return NO_LOG_PROBS
    if len(row.prompt_ids) > max_prompt_length:
        return PROMPT_OVER_LIMIT
    if len(row.response_ids) > max_response_length:
        return RESPONSE_OVER_LIMIT
    return None


def why_no_rows(triplets: "Sequence[Triplet]", left_out: Counter[str]) -> str:
    """Name the one reason under which a rollout without rows is counted: the most frequent among its calls."""
    if not triplets:
        return NO_MATCHED_NODE
    return left_out.most_common(1)[0][0]
