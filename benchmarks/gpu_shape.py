"""The shape of Qwen2.5-Coder-1.5B, with random weights, and what its arithmetic costs.

Speed does not depend on the weights' values, so the benchmarks need no download.
"""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig, Qwen2Config

PEAK_FLOPS = 990e12
"""bfloat16 multiply-adds a second of one H200 without sparsity, times two (NVIDIA's data sheet: 989.5 TFLOP/s)."""

PROMPT, RESPONSE = 700, 128
"""Tokens of one call in the published recipe's profile, as the benchmarks use them."""


def qwen_config(attention: str = "sdpa") -> Qwen2Config:
    """Return the configuration of Qwen2.5-Coder-1.5B-Instruct, as its published ``config.json`` has it."""
    from transformers import Qwen2Config

    settings = {
        "architectures": ["Qwen2ForCausalLM"],
        "vocab_size": 151936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "rope_theta": 1_000_000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
    }
    return Qwen2Config.from_dict(settings, attn_implementation=attention)


def training_flops(config: PretrainedConfig, lengths: list[int], responses: list[int]) -> float:
    """Return the floating-point operations that one forward and backward pass needs.

    Six for each weight of a matrix and token (two forward, four backward), the vocabulary's matrix only at response
    tokens, as no other logits enter the loss; 6 x length^2 x width of the heads for causal attention. Recomputed
    activations and logits nobody reads are not counted, so leaving them out shows as a higher share of the peak.

    Args:
        config: The model.
        lengths: Tokens of each row.
        responses: Response tokens of each row.
    """
    head_size = config.hidden_size // config.num_attention_heads
    heads = config.num_attention_heads * head_size
    key_heads = config.num_key_value_heads * head_size
    layer = config.hidden_size * (3 * config.intermediate_size + 2 * heads + 2 * key_heads)
    body = 6 * config.num_hidden_layers * layer * sum(lengths)
    head = 6 * config.hidden_size * config.vocab_size * sum(responses)
    attention = 6 * config.num_hidden_layers * heads * sum(length**2 for length in lengths)
    return body + head + attention


def machine() -> dict[str, object]:
    """Return the hardware and the versions that a result depends on."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()
    except (OSError, subprocess.CalledProcessError):
        gpus = []
    versions: dict[str, str] = {"python": platform.python_version()}
    for name in ("torch", "triton", "transformers", "vllm", "verl", "agentlightning", "ray"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"gpus": gpus, "versions": versions}
