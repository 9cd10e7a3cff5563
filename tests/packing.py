"""Small random models, and what they compute for rows packed end to end and for each row alone."""

from typing import NamedTuple

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralForCausalLM, Qwen2Config, Qwen2ForCausalLM

from spider.verl_bridge.shared_prompts import lay_out

SIZES = {
    "vocab_size": 128,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "attn_implementation": "varlen",
}
CausalLM = Qwen2ForCausalLM | LlamaForCausalLM | MistralForCausalLM
ROW_LENGTHS = (5, 1, 33, 16, 64, 2)


class Result(NamedTuple):
    """Logits of shape (tokens, vocabulary) and the gradient of every parameter, by name."""

    logits: torch.Tensor
    gradients: dict[str, torch.Tensor]


def random_model(family: str, **settings: object) -> CausalLM:
    """Make a small random model of the family `qwen2` or `llama`, with fewer key heads than query heads."""
    torch.manual_seed(0)
    values = {**SIZES, **settings}
    if family == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config.from_dict(values))
    return LlamaForCausalLM(LlamaConfig.from_dict(values))


def random_rows(vocabulary: int = 128) -> list[torch.Tensor]:
    """Make rows of token ids, some of one or two tokens."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(vocabulary, (length,), generator=generator) for length in ROW_LENGTHS]


def positions(rows: list[torch.Tensor]) -> torch.Tensor:
    """Return the position ids of rows laid end to end: they start at 0 for each."""
    return torch.cat([torch.arange(len(row)) for row in rows])


def run_packed(model: CausalLM, rows: list[torch.Tensor]) -> Result:
    """Run the rows as one, without an attention mask, as verl does."""
    ids = torch.cat(rows)[None].to(model.device)
    output = model(input_ids=ids, position_ids=positions(rows)[None].to(model.device), use_cache=False)
    return _result(model, output.logits[0])


def run_shared(model: CausalLM, prompts: list[torch.Tensor], responses: list[torch.Tensor]) -> Result:
    """Run rows with each prompt laid once; the logits are those that predict responses."""
    layout = lay_out(prompts, responses)
    ids, position_ids = (part[None].to(model.device) for part in (layout.input_ids, layout.position_ids))
    predicting = layout.predicting.to(model.device)
    output = model(input_ids=ids, position_ids=position_ids, logits_to_keep=predicting, use_cache=False)
    return _result(model, output.logits[0])


def run_each(model: CausalLM, rows: list[torch.Tensor], responses: list[torch.Tensor] | None = None) -> Result:
    """Run each row by itself with transformers' own attention; with `responses`, for the logits that predict them."""
    model.set_attn_implementation("sdpa")
    logits = [model(input_ids=row[None].to(model.device), use_cache=False).logits[0] for row in rows]
    if responses is not None:
        logits = [row[-len(response) - 1 : -1] for row, response in zip(logits, responses, strict=True)]
    result = _result(model, torch.cat(logits))
    model.set_attn_implementation("varlen")
    return result


def _result(model: CausalLM, logits: torch.Tensor) -> Result:
    model.zero_grad()
    weights = torch.linspace(-1, 1, logits.numel(), device=logits.device).view_as(logits)
    (logits.float() * weights).mean().backward()
    gradients = {name: value.grad.float() for name, value in model.named_parameters() if value.grad is not None}
    return Result(logits.detach().float(), gradients)
