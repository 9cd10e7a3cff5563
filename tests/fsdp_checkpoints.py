"""Checkpoints as verl writes them, of small random models sharded over two processes, with the log-probs they had.

python -m torch.distributed.run --nproc-per-node 2 tests/fsdp_checkpoints.py FOLDER
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, cast

import torch
import torch.distributed as dist
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from spider.checkpoint.proof import TEXT

RANK, ALPHA = 2, 8


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A token for every byte, and one for the end."""
    vocabulary = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>")


def small_model(tied: bool) -> LlamaForCausalLM:
    """Two layers with sizes that two processes can't share evenly."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=257,
        hidden_size=20,
        intermediate_size=33,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=tied,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=256,
    )
    return LlamaForCausalLM(config)


def lora_model(tied: bool, trained: bool) -> torch.nn.Module:
    """The small model with LoRA on all its linear layers; untrained, its product is zero."""
    settings = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear", task_type=TaskType.CAUSAL_LM)
    model = get_peft_model(small_model(tied), settings)
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if "lora_B" in name and trained:
            torch.nn.init.normal_(weight, std=0.1)
    return model


def save(model: torch.nn.Module, folder: Path, lora_only: bool = False) -> None:
    """Shard the model, record its log-probs and let verl save it as step 3 of a run."""
    from verl.trainer.config import CheckpointConfig
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    tokenizer = byte_tokenizer()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("fsdp",))
    for layer in [module for module in model.modules() if type(module).__name__ == "LlamaDecoderLayer"]:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    tokens = torch.tensor([tokenizer(TEXT)["input_ids"]])
    with torch.no_grad():
        log_probs = model(tokens).logits[0, :-1].log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]
    contents = CheckpointConfig(save_contents=["model"], load_contents=["model"], save_lora_only=lora_only)
    optimizer = torch.optim.SGD(model.parameters())
    manager = FSDPCheckpointManager(
        model=cast("Any", model),
        optimizer=optimizer,
        processing_class=cast("Any", tokenizer),
        checkpoint_config=contents,
    )
    manager.save_checkpoint(str(folder / "checkpoints" / "global_step_3" / "actor"), global_step=3)
    if dist.get_rank() == 0:
        (folder / "checkpoints" / "global_step_3" / "data.pt").touch()
        (folder / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("3")
        (folder / "log_probs.json").write_text(json.dumps(log_probs.tolist()))


def main(folder: Path) -> None:
    """Write one checkpoint of each kind."""
    dist.init_process_group("gloo")
    save(small_model(tied=False), folder / "full")
    save(small_model(tied=True), folder / "tied")
    save(lora_model(tied=False, trained=True), folder / "lora")
    save(lora_model(tied=False, trained=False), folder / "untrained-lora")
    save(lora_model(tied=False, trained=True), folder / "lora-only", lora_only=True)
    if dist.get_rank() == 0:
        small_model(tied=False).save_pretrained(folder / "base")
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["VERL_PLATFORM"] = "cpu"
    main(Path(sys.argv[1]))
