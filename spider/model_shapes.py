"""Sizes of a transformer, from its ``config.json`` or from a table of the presets' models."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spider.presets import model_path


@dataclass(frozen=True)
class ModelShape:
    """A decoder-only transformer with gated MLPs, RMSNorm and grouped queries (Llama, Qwen2 and their like).

    Attributes:
        layers: Decoder layers.
        hidden: Width of the residual stream.
        intermediate: Width inside the MLP.
        heads: Query heads.
        kv_heads: Key and value heads.
        head_dim: Width of a head.
        vocab: Rows of the embedding table.
        tied: Whether the output layer is the embedding table.
        qkv_bias: Whether the projections to queries, keys and values have biases.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tied: bool = True
    qkv_bias: bool = False

    @property
    def embedding_params(self) -> int:
        """Parameters of the embedding table and, where it is another, of the output layer."""
        return self.vocab * self.hidden * (1 if self.tied else 2)

    @property
    def layer_params(self) -> int:
        """Parameters of one decoder layer."""
        matrices = sum(inputs * outputs for inputs, outputs in self.linears)
        bias = (self.heads + 2 * self.kv_heads) * self.head_dim if self.qkv_bias else 0
        return matrices + bias + 2 * self.hidden

    @property
    def params(self) -> int:
        """All parameters."""
        return self.embedding_params + self.layers * self.layer_params + self.hidden

    @property
    def linears(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of the matrices of one layer: query, key, value, output, gate, up, down."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        hidden, inner = self.hidden, self.intermediate
        return (
            (hidden, query),
            (hidden, key),
            (hidden, key),
            (query, hidden),
            (hidden, inner),
            (hidden, inner),
            (inner, hidden),
        )

    def adapter_params(self, rank: int) -> int:
        """Parameters of LoRA adapters of this rank on every matrix of every layer."""
        return self.layers * rank * sum(inputs + outputs for inputs, outputs in self.linears)

    def kv_bytes_per_token(self, bytes_per_number: int = 2) -> int:
        """Bytes of the keys and values of one token."""
        return 2 * self.layers * self.kv_heads * self.head_dim * bytes_per_number


HUB_SHAPES: dict[str, ModelShape] = {
    "Qwen/Qwen2.5-Coder-0.5B-Instruct": ModelShape(24, 896, 4864, 14, 2, 64, 151936, qkv_bias=True),
    "Qwen/Qwen2.5-Coder-1.5B-Instruct": ModelShape(28, 1536, 8960, 12, 2, 128, 151936, qkv_bias=True),
    "Qwen/Qwen2.5-Coder-3B-Instruct": ModelShape(36, 2048, 11008, 16, 2, 128, 151936, qkv_bias=True),
    "meta-llama/Llama-3.2-1B-Instruct": ModelShape(16, 2048, 8192, 32, 8, 64, 128256),
    "SmolLM2-135M-Instruct": ModelShape(30, 576, 1536, 9, 3, 64, 49152, tied=False),
}
"""The presets' models, by the values in their own ``config.json``; SmolLM2's output layer is a copy here."""


def model_shape(model: str) -> ModelShape | None:
    """Return the shape of a folder's model or of one in the table; None when it is not known."""
    config = Path(model_path(model)) / "config.json"
    if config.is_file():
        return shape_from_config(json.loads(config.read_text(encoding="utf-8")))
    return HUB_SHAPES.get(model)


def shape_from_config(config: Mapping[str, object]) -> ModelShape | None:
    """Read a shape from what a ``config.json`` holds; None when its architecture names its sizes otherwise."""

    def size(name: str, default: int = 0) -> int:
        value = config.get(name)
        return value if isinstance(value, int) else default

    needed = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
    if not all(size(name) for name in needed):
        return None
    heads = size("num_attention_heads")
    return ModelShape(
        layers=size("num_hidden_layers"),
        hidden=size("hidden_size"),
        intermediate=size("intermediate_size"),
        heads=heads,
        kv_heads=size("num_key_value_heads", heads),
        head_dim=size("head_dim", size("hidden_size") // heads),
        vocab=size("vocab_size"),
        tied=config.get("tie_word_embeddings") is True,
        qkv_bias=config.get("model_type") == "qwen2" or config.get("attention_bias") is True,
    )
