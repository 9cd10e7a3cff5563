"""The sandbox: what it lets through, what it refuses, and what it survives."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from spider.sandbox import Limits, QueryFailed, QueryRefused, QueryTimeout, SandboxCrashed, run_query
from tests.timing import within

Answer = TypeVar("Answer")
RUNAWAY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
# One call of a function that takes minutes and never returns to SQLite's virtual machine.
ONE_LONG_INSTRUCTION = (
    "SELECT instr(replace(hex(zeroblob(3000000)), '0', 'a'), replace(hex(zeroblob(1500000)), '0', 'a') || 'b')"
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "a shop #1?.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, photo BLOB);"
            "INSERT INTO item VALUES (1, 'café', 1.5, x'00ff'), (2, NULL, 2.0, NULL);"
            "INSERT INTO item VALUES (3, CAST(x'80e9' AS TEXT), 3, '');"
        )
    connection.close()
    return path


def test_rows_come_with_columns_and_sqlite_values(shop: Path) -> None:
    result = run_query(shop, "SELECT id, name, price, photo FROM item WHERE id < 3 ORDER BY id")
    assert result.columns == ("id", "name", "price", "photo")
    assert result.rows == [(1, "café", 1.5, b"\x00\xff"), (2, None, 2.0, None)]
    assert not result.truncated


def test_text_that_is_not_utf8_is_replaced(shop: Path) -> None:
    assert run_query(shop, "SELECT name FROM item WHERE id = 3").rows == [("\ufffd\ufffd",)]


def test_exact_text_keeps_different_bytes_different(shop: Path) -> None:
    sql = "SELECT CAST(x'e8' AS TEXT) = CAST(x'e9' AS TEXT), CAST(x'e8' AS TEXT), CAST(x'e9' AS TEXT)"
    ((_, first, second),) = run_query(shop, sql, exact_text=True).rows
    assert first != second


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
        "VALUES (1)",
        "-- first\nSELECT 1; -- last",
        "/* c */ SELECT 1;; ",
        ";SELECT 1",
        "\ufeffSELECT 1",
        "SELECT 1 /* not closed",
    ],
)
def test_reading_statements_run(shop: Path, sql: str) -> None:
    assert run_query(shop, sql).rows == [(1,)]


def test_explain_runs(shop: Path) -> None:
    assert run_query(shop, "EXPLAIN QUERY PLAN SELECT * FROM item").rows


def test_table_valued_functions_that_read_run(shop: Path) -> None:
    assert run_query(shop, "SELECT name FROM pragma_table_info('item') LIMIT 1").rows == [("id",)]
    assert run_query(shop, "SELECT value FROM json_each('[7]')").rows == [(7,)]


def test_an_r_tree_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE VIRTUAL TABLE place USING rtree(id, low, high);INSERT INTO place VALUES (1, 2, 3)"
        )
    assert run_query(path, "SELECT id FROM place WHERE low < 3").rows == [(1,)]
    before = path.read_bytes()
    with pytest.raises(QueryFailed, match="readonly"):
        run_query(path, "WITH one AS (SELECT 1) DELETE FROM place_node")
    assert path.read_bytes() == before


def test_a_semicolon_in_a_string_does_not_end_the_statement(shop: Path) -> None:
    assert run_query(shop, "SELECT 'a;b', \"c;d\" AS [e;f]").rows == [("a;b", "c;d")]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        " ;; -- nothing",
        "DELETE FROM item",
        "WITH a AS (SELECT 1) DELETE FROM item",
        "EXPLAIN DELETE FROM item",
        "INSERT INTO item (id) VALUES (9) RETURNING id",
        "DROP TABLE item",
        "CREATE TEMP TABLE t (x)",
        "PRAGMA user_version = 7",
        "UPDATE sqlite_master SET sql = ''",
        "PRAGMA table_info(item)",
        "ATTACH '/nowhere/x.db' AS y",
        "VACUUM INTO '/nowhere/x.db'",
        "BEGIN",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE item",
        "SELECT load_extension('x')",
        "SELECT * FROM pragma_database_list",
    ],
)
def test_everything_else_is_refused_and_the_file_keeps_its_bytes(shop: Path, sql: str) -> None:
    before = hashlib.sha256(shop.read_bytes()).digest()
    with pytest.raises(QueryRefused):
        run_query(shop, sql)
    assert hashlib.sha256(shop.read_bytes()).digest() == before
    assert [path.name for path in shop.parent.iterdir()] == [shop.name]


@pytest.mark.parametrize("sql", ["SELCT 1", "SELECT nothing FROM item", "SELECT (", "SELECT '\x00'", "SELECT '\ud800'"])
def test_an_invalid_query_fails_with_a_message(shop: Path, sql: str) -> None:
    with pytest.raises(QueryFailed) as failure:
        run_query(shop, sql)
    assert not isinstance(failure.value, QueryRefused)
    assert str(failure.value)


def test_a_missing_file_fails_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(QueryFailed, match="unable to open"):
        run_query(tmp_path / "none.sqlite", "SELECT 1")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_fails(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("not a database" * 100)
    with pytest.raises(QueryFailed, match="not a database"):
        run_query(tmp_path / "text.sqlite", "SELECT * FROM sqlite_master")


@pytest.mark.parametrize("sql", [RUNAWAY, ONE_LONG_INSTRUCTION])
def test_a_query_without_end_is_over_a_second_after_its_limit(shop: Path, sql: str) -> None:
    def run() -> None:
        with pytest.raises(QueryTimeout) as timeout:
            run_query(shop, sql, Limits(seconds=0.3))
        assert timeout.value.seconds == 0.3

    assert within(0.3 + 1, run)
    assert run_query(shop, "SELECT 1").rows == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT group_concat(a.x || hex(zeroblob(50000))) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1"
        " FROM n LIMIT 100000) SELECT x FROM n) AS a",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9000) SELECT x,"
        " iif(x > 50, randomblob(9000000), 0) FROM n",
        "SELECT zeroblob(2000000000)",
        "WITH RECURSIVE n(x) AS (SELECT zeroblob(900000) UNION ALL SELECT randomblob(900000) FROM n) SELECT x FROM n"
        " ORDER BY x",
    ],
)
def test_memory_is_capped(shop: Path, sql: str) -> None:
    with pytest.raises(QueryFailed) as failure:
        run_query(shop, sql, Limits(seconds=5, memory_mb=100))
    assert not isinstance(failure.value, QueryTimeout)
    assert run_query(shop, "SELECT 1", Limits(memory_mb=100)).rows == [(1,)]


def test_rows_over_the_limit_are_cut(shop: Path) -> None:
    result = run_query(shop, "SELECT id FROM item ORDER BY id", Limits(max_rows=2))
    assert (result.rows, result.truncated) == ([(1,), (2,)], True)
    assert not run_query(shop, "SELECT id FROM item", Limits(max_rows=3)).truncated


def test_cells_over_the_limit_are_cut(shop: Path) -> None:
    result = run_query(shop, "SELECT 'éé', x'010203', 7", Limits(max_cell_bytes=3))
    assert (result.rows, result.truncated) == ([("é", b"\x01\x02\x03", 7)], True)


def test_total_bytes_are_capped(shop: Path) -> None:
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000) SELECT x FROM n"
    result = run_query(shop, many, Limits(max_total_bytes=1000))
    assert result.truncated
    assert result.rows == [(x + 1,) for x in range(len(result.rows))]
    assert 50 < len(result.rows) < 200


def test_a_changed_file_is_read_anew(shop: Path) -> None:
    assert run_query(shop, "SELECT count(*) FROM item").rows == [(3,)]
    with sqlite3.connect(shop) as connection:
        connection.execute("INSERT INTO item (id) VALUES (4)")
    connection.close()
    assert run_query(shop, "SELECT count(*) FROM item").rows == [(4,)]


def test_threads_run_queries_side_by_side(shop: Path) -> None:
    results: dict[int, int | None] = {}

    def ask(number: int) -> None:
        for _ in range(20):
            (row,) = run_query(shop, f"SELECT {number}").rows
            results[number] = results.get(number, 0) if row == (number,) else None

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(8), 0)


def test_a_killed_worker_is_replaced(shop: Path) -> None:
    run_query(shop, "SELECT 1")
    for child in children(os.getpid()):
        os.kill(child, 9)
    assert run_query(shop, "SELECT 1").rows == [(1,)]


def test_a_worker_ends_with_its_parent_even_when_busy(shop: Path) -> None:
    code = f"from spider.sandbox import *; run_query({str(shop)!r}, {RUNAWAY!r}, Limits(seconds=1))"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    workers = wait_for(lambda: children(parent.pid))
    parent.kill()
    parent.wait()
    assert wait_for(lambda: not any(is_running(worker) for worker in workers))


def test_a_forked_process_uses_workers_of_its_own(shop: Path) -> None:
    code = (
        "import os\nfrom spider.sandbox import *\n"
        f"ask = lambda n: run_query({str(shop)!r}, f'SELECT {{n}}').rows == [(n,)]\n"
        "good = ask(1)\nchild = os.fork()\ngood &= all(ask(n + 1000 * child) for n in range(200))\n"
        "os._exit(not good) if child == 0 else exit(not (good and os.waitpid(child, 0)[1] == 0))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], timeout=30).returncode == 0


def test_memory_over_the_cap_is_told_apart(shop: Path) -> None:
    wide = "WITH RECURSIVE n(x) AS (SELECT zeroblob(400000) UNION ALL SELECT randomblob(400000) FROM n) SELECT x FROM n"
    with pytest.raises(SandboxCrashed, match="memory"):
        run_query(shop, f"{wide} ORDER BY x", Limits(seconds=9, memory_mb=60))


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], Answer], seconds: float = 30) -> Answer:
    deadline = time.monotonic() + seconds
    while not (answer := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer
