"""Rows as verl's TransferQueue gets them."""

import pytest

from spider.verl_bridge import transfer
from spider.verl_bridge.rows import Row, SessionResult
from spider.verl_bridge.transfer import Prompt, put_group_rows

PROMPT = Prompt("q", {}, global_step=1)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """The rows that were put, each with its key, group and reward."""
    rows: list[dict[str, object]] = []

    def kv_batch_put(keys: list[str], fields: transfer.TensorDict, **_: object) -> None:
        scores = [float(score.sum()) for score in fields["rm_scores"]]
        rows.extend(
            {"key": key, "group": group, "reward": score}
            for key, group, score in zip(keys, fields["uid"], scores, strict=True)
        )

    monkeypatch.setattr(transfer.tq, "kv_batch_put", kv_batch_put)
    return rows


def row(node: str, reward: float | None = None) -> Row:
    return Row([1, 2], [3, 4], [-0.1, -0.2], node, reward)


def test_the_rows_of_a_rollout_have_its_reward_and_the_questions_group(put: list[dict[str, object]]) -> None:
    put_group_rows(PROMPT, [SessionResult([row("write_query"), row("check_query")], reward=1.0)], "train", 0)
    assert put == [{"key": f"q_0_{index}", "group": "q", "reward": 1.0} for index in (0, 1)]


def test_a_call_with_its_own_reward_is_in_the_group_of_its_node(put: list[dict[str, object]]) -> None:
    session = SessionResult([row("write_query", 0.0), row("check_query", 1.0)], reward=0.0)
    put_group_rows(PROMPT, [session], "train", 0)
    assert put == [
        {"key": "q_0_0", "group": "q/write_query", "reward": 0.0},
        {"key": "q_0_1", "group": "q/check_query", "reward": 1.0},
    ]
