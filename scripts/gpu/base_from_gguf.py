"""Write SmolLM2's weights from its GGUF file, on a machine whose transformers can't convert it.

    python scripts/gpu/base_from_gguf.py MODEL.gguf FOLDER

FOLDER holds the config and tokenizer that `scripts/get_model.py smollm2 --base` wrote elsewhere; the weights come out
the same to the bit. Needs `gguf`, `torch` and `safetensors` alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gguf
import torch
from safetensors.torch import save_file

NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


def main() -> None:
    """Convert the file named on the command line."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    weights: dict[str, torch.Tensor] = {}
    for tensor in gguf.GGUFReader(source).tensors:
        values = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type).copy())
        if tensor.name in OUTER:
            weights[OUTER[tensor.name]] = values.bfloat16()
            continue
        _, block, part, _ = tensor.name.split(".")
        if part in heads:  # GGUF interleaves the two halves that rotary embedding pairs
            values = values.reshape(heads[part], -1, 2, values.shape[-1]).swapaxes(1, 2).reshape(values.shape)
        weights[f"model.layers.{block}.{NAMES[part]}.weight"] = values.bfloat16().contiguous()
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
