"""Whether a data folder is sound: whole, readable, and every question of it can be scored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spider.data import load_tasks
from spider.data_preparation.databases import integrity, look_into
from spider.data_preparation.golds import BAD, judge_all
from spider.data_preparation.report import MANIFEST, read_manifest
from spider.model_store import sha256

TRAIN = "train_spider.parquet"
NEEDED = (TRAIN, "test_dev.parquet", "test_dev_500.parquet")

Tasks = dict[str, list[dict[str, str]]]


def verify(folder: Path, seconds: float = 10.0, quiet: bool = False) -> tuple[list[str], list[str]]:
    """What is wrong with a data folder, and what is worth knowing: one line each.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no data folder {folder}: prepare one with scripts/prepare_data.py ZIP or --download")
    problems = list(changed_files(folder))
    tasks: Tasks = {}
    for name in sorted({path.name for path in folder.glob("*.parquet")} | set(NEEDED)):
        try:
            tasks[name] = load_tasks(folder / name)
        except (OSError, ValueError) as error:
            problems.append(str(error))
    problems += misplaced(tasks)
    databases = sorted({task["db_path"] for rows in tasks.values() for task in rows})
    bad = {db_path: problem for db_path in databases if (problem := database_problem(folder / db_path))}
    problems += [f"{db_path}: {problem}" for db_path, problem in bad.items()]
    gold_problems, remarks = judged(folder, tasks, set(bad), seconds, quiet)
    counts = ", ".join(f"{len(rows)} in {name}" for name, rows in tasks.items())
    return problems + gold_problems, [f"questions: {counts}", f"databases: {len(databases)}", *remarks]


def changed_files(folder: Path) -> Iterator[str]:
    """Files that are no longer what the preparation wrote; none for a folder that came from elsewhere."""
    for name, expected in read_manifest(folder).get("files", {}).items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is gone: prepare the folder again"
        elif sha256(path) != expected:
            yield f"{name} is not what {MANIFEST} records: prepare the folder again"


def misplaced(tasks: Tasks) -> Iterator[str]:
    """Databases that lie where the agent doesn't look, or that are in training and validation both."""
    ids = {name: {task["db_id"] for task in rows} for name, rows in tasks.items()}
    for name, rows in tasks.items():
        place = "database" if name.startswith("train") else "test_database"
        for db_id in sorted(ids[name]):
            expected = f"{place}/{db_id}/{db_id}.sqlite"
            if other := {task["db_path"] for task in rows if task["db_id"] == db_id} - {expected}:
                yield f"{name}: {sorted(other)[0]} should be {expected}"
        if not name.startswith("train") and (shared := ids.get(TRAIN, set()) & ids[name]):
            yield f"{name} shares databases with {TRAIN}: {', '.join(sorted(shared))}"


def database_problem(path: Path) -> str | None:
    """What is wrong with a database file; None when nothing is."""
    if not path.is_file():
        return "no such file"
    if problem := integrity(path):
        return problem
    contents = look_into(path)
    return contents.error or (None if contents.rows else "no rows in any table")


def judged(folder: Path, tasks: Tasks, bad: set[str], seconds: float, quiet: bool) -> tuple[list[str], list[str]]:
    """Gold queries that can't be used, and how many give no rows; those over bad databases are passed over."""
    golds = [
        (name, number, folder / task["db_path"], task["query"])
        for name, rows in tasks.items()
        for number, task in enumerate(rows)
        if task["db_path"] not in bad
    ]
    verdicts = judge_all([(db, query) for _, _, db, query in golds], seconds, quiet)
    problems: list[str] = []
    without_rows = 0
    for name, number, db, query in golds:
        verdict = verdicts[db, query]
        without_rows += verdict.kind == "no rows"
        if verdict.kind in BAD:
            problems.append(f"{name}, row {number}: {BAD[verdict.kind]}: {verdict.message or query}")
    return problems, [f"gold queries without rows: {without_rows} of {len(golds)} (queries without rows match them)"]
