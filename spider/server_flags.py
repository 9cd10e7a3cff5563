"""Which flags and variables vLLM's OpenAI server needs for a model on the machine found."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, cast

Machine = Literal["cuda", "cpu", "npu"]

DEFAULT_PORT = 8000
"""Where servers listen and where `spider.chat_endpoint` looks for one, unless told otherwise."""

MAX_CONTEXT = 8192
"""Tokens of prompt and reply; the presets' longest are 6,144. A model that knows fewer gets its own number."""

CPU_SEQUENCES = 32
CPU_FULL_SEQUENCES = 4
"""The CPU's key-value cache holds this many sequences of full length; 32 run at once when they are shorter."""

CPU_EXECUTOR = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
"""The engine computes itself: with a worker process it would spin on one core to wait for it."""


@dataclass(frozen=True)
class Model:
    """A model as the server will load it: a folder, or a hub's name when `config` is empty."""

    path: str
    name: str
    config: Mapping[str, object]
    chat_template: str = ""

    def integer(self, key: str, default: int = 0) -> int:
        """A number of its configuration, `default` where there is none."""
        value = self.config.get(key)
        return value if isinstance(value, int) else default


def read_model(path: str) -> Model:
    """Read what the flags depend on from a model's folder; `path` may also be a hub's name.

    Raises:
        OSError: a file of the folder can't be read.
        ValueError: one isn't JSON.
    """
    folder = Path(path)
    if not (folder / "config.json").is_file():
        return Model(path, path.rpartition("/")[2], {})
    config = cast("dict[str, object]", json.loads((folder / "config.json").read_text(encoding="utf-8")))
    template = folder / "chat_template.jinja"
    if template.is_file():
        return Model(path, folder.name, config, template.read_text(encoding="utf-8"))
    tokenizer = folder / "tokenizer_config.json"
    settings = json.loads(tokenizer.read_text(encoding="utf-8")) if tokenizer.is_file() else {}
    return Model(path, folder.name, config, str(settings.get("chat_template") or ""))


def find_machine() -> Machine:
    """The accelerator of this machine: an NVIDIA card, else an Ascend card, else none."""
    if shutil.which("nvidia-smi"):
        found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).stdout
        if found.startswith(b"GPU"):
            return "cuda"
    return "npu" if any(Path("/dev").glob("davinci[0-9]*")) else "cpu"


def tool_parser(model: Model) -> str | None:
    """The parser in vLLM of the tool calls that the model's chat template asks for; None when it knows no tools.

    The template decides, since fine-tuned and renamed models keep it. Of a hub's model there is only the name.
    """
    template, name = model.chat_template, model.name.lower()
    if "<function=" in template or "qwen3-coder" in name:
        return "qwen3_coder"
    if "<tool_call>" in template:
        return "hermes"
    if "[TOOL_CALLS]" in template:
        return "mistral"
    if "ipython" in template or "<|python_tag|>" in template:
        return "llama3_json"
    if model.config:
        return None
    families = {"qwen": "hermes", "hermes": "hermes", "mistral": "mistral", "llama-3": "llama3_json"}
    return next((parser for family, parser in families.items() if family in name), None)


def context_length(model: Model) -> int | None:
    """Tokens of prompt and reply; None leaves it to vLLM, for a hub's model whose limit isn't known here."""
    return min(model.integer("max_position_embeddings", MAX_CONTEXT), MAX_CONTEXT) if model.config else None


def cpu_dtype() -> str:
    """bfloat16 where the processor has units for it, else float32: emulated, bfloat16 is several times slower."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else ""
    flags = next((line.split() for line in text.splitlines() if line.lower().startswith(("flags", "features"))), [])
    return "bfloat16" if {"avx512_bf16", "amx_bf16", "bf16"} & set(flags) else "float32"


def cache_gib(model: Model, context: int, bytes_each: int) -> int:
    """GiB of key-value cache for `CPU_FULL_SEQUENCES` sequences of `context` tokens, at least 1."""
    heads = model.integer("num_attention_heads", 1)
    width = model.integer("head_dim") or model.integer("hidden_size") // heads
    values = 2 * model.integer("num_hidden_layers") * model.integer("num_key_value_heads", heads) * width
    return max(1, math.ceil(values * bytes_each * context * CPU_FULL_SEQUENCES / 2**30))


def server_command(
    model: Model, machine: Machine, host: str, port: int, context: int | None, parser: str | None
) -> list[str]:
    """The command that starts vLLM's server."""
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", model.path]
    command += ["--served-model-name", model.name, "--host", host, "--port", str(port)]
    if context:
        command += ["--max-model-len", str(context)]
    if parser:
        command += ["--enable-auto-tool-choice", "--tool-call-parser", parser]
    if machine == "cpu":
        # Compiled graphs take minutes to make here and gain little.
        command += ["--dtype", cpu_dtype(), "--enforce-eager", "--max-num-seqs", str(CPU_SEQUENCES)]
        command += ["--distributed-executor-backend", CPU_EXECUTOR]
    elif machine == "npu":
        command += ["--dtype", "bfloat16", "--enforce-eager"]
    return command


def sampler_environment() -> dict[str, str]:
    """The variable without which vLLM doesn't start where FlashInfer or CUDA's compiler is missing."""
    # FlashInfer's sampler is compiled on first use.
    usable = find_spec("flashinfer") and shutil.which("nvcc")
    return {} if usable else {"VLLM_USE_FLASHINFER_SAMPLER": "0"}


def server_environment(model: Model, machine: Machine, context: int | None) -> dict[str, str]:
    """The variables that vLLM needs, apart from those that the caller's environment sets already."""
    wanted = {"VLLM_NO_USAGE_STATS": "1"}
    if machine == "cuda":
        wanted |= sampler_environment()
    if machine == "cpu":
        bytes_each = 2 if cpu_dtype() == "bfloat16" else 4
        wanted["VLLM_CPU_KVCACHE_SPACE"] = str(cache_gib(model, context or MAX_CONTEXT, bytes_each))
        # Pinned threads wait for each other whenever anything else runs on their core.
        wanted["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"
        wanted["OMP_NUM_THREADS"] = str(len(os.sched_getaffinity(0)))
    return {name: value for name, value in wanted.items() if name not in os.environ}
