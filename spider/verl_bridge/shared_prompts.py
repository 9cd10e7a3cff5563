"""Packs in which a prompt is there once for all of its responses.

The rollouts of a GRPO group answer one prompt, and here a prompt is ten times as long as its response. Laid end to
end, as verl lays them, every row brings its own copy of the prompt. Laid once, followed by each of its responses, which
attend to it and to themselves (`spider.verl_bridge.varlen_attention`), it gives the same: a token's hidden state
depends on what comes before it alone. Rows with one prompt come into one pass where they fit.

`spider.verl_bridge.packed_engine` does so for models whose attention is called `SHARED`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
from torch import distributed
from verl.utils import tensordict_utils
from verl.workers.engine.fsdp import transformer_impl

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensordict import TensorDict

ASKED = "share_prompts"
"""What a batch says besides for `prepare_micro_batches` to keep rows with one prompt together."""


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


def same_prompts(prompts: Sequence[torch.Tensor]) -> list[list[int]]:
    """Return the numbers of the rows with one prompt, prompts in the order of their first rows."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, prompt in enumerate(prompts):
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
    for rows in same_prompts([prompt.cpu() for prompt in prompts]):
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


def plan_passes(
    groups: Sequence[Sequence[int]], prompts: Sequence[int], responses: Sequence[int], most: int
) -> list[list[int]]:
    """Distribute rows over passes, those of one prompt together where they fit.

    Args:
        groups: Rows with one prompt.
        prompts: Tokens of each row's prompt.
        responses: Tokens of each row's response.
        most: Tokens in a pass, a prompt counted once; a row that is longer has a pass of its own.

    Returns:
        The rows of each pass.
    """
    units: list[tuple[int, list[int]]] = []
    for group in groups:
        size, rows = 0, list[int]()
        for row in group:
            if rows and size + responses[row] > most:
                units.append((size, rows))
                rows = []
            size = size + responses[row] if rows else prompts[row] + responses[row]
            rows.append(row)
        units.append((size, rows))
    passes: list[tuple[int, list[int]]] = []
    for size, rows in sorted(units, key=lambda unit: -unit[0]):
        at = next((number for number, (used, _) in enumerate(passes) if used + size <= most), len(passes))
        used, before = passes[at] if at < len(passes) else (0, [])
        passes[at : at + 1] = [(used + size, [*before, *rows])]
    return [rows for _, rows in passes]


def split_to(passes: list[list[int]], count: int) -> list[list[int]]:
    """Split the longest passes until there are as many as asked for, or one a row."""
    passes = [list(rows) for rows in passes]
    while len(passes) < count and max(map(len, passes)) > 1:
        longest = max(passes, key=len)
        half = len(longest) // 2
        passes.append(longest[half:])
        del longest[half:]
    return passes


def prepare_micro_batches(
    data: "TensorDict", dp_group: distributed.ProcessGroup | None = None, **settings: object
) -> tuple[list["TensorDict"], list[list[int]] | None]:
    """Return a batch's passes and their rows as verl's function does, rows with one prompt together if it asks so."""
    settings |= {"data": data, "dp_group": dp_group}
    dynamic = tensordict_utils.get_non_tensor_data(data=data, key="use_dynamic_bsz", default=True)
    if not dynamic or not tensordict_utils.get_non_tensor_data(data=data, key=ASKED, default=False):
        stock = cast("Callable[..., tuple[list[TensorDict], list[list[int]] | None]]", _stock_micro_batches)
        return stock(**settings)
    prompts, responses = prompts_and_responses(data)
    groups = same_prompts([prompt.cpu() for prompt in prompts])
    lengths = [list(map(len, rows)) for rows in (prompts, responses)]
    passes = plan_passes(groups, *lengths, most=int(data["max_token_len_per_gpu"]))
    if distributed.is_initialized():
        # All processes make as many passes: each gathers the others' weights.
        count = torch.tensor([len(passes)], device=transformer_impl.get_device_name())
        distributed.all_reduce(count, op=distributed.ReduceOp.MAX, group=dp_group)
        passes = split_to(passes, int(count))
    return [tensordict_utils.index_select_tensor_dict(data, rows) for rows in passes], passes


def prompts_and_responses(batch: "TensorDict") -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the token ids of each row's prompt and response."""
    responses = list(batch["responses"].unbind())
    rows = batch["input_ids"].unbind()
    return [row[: len(row) - len(response)] for row, response in zip(rows, responses, strict=True)], responses


_stock_micro_batches = transformer_impl.prepare_micro_batches
transformer_impl.prepare_micro_batches = prepare_micro_batches  # where verl's engine looks it up
