"""agentlightning's `APO` over the agent's three instructions, one after another, within a budget, to be resumed.

APO proposes (a critique of rollouts, then an edit, both by a model), evaluates in rollouts and keeps a beam. What is
added here: a rollout that the journal holds isn't run again, a reply that the optimiser's model gave isn't asked for
again, and chance is drawn from the seed. So a run that was interrupted goes through its past at once, and on.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import agentlightning as agl
from agentlightning.types import Dataset
from openai import AsyncOpenAI

from spider.files import write_whole
from spider.prompts import DEFAULT_TEMPLATES
from spider.strategy.budget import BudgetSpentError, Ledger
from spider.strategy.prompt_agent import PromptedSQLAgent, version_of
from spider.strategy.resumable_apo import ResumableAPO
from spider.strategy.runs import PROMPTS

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SearchSettings:
    """APO's own arguments, and which instructions are optimised, in which order."""

    prompts: Sequence[str]
    optimizer_model: str
    rounds: int
    beam_width: int
    branch_factor: int
    gradient_batch_size: int
    val_batch_size: int
    seed: int


class PromptSearch(agl.Algorithm):
    """Optimises the instructions one after another; each starts from the best of those before.

    Args:
        agent: The agent.
        settings: How to search.
        optimizer: A client of the model that criticises and edits; see `journaled_client`.
        ledger: The budget.
        run_dir: Where the best instructions are written, as ``prompts.json``.
    """

    def __init__(
        self,
        agent: PromptedSQLAgent,
        settings: SearchSettings,
        optimizer: AsyncOpenAI,
        ledger: Ledger,
        run_dir: Path,
    ) -> None:
        super().__init__()
        self.agent = agent
        self.settings = settings
        self.optimizer = optimizer
        self.ledger = ledger
        self.run_dir = run_dir
        self.templates = DEFAULT_TEMPLATES
        self.scores: dict[str, float] = {}
        self.baseline: float | None = None
        self.accuracy: float | None = None
        self.budget_spent = ""
        self.finished = False

    async def run(self, train_dataset: Dataset[Any] | None = None, val_dataset: Dataset[Any] | None = None) -> None:
        """Search until the last round, or until the budget is spent.

        Args:
            train_dataset: Questions whose rollouts are criticised.
            val_dataset: Questions that decide between instructions.

        Raises:
            RuntimeError: every rollout of a batch failed.
        """
        if train_dataset is None or val_dataset is None:
            raise ValueError("the search needs questions to learn from and others to decide on")
        try:
            for name in self.settings.prompts:
                apo = self._apo(name)
                try:
                    apo.questions = len(val_dataset)
                    await apo.run(train_dataset, val_dataset)
                finally:
                    self._keep_best(name, apo, len(val_dataset))
        except BudgetSpentError as spent:
            self.budget_spent = str(spent)
        self.finished = True

    def _apo(self, name: str) -> ResumableAPO:
        settings = self.settings
        apo = ResumableAPO(
            self.optimizer,
            gradient_model=settings.optimizer_model,
            apply_edit_model=settings.optimizer_model,
            gradient_batch_size=settings.gradient_batch_size,
            val_batch_size=settings.val_batch_size,
            beam_width=settings.beam_width,
            branch_factor=settings.branch_factor,
            beam_rounds=settings.rounds,
        )
        apo.prepare(name, self.templates, self.agent, self.ledger, self.scores, f"{settings.seed}-{name}")
        apo.set_store(self.get_store())
        apo.set_adapter(self.get_adapter())
        seed = getattr(self.templates, name)
        apo.set_initial_resources({name: agl.PromptTemplate(template=seed, engine="f-string")})
        return apo

    def _keep_best(self, name: str, apo: ResumableAPO, questions: int) -> None:
        """Go on with the best instruction, where it has been measured on all questions, and write it down."""
        before = self.scores.get(version_of(self.templates))
        if before is None:
            return
        if self.baseline is None:
            self.baseline = self.accuracy = before
        best = replace(self.templates, **{name: apo.get_best_prompt().template})
        after = self.scores.get(version_of(best), 0.0)
        if after > before:
            self.templates, self.accuracy = best, after
        logger.info("%s: accuracy %.3f before, %.3f after, on %d questions", name, before, self.accuracy, questions)
        write_prompts(self.run_dir / PROMPTS, self)


def write_prompts(path: Path, search: PromptSearch) -> None:
    """Write the best instructions and how they were found, whole or not at all."""
    templates = search.templates
    content = {
        "version": version_of(templates),
        "model": search.agent.endpoint.model,
        "optimizer_model": search.settings.optimizer_model,
        "baseline": search.baseline,
        "accuracy": search.accuracy,
        "spent": asdict(search.ledger.spent),
        "templates": asdict(templates),
    }
    write_whole(path, json.dumps(content, indent=2) + "\n")
