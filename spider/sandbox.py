"""Runs any SQL over a SQLite file, however hostile, without harm to the file or to the calling process.

    rows = run_query("data/sample/database/library/library.sqlite", "SELECT count(*) FROM book")

Queries run in worker subprocesses (``sandbox_worker.py``), kept for the next call: one per thread that is inside
``run_query``, started when needed, replaced when one dies, ended with this process. A query that doesn't end within
its limit is over at most one second later.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from spider import sandbox_worker

SQLValue = None | int | float | str | bytes
Request = tuple[str, sandbox_worker.Version, str, bool, float, int, int, int]
Reply = sandbox_worker.Reply

KILL_SECONDS = 1.0  # after the limit, when neither the interrupt nor the worker's alarm has ended the query
START_SECONDS = 60.0
STALE_SECONDS = 0.2  # a worker killed (by the system, say) while idle shows within this time of the next request
MAX_WORKERS = 16


@dataclass(frozen=True)
class Limits:
    """What one query may use. ``max_total_bytes`` bounds the marshalled rows, ``memory_mb`` (MB) the worker."""

    seconds: float = 10.0
    max_rows: int = 1_000_000
    max_cell_bytes: int = 1_000_000
    max_total_bytes: int = 64_000_000
    memory_mb: int = 512


@dataclass(frozen=True)
class Rows:
    """A query's result; ``truncated`` when a row or a cell was cut by a limit, ``more`` when there are further rows."""

    columns: tuple[str, ...]
    rows: list[tuple[SQLValue, ...]]
    truncated: bool
    more: bool = False


class QueryFailed(Exception):
    """The query gave no result; the message is SQLite's own."""


class QueryRefused(QueryFailed):
    """The query is not exactly one reading statement, or does something that isn't allowed."""


class QueryTimeout(QueryFailed):
    """The query took longer than ``seconds``."""

    def __init__(self, seconds: float) -> None:
        """Takes the limit that was passed."""
        super().__init__(f"timed out after {seconds:g} s")
        self.seconds = seconds


class SandboxCrashed(QueryFailed):
    """The query used up the worker's memory or ended the worker."""


class _WorkerLostError(Exception):
    """The worker was gone before it took the request."""


class _Worker:
    """One subprocess and its pipes; used by one thread at a time."""

    def __init__(self, memory_mb: int) -> None:
        self.memory_mb = memory_mb
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", sandbox_worker.__file__, str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.replies = self.process.stdin, self.process.stdout
        self.replies_ready = select.poll()
        self.replies_ready.register(self.replies, select.POLLIN)
        # No query's time runs while the process starts, which a busy machine may put off for seconds.
        if not self.replies_ready.poll(START_SECONDS * 1000) or self.replies.read(1) != sandbox_worker.READY:
            self.stop()
            raise SandboxCrashed("the process that runs queries doesn't start")

    def ask(self, request: Request, seconds: float) -> Reply:
        """Send a request and wait for its reply.

        Raises:
            QueryTimeout: the worker was ended because the query took too long.
            SandboxCrashed: the worker died.
            _WorkerLostError: it was ended from outside before the query could have mattered.
        """
        frame = marshal.dumps(request, sandbox_worker.MARSHAL_VERSION)
        started = time.monotonic()
        try:
            self.requests.write(len(frame).to_bytes(8, "little") + frame)
            self.requests.flush()
        except BrokenPipeError as error:
            raise _WorkerLostError from error
        if not self.replies_ready.poll((seconds + KILL_SECONDS) * 1000):
            raise QueryTimeout(seconds)
        header = self.replies.read(8)
        body = self.replies.read(int.from_bytes(header, "little"))
        if len(header) == 8 and len(body) == int.from_bytes(header, "little"):
            return marshal.loads(body)
        status = self.process.wait()
        elapsed = time.monotonic() - started
        if status == -signal.SIGALRM or elapsed > seconds:
            raise QueryTimeout(seconds)
        if status == -signal.SIGKILL and elapsed < STALE_SECONDS:
            raise _WorkerLostError
        raise SandboxCrashed(f"the query ended the process that ran it (status {status})")

    def stop(self) -> None:
        """End the subprocess and reap it."""
        self.process.kill()
        self.forget()
        self.process.wait()

    def forget(self) -> None:
        """Close this process's ends of the pipes."""
        for pipe in (self.requests, self.replies):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


class _Pool:
    """Idle workers; a process forked from this one starts with none."""

    def __init__(self) -> None:
        self.idle: list[_Worker] = []
        self.slots = threading.BoundedSemaphore(MAX_WORKERS)
        self.owner = os.getpid()

    def ask(self, request: Request, limits: Limits) -> Reply:
        """Have a worker with the right memory cap answer; a worker that fails to is ended."""
        with self.slots:
            while True:
                worker, reused = self._take(limits.memory_mb)
                try:
                    reply = worker.ask(request, limits.seconds)
                except _WorkerLostError:
                    worker.stop()
                    if reused:
                        continue
                    raise SandboxCrashed("the process that runs queries was killed") from None
                except BaseException:
                    worker.stop()
                    raise
                if reply[0] == "memory":
                    worker.stop()
                else:
                    self.idle.append(worker)
                return reply

    def _take(self, memory_mb: int) -> tuple[_Worker, bool]:
        """An idle worker (and True) or a new one; idle ones with another memory cap are ended to make room."""
        while True:
            try:
                worker = self.idle.pop()
            except IndexError:
                return _Worker(memory_mb), False
            if worker.memory_mb == memory_mb and worker.process.poll() is None:
                return worker, True
            worker.stop()

    def close(self) -> None:
        """End the idle workers."""
        while self.idle and self.owner == os.getpid():
            self.idle.pop().stop()


_pool = _Pool()


def run_query(db: str | Path, sql: str, limits: Limits = Limits(), *, exact_text: bool = False) -> Rows:
    """Run one reading statement (SELECT, WITH, VALUES, EXPLAIN) over the SQLite file ``db``, opened read-only.

    The file is opened as immutable: what lies only in a write-ahead log isn't seen. A file replaced or written
    between two calls is opened again. Text that isn't UTF-8 comes with U+FFFD in the place of each bad byte or, with
    ``exact_text``, with lone surrogates, so that different bytes stay different.

    Raises:
        QueryFailed: SQLite's error, also for a file that is missing or no database.
        QueryRefused: not exactly one statement, or one that does more than read.
        QueryTimeout: over ``limits.seconds``; raised at most a second after it.
        SandboxCrashed: over ``limits.memory_mb``, or the worker died.
    """
    try:
        stat = os.stat(db)
    except OSError as error:
        raise QueryFailed(f"unable to open database file {db}: {error.strerror}") from None
    version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    uri = _uri(os.path.abspath(db))
    caps = (exact_text, float(limits.seconds), limits.max_rows, limits.max_cell_bytes, limits.max_total_bytes)
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise QueryFailed(f"the query holds a character that can't be encoded: {error.reason}") from None
    reply = _pool.ask((uri, version, sql, *caps), limits)
    if len(reply) == 5:
        _, columns, truncated, more, chunks = reply
        return Rows(columns, [row for chunk in chunks for row in marshal.loads(chunk)], truncated, more)
    kind, message = reply
    if kind == "timeout":
        raise QueryTimeout(limits.seconds)
    raise {"refused": QueryRefused, "memory": SandboxCrashed}.get(kind, QueryFailed)(message)


@lru_cache(maxsize=1024)
def _uri(path: str) -> str:
    return f"{Path(path).as_uri()}?mode=ro&immutable=1"


def close_workers() -> None:
    """End the idle worker processes; the next ``run_query`` starts a new one."""
    _pool.close()


def _after_fork() -> None:
    """A forked child lets go of its parent's workers: two processes must not share a pipe."""
    global _pool
    for worker in _pool.idle:
        worker.forget()
    _pool = _Pool()


atexit.register(close_workers)
os.register_at_fork(after_in_child=_after_fork)
