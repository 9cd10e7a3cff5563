"""The SQL agent as agentlightning runs it: a rollout per question, rewarded when its result matches the gold's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import agentlightning as agl
from langchain_core.callbacks import BaseCallbackHandler

from spider.agent_graph import SQLAgent, State
from spider.call_rewards import call_rewards
from spider.data import database_path
from spider.prompts import DEFAULT_TEMPLATES
from spider.reward import Shaping, evaluate_query
from spider.rollout_facts import RolloutFacts, record
from spider.strategy.schema import Strategy, load_strategy


class LitSQLAgent(agl.LitAgent[Mapping[str, str]]):
    """Answers Spider's questions with `SQLAgent`; a task has `question`, `db_id` and `query`, the gold SQL.

    `trained_agents` matches the names of the nodes whose calls are trained. Validation is greedy unless
    `val_temperature` says otherwise. With `shaping`, the weights of `spider.reward.Shaping`, a wrong query earns part
    of the reward in training; with `call_rewards`, each call is told its own (`spider.call_rewards`). A `strategy_file`
    brings its own instructions and final outcomes. The other arguments are those of `SQLAgent`.
    """

    def __init__(
        self,
        trained_agents: str = "write",
        val_temperature: float | None = None,
        max_turns: int = 3,
        table_info_truncate: int = 2048,
        execution_truncate: int = 2048,
        check_last_turn: bool = True,
        debug: bool = False,
        shaping: tuple[float, float, float] | None = None,
        strategy_file: str | None = None,
        call_rewards: bool = False,
    ) -> None:
        """Nothing is opened or read here, so the agent can be sent to other processes."""
        super().__init__()
        self.trained_agents = trained_agents  # the parent's argument warns that the adapter's `agent_match` decides
        # agentlightning's command line passes what it takes from `float | None` as text.
        self.val_temperature = None if val_temperature is None else float(val_temperature)
        self.max_turns = max_turns
        self.table_info_truncate = table_info_truncate
        self.execution_truncate = execution_truncate
        self.check_last_turn = check_last_turn
        self.debug = debug
        self.shaping = None if shaping is None else Shaping(*shaping)
        self.strategy_file = strategy_file
        self.call_rewards = call_rewards

    def rollout(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        """Run the agent on a task; the reward is 1 for a query whose result matches the gold query's, else 0.

        Raises:
            EndpointError: the model's server gave no reply; the runner marks the rollout as failed.
            FileNotFoundError: the database isn't there.
        """
        state = self.solve(task, resources, rollout)
        reward = self.reward(state, task, rollout)
        attempts = state["attempts"]
        # Half a millisecond each, the gold result being at hand, and only for rollouts that wrote a second query.
        rewards = [
            self.reward(State(**{**state, "query": attempt["query"]}), task, rollout) for attempt in attempts[:-1]
        ]
        rewards.append(reward)
        outcomes = tuple(attempt["outcome"] for attempt in attempts)
        earned = call_rewards(state["messages"], rewards) if self.call_rewards and rollout.mode == "train" else ()
        record(RolloutFacts(state["num_turns"], outcomes, rewards[0] if state["num_turns"] > 1 else None, earned))
        return reward

    def reward(self, state: State, task: Mapping[str, str], rollout: agl.Rollout) -> float:
        """The reward of what `solve` returned.

        Raises:
            GoldError: the gold query fails, so the rollout can't be judged.
        """
        shaping = self.shaping if rollout.mode == "train" else None
        return evaluate_query(
            state["query"], task["query"], database_path(task["db_id"], rollout.mode), shaping=shaping
        )

    def solve(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> State:
        """Run the agent on a task, without a reward.

        Raises:
            EndpointError: the model's server gave no reply.
            FileNotFoundError: the database isn't there.
        """
        llm = resources["main_llm"]
        if not isinstance(llm, agl.LLM):
            raise TypeError(f"the resource main_llm is a {type(llm).__name__}, not an LLM")
        agent = self._agent(llm, database_path(task["db_id"], rollout.mode), rollout)
        return agent.answer(task["question"], self.handlers())

    def _agent(self, llm: agl.LLM, path: Path, rollout: agl.Rollout) -> SQLAgent:
        attempt = rollout.attempt.attempt_id if isinstance(rollout, agl.AttemptedRollout) else None
        settings: dict[str, object] = {**llm.sampling_parameters, "model": llm.model, "api_key": llm.api_key}
        if rollout.mode != "train":
            settings["temperature"] = self.val_temperature or 0.0
        strategy = strategy_cached(self.strategy_file) if self.strategy_file else None
        return SQLAgent(
            path,
            max_turns=self.max_turns,
            debug=self.debug,
            endpoint=llm.get_base_url(rollout.rollout_id if attempt else None, attempt),
            verl_replacement=settings,
            table_info_truncate=self.table_info_truncate,
            execution_truncate=self.execution_truncate,
            check_last_turn=self.check_last_turn,
            templates=strategy.prompt_templates.templates() if strategy else DEFAULT_TEMPLATES,
            final_outcomes=strategy.decision_rules.final_outcomes if strategy else (),
        )

    def handlers(self) -> list[BaseCallbackHandler]:
        """The tracer's handler, by which the names of the nodes reach the traces; none outside a run."""
        try:
            handler = self.get_tracer().get_langchain_handler()
        except ValueError:  # neither a runner nor a trainer is set
            return []
        return [handler] if handler else []


class TrainedSQLAgent(LitSQLAgent):
    """The agent of a training run: its reward comes among the rollout's own spans.

    A reward that is returned becomes a span of its own, for two requests to the store more than the other four.
    """

    def training_rollout(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> None:
        """`rollout`, as agentlightning's runner calls it."""
        agl.emit_reward(self.rollout(task, resources, rollout))

    validation_rollout = training_rollout


def span_bytes(span: agl.Span) -> int:
    """About how much memory a span takes, for `InMemoryLightningStore(span_size_estimator=span_bytes)`.

    The store's own estimate visits every token id: 6 of the 44 ms of a rollout over an endpoint that answers at once.
    """
    sizes = (
        len(value) * (8 if isinstance(value, tuple | list) else 1)
        for value in span.attributes.values()
        if isinstance(value, str | tuple | list)
    )
    return 1000 + sum(sizes)


@lru_cache(maxsize=8)
def strategy_cached(path: str) -> Strategy:
    """A strategy file, read once a process.

    Raises:
        ValueError: it can't be read or isn't one.
    """
    return load_strategy(path)
