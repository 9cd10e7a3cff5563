"""What the command line changes in a preset: LoRA, the published values, sizes, where it runs."""

import argparse
import re
from dataclasses import replace

from spider.presets import PRESETS, Preset, timestamped

LORA_RANK = 32
"""Rank that ``--lora`` has without a number. verl's documentation advises against less for models of this size."""

LORA_LEARNING_RATE_FACTOR = 10
"""Schulman et al., "LoRA Without Regret" (2025), find the best rate at ten times full fine-tuning's, at any rank when
the adapters are scaled by 32 over the rank and lie on every matrix."""

LORA_VLLM_SHARE = 0.5
LORA_MAX_TOKENS = 8192
"""Sizes that let a 1.5B model's adapters train on a card of 24 GB."""

PUBLISHED = {
    "offload": True,
    "gpu_memory_utilization": 0.8,
    "micro_batch_size": 4,
    "n_runners": 10,
    "torch_compile": True,
    "bypass_old_log_probs": False,
    "filter_groups": False,
}
"""What agentlightning's own example of this agent (`examples/spider`) sets where the presets here depart from it."""

PUBLISHED_BY_PRESET = {"fast": {"gpu_memory_utilization": 0.6}, "npu": {"torch_compile": False}}

WITHOUT_PUBLISHED_VALUES = ("tiny", "smollm2")

POSITIVE = ("steps", "n_runners", "val_limit", "n_gpus", "n_nodes", "max_turns", "context_chars")
"""Flags whose number must be at least 1; they are named as the preset's fields."""

MODEL_NODES = ("write_query", "check_query", "rewrite_query")
"""The agent's nodes that ask the model (`spider.agent_graph`): what ``--active-agent`` chooses from."""

FLAGS = {"n_gpus": "--gpus", "n_nodes": "--nodes"}
"""Flags that are not named as the preset's field."""


class UsageError(ValueError):
    """A request that cannot be run as it stands; the message names the fix."""


def add_preset_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that change a preset."""
    parser.add_argument("--model", help="folder or hub name of the model to start from")
    parser.add_argument(
        "--lora",
        type=int,
        nargs="?",
        const=LORA_RANK,
        metavar="RANK",
        help=f"train adapters of this rank (default: {LORA_RANK}) instead of the model, at "
        f"{LORA_LEARNING_RATE_FACTOR} times the learning rate",
    )
    parser.add_argument(
        "--shaped-reward",
        action="store_true",
        help="training pays a wrong query for what is right in it, by the preset's weights; validation never does",
    )
    parser.add_argument(
        "--call-rewards",
        action="store_true",
        help="training pays each call for what it achieved itself: a query for its own result, a check for the right "
        "verdict",
    )
    parser.add_argument("--paper", action="store_true", help="the published values where the preset departs from them")
    parser.add_argument("--steps", type=int, help="training steps")
    parser.add_argument("--max-turns", type=int, help="the agent's turns; write counts as the first")
    parser.add_argument("--context-chars", type=int, help="most characters of schema and of result in a prompt")
    parser.add_argument("--n-runners", type=int, help="rollouts in flight")
    parser.add_argument("--val-limit", type=int, help="validation questions to use")
    parser.add_argument("--device", choices=("cpu", "cuda", "npu"), help="where to run, if not on the preset's device")
    parser.add_argument("--gpus", dest="n_gpus", type=int, metavar="N", help="GPUs of each machine (default: 1)")
    parser.add_argument("--nodes", dest="n_nodes", type=int, metavar="N", help="machines, joined by Ray (default: 1)")


def select_preset(args: argparse.Namespace) -> Preset:
    """Return the preset with the command line's changes.

    Raises:
        UsageError: If a flag does not go with the preset or with another flag.
    """
    if args.preset == "apo":  # has a command line of its own
        raise UsageError("apo comes first, before its flags: see apo --help")
    preset = PRESETS[args.preset]
    if args.preset == "fast":
        preset = timestamped(preset)
    check_pattern(args.active_agent)
    if args.paper:
        preset = with_published_values(preset, args.preset)
    for name in POSITIVE:
        value = getattr(args, name)
        if value is not None and value < 1:
            raise UsageError(f"{FLAGS.get(name, '--' + name.replace('_', '-'))} must be at least 1, not {value}")
    changes = {name: getattr(args, name) for name in ("model", "device", *POSITIVE)}
    preset = replace(preset, **{name: value for name, value in changes.items() if value is not None})
    preset = replace(preset, call_rewards=args.call_rewards)
    if preset.steps is not None:
        preset = replace(
            preset, test_freq=min(preset.test_freq, preset.steps), save_freq=min(preset.save_freq, preset.steps)
        )
    if preset.device == "cpu" and preset.n_gpus * preset.n_nodes > 1:
        raise UsageError("--gpus and --nodes are for GPUs; on CPU a run has one trainer on one machine: leave them out")
    return preset if args.lora is None else with_lora(preset, args.lora)


def check_pattern(active_agent: str) -> None:
    """Refuse an ``--active-agent`` that is no regular expression, or that finds no node to train.

    Raises:
        UsageError: With the expression's own error, or with the nodes there are.
    """
    try:
        found = active_agent == "all" or any(re.search(active_agent, node) for node in MODEL_NODES)
    except re.error as error:
        raise UsageError(f"--active-agent {active_agent!r} is not a regular expression: {error}") from error
    if not found:
        nodes = ", ".join(MODEL_NODES)
        raise UsageError(f"--active-agent {active_agent!r} matches no node that asks the model: {nodes} (or give all)")


def with_lora(preset: Preset, rank: int) -> Preset:
    """Return the preset with adapters trained in the model's stead.

    Raises:
        UsageError: If the rank is below 1.
    """
    if rank < 1:
        raise UsageError(f"--lora needs a rank of at least 1, not {rank}")
    return replace(
        preset,
        lora_rank=rank,
        learning_rate=preset.learning_rate * LORA_LEARNING_RATE_FACTOR,
        gpu_memory_utilization=min(preset.gpu_memory_utilization, LORA_VLLM_SHARE),
        max_token_len=min(preset.max_token_len, LORA_MAX_TOKENS),
    )


def with_published_values(preset: Preset, name: str) -> Preset:
    """Return the preset with the published values where it departs from them.

    Raises:
        UsageError: If there is no published recipe that the preset follows.
    """
    if name in WITHOUT_PUBLISHED_VALUES:
        raise UsageError(f"--paper: nothing is published for {name}; it goes with fast, qwen, qwen-3b, llama and npu")
    return replace(preset, **(PUBLISHED | PUBLISHED_BY_PRESET.get(name, {})))
