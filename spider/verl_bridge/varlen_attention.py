"""Attention over packed rows with the variable-length flash kernel that torch itself carries; no flash-attn needed.

verl trains on rows laid end to end, with position ids that start again at 0 for each. transformers' ``sdpa`` masks
such a pack with a dense matrix over all pairs of its tokens; ``varlen`` attends inside each row only. A row whose
position ids start at p > 0 goes on from the last row that started at 0 and sees its first p tokens, too: so several
responses can follow one prompt that is there once (`spider.verl_bridge.shared_prompts`).

To use it under verl, import this module in the workers and name the implementation::

    actor_rollout_ref.model.external_lib=spider.verl_bridge.varlen_attention
    actor_rollout_ref.model.override_config.attn_implementation=varlen

Causal decoders in float16 or bfloat16 on CUDA get the flash kernel; other types and devices one
`scaled_dot_product_attention` call per row. Padded batches, sliding windows and generation with a cache take ``sdpa``.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from verl.utils.ulysses import get_ulysses_sequence_parallel_world_size

NAME, SHARED = "varlen", "varlen_shared"
"""The same attention under two names: by the second, an engine may let rows share a prompt."""

# torch 2.11 takes fewer key heads as they are; later versions want to be told.
_SHARED_HEADS = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}


class Rows(NamedTuple):
    """Where the rows of a pack lie.

    Attributes:
        offsets: First token of each row and the number of tokens in all; int32 of shape (rows + 1,), on the device.
        lengths: Tokens of each row.
        seen: Tokens that the rows see, one row's after another's, of shape (tokens seen,); None where each sees itself.
        seen_offsets: As `offsets`, into `seen`.
        seen_lengths: Tokens that each row sees.
    """

    offsets: torch.Tensor
    lengths: list[int]
    seen: torch.Tensor | None
    seen_offsets: torch.Tensor
    seen_lengths: list[int]


def find_rows(position_ids: torch.Tensor) -> Rows:
    """Find the rows in position ids of shape (batch, length): one begins wherever a position does not follow the last.

    This waits for the device once.

    Raises:
        ValueError: If a row goes on from more tokens than there are.
    """
    positions, device = position_ids.cpu(), position_ids.device
    begins = torch.ones_like(positions, dtype=torch.bool)
    begins[:, 1:] = positions.diff(dim=1) != 1
    starts = begins.flatten().nonzero().flatten()
    lengths = torch.cat([starts, torch.tensor([positions.numel()])]).diff().tolist()
    offsets = _offsets(lengths).to(device)
    shared = _shared(starts.tolist(), lengths, positions.flatten()[starts].tolist()) if len(positions) == 1 else []
    if not any(shared):
        return Rows(offsets, lengths, None, offsets, lengths)
    seen = [
        torch.cat([torch.arange(before.start, before.stop), torch.arange(start, start + length)])
        for before, start, length in zip(shared, starts.tolist(), lengths, strict=True)
    ]
    seen_lengths = [len(tokens) for tokens in seen]
    return Rows(offsets, lengths, torch.cat(seen).to(device), _offsets(seen_lengths).to(device), seen_lengths)


def _offsets(lengths: list[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def _shared(starts: list[int], lengths: list[int], first_positions: list[int]) -> list[range]:
    """The tokens before each row that it goes on from."""
    found: list[range] = []
    whole = range(0)  # the last row that started at 0
    for start, length, first in zip(starts, lengths, first_positions, strict=True):
        if first == 0:
            whole = range(start, start + length)
        if first > len(whole):
            raise ValueError(f"a row starts at position {first}, after a row of {len(whole)} tokens: start rows at 0")
        found.append(whole[:first])
    return found


class Pack:
    """Stands where the attention mask of a forward pass would be; its first layer finds the rows for all of them."""

    def __init__(self) -> None:
        self._rows: Rows | None = None

    def rows(self, position_ids: torch.Tensor) -> Rows:
        """Return the rows of this forward pass; the position ids, of shape (batch, length), are read the first time."""
        if self._rows is None:
            self._rows = find_rows(position_ids)
        return self._rows


def varlen_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    attention_mask: torch.Tensor | None = None,
    local_size: int | None = None,
    use_vmap: bool = False,
    **settings: object,
) -> Pack | torch.Tensor | None:
    """Return a `Pack` for rows without padding, cache or special masks, and what ``sdpa`` would take for the others.

    The arguments are those of transformers' mask interface.

    Raises:
        NotImplementedError: Under Ulysses sequence parallelism, where a process holds a part of each row.
    """
    if attention_mask is None and q_length == kv_length and local_size is None and not use_vmap:
        if get_ulysses_sequence_parallel_world_size() > 1:
            raise NotImplementedError("varlen attention needs ulysses_sequence_parallel_size=1")
        return Pack()
    mask = cast("Callable[..., torch.Tensor | None]", sdpa_mask)
    settings |= {"attention_mask": attention_mask, "local_size": local_size, "use_vmap": use_vmap}
    return mask(batch_size, q_length, kv_length, **settings)


def varlen_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Pack | torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    position_ids: torch.Tensor | None = None,
    **settings: object,
) -> tuple[torch.Tensor, None]:
    """Attend inside each row of a pack and to what it goes on from; with any other mask, as ``sdpa`` does.

    Args:
        module: The attention layer.
        query: Of shape (batch, heads, length, head size).
        key: Of shape (batch, key heads, length, head size); each key head serves as many query heads.
        value: As the key.
        attention_mask: What `varlen_mask` returned.
        dropout: Must be 0 for a pack.
        scaling: Factor of the scores; one over the root of the head size when None.
        position_ids: Of shape (batch, length) or (1, length).
        **settings: What ``sdpa`` takes besides.

    Returns:
        The result, of shape (batch, length, heads, head size), and None for the weights.

    Raises:
        ValueError: If a pack comes with dropout or without position ids.
    """
    if not isinstance(attention_mask, Pack):
        stock = cast("Callable[..., tuple[torch.Tensor, None]]", sdpa_attention_forward)
        return stock(module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **settings)
    if dropout or position_ids is None:
        raise ValueError("varlen attention needs position ids and no dropout: use attn_implementation=sdpa")
    batch, _, length, _ = query.shape
    rows = attention_mask.rows(position_ids.expand(batch, length))
    q, k, v = (states.transpose(1, 2).flatten(0, 1) for states in (query, key, value))
    if rows.seen is not None:
        k, v = k[rows.seen], v[rows.seen]
    attend = _flash if _has_flash(query.device, query.dtype) else _row_by_row
    return attend(q, k, v, rows, scaling).unflatten(0, (batch, length)), None


def _flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rows: Rows, scaling: float | None) -> torch.Tensor:
    # The window makes it causal, last token under last.
    settings = {"scale": scaling, "window_size": (-1, 0), **_SHARED_HEADS}
    kernel = cast("Callable[..., torch.Tensor]", varlen_attn)
    return kernel(q, k, v, rows.offsets, rows.seen_offsets, max(rows.lengths), max(rows.seen_lengths), **settings)


def _row_by_row(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rows: Rows, scaling: float | None) -> torch.Tensor:
    results: list[torch.Tensor] = []
    parts = (q.split(rows.lengths), k.split(rows.seen_lengths), v.split(rows.seen_lengths))
    for states in zip(*parts, strict=True):
        query, key, value = (row.transpose(0, 1)[None] for row in states)
        attended = scaled_dot_product_attention(
            query, key, value, scale=scaling, enable_gqa=True, **_causal(query.shape[2], key.shape[2], q.device)
        )
        results.append(attended[0].transpose(0, 1))
    return torch.cat(results)


def _causal(length: int, seen: int, device: torch.device) -> dict[str, Any]:
    """The mask for the last `length` of `seen` tokens; torch's own would take them for the first."""
    if length == seen:
        return {"is_causal": True}
    return {"attn_mask": torch.ones(length, seen, dtype=torch.bool, device=device).tril(seen - length)}


@functools.cache
def _has_flash(device: torch.device, dtype: torch.dtype) -> bool:
    if device.type != "cuda" or dtype not in (torch.float16, torch.bfloat16):
        return False
    return torch.backends.cuda.is_flash_attention_available() and torch.cuda.get_device_capability(device) >= (8, 0)


for name in (NAME, SHARED):
    AttentionInterface.register(name, varlen_attention)
    AttentionMaskInterface.register(name, varlen_mask)
