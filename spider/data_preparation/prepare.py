"""From a source to a data folder, made whole beside what is there and moved into place as the last step.

    report = prepare(open_source(Path("spider-data.zip")), Path("data"))

The task files are the published ones: validation samples 100 (`test_dev`) and 500 (`test_dev_500`) of Spider's test
questions with the seeds that agentlightning's example used, so that accuracies can be compared with its figures.
"""

from __future__ import annotations

import logging
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spider.data_preparation.databases import Contents, copy_database, look_into
from spider.data_preparation.golds import BAD, judge_all
from spider.data_preparation.report import MANIFEST, Report, SplitReport, read_manifest, write_manifest
from spider.data_preparation.source import Place, Question, Source, SourceError
from spider.download import require_space
from spider.files import make_folder
from spider.model_store import locked

TRAIN, DEV, TEST = "train_spider", "dev", "test"
SAMPLES = {"test_dev": (100, 42), "test_dev_500": (500, 0)}  # rows and pandas' random_state
FOLDERS = {TRAIN: "database"}  # every other split's databases lie in test_database/
STAGED = ".preparing"  # where the folder is made, inside of it: on the same disk

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Database:
    """A database that some split needs: where it goes, and what came."""

    path: Path
    contents: Contents | None
    """None when the source lacks it."""

    @property
    def problem(self) -> str:
        """Why its questions can't be used; empty when they can."""
        if self.contents is None:
            return "no database"
        if self.contents.error:
            return "unreadable database"
        return "" if self.contents.rows else "empty database"


def prepare(
    source: Source,
    output: Path,
    name: str,
    *,
    force: bool = False,
    seconds: float = 10.0,
    quiet: bool = False,
) -> Report:
    """Write a data folder and return what went into it; ended before its end, it leaves the folder as it was.

    Args:
        source: Spider, from `open_source`.
        output: The folder; what else lies in it stays.
        name: The source's name, for the report.
        force: Whether to write over task files that this program did not make.
        seconds: Time limit of one gold query.
        quiet: Whether to show no progress bars.

    Raises:
        SourceError: the source lacks what it must have, or `output` holds someone's own task files.
        DownloadError: the disk is too small.
    """
    refuse_to_overwrite(output, force)
    staged = output / STAGED
    with locked(output / f"{STAGED}.lock"):
        shutil.rmtree(staged, ignore_errors=True)  # what a killed call left
        try:
            report = prepare_in(staged, source, name, seconds, quiet)
            move_into_place(staged, output)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    return report


def prepare_in(output: Path, source: Source, name: str, seconds: float, quiet: bool) -> Report:
    """Write a data folder where there is none."""
    splits, wanted = splits_of(source)
    databases = bring_databases(source, splits, output, quiet)
    report = Report(name, databases=database_report(source, databases))
    report.notes += [
        f"{count} rows of {file} lack a question, a query or a db_id" for file, count in source.malformed.items()
    ]
    report.notes += [f"{file} is not UTF-8: read as Windows-1252" for file in source.not_utf8]
    if not source.has(TEST) and not source.has("test_dev"):
        report.notes.append(
            "no test split in the source: test_dev and test_dev_500 are samples of the dev questions"
            if DEV in splits
            else "no dev or test questions in the source: there is nothing to validate on"
        )
    usable = leave_out(splits, databases, report, seconds, quiet)
    for split, count in wanted.items():
        if split in splits and len(splits[split]) < count:
            report.notes.append(f"{split} wants {count} questions, the source has {len(splits[split])}")
    write_task_files(usable, output)
    tables = source.place / "tables.json"
    if tables.is_file():
        (output / "tables.json").write_bytes(tables.read_bytes())
    written = [output / f"{split}.parquet" for split, rows in usable.items() if rows]
    write_manifest(output, report, written + [found.path for found in databases.values() if found.contents])
    return report


def move_into_place(staged: Path, output: Path) -> None:
    """Put a prepared folder's files in place of an earlier one's, whose other files go. Ctrl-C waits for the end."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        earlier = read_manifest(output).get("files", {})
        names = [path.relative_to(staged) for path in sorted(staged.rglob("*")) if path.is_file()]
        # The record last: whatever ends this half-way, --verify finds files that are not the recorded ones.
        for name in sorted(names, key=lambda name: (name.name == MANIFEST, name.suffix == ".parquet")):
            make_folder((output / name).parent)
            (staged / name).replace(output / name)
        for name in set(map(Path, earlier)) - set(names):
            if name.suffix == ".sqlite" and name.parent.name == name.stem:
                shutil.rmtree((output / name).parent, ignore_errors=True)
            else:
                (output / name).unlink(missing_ok=True)
    finally:
        signal.signal(signal.SIGINT, before)


def refuse_to_overwrite(output: Path, force: bool) -> None:
    """Leave a folder alone whose task files came from elsewhere.

    Raises:
        SourceError: `output` is such a folder.
    """
    if not force and any(output.glob("*.parquet")) and not (output / MANIFEST).is_file():
        raise SourceError(
            f"{output} holds task files that this program did not make: move them, name another --output, or --force"
        )


def splits_of(source: Source) -> tuple[dict[str, list[Question]], dict[str, int]]:
    """The questions of each task file to write, and how many each sample should have.

    Raises:
        SourceError: there are no training questions, or a file can't be read.
    """
    splits = {TRAIN: source.training(), DEV: source.questions(DEV), TEST: source.questions(TEST)}
    for name, (count, seed) in SAMPLES.items():
        ready_made = [] if splits[TEST] else source.questions(name)
        splits[name] = ready_made or sample(splits[TEST] or splits[DEV], count, seed)
    wanted = {name: count for name, (count, _) in SAMPLES.items()}
    return {name: questions for name, questions in splits.items() if questions}, wanted


def sample(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """Up to `count` of the questions, drawn as pandas' `sample` draws them."""
    import pandas as pd

    places = pd.Series(range(len(questions))).sample(n=min(count, len(questions)), random_state=seed)
    return [questions[place] for place in places]


def bring_databases(
    source: Source, splits: dict[str, list[Question]], output: Path, quiet: bool
) -> dict[tuple[str, str], Database]:
    """Copy every database that a question asks about, by (folder, db_id), and look into it."""
    from tqdm import tqdm

    found: dict[tuple[str, str], Place | None] = {}
    for split, questions in splits.items():
        folder = FOLDERS.get(split, "test_database")
        for question in questions:
            key = folder, question.db_id
            if key not in found:
                found[key] = source.database(question.db_id, test=split not in (TRAIN, DEV))
    require_space(
        output, sum(size_of(place) for place in found.values() if place), "free some, or name another --output"
    )
    databases: dict[tuple[str, str], Database] = {}
    silent = quiet or not sys.stderr.isatty()
    for (folder, db_id), place in tqdm(found.items(), desc="databases", unit="database", disable=silent):
        path = output / folder / db_id / f"{db_id}.sqlite"
        if place is None:
            databases[folder, db_id] = Database(path, None)
            continue
        copy_database(place, path)
        databases[folder, db_id] = Database(path, look_into(path))
    return databases


def size_of(place: Place) -> int:
    """The size of a file in bytes, unpacked if it lies in a zip."""
    return place.stat().st_size if isinstance(place, Path) else place.root.getinfo(place.at).file_size


def leave_out(
    splits: dict[str, list[Question]],
    databases: dict[tuple[str, str], Database],
    report: Report,
    seconds: float,
    quiet: bool,
) -> dict[str, list[dict[str, str]]]:
    """The rows that can be scored; those that can't are counted by reason. Fills the report's splits."""

    def database_of(split: str, question: Question) -> Database:
        return databases[FOLDERS.get(split, "test_database"), question.db_id]

    golds = [
        (database.path, question.query)
        for split, questions in splits.items()
        for question in questions
        if not (database := database_of(split, question)).problem
    ]
    verdicts = judge_all(golds, seconds, quiet)
    usable: dict[str, list[dict[str, str]]] = {}
    for split, questions in splits.items():
        left_out, without_rows = Counter[str](), 0
        rows: list[dict[str, str]] = []
        for question in questions:
            database = database_of(split, question)
            verdict = verdicts.get((database.path, question.query))
            if verdict is None:
                left_out[database.problem] += 1
            elif verdict.kind in BAD:
                left_out[BAD[verdict.kind]] += 1
                report.failing.append((split, question.db_id, question.query, verdict.message))
            else:
                without_rows += verdict.kind == "no rows"
                folder = FOLDERS.get(split, "test_database")
                db_path = f"{folder}/{question.db_id}/{question.db_id}.sqlite"
                rows.append(
                    {
                        "question": question.question,
                        "db_id": question.db_id,
                        "query": question.query,
                        "db_path": db_path,
                    }
                )
        usable[split] = rows
        used = len({row["db_id"] for row in rows})
        report.splits[split] = SplitReport(len(questions), len(rows), used, dict(left_out), without_rows)
    return usable


def write_task_files(splits: dict[str, list[dict[str, str]]], output: Path) -> None:
    """Write each split as `<split>.parquet`; one without rows is not written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from spider.data import COLUMNS

    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    for split, rows in splits.items():
        if rows:
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), output / f"{split}.parquet")


def database_report(source: Source, databases: dict[tuple[str, str], Database]) -> dict[str, dict[str, str]]:
    """What is wrong with databases: kind -> database -> detail."""
    schemas = source.schemas()
    kinds = ("missing", "unreadable", "empty", "with text that is not UTF-8", "with other tables than tables.json")
    report: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for (folder, db_id), database in sorted(databases.items()):
        for kind, detail in findings(database, schemas.get(db_id)):
            report[kind][f"{folder}/{db_id}"] = detail
    return report


def findings(database: Database, expected: set[str] | None) -> Iterator[tuple[str, str]]:
    """What is wrong with a database: kind and detail; `expected` are its tables in `tables.json`, if it is there."""
    contents = database.contents
    if contents is None:
        yield "missing", ""
        return
    if contents.error:
        yield "unreadable", contents.error
        return
    if database.problem:
        yield "empty", ""
    if contents.not_utf8:
        yield "with text that is not UTF-8", f"{contents.not_utf8} values"
    if expected is not None and (other := expected ^ contents.tables):
        yield "with other tables than tables.json", " ".join(sorted(other))
