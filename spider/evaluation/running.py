"""Many questions at once, with a progress bar; each answer is kept as soon as it is there."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spider.evaluation.answering import Question
from spider.evaluation.records import Answer, AnswerFile, Setting

UNREACHABLE = "unreachable"
GIVE_UP_AFTER = 32
"""Answers in a row that found no server: then it is gone, and the rest would fail too."""
SECONDS_BETWEEN_LINES = 30.0
"""Where there is no terminal for a progress bar."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Work:
    """One question to ask."""

    question: Question
    setting: Setting
    sample: int

    @property
    def key(self) -> tuple[str, int, int]:
        """The answer's key."""
        return self.setting.name, self.question.number, self.sample


Ask = Callable[[Work], Answer]


class ServerGoneError(RuntimeError):
    """The model's server doesn't answer any more; what was answered is kept."""


def work_left(questions: Sequence[Question], settings: Sequence[Setting], samples: int, file: AnswerFile) -> list[Work]:
    """What is to be asked still: everything that isn't in the file, or failed."""
    every = [
        Work(question, setting, sample) for setting in settings for question in questions for sample in range(samples)
    ]
    return [work for work in every if not file.has(work.key)]


def run(work: Sequence[Work], ask: Ask, file: AnswerFile, workers: int, quiet: bool = False) -> None:
    """Ask everything, `workers` questions at a time.

    Raises:
        ServerGoneError: the server doesn't answer any more.
        KeyboardInterrupt: Ctrl-C; the questions in flight are given up.
    """
    from tqdm import tqdm

    right = answered = failed = unreachable = 0
    said = time.monotonic()
    with tqdm(total=len(work), desc="evaluating", unit="question", disable=quiet or None, dynamic_ncols=True) as bar:
        for count, answer in enumerate(_answers(work, ask, workers), 1):
            file.add(answer)
            right += bool(answer.strict)
            answered += answer.strict is not None
            failed += bool(answer.failure)
            unreachable = unreachable + 1 if answer.failure == UNREACHABLE else 0
            if unreachable >= min(GIVE_UP_AFTER, len(work)):
                raise ServerGoneError(answer.detail)
            bar.update()
            if bar.disable and not quiet and time.monotonic() - said >= SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                logger.info("%d of %d answers", count, len(work))
            bar.set_postfix({"accuracy": f"{right / answered:.3f}" if answered else "-", "failed": failed})


def _answers(work: Sequence[Work], ask: Ask, workers: int) -> Iterator[Answer]:
    """The answers as they come. Its threads end with the process: a call in flight doesn't hold up Ctrl-C."""
    waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()
    for each in work:
        waiting.put(each)
    count = min(workers, len(work))
    for _ in range(count):
        waiting.put(None)
    stop = threading.Event()

    def serve() -> None:
        while (each := waiting.get()) is not None and not stop.is_set():
            try:
                done.put(ask(each))
            except BaseException as error:
                done.put(error)

    for number in range(count):
        threading.Thread(target=serve, name=f"question-{number}", daemon=True).start()
    try:
        for _ in work:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        stop.set()
