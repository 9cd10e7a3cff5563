from __future__ import annotations

import importlib.util
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from spider.data import ROOT, load_tasks

SCRIPT = ROOT / "scripts" / "make_sample_data.py"
SCHEMA = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 5), (2, 5), (3, 7);"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sample_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("first") / "sample"
    assert run("--output", str(output)).returncode == 0
    return output


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(script: ModuleType, folder: Path, query: str, *, absence: bool = False) -> None:
    path = folder / "t" / "t.sqlite"
    script.write_database(SCHEMA, path)
    with closing(sqlite3.connect(path)) as connection:
        script.check_gold(script.Question("?", "t", query, absence), connection)


def test_a_second_run_writes_the_same_bytes(built: Path, tmp_path: Path) -> None:
    assert run("--output", str(tmp_path / "sample"), cwd=tmp_path).returncode == 0
    one, other = contents(built), contents(tmp_path / "sample")
    assert one == other
    assert len(one) == 2 * 15 + 3


def test_check_accepts_the_repositorys_sample() -> None:
    result = run("--check")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", ["test_dev.parquet", "database/city_library/city_library.sqlite"])
def test_check_names_a_damaged_file_and_leaves_it(built: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(built, tmp_path / "sample")
    (copy / name).write_bytes(b"damaged")
    result = run("--check", "--output", str(copy))
    assert result.returncode == 1
    assert name in result.stderr.splitlines()[-1]
    assert (copy / name).read_bytes() == b"damaged"


def test_check_names_missing_and_foreign_files(built: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(built, tmp_path / "sample")
    (copy / "train_spider.parquet").unlink()
    (copy / "notes.txt").write_text("mine")
    last = run("--check", "--output", str(copy)).stderr.splitlines()[-1]
    assert "notes.txt" in last
    assert "train_spider.parquet" in last


def test_writing_refuses_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    result = run("--output", str(tmp_path))
    assert result.returncode == 1
    assert "notes.txt" in result.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_absence_is_marked_where_and_only_where_a_gold_finds_nothing(script: ModuleType) -> None:
    for split, folder in script.FOLDERS.items():
        for question in script.load_questions(split):
            path = ROOT / "data" / "sample" / folder / question.db_id / f"{question.db_id}.sqlite"
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
                found = connection.execute(question.query).fetchone() is not None
            assert found != question.absence, question


def test_sources_hold_the_questions_of_the_task_files(script: ModuleType) -> None:
    for split, name in (("train", "train_spider"), ("test", "test_dev")):
        tasks = load_tasks(ROOT / "data" / "sample" / f"{name}.parquet")
        assert {(q.db_id, q.text) for q in script.load_questions(split)} == {(t["db_id"], t["question"]) for t in tasks}


def test_block_is_repeated_for_each_value(script: ModuleType) -> None:
    text = "-- @n = 1 | 2\n-- Is it {n}?\n-- Really {n}?\nSELECT {n};\n"
    assert [(question.text, question.query) for question in script.parse_questions(text, "t")] == [
        ("Is it 1?", "SELECT 1"),
        ("Really 1?", "SELECT 1"),
        ("Is it 2?", "SELECT 2"),
        ("Really 2?", "SELECT 2"),
    ]


@pytest.mark.parametrize("text", ["-- A question without a query?", "SELECT 1"])
def test_block_needs_a_question_and_a_query(script: ModuleType, text: str) -> None:
    with pytest.raises(script.SampleError, match="at least one question and one query"):
        list(script.parse_questions(text, "t"))


@pytest.mark.parametrize(
    ("query", "absence", "message"),
    [
        ("SELECT x FROM t", False, "no such column"),
        ("SELECT n FROM t WHERE n > 9", False, "finds nothing"),
        ("SELECT count(*) FROM t WHERE n > 9", False, "finds nothing"),
        ("SELECT max(n) FROM t WHERE n > 9", False, "finds nothing"),
        ("SELECT n FROM t", True, "finds 3 rows"),
        ("SELECT id FROM t LIMIT 1", False, "order of the visit"),
        ("SELECT id FROM t ORDER BY n LIMIT 1", False, "order of the visit|a tie"),
        ("SELECT n FROM t GROUP BY n ORDER BY min(1) LIMIT 1", False, "order of the visit|a tie"),
    ],
)
def test_bad_gold_stops_the_build(script: ModuleType, tmp_path: Path, query: str, absence: bool, message: str) -> None:
    with pytest.raises(script.SampleError, match=message):
        check(script, tmp_path, query, absence=absence)


@pytest.mark.parametrize(
    ("query", "absence"), [("SELECT id FROM t ORDER BY n DESC LIMIT 1", False), ("SELECT n FROM t WHERE n > 9", True)]
)
def test_good_gold_passes(script: ModuleType, tmp_path: Path, query: str, absence: bool) -> None:
    check(script, tmp_path, query, absence=absence)


@pytest.mark.parametrize(
    "sql", ["CREATE TABEL t (a)", "CREATE TABLE a (b REFERENCES t(id)); INSERT INTO a VALUES (9);"]
)
def test_bad_database_stops_the_build(script: ModuleType, tmp_path: Path, sql: str) -> None:
    with pytest.raises(script.SampleError, match=r"database\.sql fails|dangling"):
        script.write_database(sql if "TABEL" in sql else SCHEMA + sql, tmp_path / "t" / "t.sqlite")
