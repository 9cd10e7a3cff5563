"""What an evaluation keeps of each question, and the file it keeps it in.

``answers.jsonl``: the first line says what was evaluated (`Identity`), every other one is an `Answer`, written as soon
as the question is done. The same command, run again, asks only what is missing or has failed.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO, TypedDict

from spider.files import make_folder

logger = logging.getLogger(__name__)

FORMAT = 1


@dataclass(frozen=True)
class Setting:
    """One way to run the agent.

    Attributes:
        model: What the model is called in tables.
        context: Most characters of schema and of result in a prompt.
        max_turns: Queries a question may take.
    """

    model: str
    context: int = 2048
    max_turns: int = 3

    @property
    def name(self) -> str:
        """Name in files and tables."""
        turns = "1 turn" if self.max_turns == 1 else f"{self.max_turns} turns"
        return f"{self.model}, context {self.context}, {turns}"


class Call(TypedDict):
    """One reply: which node asked, with what, and what it took. Tokens are 0 where the server doesn't count them."""

    node: str
    prompt: list[dict[str, str]]
    reply: str
    prompt_tokens: int
    reply_tokens: int
    seconds: float


class Turn(TypedDict):
    """One query: its result as text, what kind of result that is (see `kinds`), and whether it is right."""

    query: str
    result: str
    kind: str
    right: bool
    said_correct: bool | None


@dataclass(frozen=True)
class Answer:
    """One question's rollout.

    Attributes:
        setting: Name of the setting.
        number: The question's row in its file, from 0.
        sample: Which of the question's samples this is, from 0.
        question: The question.
        db_id: Its database.
        gold: The gold query.
        hardness: Spider's level of the gold query.
        query: The final query.
        turns: Every query that was tried.
        calls: Every call of the model.
        strict: Whether the final query is right by the strict rule; None when the question failed.
        published: The same by the rule behind published numbers.
        failure: Why there is no verdict; empty when there is one.
        detail: The failure's own words.
        gold_result: The gold query's result as text.
        seconds: From the question to its verdict.
    """

    setting: str
    number: int
    sample: int
    question: str
    db_id: str
    gold: str
    hardness: str
    query: str = ""
    turns: list[Turn] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    strict: bool | None = None
    published: bool | None = None
    failure: str = ""
    detail: str = ""
    gold_result: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells this answer from all others of its file."""
        return self.setting, self.number, self.sample

    @property
    def kind(self) -> str:
        """``right``, the last turn's kind of failure, or ``failed`` when there is no verdict."""
        if self.strict is None:
            return "failed"
        return self.turns[-1]["kind"] if self.turns else "empty_query"


@dataclass(frozen=True)
class Identity:
    """What must not change between the runs that fill one file.

    Attributes:
        model: What tells the model from others (see `Model.fingerprint`).
        questions: SHA-256 of the file of questions.
        temperature: Sampling temperature; 0 is greedy.
        max_tokens: Longest reply.
    """

    model: str
    questions: str
    temperature: float
    max_tokens: int


class OtherRunError(ValueError):
    """The file holds another evaluation's answers."""


class AnswerFile:
    """The answers so far, and where new ones go."""

    def __init__(self, path: Path, identity: Identity) -> None:
        """Read what is there.

        Raises:
            OtherRunError: the file belongs to another evaluation.
        """
        self.path = path
        self.answers: dict[tuple[str, int, int], Answer] = {}
        make_folder(path.parent)
        if path.exists() and path.stat().st_size:
            known, answers = read_answers(path)
            if differences := _differences(known, identity):
                raise OtherRunError(
                    f"{path} holds answers of another evaluation ({', '.join(differences)}): "
                    "give another --output, or --fresh to start anew"
                )
            self.answers = {answer.key: answer for answer in answers}
        self._file: TextIO = path.open("a", encoding="utf-8")
        if not path.stat().st_size:
            self._write({"format": FORMAT, **asdict(identity)})
        elif not path.read_bytes().endswith(b"\n"):  # it was ended while it wrote a line
            self._file.write("\n")

    def add(self, answer: Answer) -> None:
        """Keep an answer."""
        self.answers[answer.key] = answer
        self._write(asdict(answer))

    def has(self, key: tuple[str, int, int]) -> bool:
        """Whether a question is done; one that failed is not."""
        return key in self.answers and not self.answers[key].failure

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, record: object) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()


def read_answers(path: Path) -> tuple[dict[str, Any], list[Answer]]:
    """The first line of an answers' file, and its answers; a line that was cut off is left out, and said so.

    Raises:
        OtherRunError: it is not such a file.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    records = [record for line in lines if (record := _parsed(line)) is not None]
    if not records or records[0].get("format") != FORMAT:
        raise OtherRunError(f"{path} is not a file of answers: give another --output, or --fresh to start anew")
    if len(records) < len([line for line in lines if line]):
        logger.warning("%s: a line that was cut off is left out", path)
    return records[0], [_answer(record) for record in records[1:]]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _answer(record: dict[str, Any]) -> Answer:
    names = {each.name for each in fields(Answer)}
    return Answer(**{name: value for name, value in record.items() if name in names})


def _differences(known: dict[str, Any], identity: Identity) -> list[str]:
    return [
        f"another {name}" if name in ("model", "questions") else f"{name} {known.get(name)}, now {value}"
        for name, value in asdict(identity).items()
        if known.get(name) != value
    ]
