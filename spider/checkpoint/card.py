"""The card of an exported model: what it is, from which data and run, how good, and how that is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from spider.checkpoint.proof import TEXT, Proof
from spider.checkpoint.shards import Checkpoint
from spider.run_report.reading import read_progress

UNKNOWN = "not recorded"


def run_accuracies(run: Path, step: int) -> dict[str, float]:
    """Validation accuracy by steps trained, up to `step`, from the run's ``progress.csv``; empty without that file.

    Raises:
        NoRunError: the file is damaged.
    """
    rows = read_progress(run / "progress.csv")
    return {
        f"{row['step']:.0f}": row["validation_accuracy"]
        for row in rows
        if "validation_accuracy" in row and row["step"] <= step
    }


def model_card(
    checkpoint: Checkpoint, record: Mapping[str, object], accuracies: Mapping[str, float], proof: Proof, dtype: str
) -> str:
    """The card in Markdown, with the front matter that model hubs read."""
    config = json.loads((checkpoint.huggingface / "config.json").read_text(encoding="utf-8"))
    name = str(record.get("model") or config.get("_name_or_path") or "A model")
    base = Path(name).name if name.startswith(("/", "model/")) else name
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags: [text-to-sql, grpo, verl, agentlightning]
---

# {base} after {checkpoint.step} steps of GRPO on text-to-SQL

{base}, trained to write SQL for a question and a schema, as the language model of an agent that executes its query,
checks it and rewrites it. Weights are in {dtype}. The licences of the model it was trained from and of the data apply.

## Training

| | |
|---|---|
{_rows(checkpoint, record)}

## Accuracy

Execution accuracy of the whole agent, as the run's own validation measured it (greedy, {_count(record, "validation")}).

{_accuracy_table(accuracies)}

## Is it the trainer's model?

{_comparison(checkpoint, proof)}

## Use

```bash
bash scripts/serve.sh FOLDER        # vLLM's OpenAI server
python spider/sql_agent.py          # in another terminal: the agent on questions of the data
```
"""


def _rows(checkpoint: Checkpoint, record: Mapping[str, object]) -> str:
    versions = record.get("versions")
    known = versions.items() if isinstance(versions, Mapping) else ()
    facts = {
        "preset": record.get("preset", UNKNOWN),
        "steps": f"{checkpoint.step} of {record.get('steps') or 'all of its epochs'}" if record else checkpoint.step,
        "trained nodes": record.get("active_agent", UNKNOWN),
        "questions a step x rollouts": f"{record.get('questions_per_step', '?')} x {record.get('rollouts', '?')}",
        "learning rate": record.get("learning_rate", UNKNOWN),
        "LoRA": f"rank {checkpoint.lora['r']}, alpha {checkpoint.lora['lora_alpha']}" if checkpoint.lora else "no",
        "training data": f"{record.get('train_file', UNKNOWN)} ({_count(record, 'train')})",
        "validation data": f"{record.get('validation_file', UNKNOWN)} ({_count(record, 'validation')})",
        "seed": record.get("seed", UNKNOWN),
        "device": record.get("device", UNKNOWN),
        "run": f"{checkpoint.run.name}, started {record.get('started', UNKNOWN)}",
        "versions": ", ".join(f"{package} {version}" for package, version in known) or UNKNOWN,
    }
    return "\n".join(f"| {name} | {value} |" for name, value in facts.items())


def _count(record: Mapping[str, object], split: str) -> str:
    count = record.get(f"{split}_questions")
    return f"{count} questions" if count else f"number of questions {UNKNOWN}"


def _accuracy_table(accuracies: Mapping[str, float]) -> str:
    if not accuracies:
        return "The run recorded none."
    lines = [f"| {step} | {accuracy:.3f} |" for step, accuracy in accuracies.items()]
    return "\n".join(["| steps trained | accuracy |", "|---|---|", *lines])


def _comparison(checkpoint: Checkpoint, proof: Proof) -> str:
    changed = "The model before training was not at hand to compare with."
    if proof.changed_weights is not None:
        changed = (
            f"{100 * proof.changed_weights:.2f} % of its weights differ from the model before training, its log-probs "
            f"by at most {proof.max_change:.2g} nats."
        )
    text = TEXT.replace("\n", " / ")
    return (
        f"The log-probs of {proof.tokens} tokens, computed from this folder and from the trainer's {checkpoint.ranks} "
        f"shard(s), differ by at most {proof.max_difference:.2g} nats; from the trainer's float32 weights before they "
        f"were rounded, by at most {proof.max_rounding:.2g}.\n{changed}\n\nThe text: `{text}`"
    )
