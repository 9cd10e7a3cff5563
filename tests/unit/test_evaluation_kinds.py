"""A wrong query's result gets the kind of what is wrong with it."""

import pytest

from spider.database import EMPTY_QUERY, Execution
from spider.evaluation.kinds import DESCRIPTIONS, kind_of
from spider.outcomes import OUTCOMES
from spider.sandbox import Rows

GOLD = Rows(("name", "age"), [("Ann", 3), ("Bo", 5)], truncated=False)


def rows(*found: tuple[object, ...], columns: tuple[str, ...] = ("name", "age")) -> Execution:
    return Execution("rows" if found else "no_rows", "", columns, found)


@pytest.mark.parametrize(
    ("execution", "kind"),
    [
        (EMPTY_QUERY, "empty_query"),
        (Execution("error", "Error: no such column: nam"), "error:no_such_column"),
        (Execution("timeout", "Timed out after 30 s."), "timeout"),
        (rows(), "rows:none"),
        (rows(("Ann",), ("Bo",), columns=("name",)), "rows:columns"),
        (rows(("Ann", 3)), "rows:count"),
        (rows(("Bo", 5), ("Ann", 3)), "rows:order"),
        (rows(("Ann", 3), ("Bo", 6)), "rows:values"),
    ],
)
def test_kind_of_a_wrong_result(execution: Execution, kind: str) -> None:
    assert kind_of(execution, GOLD, right=False) == kind


def test_rows_where_there_should_be_none_are_surplus() -> None:
    assert kind_of(rows(("Ann", 3)), Rows(("name", "age"), [], truncated=False), right=False) == "rows:surplus"


def test_a_right_result_is_right_whatever_it_is() -> None:
    assert kind_of(rows(), GOLD, right=True) == "right"


def test_every_outcome_of_a_query_has_a_description() -> None:
    assert set(OUTCOMES) - set(DESCRIPTIONS) == {"rows", "no_rows"}
