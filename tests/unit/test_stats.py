"""The agent's numbers, under the names that the loggers get."""

import pytest

from spider.rollout_facts import RolloutFacts
from spider.verl_bridge.rows import REASONS, Row, SessionResult
from spider.verl_bridge.stats import RolloutStats


def session(reward: float, first: float | None = None, executions: tuple[str, ...] = ("rows",)) -> SessionResult:
    return SessionResult(reward=reward, facts=RolloutFacts(len(executions), executions, first))


def metrics(*groups: list[SessionResult]) -> dict[str, float]:
    stats = RolloutStats()
    for group in groups:
        stats.add_group(group)
    return stats.metrics("agent")


def test_rewrite_success_is_the_share_of_wrong_first_queries_made_right() -> None:
    mended, still_wrong, was_right = session(1.0, first=0.0), session(0.0, first=0.0), session(1.0, first=1.0)
    values = metrics([mended, still_wrong, was_right, session(1.0)])
    assert values["agent/rewrite_success"] == 0.5
    assert values["agent/rewritten"] == 0.75
    assert values["agent/rewrites_mended"] == 1


def test_right_query_that_was_rewritten_into_a_wrong_one_is_spoiled() -> None:
    assert metrics([session(0.0, first=1.0)])["agent/rewrites_spoiled"] == 1


def test_rewrite_success_is_left_out_where_no_wrong_query_was_rewritten() -> None:
    assert "agent/rewrite_success" not in metrics([session(1.0), session(1.0, first=1.0)])


def test_execution_errors_are_a_share_of_the_queries_run() -> None:
    values = metrics([session(0.0, 0.0, ("error:syntax", "rows")), session(0.0, 0.0, ("timeout", "no_rows"))])
    assert values["agent/execution_errors"] == 0.5
    assert values["agent/execution_errors/error"] == 1
    assert values["agent/execution_errors/timeout"] == 1


def test_a_questions_rows_of_one_prompt_count_its_tokens_once_as_distinct() -> None:
    write, rewrite = Row([1, 2, 3], [4], [0.0], "write_query"), Row([1, 2, 5], [4], [0.0], "rewrite_query")
    values = metrics([SessionResult(reward=1.0, rows=[write, rewrite]), SessionResult(reward=0.0, rows=[write])])
    assert values["agent/prompt_tokens"] == 9
    assert values["agent/distinct_prompt_tokens"] == 6


def test_turns_are_a_mean_over_rollouts() -> None:
    assert metrics([session(1.0), session(1.0, 0.0, ("rows", "rows"))])["agent/turns"] == pytest.approx(1.5)


def test_every_reason_of_a_failure_has_a_number_at_each_step() -> None:
    values = metrics([SessionResult(dropped="timed_out")])
    assert values["agent/failures"] == 1
    assert {reason: values[f"agent/failures/{reason}"] for reason in REASONS} == {
        reason: float(reason == "timed_out") for reason in REASONS
    }


def test_groups_with_and_without_signal_are_told_apart() -> None:
    assert metrics([session(1.0), session(0.0)], [session(1.0), session(1.0)])["agent/mixed_groups"] == 0.5
