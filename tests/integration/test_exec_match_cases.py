"""Every case of the collected comparisons between execution match and the reference, where they are at hand.

The folder is named by SPIDER_CASES, or lies as shared/cases next to the repository; the databases by SPIDER_REAL_DATA,
or as shared/spider.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spider.data import ROOT
from spider.reward import evaluate_query
from spider.spider_eval.exec_eval import DEFAULT_LIMITS, reference_exec_match
from spider.spider_eval.gold import GoldError
from tests.timing import within

SHARED = ROOT.parent / "shared"
DATABASES = Path(os.environ.get("SPIDER_REAL_DATA") or SHARED / "spider")
CASES = Path(os.environ.get("SPIDER_CASES") or SHARED / "cases") / "exec_match.jsonl"
# Kinds in which the reference's answer rests on its heuristics for DISTINCT and order, not on another of its faults.
HEURISTIC = ("distinct", "distinct_added", "distinct_dropped", "order_by", "row_order_strict", "row_order_free")


def cases() -> list[dict[str, object]]:
    if not CASES.is_file():
        return []
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def name(case: dict[str, object]) -> str:
    return str(case["id"])


pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not (CASES.is_file() and DATABASES.is_dir()), reason="the cases or Spider are not at hand"),
]


@pytest.mark.parametrize("case", cases(), ids=name)
def test_the_reward_is_what_the_case_says(case: dict[str, object]) -> None:
    official = case["official"] if case["official"] in (0, 1) else 0
    wanted = official if case["expected"] is None else case["expected"]
    database = DATABASES / str(case["db"])

    def run() -> None:
        reward = evaluate_query(str(case["pred"]), str(case["gold"]), database, raise_on_error=False)
        assert reward == wanted, case["note"]

    assert within(DEFAULT_LIMITS.seconds + 1, run)


@pytest.mark.parametrize("case", [case for case in cases() if case["category"] == "gold_error"], ids=name)
def test_a_failing_gold_is_no_wrong_answer(case: dict[str, object]) -> None:
    with pytest.raises(GoldError):
        evaluate_query(str(case["pred"]), str(case["gold"]), DATABASES / str(case["db"]))


@pytest.mark.parametrize("case", [case for case in cases() if case["category"] in HEURISTIC], ids=name)
def test_the_compatible_mode_answers_like_the_reference(case: dict[str, object]) -> None:
    assert reference_exec_match(DATABASES / str(case["db"]), str(case["pred"]), str(case["gold"])) == case["official"]
