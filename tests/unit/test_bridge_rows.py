"""Triplets become rows as the server returned them, and what cannot be trained on is named."""

from agentlightning import Triplet

from spider.call_rewards import CallReward
from spider.verl_bridge import rows
from spider.verl_bridge.rows import SessionResult, rows_from_triplets, why_no_rows
from spider.verl_bridge.stats import RolloutStats


def triplet(prompt: list[int], response: list[int], log_probs: list[float] | None = None) -> Triplet:
    log_probs = [-0.5] * len(response) if log_probs is None else log_probs
    return Triplet(
        prompt={"token_ids": prompt},
        response={"token_ids": response, "logprobs": [{"logprob": value} for value in log_probs]},
        metadata={"agent_name": "write_query"},
    )


def call(node: str, response: list[int]) -> Triplet:
    made = triplet([1], response)
    made.metadata["agent_name"] = node
    return made


def test_row_keeps_the_servers_token_ids_and_log_probs() -> None:
    (row,), left_out = rows_from_triplets([triplet([1, 2, 3], [7, 8], [-0.1, -0.2])], 10, 10)
    assert (row.prompt_ids, row.response_ids, row.log_probs, row.node) == (
        [1, 2, 3],
        [7, 8],
        [-0.1, -0.2],
        "write_query",
    )
    assert not left_out


def test_each_matched_call_becomes_a_row_in_call_order() -> None:
    made, _ = rows_from_triplets([triplet([1], [2]), triplet([3], [4])], 10, 10)
    assert [row.prompt_ids for row in made] == [[1], [3]]


def test_rows_take_what_the_calls_of_their_node_earned_in_call_order() -> None:
    earned = [CallReward("write_query", 0.0), CallReward("check_query", 1.0), CallReward("check_query", 0.5)]
    made, _ = rows_from_triplets([call("check_query", [1]), call("check_query", [2])], 10, 10, earned)
    assert [row.reward for row in made] == [1.0, 0.5]


def test_a_call_without_an_answer_takes_no_reward_of_another() -> None:
    earned = [CallReward("write_query", 1.0)]
    made, _ = rows_from_triplets([call("write_query", []), call("write_query", [2])], 10, 10, earned)
    assert [row.reward for row in made] == [1.0]


def test_rows_have_no_reward_of_their_own_where_none_was_told() -> None:
    assert rows_from_triplets([triplet([1], [2])], 10, 10)[0][0].reward is None


def test_prompt_over_the_limit_is_left_out() -> None:
    made, left_out = rows_from_triplets([triplet([1, 2, 3], [4])], 2, 10)
    assert not made
    assert left_out == {rows.PROMPT_OVER_LIMIT: 1}


def test_response_over_the_limit_is_left_out() -> None:
    assert rows_from_triplets([triplet([1], [2, 3, 4])], 10, 2)[1] == {rows.RESPONSE_OVER_LIMIT: 1}


def test_empty_token_ids_are_left_out() -> None:
    assert rows_from_triplets([triplet([1], []), triplet([], [1])], 10, 10)[1] == {rows.EMPTY_TOKEN_IDS: 2}


def test_log_probs_that_do_not_match_the_tokens_are_left_out() -> None:
    assert rows_from_triplets([triplet([1], [2, 3], [-0.1])], 10, 10)[1] == {rows.NO_LOG_PROBS: 1}


def test_rollout_without_triplets_is_counted_as_no_matched_node() -> None:
    assert why_no_rows([], rows_from_triplets([], 10, 10)[1]) == rows.NO_MATCHED_NODE


def test_stats_count_groups_with_different_rewards_as_mixed() -> None:
    stats = RolloutStats()
    stats.add_group([SessionResult(reward=1.0), SessionResult(reward=0.0)])
    stats.add_group([SessionResult(reward=1.0), SessionResult(reward=1.0)])
    assert (stats.mixed_groups, stats.groups, stats.mean_reward) == (1, 2, 0.75)


def test_failed_rollout_counts_as_reward_zero() -> None:
    stats = RolloutStats()
    stats.add_group([SessionResult(reward=1.0), SessionResult(dropped=rows.ROLLOUT_FAILED, detail="no such model")])
    assert stats.mean_reward == 0.5


def test_explanation_of_drops_names_reasons_details_and_nodes() -> None:
    stats = RolloutStats()
    stats.add_group(
        [
            SessionResult(dropped=rows.ROLLOUT_FAILED, detail="no such model"),
            SessionResult(reward=0.0, dropped=rows.NO_MATCHED_NODE, nodes_seen=frozenset({"write_query"})),
        ]
    )
    text = stats.explain_drops()
    assert "rollout_failed 1" in text
    assert "no such model" in text
    assert "write_query" in text
