"""Speed of an update on one GPU, without vLLM or Ray: forward and backward of packed rows, variant by variant.

    python -m benchmarks.gpu_update [--only TEXT ...] [--output FILE]

The model has the shape of Qwen2.5-Coder-1.5B and random weights, float32 under FSDP2 with bfloat16 computation, as
verl keeps it. Rows of 700 prompt and 128 response tokens are packed to 8k, 16k, 32k or 64k tokens. Each variant runs
once to warm up and then three times, or for five seconds; the mean is shown. Variants differ in:

- attention: transformers' ``sdpa`` with its dense mask; ``varlen``, torch's flash kernel, from this repository;
- checkpointing: activations are computed again in the backward pass, or kept;
- head: ``stock``, verl's log-probabilities as they are without flash-attn; ``fused-torch`` and ``fused-triton``, verl's
  fused kernels; ``responses``, this repository's engine: logits at the response tokens alone.

MFU is the arithmetic that the update needs (`benchmarks.gpu_shape.training_flops`) over time times 990 TFLOP/s; "verl"
is what verl's own counter makes of the same time: the whole vocabulary's matrix twice for every token. A variant that
runs out of memory or fails says so, and the others go on: it ends its process, and another takes the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu_shape import PEAK_FLOPS, PROMPT, RESPONSE, machine, qwen_config, training_flops

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

ROOT = Path(__file__).resolve().parent.parent
REPEATS, REPEAT_SECONDS = 3, 5.0
logger = logging.getLogger("benchmarks.gpu_update")


@dataclass(frozen=True)
class Variant:
    """One way to run an update's forward and backward pass over a pack of about `thousands` of tokens."""

    thousands: int
    attention: str
    checkpointing: bool
    head: str

    def __str__(self) -> str:
        """Name the variant on the command line."""
        return f"{self.thousands}k-{self.attention}-{'checkpointing' if self.checkpointing else 'kept'}-{self.head}"


VARIANTS = [
    Variant(8, "varlen", False, "responses"),
    Variant(16, "varlen", True, "responses"),
    Variant(16, "varlen", False, "responses"),
    Variant(32, "varlen", True, "responses"),
    Variant(32, "varlen", False, "responses"),
    Variant(64, "varlen", True, "responses"),
    Variant(16, "sdpa", True, "responses"),
    Variant(16, "varlen", True, "fused-torch"),
    Variant(16, "varlen", False, "fused-torch"),
    Variant(16, "varlen", True, "stock"),
    Variant(16, "sdpa", True, "stock"),
    Variant(16, "varlen", True, "fused-triton"),
    Variant(16, "varlen", False, "fused-triton"),
]


def main(arguments: list[str] | None = None) -> int:
    """Measure all variants; 1 when none could be measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="only variants with one of these in their name"
    )
    parser.add_argument("--seconds", type=float, default=170.0, help="when to stop, done or not (default: 170)")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "benchmarks/results/gpu_update.json",
        metavar="FILE",
        help="where the results go as JSON (default: benchmarks/results/gpu_update.json)",
    )
    parser.add_argument("--run", nargs="+", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    if options.run:
        run_here([variant for variant in VARIANTS if str(variant) in options.run])
        return 0
    names = [str(variant) for variant in VARIANTS if any(text in str(variant) for text in options.only)]
    results = run_apart(names, time.monotonic() + options.seconds, options.output)
    return 0 if any("seconds" in result for result in results) else 1


def run_apart(names: list[str], deadline: float, output: Path) -> list[dict[str, object]]:
    """Run the variants in a process of their own, and in another after one that failed; save after each."""
    results: list[dict[str, object]] = []
    logger.info("%-36s %8s %9s %7s %7s %8s", "variant", "seconds", "tokens/s", "MFU", "verl", "GiB")
    while names and time.monotonic() < deadline:
        for result in run_process(names, deadline):
            names.remove(str(result["variant"]))
            results.append(result)
            show(result)
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(json.dumps({**machine(), "results": results}, indent=2) + "\n", encoding="utf-8")
    for name in names:
        show({"variant": name, "error": "no time left"})
    return results


def run_process(names: list[str], deadline: float) -> Iterator[dict[str, object]]:
    """Yield results from a process that measures these variants, and the error of the one in which it ended."""
    command = [sys.executable, "-m", "benchmarks.gpu_update", "--run", *names]
    left = list(names)
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), child.kill)
        timer.start()
        try:
            for line in child.stdout or ():
                if line.startswith('{"variant"'):
                    yield json.loads(line)
                    left.pop(0)
        finally:
            timer.cancel()
            child.kill()
            child.wait()
        if left:
            errors.seek(0)
            message = (errors.read().strip().splitlines() or ["no message"])[-1]
            yield {"variant": left[0], "error": message if time.monotonic() < deadline else "no time left"}


def show(result: dict[str, object]) -> None:
    """Print one line of the table."""
    if "error" in result:
        logger.info("%-36s %s", result["variant"], result["error"])
    else:
        columns = ("variant", "seconds", "tokens_per_second", "mfu", "mfu_verl", "peak_gib")
        logger.info("%-36s %8.3f %9.0f %6.1f%% %6.1f%% %8.1f", *(result[column] for column in columns))


def run_here(variants: list[Variant]) -> None:
    """Measure the variants in this process and print each result as a line of JSON; a failure ends the process."""
    with process_group():
        model, optimizer = make_model()
        for variant in variants:
            result = {"variant": str(variant), **asdict(variant), **measure(model, variant)}
            sys.stdout.write(json.dumps(result) + "\n")
            sys.stdout.flush()
        del optimizer


@contextlib.contextmanager
def process_group() -> Iterator[None]:
    """A group of this process alone: FSDP2 wants one."""
    import torch

    torch.cuda.set_device(0)
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/group", rank=0, world_size=1)
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()


def make_model() -> tuple[PreTrainedModel, torch.optim.Optimizer]:
    """Make the model as verl does, and AdamW with its state, so that memory is what it would be in training."""
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from transformers import Qwen2ForCausalLM

    from spider.verl_bridge import varlen_attention

    with torch.device("cuda"):
        model = Qwen2ForCausalLM(qwen_config(varlen_attention.NAME))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, cast_forward_inputs=True)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    return model, optimizer


def measure(model: PreTrainedModel, variant: Variant) -> dict[str, object]:
    """Time one variant.

    Returns:
        Seconds of a forward and backward pass, tokens a second, the two MFUs in percent, and the most GiB allocated.
    """
    import torch
    from verl.utils.flops_counter import FlopsCounter

    rows = variant.thousands * 1024 // (PROMPT + RESPONSE)
    model.set_attn_implementation(variant.attention)
    if variant.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    else:
        model.gradient_checkpointing_disable()
    run = make_pass(model, variant.head, [PROMPT] * rows, [RESPONSE] * rows)
    run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    started, times = time.perf_counter(), 0
    while times < REPEATS and time.perf_counter() - started < REPEAT_SECONDS:
        run()
        torch.cuda.synchronize()
        times += 1
    seconds = (time.perf_counter() - started) / times
    lengths, responses = [PROMPT + RESPONSE] * rows, [RESPONSE] * rows
    needed = training_flops(qwen_config(), lengths, responses)
    counted, _ = FlopsCounter(qwen_config()).estimate_flops(lengths, seconds)
    return {
        "rows": rows,
        "repeats": times,
        "seconds": seconds,
        "tokens_per_second": sum(lengths) / seconds,
        "mfu": 100 * needed / seconds / PEAK_FLOPS,
        "mfu_verl": 100 * counted * 1e12 / PEAK_FLOPS,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def make_pass(
    model: PreTrainedModel, head: str, prompts: list[int], responses: list[int]
) -> Callable[[], torch.Tensor]:
    """Return a function that runs a pass forward and back over rows of such lengths and returns its loss."""
    import torch
    from verl.models.transformers.dense_common import forward_with_torch_backend, forward_with_triton_backend
    from verl.utils.torch_functional import logprobs_from_logits

    from spider.verl_bridge.packed_engine import log_probs_of, response_positions

    device = model.device
    lengths = [prompt + response for prompt, response in zip(prompts, responses, strict=True)]
    ids = torch.randint(model.config.vocab_size, (1, sum(lengths)), generator=torch.Generator().manual_seed(0))
    ids = ids.to(device)
    labels = ids.roll(-1, dims=1)
    kept = response_positions(torch.tensor(lengths, device=device), torch.tensor(responses, device=device))
    inputs: dict[str, object] = {
        "input_ids": ids,
        "position_ids": torch.cat([torch.arange(length, device=device) for length in lengths])[None],
        "attention_mask": None,
        "use_cache": False,
    }
    vars(model).pop("forward", None)
    if head == "responses":
        inputs["logits_to_keep"] = kept
    elif head.startswith("fused"):
        inputs |= {"shift_labels": labels, "temperature": 1.0, "return_dict": True}
        fused = forward_with_torch_backend if head == "fused-torch" else forward_with_triton_backend
        vars(model)["forward"] = types.MethodType(fused, model)

    def run() -> torch.Tensor:
        model.zero_grad()
        with torch.autocast(device.type, dtype=torch.bfloat16):
            output = model(**inputs)
            if head == "responses":
                log_probs = log_probs_of(output.logits[0], labels[0, kept])
            elif head == "stock":
                log_probs = logprobs_from_logits(output.logits[0], labels[0])[kept]
            else:
                log_probs = output.log_probs[0, kept]
            loss = -log_probs.float().mean()
        loss.backward()
        return loss.detach()

    return run


if __name__ == "__main__":
    sys.exit(main())
