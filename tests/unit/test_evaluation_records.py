"""The file of answers: what is in it is not asked again, and nothing gets mixed up."""

from dataclasses import replace
from pathlib import Path

import pytest

from spider.evaluation.records import AnswerFile, Identity, OtherRunError, read_answers
from tests.unit.evaluation_answers import answer

IDENTITY = Identity("model", "hash", temperature=0.0, max_tokens=512)


def written(path: Path) -> AnswerFile:
    file = AnswerFile(path, IDENTITY)
    file.add(answer(0))
    file.add(answer(1, None, failure="timeout"))
    file.close()
    return file


def test_answers_come_back_as_they_were(tmp_path: Path) -> None:
    file = written(tmp_path / "answers.jsonl")
    assert AnswerFile(file.path, IDENTITY).answers == file.answers


def test_a_failed_question_is_not_done(tmp_path: Path) -> None:
    file = AnswerFile(written(tmp_path / "answers.jsonl").path, IDENTITY)
    assert file.has(answer(0).key)
    assert not file.has(answer(1).key)


def test_a_later_answer_takes_the_place_of_a_failed_one(tmp_path: Path) -> None:
    file = AnswerFile(written(tmp_path / "answers.jsonl").path, IDENTITY)
    file.add(answer(1))
    assert AnswerFile(file.path, IDENTITY).answers[answer(1).key].strict is True


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    path = written(tmp_path / "answers.jsonl").path
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-20], encoding="utf-8")
    file = AnswerFile(path, IDENTITY)
    assert list(file.answers) == [answer(0).key]
    file.add(answer(2))
    assert len(read_answers(path)[1]) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [({"model": "other"}, "another model"), ({"questions": "x"}, "another questions"), ({"max_tokens": 9}, "now 9")],
)
def test_another_evaluations_file_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = written(tmp_path / "answers.jsonl").path
    with pytest.raises(OtherRunError, match=message):
        AnswerFile(path, Identity(**{**vars(IDENTITY), **change}))


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(OtherRunError, match="not a file of answers"):
        AnswerFile(path, replace(IDENTITY))


def test_line_ends_inside_a_text_are_no_line_ends_of_the_file(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "answers.jsonl", IDENTITY)
    file.add(replace(answer(0), question="one\u2028two\x85three"))
    file.close()
    assert [read.question for read in read_answers(file.path)[1]] == ["one\u2028two\x85three"]
