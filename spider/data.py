"""Task files: the parquet tables of questions that training and validation read, and the folder they lie in.

A data folder has Spider's own layout: `train_spider.parquet`, `test_dev.parquet` and `test_dev_500.parquet`, with the
databases under `database/` (training) and `test_database/` (validation). See data/README.md.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPLITS = {"dev": "test_dev.parquet", "dev_500": "test_dev_500.parquet", "train": "train_spider.parquet"}
"""Task files by the names that commands take."""

COLUMNS = ("question", "db_id", "query", "db_path")


def load_environment() -> None:
    """Take the variables of the repository's `.env`; what the shell sets comes first.

    Raises:
        SystemExit: the file is no text.
    """
    from dotenv import load_dotenv

    try:
        load_dotenv(ROOT / ".env")
    except UnicodeDecodeError as error:
        raise SystemExit(f"error: {ROOT / '.env'} is not UTF-8 text ({error.reason}): save it as UTF-8") from error


def data_dir() -> Path:
    """Folder of the task files, absolute.

    `VERL_SPIDER_DATA_DIR` if set (read at each call); else `data/` of this repository if parquet files lie in it; else
    the sample, `data/sample`.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    override = os.environ.get("VERL_SPIDER_DATA_DIR", "").strip()
    if override:
        folder = _resolved(override, os.getcwd())
        if not folder.is_dir():
            raise FileNotFoundError(
                f"VERL_SPIDER_DATA_DIR is {override!r}, which is not a folder: set it to the folder that holds "
                "train_spider.parquet, or unset it to use the sample data"
            )
        return folder
    data = ROOT / "data"
    folder = data if any(data.glob("*.parquet")) else data / "sample"
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} does not exist: run `python scripts/make_sample_data.py` to write it")
    return folder


@lru_cache(maxsize=8)
def _resolved(folder: str, working_directory: str) -> Path:
    """An absolute path, of which links are followed once: every rollout asks for it twice or more."""
    return (working_directory / Path(folder).expanduser()).resolve()


def shown(path: Path) -> str:
    """A path as a message shows it: relative to the working directory if it lies below."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def database_path(db_id: str, mode: str | None) -> Path:
    """Where a database lies: training's under `database/`, validation's under `test_database/` of the data folder."""
    folder = "database" if mode == "train" else "test_database"
    return data_dir().joinpath(folder, db_id, f"{db_id}.sqlite")


def load_tasks(path: Path, limit: int | None = None) -> list[dict[str, str]]:
    """Rows of a task file in file order, at most `limit` of them.

    Each row has the keys `question`, `db_id`, `query` (the gold SQL) and `db_path` (relative to the data folder); other
    columns of the file are left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not parquet, lacks a column, has an empty value in one, or `limit` is negative.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}: give 0 or more, or None for all rows")
    if not path.is_file():
        raise FileNotFoundError(f"no task file {path}: see data/README.md for where the data comes from")
    try:
        names = pq.read_schema(path).names
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise ValueError(f"{path} lacks the column(s) {', '.join(missing)}; it has {', '.join(names)}")
        table = pq.read_table(path, columns=list(COLUMNS))
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a readable parquet file: {error}") from error
    rows = (table if limit is None else table.slice(0, limit)).to_pylist()
    for number, row in enumerate(rows):
        empty = [name for name in COLUMNS if not (isinstance(row[name], str) and row[name].strip())]
        if empty:
            raise ValueError(f"{path}, row {number}: empty {', '.join(empty)}; every row needs all of its four texts")
    return rows
