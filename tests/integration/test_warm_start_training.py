"""Warm-start training and decoding, on a model of two layers with random weights and a tokenizer of bytes."""

import json
import math
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from scripts import warm_start
from spider.data import ROOT
from spider.warm_start.evaluation import generate
from spider.warm_start.rows import load_rows
from spider.warm_start.training import IGNORED, Settings, add_lora, collate, encode, reply_loss, train

TEMPLATE = (
    "{% for m in messages %}{{ '<s>' + m['role'] + '\n' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\n' }}{% endif %}"
)


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {"<s>": 0, "</s>": 1} | {
        character: number + 2 for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>", chat_template=TEMPLATE
    )


def tiny_model(vocabulary: int) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=8192,
            initializer_range=0.1,
            tie_word_embeddings=False,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, and rows of a few sample questions beside it."""
    folder = tmp_path_factory.mktemp("warm") / "tiny"
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(folder)
    tiny_model(len(tokenizer)).save_pretrained(folder)
    sample = ROOT / "data" / "sample" / "train_spider.parquet"
    rows = folder.parent / "rows.parquet"
    assert (
        warm_start.main(["rows", "--train-files", str(sample), "--limit", "6", "--epochs", "1", "--out", str(rows)])
        == 0
    )
    return folder


def test_only_reply_tokens_carry_the_loss(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    rows = load_rows(folder.parent / "rows.parquet")
    ids, labels = collate(encode(tokenizer, rows))
    for row, targets in zip(rows, labels, strict=True):
        assert tokenizer.decode(targets[targets != IGNORED]) == f"{row.reply}</s>"
    shown = labels[:, :-1] != IGNORED
    assert torch.equal(labels[:, :-1][shown], ids[:, 1:][shown])


def test_padding_does_not_change_the_loss(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_model(len(tokenizer))
    examples = encode(tokenizer, load_rows(folder.parent / "rows.parquet")[:4])
    with torch.no_grad():
        together = reply_loss(model, *collate(examples))
        alone = [float(reply_loss(model, *collate([example]))) for example in examples]
    assert float(together) == pytest.approx(sum(alone), rel=1e-5)


def test_the_loss_falls(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    rows = load_rows(folder.parent / "rows.parquet")[:4]
    settings = Settings(epochs=8, batch_rows=4, lr=3e-2, max_tokens=8192, warmup=0.0)
    model = add_lora(tiny_model(len(tokenizer)), settings)
    report = train(model, tokenizer, rows, settings)
    assert report.steps == 8
    assert report.losses[-1] < 0.9 * report.losses[0]


def test_a_batch_of_unequal_prompts_decodes_as_each_alone() -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_model(len(tokenizer))
    prompts = [tokenizer.encode(text) for text in ("SELECT", "How many heads are older than 56?", "x" * 90)]
    together = generate(model, tokenizer, prompts, rows=3)
    assert together == [generate(model, tokenizer, [prompt], rows=1)[0] for prompt in prompts]
    ids = list(prompts[1])
    with torch.no_grad():
        while len(ids) < len(prompts[1]) + 160 and ids[-1] != tokenizer.eos_token_id:
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    assert together[1][0] == tokenizer.decode(ids[len(prompts[1]) :], skip_special_tokens=True)


def test_the_steps_leave_an_adapter_that_loads_and_a_card_with_its_figures(folder: Path, tmp_path: Path) -> None:
    out, model = tmp_path / "adapter", ["--model", str(folder)]
    rows = ["--rows", str(folder.parent / "rows.parquet"), "--limit", "4", "--max-tokens", "8192"]
    assert warm_start.main(["train", *model, *rows, "--out", str(out), "--epochs", "2", "--batch-rows", "2"]) == 0
    measure = ["evaluate", *model, "--limit", "2", "--samples", "2", "--results", str(out / "results.json")]
    assert warm_start.main([*measure, "--label", "before"]) == 0
    assert warm_start.main([*measure, "--label", "after", "--adapter", str(out)]) == 0
    assert warm_start.main(["card", "--adapter", str(out)]) == 0

    results = json.loads((out / "results.json").read_text())
    card = (out / "README.md").read_text()
    assert results["training"]["report"]["steps"] == 4
    assert all(math.isfinite(loss) for loss in results["training"]["report"]["losses"])
    assert f"{results['training']['report']['tokens']} tokens" in card
    assert "| sample (2) | greedy |" in card
    assert str(folder.parent) not in (out / "adapter_config.json").read_text() + card
    adapted = PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(folder), out)
    learned = [weight for name, weight in adapted.named_parameters() if "lora_B" in name]
    assert learned
    assert any(bool(weight.any()) for weight in learned)


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["train", "--model", "{here}/none"], "get_model.py smollm2 --base"),
        (["train", "--rows", "{here}/none.parquet"], "warm_start.py rows"),
        (["evaluate", "--label", "after", "--adapter", "{here}/none", "--model", "{model}"], "warm_start.py train"),
    ],
)
def test_what_is_missing_is_answered_with_the_step_that_makes_it(
    arguments: list[str], fix: str, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled = [argument.format(here=tmp_path, model=folder) for argument in arguments]
    if "--rows" not in filled and filled[0] == "train":
        filled += ["--rows", str(folder.parent / "rows.parquet")]
    assert warm_start.main(filled) == 1
    assert fix in caplog.text
