"""What the rollouts of one step or one validation did, in numbers."""

from collections import Counter
from dataclasses import dataclass, field

from spider.call_rewards import RIGHT
from spider.rollout_facts import FAILED_EXECUTIONS
from spider.verl_bridge.rows import REASONS, SessionResult


@dataclass
class RolloutStats:
    """Sums over the rollouts of one batch.

    Attributes:
        rollouts: Rollouts started.
        rows: Training rows they gave.
        rewards: Sum of the rewards; a failed rollout counts as 0.
        calls: LLM calls of all nodes.
        prompt_tokens: Prompt tokens of the rows.
        distinct_prompt_tokens: The same with a question's rows of one prompt counted once.
        response_tokens: Sampled tokens of the rows.
        groups: Questions.
        mixed_groups: Questions whose rollouts differ in reward: only these teach GRPO anything.
        dropped: Rollouts without a row, by reason.
        left_out: Calls of the trained nodes without a row, by reason.
        details: The first words of a failure, by reason.
        nodes_seen: Names of the nodes that made calls in rollouts without a matched node.
        turns: Queries that the model wrote.
        executions: Queries that were executed, by what became of them.
        rewritten: Rollouts that wrote more than one query.
        rewritten_wrong: Those among them whose first query was wrong.
        mended: Those among these whose last query was right.
        spoiled: Rollouts whose first query was right and whose last was wrong.
    """

    rollouts: int = 0
    rows: int = 0
    rewards: float = 0.0
    calls: int = 0
    prompt_tokens: int = 0
    distinct_prompt_tokens: int = 0
    response_tokens: int = 0
    groups: int = 0
    mixed_groups: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    details: dict[str, str] = field(default_factory=dict)
    nodes_seen: set[str] = field(default_factory=set)
    turns: int = 0
    executions: Counter[str] = field(default_factory=Counter)
    rewritten: int = 0
    rewritten_wrong: int = 0
    mended: int = 0
    spoiled: int = 0

    def add_group(self, sessions: list[SessionResult]) -> None:
        """Count one question's rollouts."""
        self.groups += 1
        rewards = [session.reward or 0.0 for session in sessions]
        self.mixed_groups += len(set(rewards)) > 1
        self.distinct_prompt_tokens += sum(
            map(len, {tuple(row.prompt_ids) for session in sessions for row in session.rows})
        )
        for session, reward in zip(sessions, rewards, strict=True):
            self.rollouts += 1
            self.rewards += reward
            self.rows += len(session.rows)
            self.calls += session.calls
            self.prompt_tokens += sum(len(row.prompt_ids) for row in session.rows)
            self.response_tokens += sum(len(row.response_ids) for row in session.rows)
            self.nodes_seen |= session.nodes_seen
            self.left_out += session.left_out
            if session.dropped:
                self.dropped[session.dropped] += 1
                self.details.setdefault(session.dropped, session.detail)
            self._add_facts(session, reward)

    def _add_facts(self, session: SessionResult, reward: float) -> None:
        facts = session.facts
        self.turns += facts.turns
        self.executions.update(outcome.partition(":")[0] for outcome in facts.executions)
        if facts.first_reward is None:
            return
        self.rewritten += 1
        if facts.first_reward < RIGHT:
            self.rewritten_wrong += 1
            self.mended += reward >= RIGHT
        else:
            self.spoiled += reward < RIGHT

    @property
    def mean_reward(self) -> float:
        """Mean reward of a rollout; in validation this is the accuracy."""
        return self.rewards / self.rollouts if self.rollouts else 0.0

    def metrics(self, prefix: str) -> dict[str, float]:
        """Return the numbers under the names that the loggers get.

        ``rewrite_success`` is the share of right last queries among the rollouts that rewrote a wrong first one; it is
        left out where there was none. ``execution_errors`` is the share of executed queries without a result.
        """
        rollouts = max(self.rollouts, 1)
        errors = sum(self.executions[kind] for kind in FAILED_EXECUTIONS)
        rewrites = {f"{prefix}/rewrite_success": self.mended / self.rewritten_wrong} if self.rewritten_wrong else {}
        return rewrites | {
            f"{prefix}/reward": self.mean_reward,
            f"{prefix}/rollouts": float(self.rollouts),
            f"{prefix}/rows": float(self.rows),
            f"{prefix}/calls_per_rollout": self.calls / rollouts,
            f"{prefix}/turns": self.turns / rollouts,
            f"{prefix}/tokens": float(self.prompt_tokens + self.response_tokens),
            f"{prefix}/prompt_tokens": float(self.prompt_tokens),
            f"{prefix}/distinct_prompt_tokens": float(self.distinct_prompt_tokens),
            f"{prefix}/response_tokens": float(self.response_tokens),
            f"{prefix}/mixed_groups": self.mixed_groups / max(self.groups, 1),
            f"{prefix}/execution_errors": errors / max(self.executions.total(), 1),
            **{f"{prefix}/execution_errors/{kind}": float(self.executions[kind]) for kind in FAILED_EXECUTIONS},
            f"{prefix}/rewritten": self.rewritten / rollouts,
            f"{prefix}/rewrites_mended": float(self.mended),
            f"{prefix}/rewrites_spoiled": float(self.spoiled),
            f"{prefix}/failures": float(self.dropped.total()),
            **{f"{prefix}/failures/{reason}": float(self.dropped[reason]) for reason in REASONS},
            **{f"{prefix}/left_out_calls/{reason}": float(count) for reason, count in self.left_out.items()},
        }

    def dropped_text(self) -> str:
        """Return the drops by reason in words, or ``none``."""
        return ", ".join(f"{reason} {count}" for reason, count in self.dropped.most_common()) or "none"

    def explain_drops(self) -> str:
        """Return why rollouts gave no rows: reasons, first details, and the node names seen."""
        parts = [f"Dropped by reason: {self.dropped_text()}."]
        parts += [f"First {reason}: {detail}" for reason, detail in self.details.items() if detail]
        if self.nodes_seen:
            parts.append(f"Nodes that made calls: {', '.join(sorted(self.nodes_seen))}.")
        return " ".join(parts)
