"""A soak: two thousand hostile predictions, none of which may earn a point, do harm, or leave anything behind."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import sqlite3
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spider.reward import evaluate_query
from spider.sandbox import Limits, run_query

QUERIES = 2_000
WARM_UP = 200  # queries after which the process has its final size
LIMITS = Limits(seconds=0.1, memory_mb=120, max_total_bytes=4_000_000)
BUSY_SECONDS = 4.0  # what a busy machine may add to a query's limit and the second after it
KILLED_LATE = 12  # of the queries, which only the end of their process can stop; about a second each
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
GOLD = "SELECT name FROM animal WHERE id > 99"  # no rows: what a query that does nothing gives

WRITES = [
    "DELETE FROM animal",
    "DROP TABLE animal",
    "UPDATE animal SET name = '' RETURNING name",
    "INSERT INTO animal VALUES (99, 'x') RETURNING id",
    "REPLACE INTO animal VALUES (1, 'x')",
    "CREATE TABLE t (x)",
    "CREATE TEMP VIEW v AS SELECT 1",
    "WITH a AS (SELECT 1) DELETE FROM animal",
    "EXPLAIN DELETE FROM animal",
    "VACUUM",
    "VACUUM INTO '{folder}/copy.sqlite'",
    "ATTACH '{folder}/other.sqlite' AS other",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = WAL",
    "SELECT load_extension('{folder}/evil.so')",
    "SELECT writefile('{folder}/out', 'x')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "ALTER TABLE animal RENAME TO zoo",
    "BEGIN EXCLUSIVE",
    "REINDEX",
    "SELECT 1; DROP TABLE animal",
]
ENDLESS = [
    f"{NUMBERS} SELECT x FROM n",
    f"{NUMBERS} SELECT count(*) FROM n",
    f"{NUMBERS} SELECT x FROM n ORDER BY -x",
    f"{NUMBERS} SELECT group_concat(x) FROM n",
    f"{NUMBERS} SELECT count(*) FROM n AS a, n AS b",
    "SELECT count(*) FROM animal a, animal b, animal c, animal d, animal e, animal f, animal g, animal h, animal i",
]
GREEDY = [
    "SELECT zeroblob(2000000000)",
    "SELECT hex(randomblob(40000000))",
    f"{NUMBERS} SELECT x, randomblob(900000) FROM n LIMIT 3000",
    f"{NUMBERS} SELECT group_concat(hex(randomblob(100000))) FROM n",
    "SELECT replace(hex(zeroblob(900000)), '0', hex(zeroblob(9000)))",
    "SELECT " + ", ".join(["1"] * 3000),
]
ONE_LONG_CALL = (
    "SELECT instr(replace(hex(zeroblob(4000000)), '0', 'a'), replace(hex(zeroblob(2000000)), '0', 'a') || 'b')"
)


def nested(draw: random.Random) -> str:
    depth = draw.choice([50, 500, 5_000, 50_000])
    return draw.choice(
        ["SELECT " + "(" * depth, "SELECT " + "(" * depth + "1" + ")" * depth, "SELECT 1" + " + 1" * depth]
    )


def nonsense(draw: random.Random) -> str:
    alphabet = string.printable + "\x00é\ud800" + "'\"`[;-/*(" * 3
    return "".join(draw.choices(alphabet, k=draw.randrange(400)))


def broken(draw: random.Random) -> str:
    query = draw.choice(WRITES + ENDLESS[-1:]) + " ORDER BY name -- end"
    cut = draw.randrange(len(query))
    return query[:cut] + draw.choice(["", "'", "/*", ";", "\x00", "```", ")" * 50]) + query[cut + draw.randrange(5) :]


def compound(draw: random.Random) -> str:
    return draw.choice([" UNION ALL ", " INTERSECT "]).join(
        [f"SELECT {draw.random()}"] * draw.choice([400, 600, 20_000])
    )


def hostile(draw: random.Random, folder: Path) -> str:
    kinds: list[tuple[int, Callable[[], str]]] = [
        (40, lambda: draw.choice(WRITES).format(folder=folder)),
        (8, lambda: draw.choice(ENDLESS)),
        (3, lambda: draw.choice(GREEDY)),
        (5, lambda: nested(draw)),
        (25, lambda: nonsense(draw)),
        (20, lambda: broken(draw)),
        (4, lambda: compound(draw)),
    ]
    weights, makers = zip(*kinds, strict=True)
    return draw.choices(makers, weights)[0]()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> list[int]:
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE animal (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO animal VALUES (?, ?)", [(at, f"name {at}") for at in range(60)])
    connection.close()
    return path


def test_hostile_predictions_earn_nothing_and_leave_nothing(zoo: Path) -> None:
    draw = random.Random(7)
    before = hashlib.sha256(zoo.read_bytes()).digest()
    late = {WARM_UP + at * (QUERIES - WARM_UP) // KILLED_LATE for at in range(KILLED_LATE)}
    files, resident, slowest = 0, 0.0, (0.0, "")
    for number in range(QUERIES):
        if number == WARM_UP:
            gc.collect()
            files, resident = open_files(), resident_mb(os.getpid())
        query = ONE_LONG_CALL if number in late else hostile(draw, zoo.parent)
        started = time.monotonic()
        assert evaluate_query(query, GOLD, zoo, limits=LIMITS) == 0.0, query
        slowest = max(slowest, (time.monotonic() - started, query[:200]))
    gc.collect()
    assert slowest[0] < LIMITS.seconds + 1 + BUSY_SECONDS, slowest
    assert evaluate_query("SELECT name FROM animal WHERE id < 0", GOLD, zoo, limits=LIMITS) == 1.0
    workers = [child for child in children() if "sandbox_worker" in Path(f"/proc/{child}/cmdline").read_text()]
    assert len(workers) == 1
    assert open_files() <= files
    assert resident_mb(os.getpid()) < resident + 20
    assert resident_mb(workers[0]) < 150
    assert hashlib.sha256(zoo.read_bytes()).digest() == before
    assert [path.name for path in zoo.parent.iterdir()] == [zoo.name]


def test_many_queries_leave_the_worker_as_small_as_it_was(zoo: Path) -> None:
    def worker_mb() -> float:
        (worker,) = [child for child in children() if "sandbox_worker" in Path(f"/proc/{child}/cmdline").read_text()]
        return resident_mb(worker)

    for number in range(300):
        run_query(zoo, f"SELECT id, name, {number} FROM animal")
    before = worker_mb()
    for number in range(3_000):
        run_query(zoo, f"SELECT id, name, {number} AS n FROM animal ORDER BY name DESC")
    assert worker_mb() < before + 5
