"""The command line's work: `spider.evaluate` parses, this evaluates, compares and writes."""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from spider.data import ROOT, SPLITS, data_dir, load_environment, load_tasks
from spider.evaluation.answering import Question
from spider.evaluation.comparison import ComparisonError, Verdict, compare, comparison_table, load_results
from spider.evaluation.models import Model, given_model, serving
from spider.evaluation.published import CONTEXTS, TURNS, published_table
from spider.evaluation.records import Answer, AnswerFile, Identity, OtherRunError, Setting
from spider.evaluation.running import ServerGoneError, Work, run, work_left
from spider.evaluation.summary import Summary, failure_text, summarise
from spider.evaluation.table import joined, summary_table
from spider.files import write_whole
from spider.output import show
from spider.server_model import ServerError

logger = logging.getLogger("spider.evaluate")


@dataclass(frozen=True)
class Plan:
    """What is evaluated, the same for all models."""

    questions: Sequence[Question]
    file: Path
    identity: Identity
    contexts: Sequence[int]
    turns: Sequence[int]
    samples: int
    workers: int
    quiet: bool

    def settings(self, model: Model) -> list[Setting]:
        """The settings in which a model is run."""
        return [Setting(model.name, context, turns) for context in self.contexts for turns in self.turns]


def main(options: argparse.Namespace) -> int:
    """Run the command; 0 when every question has a verdict, 1 when some have none, 2 for a wrong request, 130.

    A server that can't be started or dies is 1 too; what was answered before is kept.
    """
    _set_up_logging(options.quiet)
    try:
        if options.compare:
            return _compare(options)
        return _evaluate(options)
    except (OtherRunError, ComparisonError, OSError, ValueError) as error:
        logger.error("error: %s", error)
        return 2
    except ServerGoneError as error:
        logger.error("error: %s; what was answered is kept: run the same command again to go on", error)
        return 1
    except ServerError as error:
        logger.error("error: %s", error)
        return 1
    except KeyboardInterrupt:
        logger.warning("interrupted; answers that were complete are kept: run the same command again to go on")
        return 130


def _set_up_logging(quiet: bool) -> None:
    """Messages to standard error: standard output is for the tables."""
    from spider.run_logging import TerminalHandler, keep_libraries_quiet

    load_environment()
    keep_libraries_quiet()
    logging.basicConfig(level=logging.WARNING, handlers=[TerminalHandler()], force=True)
    logging.getLogger("spider").setLevel(logging.WARNING if quiet else logging.INFO)


def _compare(options: argparse.Namespace) -> int:
    found = compare(*(load_results(spec) for spec in options.compare))
    if options.output:
        write_whole(options.output / "comparison.json", json.dumps(found, ensure_ascii=False, indent=1))
    show(comparison_table(found))
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    models = [given_model(options.model, options.endpoint)]
    if options.checker_model:
        checker = given_model(options.checker_model, options.endpoint)
        models.append(Model(f"{checker.name} (checker trained)", checker.source, checker.endpoint))
    plan = _plan(options)
    output: Path = options.output or default_output(models[0], plan.file, plan.identity.temperature > 0)
    answers: dict[str, list[Answer]] = {}
    for number, model in enumerate(models):
        path = output / ("answers.jsonl" if number == 0 else "answers-checker.jsonl")
        answers |= _answers(model, plan, path, options)
    summaries = {setting: summarise(setting, each) for setting, each in answers.items()}
    write_results(output, _facts(models, plan), list(summaries.values()), answers)
    show(joined(summary_table(summary) for summary in summaries.values()))
    if options.published_table:
        show("\n\n" + published_table(_published_rows(models, summaries)))
    logger.info("report: %s", output / "report.html")
    failed = [answer for each in answers.values() for answer in each if answer.failure]
    if failed:
        reasons = failure_text(Counter(answer.failure for answer in failed))
        logger.warning("without a verdict: %s; run the same command again to ask only those", reasons)
    return 1 if failed else 0


def default_output(model: Model, file: Path, sampled: bool = False) -> Path:
    """Where the answers go unless told otherwise: a folder's and an endpoint's, greedy and sampled ones apart."""
    where = "-endpoint" if model.endpoint else ""
    how = "-sampled" if sampled else ""
    return ROOT / "outputs" / "evaluate" / f"{model.name}{where}-{file.stem}{how}"


def _plan(options: argparse.Namespace) -> Plan:
    """Read the questions and check what was asked for.

    Raises:
        ValueError: the file of questions can't be used, or the numbers don't fit together.
    """
    file = _file_of(options.split)
    tasks = list(enumerate(load_tasks(file)))
    if options.limit is not None and options.limit < len(tasks):
        tasks = [tasks[at * len(tasks) // options.limit] for at in range(options.limit)]
    if not tasks:
        raise ValueError(f"{file} has no questions: give another --split")
    temperature = options.temperature
    if temperature is None:
        temperature = 1.0 if options.samples > 1 else 0.0
    if options.samples > 1 and temperature == 0:
        raise ValueError(f"--samples {options.samples} of a greedy model are all the same: give --temperature 1")
    published = options.published_table
    questions = [
        Question(number, task["question"], task["db_id"], task["query"], file.parent / task["db_path"])
        for number, task in tasks
    ]
    return Plan(
        questions,
        file,
        Identity("", hashlib.sha256(file.read_bytes()).hexdigest(), temperature, options.max_tokens),
        CONTEXTS if published else options.context_chars,
        TURNS if published else options.max_turns,
        options.samples,
        options.workers,
        options.quiet,
    )


def _file_of(split: str) -> Path:
    """The task file of a split: one of `SPLITS`, another file of the data folder, or a path."""
    folder = data_dir()
    inside = folder / SPLITS.get(split, f"{split.removesuffix('.parquet')}.parquet")
    return inside if split in SPLITS or inside.is_file() else Path(split).resolve()


def _answers(model: Model, plan: Plan, path: Path, options: argparse.Namespace) -> dict[str, list[Answer]]:
    """Every answer of a model in the plan's settings, by setting; only what is missing is asked."""
    if options.fresh and path.is_file():
        path.unlink()
    file = AnswerFile(path, replace(plan.identity, model=model.fingerprint))
    settings = plan.settings(model)
    try:
        left = work_left(plan.questions, settings, plan.samples, file)
        total = len(plan.questions) * len(settings) * plan.samples
        logger.info("%s: %d answers to get, %d are there", model.name, len(left), total - len(left))
        if left:
            _ask(model, plan, left, file)
    finally:
        file.close()
    numbers = {question.number for question in plan.questions}
    return {
        setting.name: [
            answer
            for answer in sorted(file.answers.values(), key=lambda answer: answer.key)
            if answer.setting == setting.name and answer.number in numbers and answer.sample < plan.samples
        ]
        for setting in settings
    }


def _ask(model: Model, plan: Plan, left: Sequence[Work], file: AnswerFile) -> None:
    from spider.evaluation.answering import answer

    sampling: dict[str, object] = {
        "temperature": plan.identity.temperature,
        "max_completion_tokens": plan.identity.max_tokens,
    }
    with serving(model, sampling) as endpoint:
        run(
            left,
            lambda work: answer(work.question, work.setting, work.sample, endpoint),
            file,
            plan.workers,
            plan.quiet,
        )


def _facts(models: Sequence[Model], plan: Plan) -> dict[str, str]:
    """What was evaluated, for the report's head."""
    return {
        "model": ", ".join(f"{model.source}" for model in models),
        "questions": f"{len(plan.questions)} of {plan.file.name}",
        "sampling": f"temperature {plan.identity.temperature:g}, at most {plan.identity.max_tokens} tokens a reply",
        "samples": f"{plan.samples} a question",
        "written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    }


def _published_rows(
    models: Sequence[Model], summaries: dict[str, Summary]
) -> list[tuple[int, int, bool, Summary | None]]:
    rows: list[tuple[int, int, bool, Summary | None]] = []
    for at, is_trained in enumerate((False, True)):
        for context in CONTEXTS:
            for turns in TURNS:
                name = Setting(models[at].name, context, turns).name if at < len(models) else ""
                rows.append((context, turns, is_trained, summaries.get(name)))
    return rows


def write_results(
    output: Path, facts: dict[str, str], summaries: Sequence[Summary], answers: dict[str, list[Answer]]
) -> None:
    """Write ``results.json`` (numbers, and every verdict) and ``report.html``."""
    from spider.evaluation.page import evaluation_page

    settings = [
        {**summary, "verdicts": [_verdict(answer) for answer in answers[summary["setting"]]]} for summary in summaries
    ]
    write_whole(
        output / "results.json", json.dumps({"format": 1, **facts, "settings": settings}, ensure_ascii=False, indent=1)
    )
    title = f"Evaluation of {', '.join(dict.fromkeys(summary['setting'].partition(',')[0] for summary in summaries))}"
    write_whole(output / "report.html", evaluation_page(title, facts, summaries, answers))


def _verdict(answer: Answer) -> dict[str, object]:
    """An answer as `comparison.Verdict`."""
    return {name: getattr(answer, name) for name in Verdict.__annotations__}
