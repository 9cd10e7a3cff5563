"""Packs in which a prompt is there once for all of its responses.

The rollouts of a GRPO group answer one prompt, and here prompts are several times as long as responses. Laid end to
end, as verl lays them, every row brings its own copy of the prompt. Laid once, followed by each of its responses, which
attend to it and to themselves (`spider.verl_bridge.varlen_attention`), it gives the same: a token's hidden state
depends on what comes before it alone. Rows with one prompt come into one micro-batch where they fit.

`spider.verl_bridge.packed_engine` does so for models whose attention is called `SHARED`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import distributed
from verl.utils import tensordict_utils
from verl.utils.device import get_device_name

if TYPE_CHECKING:
    from tensordict import TensorDict


class Layout(NamedTuple):
    """A pack in which each prompt is there once.

    Attributes:
        input_ids: Token ids; shape (tokens,).
        position_ids: Positions of the tokens in their rows; shape (tokens,).
        predicting: Which tokens predict the responses' tokens, row by row as they were given; a prompt's last token
            predicts the first one of each of its responses. Shape (response tokens,).
    """

    input_ids: torch.Tensor
    position_ids: torch.Tensor
    predicting: torch.Tensor


def group_by_prompt(prompts: Sequence[torch.Tensor]) -> list[list[int]]:
    """Return the numbers of the rows with one prompt, prompts in the order of their first rows.

    This waits for the device once.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, prompt in enumerate(torch.cat(list(prompts)).cpu().split([len(prompt) for prompt in prompts])):
        groups.setdefault(tuple(prompt.tolist()), []).append(row)
    return list(groups.values())


def lay_out(prompts: Sequence[torch.Tensor], responses: Sequence[torch.Tensor]) -> Layout:
    """Lay each prompt once, and behind it its responses.

    Args:
        prompts: Token ids of each row's prompt; at least one each.
        responses: Token ids of each row's response.
    """
    ids: list[torch.Tensor] = []
    positions: list[torch.Tensor] = []
    predicting: list[list[int]] = [[] for _ in prompts]
    tokens = 0
    for rows in group_by_prompt(prompts):
        prompt = prompts[rows[0]]
        ids.append(prompt)
        positions.append(torch.arange(len(prompt)))
        tokens += len(prompt)
        last = tokens - 1
        for row in rows:
            length = len(responses[row])
            ids.append(responses[row])
            positions.append(torch.arange(len(prompt), len(prompt) + length))
            predicting[row] = [last, *range(tokens, tokens + length - 1)][:length]
            tokens += length
    device = prompts[0].device
    flat = [position for row in predicting for position in row]
    return Layout(torch.cat(ids), torch.cat(positions).to(device), torch.tensor(flat, device=device))


def plan_micro_batches(
    groups: Sequence[Sequence[int]], prompts: Sequence[int], responses: Sequence[int], max_tokens: int
) -> list[list[int]]:
    """Distribute rows over micro-batches, those of one prompt together where they fit: first-fit decreasing.

    Args:
        groups: Rows with one prompt.
        prompts: Tokens of each row's prompt.
        responses: Tokens of each row's response.
        max_tokens: Tokens in a micro-batch, a prompt counted once.

    Returns:
        The rows of each micro-batch.

    Raises:
        ValueError: If a row is longer than a micro-batch.
    """
    longest = max(prompt + response for prompt, response in zip(prompts, responses, strict=True))
    if longest > max_tokens:
        raise ValueError(
            f"a row has {longest} tokens and a pass {max_tokens}: "
            f"set actor_rollout_ref.actor.ppo_max_token_len_per_gpu to {longest} at least"
        )
    units = [unit for group in groups for unit in _units(group, prompts[group[0]], responses, max_tokens)]
    micro_batches: list[tuple[int, list[int]]] = []
    for size, rows in sorted(units, key=lambda unit: unit[0], reverse=True):
        for number, (used, before) in enumerate(micro_batches):
            if used + size <= max_tokens:
                micro_batches[number] = used + size, before + rows
                break
        else:
            micro_batches.append((size, rows))
    return [rows for _, rows in micro_batches]


def _units(
    group: Sequence[int], prompt: int, responses: Sequence[int], max_tokens: int
) -> Iterable[tuple[int, list[int]]]:
    """The rows of one prompt in as few parts as fit, with their tokens."""
    size, rows = prompt, list[int]()
    for row in group:
        if size + responses[row] > max_tokens:
            yield size, rows
            size, rows = prompt, []
        size += responses[row]
        rows.append(row)
    yield size, rows


def split_to(micro_batches: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Split the longest micro-batches until there are `count`, which must not be more than there are rows."""
    parts = [list(rows) for rows in micro_batches]
    while len(parts) < count:
        longest = max(parts, key=len)
        half = len(longest) // 2
        parts.append(longest[half:])
        del longest[half:]
    return parts


def plan_batch(data: "TensorDict", dp_group: distributed.ProcessGroup | None) -> list[list[int]]:
    """Return the rows of a batch's micro-batches, as many in every process of the group.

    Raises:
        ValueError: If a row is longer than a micro-batch, or a process has fewer rows than another micro-batches.
    """
    prompts, responses = prompts_and_responses(data)
    lengths = [list(map(len, rows)) for rows in (prompts, responses)]
    plan = plan_micro_batches(group_by_prompt(prompts), *lengths, max_tokens=int(data["max_token_len_per_gpu"]))
    return split_to(plan, _most(len(plan), len(prompts), dp_group))


def _most(count: int, rows: int, dp_group: distributed.ProcessGroup | None) -> int:
    """The most micro-batches that a process makes: all make as many, because each gathers the others' weights."""
    agreed = torch.tensor([count, -rows], device=get_device_name())
    distributed.all_reduce(agreed, op=distributed.ReduceOp.MAX, group=dp_group)
    most, fewest_rows = int(agreed[0]), -int(agreed[1])
    if most > fewest_rows:
        raise ValueError(f"a process has {fewest_rows} rows, another one {most} micro-batches")
    return most


def take_rows(data: "TensorDict", plan: Iterable[Sequence[int]]) -> "Iterator[TensorDict]":
    """Yield a batch's micro-batches, as verl's `index_select_tensor_dict` makes each.

    That takes the rows of all fields apart anew each time: a second of a step that has 770 rows in 29 micro-batches.
    """
    fields = [(name, field) for name, field in data.items() if isinstance(field, torch.Tensor) and field.is_nested]
    nested = {name: list(cast("Any", field).unbind()) for name, field in fields}
    ragged = {name: getattr(field, "_ragged_idx", None) for name, field in fields}
    others = data.exclude(*nested)
    for rows in plan:
        micro_batch = tensordict_utils.index_select_tensor_dict(others, list(rows))
        for name, tensors in nested.items():
            chosen = [tensors[row] for row in rows]
            micro_batch[name] = tensordict_utils.nested_tensor_from_tensor_list(chosen, ragged[name])
        yield micro_batch


def prompts_and_responses(batch: "TensorDict") -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the token ids of each row's prompt and response."""
    rows, responses = (list(cast("Any", batch[name]).unbind()) for name in ("input_ids", "responses"))
    return [row[: len(row) - len(response)] for row, response in zip(rows, responses, strict=True)], responses
