"""Execution accuracy of the write turn alone, greedy or sampled, with plain transformers.

Prompts are padded on the right and decoded by a loop of our own: with padding on the left, rows that see nothing but
padding give NaN. Here every position sees at least itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from tqdm import tqdm

from spider.database import open_database
from spider.prompts import extract_query, write_messages
from spider.reward import evaluate_query
from spider.warm_start.rows import SCHEMA_CHARS, Task
from spider.warm_start.training import end_of_turn, prompt_text

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


REPLY_TOKENS = 160


@dataclass(frozen=True)
class Accuracy:
    """Share of right queries over a task set, and of replies that ended by themselves."""

    tasks: int
    greedy: float
    ended: float


@dataclass(frozen=True)
class Sampled:
    """Over `samples` replies a task: mean reward, tasks solved at least once, tasks with both outcomes."""

    tasks: int
    samples: int
    temperature: float
    mean: float
    passed: float
    mixed: float


def greedy_accuracy(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tasks: Sequence[Task], rows: int, name: str = "greedy"
) -> Accuracy:
    """Accuracy with the likeliest token at each step, `rows` prompts at a time."""
    replies = generate(model, tokenizer, _prompts(tokenizer, tasks), rows, name=name)
    rewards = [_reward(task, text) for task, (text, _) in zip(tasks, replies, strict=True)]
    ended = sum(ended for _, ended in replies)
    return Accuracy(len(tasks), sum(rewards) / len(tasks), ended / len(tasks))


def sampled_accuracy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    tasks: Sequence[Task],
    rows: int,
    samples: int,
    temperature: float = 1.0,
    seed: int = 0,
    name: str = "sampled",
) -> Sampled:
    """Accuracy of `samples` replies a task, drawn at `temperature`."""
    prompts = [prompt for prompt in _prompts(tokenizer, tasks) for _ in range(samples)]
    replies = generate(model, tokenizer, prompts, rows, temperature, seed, name)
    rewards = [_reward(tasks[at // samples], text) for at, (text, _) in enumerate(replies)]
    groups = [rewards[at : at + samples] for at in range(0, len(rewards), samples)]
    return Sampled(
        tasks=len(tasks),
        samples=samples,
        temperature=temperature,
        mean=sum(rewards) / len(rewards),
        passed=sum(max(group) > 0 for group in groups) / len(groups),
        mixed=sum(min(group) < max(group) for group in groups) / len(groups),
    )


def generate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[list[int]],
    rows: int,
    temperature: float = 0.0,
    seed: int = 0,
    name: str = "replies",
) -> list[tuple[str, bool]]:
    """Each prompt's reply, and whether the model ended it within `REPLY_TOKENS`."""
    generator = torch.Generator(model.device).manual_seed(seed)
    end = end_of_turn(tokenizer)
    order = sorted(range(len(prompts)), key=lambda at: -len(prompts[at]))
    replies: dict[int, tuple[str, bool]] = {}
    model.eval()
    with tqdm(total=len(prompts), desc=name, unit="reply", mininterval=2) as progress:
        for start in range(0, len(order), rows):
            chosen = order[start : start + rows]
            for at, ids in zip(
                chosen, _decode(model, end, [prompts[at] for at in chosen], temperature, generator), strict=True
            ):
                ended = end in ids
                replies[at] = (str(tokenizer.decode(ids[: ids.index(end)] if ended else ids)), ended)
            progress.update(len(chosen))
    return [replies[at] for at in range(len(prompts))]


@torch.inference_mode()
def _decode(
    model: PreTrainedModel, end: int, prompts: Sequence[list[int]], temperature: float, generator: torch.Generator
) -> list[list[int]]:
    """Reply ids of the prompts, as many as the longest reply needs; `end` is the end-of-turn token."""
    from transformers import DynamicCache

    device = model.device
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    width = int(lengths.max())
    ids = torch.tensor([prompt + [end] * (width - len(prompt)) for prompt in prompts])
    mask = (torch.arange(width, device=device)[None] < lengths[:, None]).long()
    cache = DynamicCache()
    # Without a mask: attention is causal, so no prompt sees the padding behind it.
    hidden = model.model(input_ids=ids.to(device), past_key_values=cache).last_hidden_state
    last = hidden[torch.arange(len(prompts), device=device), lengths - 1]
    finished = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    found: list[torch.Tensor] = []
    for step in range(REPLY_TOKENS):
        tokens = _pick(model.lm_head(last), temperature, generator)
        found.append(tokens)
        finished |= tokens == end
        if bool(finished.all()):
            break
        mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
        last = model.model(
            input_ids=tokens[:, None],
            attention_mask=mask,
            position_ids=(lengths + step)[:, None],
            past_key_values=cache,
        ).last_hidden_state[:, -1]
    return torch.stack(found, dim=1).tolist()


def _pick(logits: torch.Tensor, temperature: float, generator: torch.Generator) -> torch.Tensor:
    """The next tokens, (rows,).

    Raises:
        RuntimeError: the logits hold NaN.
    """
    logits = logits.float()
    if not bool(torch.isfinite(logits).all()):
        raise RuntimeError("the model gives logits that are not finite numbers")
    if temperature == 0:
        return logits.argmax(-1)
    return torch.multinomial(torch.softmax(logits / temperature, -1), 1, generator=generator)[:, 0]


def _prompts(tokenizer: PreTrainedTokenizerBase, tasks: Sequence[Task]) -> list[list[int]]:
    schemas = [open_database(task.db).schema(task.question, SCHEMA_CHARS) for task in tasks]
    messages = [write_messages(task.question, schema) for task, schema in zip(tasks, schemas, strict=True)]
    return [tokenizer.encode(prompt_text(tokenizer, each), add_special_tokens=False) for each in messages]


def _reward(task: Task, reply: str) -> float:
    return evaluate_query(extract_query(reply), task.query, str(task.db), raise_on_error=False)
