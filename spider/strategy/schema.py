"""The strategy file: instructions, rules and patterns, as JSON that is checked when it is read.

    {"format": "spider-sql-strategy/1", "source": {...}, "prompt_templates": {"system": "...", "write": "...", ...},
     "decision_rules": {"max_attempts": 2, "accuracy_by_attempts": {"1": 0.41, "2": 0.52},
                        "by_outcome": {"no_rows": {"action": "stop", "queries": 31, "right": 12, ...}}},
     "interaction_patterns": [{"outcomes": ["error:no_such_column", "rows"], "end": "accepted", "count": 12, ...}]}

`python -m spider.export_strategy` writes it from a run, `spider.inference` and `sql_agent.py --strategy` use it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from spider.files import first_problem, write_whole
from spider.outcomes import OUTCOMES
from spider.prompts import DEFAULT_TEMPLATES, Templates

FORMAT = "spider-sql-strategy/1"

End = Literal["accepted", "out_of_turns", "repeated", "final_outcome"]
"""Why a question ended: the checker accepted its last query; it had no turn left; the rewrite was the query before it,
unchanged, which isn't run or counted a second time; or the rules end it after such an outcome."""
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PromptTemplates(_Model):
    """The instructions of `spider.prompts.Templates`; one that is left out is the usual one."""

    system: str = DEFAULT_TEMPLATES.system
    write: str = DEFAULT_TEMPLATES.write
    check: str = DEFAULT_TEMPLATES.check
    rewrite: str = DEFAULT_TEMPLATES.rewrite

    @model_validator(mode="after")
    def _usable(self) -> Self:
        self.templates()
        return self

    def templates(self) -> Templates:
        """For the agent."""
        return Templates(**self.model_dump())


class OutcomeRule(_Model):
    """What to do after a query with one outcome, and the counts that say so.

    `queries` ended so and `right` of them were right as they were; `rewritten` of them were followed by a rewrite, by
    which `repaired` wrong ones became right and `broken` right ones wrong. With `check` the checker decides whether to
    rewrite; with `stop` the query is final.
    """

    action: Literal["check", "stop"] = "check"
    queries: Count = 0
    right: Count = 0
    rewritten: Count = 0
    repaired: Count = 0
    broken: Count = 0

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.right > self.queries or self.rewritten > self.queries or self.repaired + self.broken > self.rewritten:
            raise ValueError("the counts don't add up")
        return self


class DecisionRules(_Model):
    """How many queries a question may take, and when to rewrite one.

    `accuracy_by_attempts` maps a number of queries to the share of right answers had the agent ended there.
    """

    max_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    accuracy_by_attempts: dict[Annotated[int, Field(ge=1)], Share] = {}
    by_outcome: dict[str, OutcomeRule] = {}

    @model_validator(mode="after")
    def _known_outcomes(self) -> Self:
        unknown = sorted(set(self.by_outcome) - set(OUTCOMES))
        if unknown:
            raise ValueError(f"unknown outcome {unknown[0]!r}: one of {', '.join(OUTCOMES)}")
        return self

    @property
    def final_outcomes(self) -> frozenset[str]:
        """Outcomes after which the agent neither checks nor rewrites."""
        return frozenset(name for name, rule in self.by_outcome.items() if rule.action == "stop")


class Exchange(_Model):
    """A question of the run and the queries that were written for it."""

    question: str
    queries: tuple[str, ...]


class InteractionPattern(_Model):
    """A way that questions took: its queries' outcomes in order, how it ended (see `End`), how often it was right."""

    outcomes: tuple[str, ...]
    end: End
    count: Annotated[int, Field(ge=1)]
    right: Count
    calls: Annotated[float, Field(ge=0)]
    example: Exchange

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return self.right / self.count


class Source(_Model):
    """Where a strategy comes from: the run's folder, its kind, how many rollouts were counted, and their accuracy."""

    run: str
    kind: Literal["apo", "training"]
    model: str = ""
    rollouts: Count
    accuracy: Share
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))


class Strategy(_Model):
    """The whole file."""

    format: Literal["spider-sql-strategy/1"] = FORMAT
    source: Source
    prompt_templates: PromptTemplates = PromptTemplates()
    decision_rules: DecisionRules = DecisionRules()
    interaction_patterns: tuple[InteractionPattern, ...] = ()

    def pattern(self, outcomes: tuple[str, ...], end: End) -> InteractionPattern | None:
        """The pattern that a question has just taken, if runs have met it."""
        taken = (pattern for pattern in self.interaction_patterns if (pattern.outcomes, pattern.end) == (outcomes, end))
        return next(taken, None)


def load_strategy(path: str | Path) -> Strategy:
    """Read and check a strategy file.

    Raises:
        ValueError: it can't be read or isn't one; the message names the first thing that is wrong.
    """
    try:
        return Strategy.model_validate_json(Path(path).expanduser().read_bytes())
    except OSError as error:
        raise ValueError(f"can't read the strategy {path}: {error.strerror}") from error
    except ValidationError as error:
        raise ValueError(f"{path} is not a strategy: {first_problem(error)}") from error


def save_strategy(strategy: Strategy, path: Path) -> None:
    """Write a strategy file, whole or not at all."""
    write_whole(path, strategy.model_dump_json(indent=2) + "\n")
