"""Training presets: what differs between them. `spider.verl_overrides` expands one to verl's nested dictionary."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from spider.data import ROOT


@dataclass(frozen=True)
class Preset:
    """What differs between runs; every other value is verl's default or the same for all (see `verl_overrides`).

    Attributes:
        model: Name on a hub, or of a folder under ``model/``, or a path.
        project: Project name for the loggers.
        experiment: Experiment name for the loggers.
        device: torch's device type: ``cuda``, ``npu`` or ``cpu``.
        dtype: Precision of the forward and backward pass and of vLLM; the optimizer's weights are float32 always.
        train_batch_size: Questions a step.
        n: Rollouts a question (GRPO's group).
        max_prompt_length: Longest prompt, in tokens.
        max_response_length: Longest response, in tokens.
        learning_rate: AdamW's learning rate.
        lr_schedule: ``constant``, or ``cosine``: from the rate after the warm-up to 0 at the last step.
        warmup_steps: Steps in which the learning rate rises from 0.
        loss_agg_mode: verl's name of the mean that the loss is: over all tokens, or over rows of their tokens' means.
        mini_batch_size: Questions per optimizer step.
        max_token_len: Tokens in one forward and backward pass, per device (dynamic batches).
        gradient_checkpointing: Whether activations are computed again in the backward pass, to save memory.
        steps: Training steps; None for all of `epochs`.
        epochs: Passes over the training questions.
        test_freq: Steps between validations; -1 for never.
        save_freq: Steps between checkpoints; -1 for never.
        val_before_train: Whether to validate before the first step.
        gpu_memory_utilization: Share of the card that vLLM takes.
        tool_parser: verl's multi-turn format of the model; None for none.
        offload: Whether parameters and optimizer state leave the card during rollouts.
        torch_compile: Whether verl may compile parts of the update.
        use_wandb: Whether to log to wandb when a key is there.
        max_turns: The agent's turns; write counts as the first.
        context_chars: Most characters of schema and of result in a prompt.
        n_runners: agentlightning's runner processes: the rollouts in flight.
        val_limit: Validation questions to use; None for all.
        lora_rank: Rank of the adapters that are trained in the model's stead; 0 trains the model itself.
        n_gpus: GPUs of each machine.
        n_nodes: Machines, joined by Ray.
        micro_batch_size: Rows in one pass, per device; None for dynamic batches of `max_token_len`.
        bypass_old_log_probs: Whether vLLM's log-probs stand in for those of the trainer's own extra forward pass.
        filter_groups: Whether questions whose rollouts all got the same reward are replaced by others (DAPO).
        shaping: With `--shaped-reward`, what a wrong query earns at most for executing, for the right columns and for
            values in common (see `spider.reward.Shaping`).
        call_rewards: Whether each call is trained on what it achieved itself (see `spider.call_rewards`) rather than on
            the rollout's reward.
    """

    model: str
    project: str = "AgentLightning"
    experiment: str = "spider"
    device: str = "cuda"
    dtype: str = "bfloat16"
    train_batch_size: int = 32
    n: int = 4
    max_prompt_length: int = 4096
    max_response_length: int = 2048
    learning_rate: float = 1e-6
    lr_schedule: str = "constant"
    warmup_steps: int = 0
    loss_agg_mode: str = "token-mean"
    mini_batch_size: int = 32
    max_token_len: int = 16384
    gradient_checkpointing: bool = True
    steps: int | None = None
    epochs: int = 2
    test_freq: int = 32
    save_freq: int = 64
    val_before_train: bool = True
    gpu_memory_utilization: float = 0.5
    tool_parser: str | None = "hermes"
    offload: bool = False
    torch_compile: bool = False
    use_wandb: bool = True
    max_turns: int = 3
    context_chars: int = 2048
    n_runners: int = 10
    val_limit: int | None = None
    lora_rank: int = 0
    n_gpus: int = 1
    n_nodes: int = 1
    micro_batch_size: int | None = None
    bypass_old_log_probs: bool = False
    filter_groups: bool = False
    shaping: tuple[float, float, float] = (0.05, 0.1, 0.15)
    call_rewards: bool = False


QWEN = Preset(model="Qwen/Qwen2.5-Coder-1.5B-Instruct", n_runners=128)

SMOLLM2 = Preset(
    model="SmolLM2-135M-Instruct",
    experiment="smollm2",
    # By tokens, wrong queries, which are the longer ones, weigh more: mean advantage -0.08 (docs/results/README.md).
    loss_agg_mode="seq-mean-token-mean",
    # With what follows it learns (+0.07 on unseen databases); 16 questions at a constant 5e-5 drifted (the same page).
    train_batch_size=64,
    n=8,
    max_prompt_length=1536,
    max_response_length=160,
    learning_rate=4e-5,
    lr_schedule="cosine",
    warmup_steps=3,
    mini_batch_size=64,
    max_token_len=16384,
    gradient_checkpointing=False,
    steps=44,
    epochs=1,
    test_freq=11,
    save_freq=22,
    gpu_memory_utilization=0.3,
    tool_parser=None,
    max_turns=1,
    n_runners=64,
)

PRESETS: dict[str, Preset] = {
    "tiny": replace(
        SMOLLM2,
        experiment="tiny",
        device="cpu",
        dtype="float32",  # processors without bfloat16 units emulate it, 5 times slower
        train_batch_size=2,
        n=4,
        max_prompt_length=640,
        max_response_length=96,
        learning_rate=1e-5,
        lr_schedule="constant",
        warmup_steps=0,
        mini_batch_size=2,
        max_token_len=1536,
        steps=6,
        test_freq=6,
        save_freq=6,
        max_turns=2,
        context_chars=700,
        n_runners=8,
        val_limit=4,
    ),
    "smollm2": SMOLLM2,
    "fast": replace(
        QWEN,
        model="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        project="AgentLightningCI",
        experiment="fast",
        steps=1,
        epochs=1,
        test_freq=1,
        save_freq=-1,
        val_before_train=False,
        gpu_memory_utilization=0.6,
    ),
    "qwen": QWEN,
    "qwen-3b": replace(QWEN, model="Qwen/Qwen2.5-Coder-3B-Instruct", experiment="spider-3b", context_chars=4096),
    "llama": replace(
        QWEN, model="meta-llama/Llama-3.2-1B-Instruct", experiment="spider-llama", tool_parser="llama3_json"
    ),
    "npu": replace(
        QWEN,
        experiment="spider-npu",
        device="npu",
        tool_parser=None,
        use_wandb=False,
        val_before_train=False,
        save_freq=256,
    ),
}


def model_path(name: str) -> str:
    """Return the folder of a model: a path as given, a folder under ``model/``, or else the hub's name itself."""
    for folder in (Path(name).expanduser(), ROOT / "model" / name, ROOT / "model" / name.rpartition("/")[2]):
        if (folder / "config.json").is_file():
            return str(folder.resolve())
    return name


def is_hub_name(name: str) -> bool:
    """Return whether a name can be a hub's, ORGANISATION/NAME, and is no path."""
    starts_as_path = name.startswith((".", "/", "~"))
    return name.count("/") == 1 and not starts_as_path and not name.endswith("/") and not Path(name).exists()


def models_here() -> str:
    """Return what to do where a model isn't found: which ones are there, and how to get one."""
    found = sorted(folder.parent.name for folder in (ROOT / "model").glob("*/config.json"))
    there = f"model/ holds {', '.join(found)}; " if found else ""
    return f"{there}`python scripts/get_model.py smollm2` fetches the smallest, `… --help` says how to name others"


def timestamped(preset: Preset, now: datetime | None = None) -> Preset:
    """Return the preset with the time in its experiment's name, so that repeated CI runs do not meet."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    return replace(preset, experiment=f"{preset.experiment}-{stamp}")
