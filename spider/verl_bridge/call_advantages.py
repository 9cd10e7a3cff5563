"""GRPO's advantage for every call by itself, where calls have rewards of their own.

For ``adv_estimator=grpo`` verl takes the reward of a rollout's last row and gives its advantage to all of them
(`compute_advantage_for_multi_trajectories` in ``verl/trainer/ppo/v1/utils.py``). Under any other name every row counts.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

if TYPE_CHECKING:
    import numpy as np
    from verl.trainer.config import AlgoConfig


def compute_call_advantage(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: "np.ndarray[Any, Any]",
    config: "AlgoConfig",
) -> tuple[torch.Tensor, torch.Tensor]:
    """GRPO's advantage of each row within its group; 0 for a row that is alone in it, with nothing to compare to.

    Args:
        token_level_rewards: Rewards of tokens, shape (rows, response length).
        response_mask: 1 for tokens of responses, shape (rows, response length).
        index: Name of each row's group, shape (rows,).
        config: verl's section ``algorithm``.

    Returns:
        Advantages and returns, which are the same, shape (rows, response length).
    """
    advantages, _ = compute_grpo_outcome_advantage(
        token_level_rewards, response_mask, index, norm_adv_by_std_in_grpo=config.norm_adv_by_std_in_grpo
    )
    sizes = Counter(index.tolist())
    compared = torch.tensor([sizes[group] > 1 for group in index.tolist()], device=advantages.device)
    advantages = advantages * compared.unsqueeze(-1)
    return advantages, advantages
