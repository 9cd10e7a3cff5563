"""The estimate's bytes of activations are those that autograd keeps, counted on layers without memory (meta)."""

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from transformers import AutoModelForCausalLM, LlamaConfig, PretrainedConfig, Qwen2Config

from spider.memory_estimate import activation_bytes_per_token
from spider.model_shapes import HUB_SHAPES

TOKENS = 4  # so few that the attention scores, which the CPU's kernel keeps and a GPU's does not, weigh nothing

MODELS = {
    "Qwen/Qwen2.5-Coder-1.5B-Instruct": Qwen2Config,
    "meta-llama/Llama-3.2-1B-Instruct": LlamaConfig,
    "SmolLM2-135M-Instruct": LlamaConfig,
}


def identity(storage: torch.UntypedStorage) -> int:
    return StorageWeakRef(storage).cdata


def kept_bytes(kind: type[PretrainedConfig], name: str, layers: int) -> int:
    shape = HUB_SHAPES[name]
    config = kind.from_dict(
        {
            "num_hidden_layers": layers,
            "hidden_size": shape.hidden,
            "intermediate_size": shape.intermediate,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "vocab_size": 1000,
        }
    )
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").to(torch.bfloat16).train()
        inputs = torch.zeros(1, TOKENS, dtype=torch.long)
    weights = {identity(weight.untyped_storage()) for weight in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if identity(storage) not in weights:
            kept[identity(storage)] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.get_decoder()(input_ids=inputs)
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize("name", MODELS)
def test_one_layers_activations_are_those_that_autograd_keeps(name: str) -> None:
    counted = (kept_bytes(MODELS[name], name, 2) - kept_bytes(MODELS[name], name, 1)) / TOKENS
    assert activation_bytes_per_token(HUB_SHAPES[name]) == pytest.approx(counted, rel=0.02)
