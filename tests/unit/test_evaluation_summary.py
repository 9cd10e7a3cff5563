"""A setting's answers in numbers."""

import json
from pathlib import Path

import pytest

from spider.evaluation.comparison import ComparisonError, Results, Verdict, compare, load_results
from spider.evaluation.records import Answer
from spider.evaluation.summary import summarise
from spider.evaluation.table import summary_table
from tests.unit.evaluation_answers import SETTING, answer, turn

A_LIST_FOR_A_NAME = json.dumps(dict.fromkeys(Verdict.__annotations__, 0) | {"db_id": []})


def test_answers_without_a_verdict_are_neither_right_nor_wrong() -> None:
    failed = answer(2, None, failure="timeout", detail="no answer in time")
    found = summarise(SETTING, [answer(0), answer(1, False), failed])
    assert (found["strict"]["right"], found["strict"]["questions"], found["strict"]["accuracy"]) == (1.0, 2, 0.5)
    assert (found["failures"], found["failure_details"]) == ({"timeout": 1}, {"timeout": "no answer in time"})


def test_nothing_but_failures_has_no_accuracy() -> None:
    found = summarise(SETTING, [answer(0, None, failure="timeout")])
    assert found["strict"]["accuracy"] is None
    assert "without a verdict: timeout 1 (of 1 answers)" in summary_table(found)


def test_hardness_and_databases_add_up_to_all_questions() -> None:
    answers = [answer(0), answer(1, False, hardness="hard", db_id="zoo"), answer(2, hardness="hard", db_id="zoo")]
    found = summarise(SETTING, answers)
    assert list(found["by_hardness"]) == ["easy", "hard"]
    assert found["by_hardness"]["hard"]["accuracy"] == 0.5
    assert {name: share["questions"] for name, share in found["by_database"].items()} == {"pets": 1, "zoo": 2}


def test_accuracy_after_a_turn_counts_answers_that_ended_before() -> None:
    mended = answer(1, turns=[turn(False, "error:syntax", False), turn(True)])
    found = summarise(SETTING, [answer(0), mended, answer(2, False)])
    assert [(each["turn"], each["right"], each["reached"]) for each in found["by_turn"]] == [(1, 1.0, 3), (2, 2.0, 1)]


def test_rewriting_is_counted_by_the_first_querys_kind() -> None:
    mended = answer(0, turns=[turn(False, "error:syntax", False), turn(True)])
    broken = answer(1, False, turns=[turn(True, said_correct=False), turn(False)])
    found = summarise(SETTING, [mended, broken])
    assert found["rewriting"]["error:syntax"] == {"first": 1, "rewritten": 1, "right_at_the_end": 1}
    assert found["rewriting"]["right"] == {"first": 1, "rewritten": 1, "right_at_the_end": 0}
    assert found["checker"]["right_said_incorrect"] == 1


def test_samples_of_a_question_count_as_their_mean() -> None:
    answers = [answer(0, right, sample) for sample, right in enumerate((True, False, False, False))]
    found = summarise(SETTING, [*answers, *(answer(1, True, sample) for sample in range(4))])
    assert (found["strict"]["accuracy"], found["strict"]["questions"]) == (0.625, 2)
    assert found["pass_at_k"] == {"1": 0.625, "2": 0.75, "4": 1.0}


def test_kinds_of_failure_come_with_examples_the_most_frequent_first() -> None:
    syntax = [answer(n, False, turns=[turn(False, "error:syntax")]) for n in range(5)]
    found = summarise(SETTING, [answer(9, False), *syntax])
    assert list(found["kinds"]) == ["error:syntax", "rows:values"]
    assert found["kinds"]["error:syntax"]["count"] == 5
    assert len(found["kinds"]["error:syntax"]["examples"]) == 3


def test_cost_is_per_answer() -> None:
    cost = summarise(SETTING, [answer(0), answer(1)])["cost"]
    assert (cost["calls"], cost["prompt_tokens"], cost["reply_tokens"], cost["total_tokens"]) == (1, 100, 10, 220)
    assert cost["seconds"] == 2.0


def results(*answers: Answer) -> Results:
    names = Verdict.__annotations__
    verdicts = {
        (each.db_id, each.question, each.gold): Verdict(**{name: getattr(each, name) for name in names})
        for each in answers
    }
    return Results("results", verdicts)


def test_comparison_pairs_the_questions_of_both() -> None:
    first = results(answer(0), answer(1, False), answer(2, False), answer(3, None, failure="timeout"))
    second = results(answer(0), answer(1), answer(2, False), answer(3), answer(4))
    found = compare(first, second)
    pairs = found["all"]
    assert [pairs[name] for name in ("questions", "both", "first_only", "second_only", "neither")] == [3, 1, 0, 1, 1]
    assert found["unpaired"] == 2
    assert [each["number"] for each in found["gained"]] == [1]


def test_comparison_of_different_questions_is_refused() -> None:
    with pytest.raises(ComparisonError, match="no question"):
        compare(results(answer(0)), results(answer(1)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "something else"),
        ("[]", "something else"),
        ('{"settings": null}', "something else"),
        ('{"settings": ["a"]}', "something else"),
        ('{"settings": [{"setting": "m"}]}', "it lacks 'verdicts'"),
        ('{"settings": [{"setting": "m", "verdicts": [{"number": 1}]}]}', "it lacks 'sample'"),
        ('{"settings": [{"setting": "m", "verdicts": [1]}]}', "something else"),
        (f'{{"settings": [{{"setting": "m", "verdicts": [{A_LIST_FOR_A_NAME}]}}]}}', "something else"),
    ],
)
def test_a_file_that_holds_no_results_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "results.json").write_text(text)
    with pytest.raises(ComparisonError, match=f"is no results.json.*{reason}.*give one that spider.evaluate"):
        load_results(str(tmp_path))


def test_a_setting_is_named_by_a_part_of_its_name(tmp_path: Path) -> None:
    settings = [{"setting": "m, 1 turn", "verdicts": []}, {"setting": "m, 3 turns", "verdicts": []}]
    (tmp_path / "results.json").write_text(json.dumps({"settings": settings}))
    assert load_results(f"{tmp_path}#3").name.endswith("(m, 3 turns)")
    with pytest.raises(ComparisonError, match="There are: m, 1 turn; m, 3 turns"):
        load_results(str(tmp_path))
