"""agentlightning's `APO`, made to go on where it was interrupted, and to refuse what the agent can't work with."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, cast

import agentlightning as agl
import openai
from agentlightning.algorithm.apo import APO
from agentlightning.algorithm.apo.apo import RolloutResultForAPO, VersionedPromptTemplate

from spider.prompts import Templates
from spider.strategy.budget import BudgetSpentError, Ledger
from spider.strategy.optimizer_client import PAYMENT_REQUIRED
from spider.strategy.prompt_agent import PromptedSQLAgent, key_of, version_of, with_templates

logger = logging.getLogger(__name__)

TEMPLATE_CHARS = 4_000  # a longer instruction than that is refused

Task = Mapping[str, str]


class ResumableAPO(APO[Task]):
    """`APO` that takes what it can from the journal, and refuses instructions that the agent can't work with."""

    questions = 0

    def prepare(
        self,
        name: str,
        templates: Templates,
        agent: PromptedSQLAgent,
        ledger: Ledger,
        scores: dict[str, float],
        seed: str,
    ) -> None:
        """Say which instruction is optimised, beside which others, under which budget, and where chance starts.

        `scores` takes the accuracy of instructions that were tried on all the validation questions, `questions` many.
        """
        self.name = name
        self.templates = templates
        self.agent = agent
        self.ledger = ledger
        self.scores = scores
        self.seed = seed
        self.steps = 0
        self._draw()

    def _draw(self) -> None:
        """Start chance anew: APO draws from `random`, and so may others while it waits."""
        self.steps += 1
        random.seed(f"{self.seed}-{self.steps}")

    async def evaluate_prompt_on_batch(
        self,
        prompt: VersionedPromptTemplate,
        resource_name: str,
        dataset: Sequence[Task],
        mode: agl.RolloutMode,
        *,
        prefix: str | None = None,
    ) -> tuple[list[RolloutResultForAPO], float]:
        """See `APO.evaluate_prompt_on_batch`; only rollouts that the journal lacks are run.

        Raises:
            BudgetSpentError: the budget ended before the rollouts did.
            RuntimeError: every rollout failed.
        """
        templates = self._with(prompt.prompt_template.template)
        journal = self.agent.journal
        missing = [task for task in dataset if journal.get(key_of(templates, task)) is None]
        if missing:
            tasks = [with_templates(task, self.templates) for task in missing]
            await super().evaluate_prompt_on_batch(prompt, resource_name, tasks, mode, prefix=prefix)
            journal.refresh()
        self._draw()
        records = [journal.get(key_of(templates, task)) for task in dataset]
        # A larger budget would not mend calls of which not one brought a token.
        if missing and None in records and (any(records) or self.ledger.spent.tokens):
            self.ledger.require()
        if not any(records):
            raise RuntimeError(
                "every rollout of a batch failed, as with a --model that the server doesn't have: run.log has its words"
            )
        results = [for_apo(record) for record in records]
        mean = fmean(result["final_reward"] or 0.0 for result in results)
        if mode == "val" and len(dataset) == self.questions:
            self.scores[version_of(templates)] = mean
        logger.info(
            "%s %s: accuracy %.3f on %d questions (%d new), %d calls so far",
            self.name, prompt.version, mean, len(dataset), len(missing), self.ledger.spent.calls,
        )  # fmt: skip
        return results, mean

    def _with(self, instruction: str) -> Templates:
        """All instructions, with another one of those that are optimised.

        Raises:
            ValueError: the agent can't work with it.
        """
        return replace(self.templates, **{self.name: instruction})

    async def compute_textual_gradient(
        self,
        current_prompt: VersionedPromptTemplate,
        rollout_results: list[RolloutResultForAPO],
        *,
        prefix: str | None = None,
    ) -> str | None:
        """See `APO.compute_textual_gradient`."""
        critique = await super().compute_textual_gradient(current_prompt, rollout_results, prefix=prefix)
        self._draw()
        return critique

    async def textual_gradient_and_apply_edit(
        self,
        current_prompt: VersionedPromptTemplate,
        rollout: list[RolloutResultForAPO],
        *,
        prefix: str | None = None,
    ) -> str | None:
        """See `APO.textual_gradient_and_apply_edit`; None for an edit that the agent can't work with.

        Raises:
            BudgetSpentError: the budget doesn't allow the calls.
        """
        try:
            edited = await super().textual_gradient_and_apply_edit(current_prompt, rollout, prefix=prefix)
        except openai.APIStatusError as error:
            if error.status_code == PAYMENT_REQUIRED:
                raise BudgetSpentError(error.message) from error
            raise
        self._draw()
        text = without_fence(edited or "")
        try:
            if len(text) > TEMPLATE_CHARS:
                raise ValueError(f"it has more than {TEMPLATE_CHARS} characters")
            self._with(text)
        except ValueError as error:
            logger.info("%s: an edit of %s is refused: %s", self.name, current_prompt.version, error)
            return None
        return None if text == current_prompt.prompt_template.template else text


def for_apo(record: Mapping[str, Any] | None) -> RolloutResultForAPO:
    """A rollout as the critique reads it: every prompt and reply, then the gold query and the reward."""
    if record is None:
        return RolloutResultForAPO(status="failed", final_reward=None, spans=[], messages=[])
    said = [
        {"role": role, "node": turn["node"], "content": turn[key]}
        for turn in record["turns"]
        for role, key in (("user", "prompt"), ("assistant", "text"))
    ]
    grade = f"A query that is right: {record['gold']}\nReward: {record['reward']:g}"
    messages = [*said, {"role": "grader", "content": grade}]
    return RolloutResultForAPO(
        status="succeeded", final_reward=record["reward"], spans=messages, messages=cast("list[Any]", messages)
    )


def without_fence(text: str) -> str:
    """An edited instruction without the fence that models put around it."""
    text = text.strip()
    lines = text.splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1] == "```" and text.count("```") == 2:
        return "\n".join(lines[1:-1]).strip()
    return text
