from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spider import data
from spider.data import ROOT, data_dir, load_environment, load_tasks

ROW = {
    "question": "How many?",
    "db_id": "shop",
    "query": "SELECT count(*) FROM t",
    "db_path": "database/shop/shop.sqlite",
}


def write(path: Path, rows: Sequence[Mapping[str, str | None]]) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


def test_load_tasks_returns_rows_in_file_order(tmp_path: Path) -> None:
    rows = [{**ROW, "question": f"question {number}"} for number in range(5)]
    assert load_tasks(write(tmp_path / "tasks.parquet", rows)) == rows


def test_load_tasks_stops_at_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.parquet", [{**ROW, "question": f"question {number}"} for number in range(5)])
    assert [row["question"] for row in load_tasks(path, limit=2)] == ["question 0", "question 1"]


def test_load_tasks_leaves_other_columns_out(tmp_path: Path) -> None:
    assert load_tasks(write(tmp_path / "tasks.parquet", [{**ROW, "note": "x"}])) == [ROW]


def test_load_tasks_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        load_tasks(tmp_path / "nowhere.parquet")


def test_load_tasks_names_a_missing_column(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.parquet", [{"question": "How many?", "db_id": "shop"}])
    with pytest.raises(ValueError, match=r"lacks the column\(s\) query, db_path"):
        load_tasks(path)


@pytest.mark.parametrize("value", ["", "  ", None])
def test_load_tasks_names_the_row_with_an_empty_value(tmp_path: Path, value: str | None) -> None:
    with pytest.raises(ValueError, match="row 1: empty query"):
        load_tasks(write(tmp_path / "tasks.parquet", [{**ROW}, {**ROW, "query": value}]))


def test_load_tasks_refuses_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    path.write_text("question,db_id\n")
    with pytest.raises(ValueError, match="not a readable parquet file"):
        load_tasks(path)


def test_load_tasks_refuses_a_negative_limit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="limit is -1"):
        load_tasks(write(tmp_path / "tasks.parquet", [{**ROW}]), limit=-1)


def test_data_dir_reads_the_variable_at_each_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(tmp_path / name))
        assert data_dir() == (tmp_path / name).resolve()


def test_data_dir_names_the_variable_that_points_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="VERL_SPIDER_DATA_DIR"):
        data_dir()


def test_data_dir_prefers_the_users_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERL_SPIDER_DATA_DIR", raising=False)
    monkeypatch.setattr("spider.data.ROOT", tmp_path)
    (tmp_path / "data" / "sample").mkdir(parents=True)
    assert data_dir() == tmp_path / "data" / "sample"
    write(tmp_path / "data" / "train_spider.parquet", [{**ROW}])
    assert data_dir() == tmp_path / "data"


def test_data_dir_does_not_depend_on_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERL_SPIDER_DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert data_dir().is_relative_to(ROOT / "data")


def test_an_environment_file_that_is_no_text_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_bytes(b"MODEL=\xff\xfe")
    monkeypatch.setattr(data, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"\.env is not UTF-8 text .*: save it as UTF-8"):
        load_environment()
