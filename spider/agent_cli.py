"""The command line of `spider.sql_agent`: a few questions through `Trainer.dev`, shown as they are answered."""

from __future__ import annotations

import argparse
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from spider.arguments import INTERRUPTED
from spider.data import SPLITS, data_dir, load_environment, load_tasks
from spider.output import OutputHandler, show
from spider.quick_imports import quick_imports
from spider.run_logging import keep_libraries_quiet

if TYPE_CHECKING:
    from spider.agent_graph import State
    from spider.chat_endpoint import ChatEndpoint

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.05
PROBE_SECONDS = 60.0  # for one token: a server on CPU may have other calls to answer first
JOIN_SECONDS = 1.0  # a call in flight doesn't hold up Ctrl-C


@dataclass(frozen=True)
class Outcome:
    """One question's rollout; `reward` is None and `failure` says why when it failed."""

    reward: float | None
    turns: int
    tokens: int
    seconds: float
    failure: str = ""


def run(options: argparse.Namespace) -> int:
    """Run the questions; 0 when a rollout succeeded, 1 when all failed, 2 for a senseless request, 130 for Ctrl-C."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[OutputHandler()])
    logging.getLogger("spider").setLevel(logging.WARNING if options.quiet and not options.debug else logging.INFO)
    logging.getLogger("agentlightning").setLevel(logging.ERROR if options.debug else logging.CRITICAL)
    load_environment()
    keep_libraries_quiet()
    try:
        if options.max_turns is None:
            options.max_turns = default_turns(options.strategy)
        file = data_dir() / SPLITS[options.split]
        tasks = load_tasks(file, options.limit)
        endpoint = live_endpoint(options.endpoint, options.model)
    except (ValueError, OSError) as error:
        logger.error("error: %s", error)
        return 2
    if not tasks:
        logger.error("error: %s has no questions: give another --split", file)
        return 2
    count = "1 question" if len(tasks) == 1 else f"{len(tasks)} questions"
    logger.info("%s of %s, %s at %s\n", count, file.name, endpoint.model, endpoint.base_url)
    outcomes = answer(tasks, endpoint, options)
    if outcomes:
        show(f"\n{table(outcomes)}")
    if len(outcomes) < len(tasks):  # agentlightning's strategy ends quietly on Ctrl-C
        logger.warning("interrupted after %d of %d questions", len(outcomes), len(tasks))
        return INTERRUPTED
    return 0 if any(outcome.reward is not None for outcome in outcomes) else 1


def live_endpoint(url: str | None, model: str | None) -> ChatEndpoint:
    """The endpoint that was asked for, after a first call that shows that it works and returns token ids or not.

    Raises:
        ValueError: it isn't a URL, it doesn't answer, or it refuses the model.
    """
    from spider.chat_endpoint import ChatEndpoint, EndpointError, endpoint_from_environment
    from spider.first_model import first_model, hint

    found = endpoint_from_environment(url, model)
    try:
        model = found.model or first_model(found)
        wanted = {"return_token_ids": True, "logprobs": True}
        short = {"max_completion_tokens": 1, "timeout": PROBE_SECONDS}
        probe = ChatEndpoint(found.base_url, model, {**wanted, **short}, found.api_key, retries=0)
        greeting = [{"role": "user", "content": "Hi"}]
        try:
            reply = probe.complete(greeting)
            with_ids = bool(reply.prompt_token_ids)
        except EndpointError as error:
            if error.reason != "rejected":
                raise
            ChatEndpoint(found.base_url, model, short, found.api_key, retries=0).complete(greeting)
            with_ids = False
    except EndpointError as error:
        raise ValueError(f"the endpoint doesn't work: {error}{hint(error)}") from error
    if not with_ids:
        logger.warning("%s returns no token ids: fine for debugging, useless for training", found.base_url)
    return ChatEndpoint(found.base_url, model, wanted if with_ids else {}, found.api_key)


def default_turns(strategy: str | None) -> int:
    """Queries a question may take: the strategy's `max_attempts`, or 3.

    Raises:
        ValueError: the strategy file can't be read or isn't one.
    """
    if strategy is None:
        return 3
    from spider.strategy.schema import load_strategy

    return load_strategy(strategy).decision_rules.max_attempts


def answer(tasks: Sequence[dict[str, str]], endpoint: ChatEndpoint, options: argparse.Namespace) -> list[Outcome]:
    """Run every task through `Trainer.dev`, one after another, and show each."""
    with quick_imports():
        import agentlightning as agl

        from spider.chat_endpoint import EndpointError
        from spider.lit_agent import LitSQLAgent
        from spider.tracing import RolloutTracer

    outcomes: list[Outcome] = []

    class ShownAgent(LitSQLAgent):
        """Shows each question's outcome before it goes to the store."""

        def rollout(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
            started = time.monotonic()
            try:
                state = self.solve(task, resources, rollout)
                reward = self.reward(state, task, rollout)
            except Exception as error:
                reason = error.reason if isinstance(error, EndpointError) else type(error).__name__
                outcomes.append(Outcome(None, 0, 0, time.monotonic() - started, reason))
                logger.info("%d. %s\n   failed: %s", len(outcomes), task["question"], error)
                raise
            outcomes.append(Outcome(reward, state["num_turns"], tokens_of(state), time.monotonic() - started))
            logger.info("%d. %s", len(outcomes), shown(task, state, reward))
            return reward

    tracer = RolloutTracer()
    trainer = agl.Trainer(
        algorithm=agl.Baseline(polling_interval=POLL_SECONDS, span_verbosity="none"),
        strategy=agl.SharedMemoryExecutionStrategy(n_runners=1, main_thread="algorithm", join_timeout=JOIN_SECONDS),
        tracer=tracer,
        runner=agl.LitAgentRunner(tracer, poll_interval=POLL_SECONDS, interval_jitter=0.0),
        initial_resources={
            "main_llm": agl.LLM(
                endpoint=endpoint.base_url,
                model=endpoint.model,
                api_key=endpoint.api_key,
                sampling_parameters=dict(endpoint.sampling),
            )
        },
    )
    agent = ShownAgent(max_turns=options.max_turns, debug=options.debug, strategy_file=options.strategy)
    if options.split == "train":
        trainer.dev(agent, train_dataset=list(tasks))
    else:
        trainer.dev(agent, val_dataset=list(tasks))
    return outcomes


def tokens_of(state: State) -> int:
    """Tokens of all calls, prompts and replies, as far as the server counted them."""
    from langchain_core.messages import AIMessage

    usages = (message.usage_metadata for message in state["messages"] if isinstance(message, AIMessage))
    return sum(usage["total_tokens"] for usage in usages if usage)


def shown(task: Mapping[str, str], state: State, reward: float) -> str:
    """A question, its query, the agent's own verdict and the reward, for people."""
    from spider.prompts import is_correct

    verdict = "correct" if is_correct(state.get("feedback", "")) else "not correct"
    query = " ".join(state["query"].split()) or "(none)"
    return (
        f"{task['question']}  [{task['db_id']}]\n   query:   {query}\n   answer:  {state['answer']}\n"
        f"   verdict: {verdict}\n   reward:  {reward:g}"
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """All outcomes with their means and the failures by reason."""
    lines = ["   #  reward  turns  tokens  seconds  failure"]
    for number, outcome in enumerate(outcomes, 1):
        lines.append(_table_row(f"{number}", outcome.reward, outcome.turns, outcome.tokens, outcome.seconds))
        lines[-1] += f"  {outcome.failure}"
    done = [outcome for outcome in outcomes if outcome.reward is not None]
    if done:
        rewards, turns = fmean(o.reward or 0.0 for o in done), fmean(o.turns for o in done)
        lines.append(_table_row("mean", rewards, turns, fmean(o.tokens for o in done), fmean(o.seconds for o in done)))
    failures = Counter(outcome.failure for outcome in outcomes if outcome.failure)
    reasons = ", ".join(f"{count} {reason}" for reason, count in failures.most_common())
    lines.append(f"{len(done)} of {len(outcomes)} rollouts finished" + (f"; failed: {reasons}" if reasons else ""))
    return "\n".join(line.rstrip() for line in lines)


def _table_row(name: str, reward: float | None, turns: float, tokens: float, seconds: float) -> str:
    score = "-" if reward is None else f"{reward:.2f}"
    return f"{name:>4}  {score:>6}  {turns:>5.3g}  {tokens:>6.0f}  {seconds:>7.2f}"
