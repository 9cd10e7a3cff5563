"""The model card of a warm-start adapter, written from its results file alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

SOURCE_NOTES = {
    "spider": "Spider 1.0 (Yale, https://yale-lily.github.io/spider), CC BY-SA 4.0",
    "sample": "this repository's sample data, MIT",
}


class Results(TypedDict):
    """What `scripts/warm_start.py` leaves in results.json."""

    training: Mapping[str, Mapping[str, object]]
    before: Mapping[str, Mapping[str, Mapping[str, float]]]
    after: Mapping[str, Mapping[str, Mapping[str, float]]]


def model_card(results: Results) -> str:
    """Markdown with the data, the run and the accuracy before and after.

    Raises:
        ValueError: an entry is missing; the message names the step to run.
    """
    for key, step in {
        "training": "train",
        "before": "evaluate --label before",
        "after": "evaluate --label after",
    }.items():
        if key not in results:
            raise ValueError(f"results.json has no {key!r}: run `python scripts/warm_start.py {step}` first")
    training = results["training"]
    report, settings, environment = training["report"], training["settings"], training["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in environment.items() if name != "hardware")
    return f"""---
base_model: HuggingFaceTB/SmolLM2-135M-Instruct
library_name: peft
license: cc-by-sa-4.0
tags: [lora, text-to-sql]
---

# Warm start of SmolLM2-135M-Instruct for the SQL agent

A LoRA adapter that teaches the model the agent's three prompts (write, check, rewrite), so that GRPO starts from a
model that solves some of the questions. `scripts/get_model.py smollm2` merges it into the base model. It is a starting
point for training, not a text-to-SQL model to rely on.

## Accuracy of the write turn alone

Execution accuracy, one query a question, no checking or rewriting.

{_accuracy_table(results)}

## Data

Questions with their gold queries, from which `scripts/warm_start.py rows` makes write, check (gold and wrong queries,
half each) and rewrite turns. Wrong queries are edits of the gold, or golds of other questions on the same database,
that the reward rates 0.

{_sources(training["sources"])}

Rows: {_list(training["turns"])}. No question of an evaluation set is among them. The adapter, derived from Spider, is
under CC BY-SA 4.0; the base model (Hugging Face, SmolLM2) is under Apache-2.0.

## Run

- {report["steps"]} steps over {report["rows"]} rows, {report["tokens"]} tokens of which {report["reply_tokens"]} carry
  the loss, {_number(report["seconds"]):.0f} s; {report["dropped_too_long"]} rows were too long and left out.
- {report["trained_parameters"]} trained parameters in bfloat16, on every linear layer of the blocks.
- Loss per reply token over each tenth of the run: {_list(report["losses"])}.
- Settings: {_list(settings)}.
- Hardware: {environment["hardware"]}. Versions: {versions}.
"""


def _accuracy_table(results: Results) -> str:
    lines = ["| questions | measure | before | after |", "|---|---|---|---|"]
    for name, after in results["after"].items():
        if name == "environment":
            continue
        before = results["before"].get(name, {})
        for kind, figures in after.items():
            for measure, label in _measures(kind, figures).items():
                old = before.get(kind, {}).get(measure)
                shown = "not measured" if old is None else f"{old:.1%}"
                lines.append(f"| {name} ({figures['tasks']}) | {label} | {shown} | {figures[measure]:.1%} |")
    return "\n".join(lines)


def _measures(kind: str, figures: Mapping[str, float]) -> dict[str, str]:
    """What to show of one measurement: figure's name and how the table calls it."""
    if kind == "greedy":
        return {"greedy": "greedy"}
    samples, at = figures["samples"], f"temperature {figures['temperature']:g}"
    return {
        "mean": f"mean of {samples}, {at}",
        "passed": f"solved by one of {samples}, {at}",
        "mixed": f"groups of {samples} with both outcomes",
    }


def _sources(sources: Mapping[str, object]) -> str:
    return "\n".join(
        f"- {questions} questions of {name}: {SOURCE_NOTES.get(name.partition('/')[0], 'see data/README.md')}."
        for name, questions in sources.items()
    )


def _list(values: object) -> str:
    if isinstance(values, Mapping):
        return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
    return ", ".join(str(value) for value in values) if isinstance(values, list) else str(values)


def _number(value: object) -> float:
    return float(str(value))
