"""Values that the run could not use, refused before it starts: verl would stall on them, or find out minutes later."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from omegaconf import DictConfig

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"

ATTENTION = (
    "eager",
    "sdpa",
    "flex_attention",
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "varlen",
    "varlen_shared",
)
"""transformers' attention functions (`transformers.modeling_utils.AttentionInterface`), and the two of this project."""

ESTIMATORS = (
    "grpo_by_call",
    "grpo",
    "grpo_passk",
    "grpo_vectorized",
    "gae",
    "gdpo",
    "gpg",
    "opo",
    "optimal_token_baseline",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "remax",
    "rloo",
    "rloo_vectorized",
    "tir_optimal_token_baseline",
)
"""This project's advantage, and verl's (`verl.trainer.ppo.core_algos.AdvantageEstimator`)."""

LOGGERS = (
    "console",
    "tensorboard",
    "wandb",
    "file",
    "mlflow",
    "swanlab",
    "clearml",
    "trackio",
    "vemlp_wandb",
    "rl_insight",
)
"""verl's (`verl.utils.tracking.Tracking.supported_backend`)."""


class Range(NamedTuple):
    """What values are taken, in words, and how one is told."""

    words: str
    holds: Callable[[float], bool]


COUNT = Range("a whole number from 1 on", lambda value: value >= 1 and float(value).is_integer())
INTERVAL = Range("a whole number of steps, or -1 for never", lambda value: value >= -1 and float(value).is_integer())
ABOVE_0 = Range("more than 0", lambda value: value > 0)
FROM_0 = Range("0 or more", lambda value: value >= 0)
SHARE = Range("more than 0 and at most 1", lambda value: 0 < value <= 1)

RANGES = {
    "data.train_batch_size": COUNT,
    "data.max_prompt_length": COUNT,
    "data.max_response_length": COUNT,
    f"{ACTOR}.ppo_mini_batch_size": COUNT,
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": COUNT,
    f"{ACTOR}.ppo_max_token_len_per_gpu": COUNT,
    f"{ACTOR}.ppo_epochs": COUNT,
    f"{ACTOR}.optim.lr": FROM_0,
    f"{ACTOR}.optim.weight_decay": FROM_0,
    f"{ACTOR}.clip_ratio": FROM_0,
    f"{ACTOR}.clip_ratio_low": FROM_0,
    f"{ACTOR}.clip_ratio_high": FROM_0,
    f"{ACTOR}.kl_loss_coef": FROM_0,
    f"{ROLLOUT}.n": COUNT,
    f"{ROLLOUT}.temperature": ABOVE_0,
    f"{ROLLOUT}.top_p": SHARE,
    f"{ROLLOUT}.gpu_memory_utilization": SHARE,
    f"{ROLLOUT}.max_model_len": COUNT,
    f"{ROLLOUT}.max_num_seqs": COUNT,
    f"{ROLLOUT}.tensor_model_parallel_size": COUNT,
    f"{ROLLOUT}.val_kwargs.temperature": FROM_0,
    f"{ROLLOUT}.val_kwargs.top_p": SHARE,
    "trainer.n_gpus_per_node": COUNT,
    "trainer.nnodes": COUNT,
    "trainer.total_epochs": COUNT,
    "trainer.total_training_steps": COUNT,
    "trainer.save_freq": INTERVAL,
    "trainer.test_freq": INTERVAL,
    "agentlightning.rollout_timeout_seconds": ABOVE_0,
    "agentlightning.stall_minutes": ABOVE_0,
}
"""The numbers that the command line's users change, by key; where verl's value is null it may stay so."""

CHOICES = {
    "algorithm.adv_estimator": ESTIMATORS,
    "actor_rollout_ref.model.override_config.attn_implementation": ATTENTION,
    f"{ACTOR}.loss_agg_mode": (
        "token-mean",
        "token-sum",
        "seq-mean-token-sum",
        "seq-mean-token-sum-norm",
        "seq-mean-token-mean",
    ),
    f"{ACTOR}.optim.lr_scheduler_type": ("constant", "cosine"),
    "trainer.device": ("cpu", "cuda", "npu"),
    "trainer.logger": LOGGERS,
}
"""The words that are taken, by key. A name with a slash is a hub's (transformers' attention kernels): not checked."""


def unusable_value(config: "DictConfig") -> str | None:
    """Say which value of verl's resolved configuration can't be used, and what can; None when all can."""
    from omegaconf import OmegaConf

    for key, wanted in RANGES.items():
        value = OmegaConf.select(config, key)
        if value is not None and not (isinstance(value, int | float) and math.isfinite(value) and wanted.holds(value)):
            return f"{key} is {wanted.words}, not {value}"
    for key, words in CHOICES.items():
        given = OmegaConf.select(config, key)
        for value in [given] if given is None or isinstance(given, str) else cast("list[object]", given):
            if value is not None and value not in words and "/" not in str(value):
                return f"{key} has no {value!r}; it takes {', '.join(words)}"
    batch, mini = config.data.train_batch_size, config.actor_rollout_ref.actor.ppo_mini_batch_size
    if mini > batch:
        return f"{ACTOR}.ppo_mini_batch_size is {mini}, more than data.train_batch_size, {batch}: set both"
    return None
