"""A pass over the rows of GRPO groups: whole rows, and each prompt once, in turn.

    python -m benchmarks.shared_prompts [--model model/SmolLM2-135M-Instruct] [--groups 2] [--responses 4]

Forward and backward pass of the same rows of random tokens in both layouts, logits at the responses alone, on the GPU
in bfloat16 if there is one, else on the CPU in float32. Shows tokens, seconds and, as a check, both losses.
"""

import argparse
import logging
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

ROOT = Path(__file__).resolve().parent.parent
logger = logging.getLogger(__name__)


def main() -> int:
    """Measure, and show a line a round and layout."""
    parser = argparse.ArgumentParser(description="Time a training pass with whole rows and with each prompt once.")
    parser.add_argument("--model", type=Path, default=ROOT / "model/SmolLM2-135M-Instruct", help="folder of a model")
    parser.add_argument("--groups", type=int, default=2, help="prompts (2)")
    parser.add_argument("--responses", type=int, default=4, help="responses to each (4)")
    parser.add_argument("--prompt-tokens", type=int, default=560, help="tokens of a prompt (560)")
    parser.add_argument("--response-tokens", type=int, default=40, help="tokens of a response (40)")
    parser.add_argument("--rounds", type=int, default=3, help="passes in each layout (3)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    import torch
    from transformers import AutoModelForCausalLM

    from spider.verl_bridge.packed_engine import response_positions
    from spider.verl_bridge.shared_prompts import lay_out

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype, attn_implementation="varlen")
    torch.nn.Module.to(model, device)
    vocabulary = int(model.config.vocab_size)
    torch.manual_seed(0)
    shape = (options.groups, options.prompt_tokens)
    prompts = [prompt for prompt in torch.randint(vocabulary, shape) for _ in range(options.responses)]
    responses = list(torch.randint(vocabulary, (len(prompts), options.response_tokens)))
    rows = [torch.cat(parts) for parts in zip(prompts, responses, strict=True)]
    shared = lay_out(prompts, responses)
    whole = (torch.cat(rows), torch.cat([torch.arange(len(row)) for row in rows]))
    predicting = response_positions(*(torch.tensor([len(row) for row in part]) for part in (rows, responses)))
    layouts = {"whole rows": (*whole, predicting), "each prompt once": shared}
    seconds: dict[str, list[float]] = {name: [] for name in layouts}
    for number in range(options.rounds + 1):
        for name, layout in layouts.items():
            taken, loss = timed_pass(model, [part.to(device) for part in layout], torch.cat(responses).to(device))
            logger.info("round %d, %s: %d tokens, %.2f s, loss %.5f", number, name, len(layout[0]), taken, loss)
            if number:  # the first one warms up
                seconds[name].append(taken)
    before, after = (median(seconds[name]) for name in layouts)
    logger.info("median of %d: %.2f s and %.2f s, %.2f times as fast", options.rounds, before, after, before / after)
    return 0


def timed_pass(model: "PreTrainedModel", layout: "list[torch.Tensor]", labels: "torch.Tensor") -> tuple[float, float]:
    """Run forward and backward, and return the seconds and the loss."""
    from spider.verl_bridge.packed_engine import log_probs_of

    model.zero_grad()
    wait_for(layout[0])
    started = time.perf_counter()
    ids, positions, predicting = layout
    output = model(input_ids=ids[None], position_ids=positions[None], logits_to_keep=predicting, use_cache=False)
    loss = -log_probs_of(output.logits[0], labels).mean()
    loss.backward()
    wait_for(loss)
    return time.perf_counter() - started, float(loss.detach())


def wait_for(tensor: "torch.Tensor") -> None:
    """Wait until the GPU has done what was asked of it, if the tensor is on one."""
    if tensor.is_cuda:
        import torch

        torch.cuda.synchronize()


if __name__ == "__main__":
    sys.exit(main())
