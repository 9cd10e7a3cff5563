"""Each call of a rollout earns what it achieved itself."""

import numpy as np
import pytest
import torch
from langchain_core.messages import AIMessage, HumanMessage
from verl.trainer.config import AlgoConfig

from spider.call_rewards import CallReward, call_rewards
from spider.prompts import CORRECT, INCORRECT
from spider.verl_bridge.call_advantages import compute_call_advantage

QUERY = "```sql\nSELECT 1\n```"


def said(node: str, text: str) -> AIMessage:
    return AIMessage(text, name=node)


def test_queries_earn_what_each_is_worth_and_checks_the_right_verdict() -> None:
    messages = [
        HumanMessage("question"),
        said("write_query", QUERY),
        said("check_query", INCORRECT),
        said("rewrite_query", QUERY),
        said("check_query", INCORRECT),
    ]
    assert call_rewards(messages, [0.0, 1.0]) == (
        CallReward("write_query", 0.0),
        CallReward("check_query", 1.0),
        CallReward("rewrite_query", 1.0),
        CallReward("check_query", 0.0),
    )


def test_a_rewrite_that_repeats_its_predecessor_earns_the_same() -> None:
    messages = [said("write_query", QUERY), said("check_query", INCORRECT), said("rewrite_query", QUERY)]
    assert [call.reward for call in call_rewards(messages, [1.0])] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("worth", [0.0, 1.0])
def test_a_check_without_a_verdict_earns_nothing(worth: float) -> None:
    messages = [said("write_query", QUERY), said("check_query", "The query reads the wrong table.")]
    assert call_rewards(messages, [worth])[1].reward == 0.0


def test_a_partly_right_query_is_wrong_to_the_checker() -> None:
    messages = [said("write_query", QUERY), said("check_query", INCORRECT)]
    assert [call.reward for call in call_rewards(messages, [0.2])] == [0.2, 1.0]


def test_an_empty_query_that_is_not_checked_takes_no_verdict() -> None:
    messages = [said("write_query", "?"), said("rewrite_query", QUERY), said("check_query", CORRECT)]
    assert [call.reward for call in call_rewards(messages, [0.0, 1.0])] == [0.0, 1.0, 1.0]


def advantages(rewards: list[float], groups: list[str]) -> list[float]:
    scores = torch.tensor(rewards).unsqueeze(-1) * torch.tensor([[0.0, 1.0]])
    mask = torch.ones(len(rewards), 2)
    index = np.array(groups, dtype=object)
    return compute_call_advantage(scores, mask, index, AlgoConfig())[0][:, 0].tolist()


def test_a_call_is_compared_with_calls_of_its_own_group() -> None:
    found = advantages([1.0, 0.0, 1.0, 1.0], ["a/write_query", "a/write_query", "a/check_query", "a/check_query"])
    assert found == pytest.approx([0.707, -0.707, 0.0, 0.0], abs=1e-3)


def test_a_call_that_is_alone_in_its_group_teaches_nothing() -> None:
    assert advantages([1.0, 1.0, 0.0], ["a/rewrite_query", "b/rewrite_query", "b/rewrite_query"])[0] == 0.0


def test_advantages_are_zero_outside_the_responses() -> None:
    mask = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    found, _ = compute_call_advantage(
        torch.tensor([[1.0, 0.0], [0.0, 0.0]]), mask, np.array(["a", "a"], dtype=object), AlgoConfig()
    )
    assert found[0, 1] == 0.0
