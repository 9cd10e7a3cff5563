"""Spider as it comes: a zip or a folder, in Spider's own layout or as the ready-made bundle of parquet files."""

from __future__ import annotations

import io
import json
import logging
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRAIN_FILES = ("train_spider", "train_others")
DB_ID = re.compile(r"\w[\w.\- ]*")
DEPTH = 2  # folders above the data inside a zip, such as spider_data/

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What zipfile raises for a damaged, encrypted or oddly compressed member."""

Place = Path | zipfile.Path

logger = logging.getLogger(__name__)


class SourceError(Exception):
    """There is nothing to prepare; the message says what is missing and where to get it."""


@dataclass(frozen=True)
class Question:
    """A question about a database, with its gold query."""

    question: str
    db_id: str
    query: str


@dataclass
class Source:
    """The folder, inside or outside a zip, that holds the questions and the databases."""

    place: Place
    malformed: Counter[str] = field(default_factory=Counter)
    """Rows without question, query or a usable db_id, by file."""
    not_utf8: list[str] = field(default_factory=list)
    """JSON files that are not UTF-8; they are read as Windows-1252."""

    def has(self, name: str) -> bool:
        """Whether the questions of this name are there, as JSON or parquet."""
        return any((self.place / f"{name}.{suffix}").is_file() for suffix in ("json", "parquet"))

    def questions(self, name: str) -> list[Question]:
        """The questions of a file such as `dev`, from JSON if it is there, else from parquet; none without a file.

        Raises:
            SourceError: the file can't be read.
        """
        for suffix, read in (("json", self._json_rows), ("parquet", self._parquet_rows)):
            file = self.place / f"{name}.{suffix}"
            if file.is_file():
                try:
                    rows = read(file)
                except (ValueError, *DAMAGED) as error:  # pyarrow's errors are ValueErrors too
                    raise SourceError(f"{file} can't be read ({error}): fetch it again") from error
                return list(self._well_formed(file.name, rows))
        return []

    def training(self) -> list[Question]:
        """`train_spider` and, where it is JSON, `train_others`.

        Raises:
            SourceError: there are no training questions.
        """
        found = [question for name in TRAIN_FILES for question in self.questions(name)]
        if not found:
            raise SourceError(f"no training questions in {self.place}: train_spider.json or .parquet holds none")
        return found

    def schemas(self) -> dict[str, set[str]]:
        """The table names of each database in `tables.json`, lower-case; empty without that file."""
        tables: dict[str, set[str]] = {}
        for name in ("tables.json", "test_tables.json"):
            file = self.place / name
            if not file.is_file():
                continue
            try:
                tables |= dict(_tables_of(entry) for entry in self._json_rows(file))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                logger.warning("%s is passed over, it can't be read: %s", file, error)
        return tables

    def database(self, db_id: str, *, test: bool) -> Place | None:
        """The SQLite file of a database, looked for where its split's databases lie, then in the other folder."""
        folders = ("test_database", "database") if test else ("database", "test_database")
        for folder in folders:
            file = self.place / folder / db_id / f"{db_id}.sqlite"
            if file.is_file():
                return file
        return None

    def _json_rows(self, file: Place) -> list[Mapping[str, object]]:
        raw = file.read_bytes()
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.not_utf8.append(file.name)
            text = raw.decode("cp1252", errors="replace")
        rows = json.loads(text)
        if not isinstance(rows, list):
            raise ValueError("not a list of questions")
        return rows

    def _parquet_rows(self, file: Place) -> list[Mapping[str, object]]:
        import pyarrow.parquet as pq

        return pq.read_table(io.BytesIO(file.read_bytes())).to_pylist()

    def _well_formed(self, name: str, rows: list[Mapping[str, object]]) -> Iterator[Question]:
        for row in rows:
            values = [row.get(key) for key in ("question", "db_id", "query")] if isinstance(row, dict) else []
            texts = [value for value in values if isinstance(value, str) and value.strip()]
            if len(texts) == 3 and DB_ID.fullmatch(texts[1]):
                yield Question(*texts)
            else:
                self.malformed[name] += 1


def _tables_of(entry: Mapping[str, Any]) -> tuple[str, set[str]]:
    """A database and its tables, as `tables.json` has them."""
    names = {name.lower() for name in entry["table_names_original"]}
    return entry["db_id"], {name for name in names if not name.startswith("sqlite_")}


def open_source(path: Path) -> Source:
    """The data in a zip or a folder, wherever in it they lie.

    Raises:
        SourceError: it is neither, or holds no training questions.
    """
    if path.is_dir():
        top: Place = path
    elif zipfile.is_zipfile(path):
        top = zipfile.Path(zipfile.ZipFile(path))
    elif path.exists():
        raise SourceError(f"{path} is neither a folder nor a zip: fetch it again, or give the folder you unpacked")
    else:
        raise SourceError(f"{path} does not exist: give Spider's zip or folder, or --download")
    for place in _within(top, DEPTH):
        source = Source(place)
        if source.has("train_spider"):
            return source
    raise SourceError(f"{path} holds no train_spider.json or train_spider.parquet: give Spider 1.0, or --download")


def _within(place: Place, depth: int) -> Iterator[Place]:
    """A folder, then those below it, nearer ones first."""
    yield place
    if depth:
        for child in sorted(place.iterdir(), key=lambda child: child.name):
            if child.is_dir() and child.name != "__MACOSX" and not child.name.startswith("."):
                yield from _within(child, depth - 1)
