"""Write data/sample: small databases and questions over them, in Spider's own layout.

    python scripts/make_sample_data.py            write data/sample
    python scripts/make_sample_data.py --check    write nothing; exit code 1 if data/sample is not what would be written

The content lies in scripts/sample_data/{train,test}/<db_id>/ as two texts. `database.sql` makes the tables and their
rows. `questions.sql` holds blocks parted by blank lines: comment lines, each one phrasing of the question, then the
gold query. A comment `@absence` marks a question whose right answer is no rows; `@name = a | b` repeats the block for
each value of {name}. The build stops at a gold query that fails, that answers nothing unasked, or whose answer depends
on the order in which SQLite happens to visit the rows.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "scripts" / "sample_data"
FOLDERS = {"train": "database", "test": "test_database"}
FILES = {"train": {"train_spider.parquet": None}, "test": {"test_dev.parquet": None, "test_dev_500.parquet": 500}}
# SQLite stores the number of the library that wrote the file at bytes 96-99; a fixed one keeps the files identical.
VERSION_OFFSET, VERSION_NUMBER = 96, 3_040_000

log = logging.getLogger("make_sample_data")


class SampleError(Exception):
    """The content in scripts/sample_data is wrong, or the output folder can't be written."""


@dataclass(frozen=True)
class Question:
    """One row of a task file; `absence` says that the right answer is no rows."""

    text: str
    db_id: str
    query: str
    absence: bool


def parse_questions(text: str, db_id: str) -> Iterator[Question]:
    """Questions of one `questions.sql`, in file order.

    Raises:
        SampleError: a block without phrasing or query.
    """
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        comments = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
        query = " ".join(line for line in lines if not line.startswith("--")).rstrip("; ")
        phrasings = [comment for comment in comments if not comment.startswith("@")]
        if not query or not phrasings:
            raise SampleError(f"{db_id}: a block needs at least one question and one query:\n{block}")
        slots = dict(re.findall(r"^@(\w+) = (.+)$", "\n".join(comments), flags=re.MULTILINE))
        for values in itertools.product(*(slot.split(" | ") for slot in slots.values())):
            fill = dict(zip(slots, values, strict=True))
            for phrasing in phrasings:
                yield Question(phrasing.format(**fill), db_id, query.format(**fill), "@absence" in comments)


def sources(split: str) -> list[Path]:
    """Folders of a split's databases ("train" or "test"), in alphabetic order."""
    return sorted(path for path in (SOURCES / split).iterdir() if path.is_dir())


def load_questions(split: str) -> list[Question]:
    """All questions of a split ("train" or "test"), databases in alphabetic order.

    Raises:
        SampleError: a malformed block, or the same question twice about one database.
    """
    questions: list[Question] = []
    for source in sources(split):
        questions += parse_questions((source / "questions.sql").read_text(encoding="utf-8"), source.name)
    seen: set[tuple[str, str]] = set()
    for question in questions:
        if (key := (question.db_id, question.text.casefold())) in seen:
            raise SampleError(f"{question.db_id}: the same question twice: {question.text}")
        seen.add(key)
    return questions


def write_database(script: str, path: Path) -> None:
    """Make the SQLite file `path` from a script, and `schema.sql` beside it, with the same bytes each time.

    Raises:
        SampleError: the script fails or leaves a dangling foreign key.
    """
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            connection.executescript(
                f"PRAGMA page_size = 4096; PRAGMA synchronous = OFF; BEGIN; {script}\nCOMMIT; VACUUM;"
            )
        except sqlite3.Error as error:
            raise SampleError(f"{path.stem}: database.sql fails: {error}") from error
        if dangling := connection.execute("PRAGMA foreign_key_check").fetchall():
            raise SampleError(f"{path.stem}: rows with dangling foreign keys: {dangling[:5]}")
        statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    schema = "".join(f"{sql};\n\n" for (sql,) in statements)
    (path.parent / "schema.sql").write_text(schema.rstrip() + "\n", encoding="utf-8", newline="\n")
    with path.open("r+b") as file:
        file.seek(VERSION_OFFSET)
        file.write(VERSION_NUMBER.to_bytes(4, "big"))


def check_gold(question: Question, connection: sqlite3.Connection) -> None:
    """Run a gold query and judge its answer.

    Raises:
        SampleError: it fails, answers nothing unasked (or something to a question about absence), or its rows depend
            on the order of the visit.
    """
    answers: list[list[str]] = []
    cut = re.fullmatch(r"SELECT .*? FROM (.*) ORDER BY (.*) LIMIT (\d+)", question.query)
    for reverse in ("OFF", "ON"):
        connection.execute(f"PRAGMA reverse_unordered_selects = {reverse}")
        try:
            answers.append(sorted(map(repr, connection.execute(question.query))))
        except sqlite3.Error as error:
            raise SampleError(f"{question.db_id}: {error}: {question.query}") from error
    if cut:
        rows, order, limit = cut.groups()
        keys = f"SELECT {order.replace(' DESC', '')} FROM {rows} ORDER BY {order}"
        tied = connection.execute(f"{keys} LIMIT 2 OFFSET {int(limit) - 1}").fetchall()
        if len(tied) == 2 and tied[0] == tied[1]:
            raise SampleError(f"{question.db_id}: a tie at the LIMIT: {question.query}")
    if answers[0] != answers[1]:
        raise SampleError(f"{question.db_id}: the answer depends on the order of the visit: {question.query}")
    empty = answers[0] in ([], ["(0,)"], ["(None,)"])
    if empty != question.absence or (question.absence and answers[0]):
        found = "nothing" if empty else f"{len(answers[0])} rows"
        raise SampleError(f"{question.db_id}: finds {found}, absence is {question.absence}: {question.query}")


def write_tasks(questions: list[Question], folder: str, path: Path) -> None:
    """Write a task file with the four columns of Spider's parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "question": [question.text for question in questions],
        "db_id": [question.db_id for question in questions],
        "query": [question.query for question in questions],
        "db_path": [f"{folder}/{question.db_id}/{question.db_id}.sqlite" for question in questions],
    }
    pq.write_table(pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns])), path)


def build(output: Path) -> None:
    """Write the whole sample into the empty folder `output`.

    Raises:
        SampleError: the content is wrong; the message says where.
    """
    for split, folder in FOLDERS.items():
        questions = load_questions(split)
        for source in sources(split):
            path = output / folder / source.name / f"{source.name}.sqlite"
            write_database((source / "database.sql").read_text(encoding="utf-8"), path)
            own = [question for question in questions if question.db_id == source.name]
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
                for question in own:
                    check_gold(question, connection)
            log.info("%-6s%-22s%4d questions", split, source.name, len(own))
        # Shuffled, so that the first rows of a file, all that a short run looks at, already span the databases.
        random.Random(0).shuffle(questions)
        for name, limit in FILES[split].items():
            write_tasks(questions[:limit], folder, output / name)


def content(path: Path) -> object:
    """What a file says, apart from the version of the library that wrote it."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
            return list(connection.iterdump())
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).to_pydict()
    return path.read_bytes()


def differences(expected: Path, actual: Path) -> list[str]:
    """Relative paths of files that are missing, unexpected or different in content under `actual`."""
    names = {
        path.relative_to(root).as_posix() for root in (expected, actual) for path in root.rglob("*") if path.is_file()
    }
    return [name for name in sorted(names) if not _same(expected / name, actual / name)]


def _same(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return False
    try:
        return one.read_bytes() == other.read_bytes() or content(one) == content(other)
    except (sqlite3.Error, ValueError):  # a damaged file; pyarrow's errors are ValueErrors
        return False


def install(built: Path, output: Path) -> None:
    """Put the built folder in the place of `output`.

    Raises:
        SampleError: `output` holds files that are not part of the sample, which would be lost.
    """
    known = {path.relative_to(built) for path in built.rglob("*")}
    present = {path.relative_to(output) for path in output.rglob("*")} if output.exists() else set[Path]()
    if foreign := sorted(present - known):
        raise SampleError(f"{output} holds files that are not part of the sample, move them first: {foreign[0]}")
    shutil.copytree(built, output, dirs_exist_ok=True)


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Build into a temporary folder, then compare or install; 1 when that fails or the sample is not up to date."""
    parser = argparse.ArgumentParser(description="Write the sample data, or check that it is up to date.")
    parser.add_argument("--check", action="store_true", help="write nothing, compare with what would be written")
    parser.add_argument("--output", type=Path, default=ROOT / "data" / "sample", help="folder to write or to check")
    parser.add_argument("--quiet", action="store_true", help="show errors alone")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR if arguments.quiet else logging.INFO, format="%(message)s")
    with tempfile.TemporaryDirectory() as temporary:
        try:
            build(Path(temporary))
            if not arguments.check:
                install(Path(temporary), arguments.output)
                log.info("wrote %s", arguments.output)
                return 0
            stale = differences(Path(temporary), arguments.output)
        except (SampleError, OSError) as error:
            log.error("make_sample_data: %s", error)
            return 1
    if stale:
        log.error("%s is not up to date, run scripts/make_sample_data.py: %s", arguments.output, ", ".join(stale))
        return 1
    log.info("%s is up to date", arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
