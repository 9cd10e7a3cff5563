"""Spider's own layout, made from data/sample."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from scripts.prepare_data import main
from spider.data import ROOT, load_tasks

SAMPLE = ROOT / "data" / "sample"
TEST_DATABASES = ("bakery", "zoo")
TRAIN_DATABASES = ("city_library", "street_food")


def rows_of(file: str, *databases: str) -> list[dict[str, object]]:
    keys = ("question", "db_id", "query")
    return [{key: task[key] for key in keys} for task in load_tasks(SAMPLE / file) if task["db_id"] in databases]


def write_json(path: Path, rows: object) -> None:
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def make_spider(folder: Path) -> Path:
    """Fill a folder in Spider's own layout: two training databases, bakery's questions as dev, zoo's as test."""
    for name, databases in (("database", (*TRAIN_DATABASES, "bakery")), ("test_database", TEST_DATABASES)):
        for db_id in databases:
            source = next(SAMPLE.glob(f"*/{db_id}"))
            (folder / name / db_id).mkdir(parents=True)
            shutil.copy(source / f"{db_id}.sqlite", folder / name / db_id)
    write_json(folder / "train_spider.json", rows_of("train_spider.parquet", "city_library"))
    write_json(folder / "train_others.json", rows_of("train_spider.parquet", "street_food"))
    write_json(folder / "dev.json", rows_of("test_dev.parquet", "bakery"))
    write_json(folder / "test.json", rows_of("test_dev.parquet", "zoo"))
    write_json(folder / "tables.json", [])
    return folder


def zipped(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder.parent / "spider_data"), "zip", folder.parent, folder.name))


def prepared(source: Path, *flags: str) -> Path:
    output = source.parent / "data"
    assert main([str(source), "--output", str(output), "--quiet", *flags]) == 0
    return output


def append(file: Path, *rows: object) -> None:
    write_json(file, json.loads(file.read_text(encoding="utf-8")) + list(rows))


def question(db_id: str, query: str = "SELECT 1") -> dict[str, object]:
    return {"question": "Which?", "db_id": db_id, "query": query}
