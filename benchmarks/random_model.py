"""Write a folder with a model of Qwen2.5-Coder-1.5B's shape and random weights, for benchmarks without a download.

    python -m benchmarks.random_model FOLDER [--tokenizer FOLDER]

The tokenizer is that of a model at hand; its vocabulary is filled up to Qwen's 151,936 with words of four letters, so
that whatever the model samples has a text. Replies are nonsense; they cost what sensible ones cost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import shutil
import string
import sys
from pathlib import Path

from benchmarks.gpu_shape import qwen_config

ROOT = Path(__file__).resolve().parent.parent
TOKENIZER = ROOT / "model" / "SmolLM2-135M-Instruct"
TOKENIZER_FILES = ("tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
logger = logging.getLogger("benchmarks.random_model")


def main(arguments: list[str] | None = None) -> int:
    """Write the folder, unless it is there; 1 when there is no tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the model goes")
    parser.add_argument("--tokenizer", type=Path, default=TOKENIZER, metavar="FOLDER", help=f"(default: {TOKENIZER})")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if not (options.tokenizer / "tokenizer.json").is_file():
        logger.error("error: no tokenizer in %s: run `python scripts/get_model.py smollm2`", options.tokenizer)
        return 1
    write_model(options.folder, options.tokenizer)
    return 0


def write_model(folder: Path, tokenizer: Path) -> None:
    """Write the model, its weights last, so that a folder with weights is whole and can be left as it is."""
    if any(folder.glob("*.safetensors")):
        return
    import torch
    from transformers import Qwen2ForCausalLM

    config = qwen_config()
    logger.info("making a model of random weights in %s", folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(tokenizer, folder, config.vocab_size)
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen2ForCausalLM(config).bfloat16()
    partial = folder / ".partial"
    model.save_pretrained(partial)
    for path in sorted(partial.iterdir(), key=lambda path: path.suffix == ".safetensors"):
        path.replace(folder / path.name)
    partial.rmdir()


def write_tokenizer(source: Path, folder: Path, size: int) -> None:
    """Copy a byte-level BPE tokenizer and give every id below `size` a word; no merge leads to the new ones."""
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    words: dict[str, int] = tokenizer["model"]["vocab"]
    letters = map("".join, itertools.product(string.ascii_lowercase, repeat=4))
    unused = (word for word in letters if word not in words)
    ids = range(max(words.values()) + 1, size)
    words.update(zip(itertools.islice(unused, len(ids)), ids, strict=True))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    for name in TOKENIZER_FILES:
        if (source / name).is_file():
            shutil.copy(source / name, folder / name)


if __name__ == "__main__":
    sys.exit(main())
