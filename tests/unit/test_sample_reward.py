from __future__ import annotations

import pytest

from spider.data import ROOT, load_tasks
from spider.reward import evaluate_query

SAMPLE = ROOT / "data" / "sample"


@pytest.mark.parametrize("name", ["train_spider", "test_dev"])
def test_every_gold_query_scores_1_against_itself(name: str) -> None:
    golds = sorted({(task["db_path"], task["query"]) for task in load_tasks(SAMPLE / f"{name}.parquet")})
    wrong = [query for db_path, query in golds if evaluate_query(query, query, str(SAMPLE / db_path)) != 1]
    assert golds
    assert wrong == []


def test_golds_of_one_database_rarely_score_against_each_other() -> None:
    tasks = load_tasks(SAMPLE / "test_dev.parquet")
    golds = sorted({(task["db_path"], task["query"]) for task in tasks if task["db_id"] == "zoo"})
    pairs = [(db, one, other) for db, one in golds for _, other in golds if one != other]
    assert pairs
    assert sum(evaluate_query(one, other, str(SAMPLE / db)) for db, one, other in pairs) <= 0.02 * len(pairs)
