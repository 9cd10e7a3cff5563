"""LoRA fine-tuning on the replies of training rows: a plain loop, the same on CPU and GPU.

Rows are padded on the right and need no attention mask: with causal attention no real token sees the padding behind
it. Only hidden states at reply tokens go through the output layer, which would otherwise dominate memory.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy
from tqdm import tqdm
from transformers import PreTrainedModel

from spider.warm_start.rows import Row

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedTokenizerBase


LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
BUCKET_BATCHES = 32  # batches whose rows are sorted by length together
IGNORED = -100


@dataclass(frozen=True)
class Settings:
    """What decides a run. `max_minutes` shortens the schedule to a time; such a run can't be repeated exactly."""

    epochs: int = 4
    lr: float = 1e-3
    rank: int = 16
    alpha: int = 32
    batch_rows: int = 32
    warmup: float = 0.03
    micro_tokens: int = 4_000
    max_tokens: int = 1536
    clip: float = 1.0
    seed: int = 0
    max_minutes: float | None = None


@dataclass(frozen=True)
class Example:
    """Token ids of a prompt followed by its reply, and how many belong to the prompt."""

    ids: list[int]
    prompt: int


@dataclass(frozen=True)
class Report:
    """What a run did; the losses are means per reply token over each tenth of the steps."""

    steps: int
    rows: int
    tokens: int
    reply_tokens: int
    dropped_too_long: int
    trained_parameters: int
    seconds: float
    losses: list[float]


def encode(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row]) -> list[Example]:
    """Rows as a server would see them: the chat template's prompt, then the reply and the end-of-turn token."""
    prompts = tokenizer([prompt_text(tokenizer, row.messages) for row in rows], add_special_tokens=False)["input_ids"]
    replies = tokenizer([row.reply for row in rows], add_special_tokens=False)["input_ids"]
    end = end_of_turn(tokenizer)
    return [Example([*prompt, *reply, end], len(prompt)) for prompt, reply in zip(prompts, replies, strict=True)]


def prompt_text(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]]) -> str:
    """The messages in the model's chat template, up to where its reply begins."""
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)
    return text


def end_of_turn(tokenizer: PreTrainedTokenizerBase) -> int:
    """Id of the token that ends a reply."""
    token = tokenizer.eos_token_id
    assert isinstance(token, int)
    return token


def batches(examples: Sequence[Example], size: int, rng: random.Random) -> Iterator[list[Example]]:
    """All examples once, in batches of rows of like length, in random order."""
    order = rng.sample(examples, len(examples))
    found: list[list[Example]] = []
    for start in range(0, len(order), size * BUCKET_BATCHES):
        bucket = sorted(order[start : start + size * BUCKET_BATCHES], key=lambda example: len(example.ids))
        found += [bucket[at : at + size] for at in range(0, len(bucket), size)]
    rng.shuffle(found)
    yield from found


def collate(examples: Sequence[Example]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and labels, both (rows, longest row); a label is the next token where that belongs to a reply."""
    width = max(len(example.ids) for example in examples)
    ids = torch.zeros(len(examples), width, dtype=torch.long)
    labels = torch.full((len(examples), width), IGNORED, dtype=torch.long)
    for row, example in enumerate(examples):
        length = len(example.ids)
        ids[row, :length] = torch.tensor(example.ids)
        labels[row, example.prompt - 1 : length - 1] = torch.tensor(example.ids[example.prompt :])
    return ids, labels


def reply_loss(model: PreTrainedModel, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Sum of the cross-entropies of the reply tokens, in float32."""
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    wanted = labels != IGNORED
    logits = model.lm_head(hidden[wanted])
    return cross_entropy(logits.float(), labels[wanted], reduction="sum")


def add_lora(model: PreTrainedModel, settings: Settings) -> PeftModel:
    """The model with fresh adapters on every linear layer of its blocks; the output layer stays as it is."""
    from peft import LoraConfig, PeftModel, get_peft_model

    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, lora_dropout=0.0, target_modules=LAYERS, task_type="CAUSAL_LM"
    )
    adapted = get_peft_model(model, config)
    assert isinstance(adapted, PeftModel)
    return adapted


def train(model: PeftModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row], settings: Settings) -> Report:
    """Train the adapter in place; epoch e shows the rows drawn for it, and again from the first when they run out.

    Raises:
        ValueError: no row fits into `max_tokens`.
        RuntimeError: the loss is no longer a number.
    """
    plan, dropped = _plan(tokenizer, rows, settings)
    base = model.get_base_model()
    assert isinstance(base, PreTrainedModel)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.lr, weight_decay=0.0)
    model.train()
    losses: list[float] = []
    started = time.monotonic()
    tokens = replies = seen = 0
    progress = tqdm(plan, desc=f"lr {settings.lr:g}", unit="step", mininterval=2)
    for step, batch in enumerate(progress):
        done = _progress(step, len(plan), time.monotonic() - started, settings)
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * _schedule(done, settings.warmup)
        loss = _step(base, batch, settings)
        torch.nn.utils.clip_grad_norm_(trained, settings.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss)
        if not math.isfinite(loss):
            raise RuntimeError(f"the loss is {loss} at step {step + 1}: lower the learning rate")
        seen += len(batch)
        tokens += sum(len(example.ids) for example in batch)
        replies += sum(len(example.ids) - example.prompt for example in batch)
        progress.set_postfix(loss=f"{sum(losses[-50:]) / len(losses[-50:]):.3f}", refresh=False)
    seconds = time.monotonic() - started
    count = sum(parameter.numel() for parameter in trained)
    return Report(len(losses), seen, tokens, replies, dropped, count, seconds, _tenths(losses))


def autocast(device: torch.device) -> torch.autocast:
    """bfloat16 matrix products on a GPU; most CPUs are several times slower in bfloat16 than in float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def _plan(
    tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row], settings: Settings
) -> tuple[list[list[Example]], int]:
    """Every step's batch, and how many rows are left out as too long."""
    by_epoch: list[list[Example]] = []
    dropped = 0
    for epoch in sorted({row.epoch for row in rows})[: settings.epochs]:
        examples = encode(tokenizer, [row for row in rows if row.epoch == epoch])
        by_epoch.append([example for example in examples if len(example.ids) <= settings.max_tokens])
        dropped += len(examples) - len(by_epoch[-1])
    if not by_epoch or not all(by_epoch):
        raise ValueError(f"an epoch has no row of at most {settings.max_tokens} tokens: raise --max-tokens")
    rng = random.Random(settings.seed)
    epochs = [by_epoch[epoch % len(by_epoch)] for epoch in range(settings.epochs)]
    return [batch for examples in epochs for batch in batches(examples, settings.batch_rows, rng)], dropped


def _step(model: PreTrainedModel, batch: list[Example], settings: Settings) -> float:
    """Gradients of the batch's mean loss per reply token, computed in pieces of at most `micro_tokens`."""
    width = max(len(example.ids) for example in batch)
    size = max(1, settings.micro_tokens // width)
    replies = sum(len(example.ids) - example.prompt for example in batch)
    total = torch.zeros((), device=model.device)
    for start in range(0, len(batch), size):
        ids, labels = (part.to(model.device) for part in collate(batch[start : start + size]))
        with autocast(model.device):
            loss = reply_loss(model, ids, labels) / replies
        loss.backward()
        total += loss.detach()
    return float(total)


def _progress(step: int, steps: int, seconds: float, settings: Settings) -> float:
    by_steps = step / steps
    return by_steps if settings.max_minutes is None else max(by_steps, seconds / 60 / settings.max_minutes)


def _schedule(done: float, warmup: float) -> float:
    """Share of the peak rate: up in a line over `warmup`, then down along a half cosine."""
    if done < warmup:
        return (done + 1e-3) / (warmup + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup)))


def _tenths(losses: list[float]) -> list[float]:
    size = max(1, len(losses) // 10)
    return [round(sum(losses[at : at + size]) / len(losses[at : at + size]), 4) for at in range(0, len(losses), size)]
