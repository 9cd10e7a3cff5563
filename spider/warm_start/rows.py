"""Training rows of the warm start: the agent's own prompts, each with the reply a good model would give.

Every question gives a write turn in every epoch. For each 60 of them there are 25 check turns, half with the gold and
half with a wrong query, and 15 rewrite turns; which questions these are, what is wrong and how much of the schema is
shown is drawn anew each epoch, so more epochs show more different rows.
"""

from __future__ import annotations

import json
import logging
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from sqlglot.errors import SqlglotError
from tqdm import tqdm

from spider.data import load_tasks
from spider.database import Database, open_database
from spider.files import make_folder
from spider.prompts import CORRECT, INCORRECT, check_messages, format_query, rewrite_messages, write_messages
from spider.reward import evaluate_query
from spider.warm_start.mutations import Mutation, mutations, table_columns

logger = logging.getLogger(__name__)

CHECKS, REWRITES = 25 / 60, 15 / 60  # per write turn
SCHEMA_CHARS = 2048  # the agent's own default ...
SHORT_SCHEMA_CHARS = (1200, 1500)  # ... and for 2 of 5 rows less, as when a prompt is shrunk to fit
RESULT_CHARS = (512, 2048)
OTHER_QUESTION = 0.2  # of the wrong queries: the gold of another question on the same database
TRIES = 12

Turn = Literal["write", "check", "rewrite"]


@dataclass(frozen=True)
class Task:
    """A question, the query that answers it and the database it is asked of."""

    question: str
    query: str
    db: Path


@dataclass(frozen=True)
class Row:
    """Chat messages, the reply to learn, and the epoch (from 0) and turn they belong to."""

    epoch: int
    turn: Turn
    messages: list[dict[str, str]]
    reply: str


def read_tasks(path: Path, limit: int | None = None) -> list[Task]:
    """Tasks of a parquet file in file order; the databases lie relative to the file.

    Raises:
        FileNotFoundError: the file or the folder of its databases is missing.
        ValueError: the file has not the columns of a task file.
    """
    return [
        Task(row["question"], tidy(row["query"]), (path.parent / row["db_path"]).resolve())
        for row in load_tasks(path, limit)
    ]


def tidy(query: str) -> str:
    """`query` on one line, with single blanks outside quotes and no closing semicolon."""
    parts = re.split(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", query.strip().rstrip("; \n\t"))
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"\s+", " ", parts[index]).replace(" ,", ",")
    return "".join(parts)


def build_rows(tasks: Sequence[Task], epochs: int, seed: int) -> Iterator[Row]:
    """Rows of all epochs, in a fixed order that depends on `seed` alone."""
    by_database: dict[Path, list[Task]] = {}
    for task in tasks:
        by_database.setdefault(task.db, []).append(task)
    for epoch in range(epochs):
        rng = random.Random(f"{seed}:{epoch}")
        order = rng.sample(range(len(tasks)), len(tasks))
        checks, rewrites = round(len(tasks) * CHECKS), round(len(tasks) * REWRITES)
        for place, index in enumerate(tqdm(order, desc=f"rows of epoch {epoch + 1}", unit="question")):
            task = tasks[index]
            rng = random.Random(f"{seed}:{epoch}:{index}")
            database = open_database(task.db)
            yield Row(epoch, "write", write_messages(task.question, _schema(database, task, rng)), _target(task))
            if place < checks and place % 2:
                yield _approval(epoch, task, database, rng)
            elif place < checks + rewrites:
                wrong = wrong_query(task, by_database[task.db], rng)
                if wrong is None:
                    logger.debug("no wrong query found for %r", task.query)
                elif place < checks:
                    yield _objection(epoch, task, wrong, database, rng)
                else:
                    yield _rewrite(epoch, task, wrong, database, rng)


def wrong_query(task: Task, neighbours: Sequence[Task], rng: random.Random) -> Mutation | None:
    """A query that the reward rates 0 for `task`, or None when none of `TRIES` is."""
    if rng.random() < OTHER_QUESTION:
        other = rng.choice(neighbours)
        if evaluate_query(other.query, task.query, str(task.db), raise_on_error=False) == 0:
            return Mutation("other question", other.query, "The query answers another question.")
    try:
        candidates = mutations(task.query, table_columns(task.db), rng)
        for _, mutation in zip(range(TRIES), candidates, strict=False):
            if evaluate_query(mutation.query, task.query, str(task.db), raise_on_error=False) == 0:
                return mutation
    except SqlglotError as error:
        logger.debug("no tokens of %r: %s", task.query, error)
    return None


def write_rows(rows: Iterator[Row], path: Path, sources: Mapping[str, int]) -> int:
    """Store rows as parquet, with the number of questions by source, and return how many rows there are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([asdict(row) for row in rows])
    table = table.replace_schema_metadata({"sources": json.dumps(sources)})
    make_folder(path.parent)
    # A schema recurs in hundreds of rows: large pages let zstd see that.
    pq.write_table(table, path, compression="zstd", compression_level=19, data_page_size=1 << 27, use_dictionary=False)
    return table.num_rows


def load_rows(path: Path) -> list[Row]:
    """Rows as `write_rows` stored them.

    Raises:
        FileNotFoundError: there is no such file.
    """
    import pyarrow.parquet as pq

    if not path.is_file():
        raise FileNotFoundError(f"no rows in {path}: write them with `python scripts/warm_start.py rows`")
    return [Row(**row) for row in pq.read_table(path).to_pylist()]


def read_sources(path: Path) -> dict[str, int]:
    """Questions by source, as `write_rows` stored them."""
    import pyarrow.parquet as pq

    return json.loads((pq.read_schema(path).metadata or {})[b"sources"])


def _schema(database: Database, task: Task, rng: random.Random) -> str:
    chars = SCHEMA_CHARS if rng.random() < 0.6 else rng.randint(*SHORT_SCHEMA_CHARS)
    return database.schema(task.question, chars)


def _result(database: Database, query: str, rng: random.Random) -> str:
    return database.execute(query, rng.choice(RESULT_CHARS)).text


def _target(task: Task) -> str:
    return format_query(task.query)


def _approval(epoch: int, task: Task, database: Database, rng: random.Random) -> Row:
    result = _result(database, task.query, rng)
    messages = check_messages(task.question, _schema(database, task, rng), task.query, result)
    return Row(epoch, "check", messages, CORRECT)


def _objection(epoch: int, task: Task, wrong: Mutation, database: Database, rng: random.Random) -> Row:
    result = _result(database, wrong.query, rng)
    messages = check_messages(task.question, _schema(database, task, rng), wrong.query, result)
    return Row(epoch, "check", messages, f"{wrong.feedback}\n{INCORRECT}")


def _rewrite(epoch: int, task: Task, wrong: Mutation, database: Database, rng: random.Random) -> Row:
    result = _result(database, wrong.query, rng)
    feedback = f"{wrong.feedback}\n{INCORRECT}"
    messages = rewrite_messages(task.question, _schema(database, task, rng), wrong.query, result, feedback)
    return Row(epoch, "rewrite", messages, _target(task))
