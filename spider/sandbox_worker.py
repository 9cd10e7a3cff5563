"""The subprocess in which the sandbox runs SQL; only the standard library, started by ``spider.sandbox``.

    python -I -S sandbox_worker.py MEMORY_MB < requests > replies

A byte tells that it is ready. Then both pipes carry frames: 8 bytes of little-endian length and that many bytes of
``marshal``. A request is ``(uri, version, sql, exact_text, seconds, max_rows, max_cell_bytes, max_total_bytes)``. A
reply is ``("rows", columns, truncated, more, marshalled lists of rows)`` or ``(kind, message)``; kind is "failed",
"refused", "timeout" or "memory".

What holds whatever the SQL does: the file is opened read-only and immutable; an authorizer admits only what reading
needs; SQLite's heap and the process's address space are capped and it can't write to a file; a query is interrupted
between two instructions of SQLite's virtual machine, and an alarm ends the process if a single instruction takes
longer. What is not covered: a flaw in SQLite itself that runs code in this process.
"""

from __future__ import annotations

import contextlib
import marshal
import re
import resource
import signal
import sqlite3
import sys
import time
from collections import OrderedDict
from functools import partial
from itertools import accumulate
from typing import BinaryIO

MARSHAL_VERSION = 2  # later versions track shared references, which costs time and saves nothing here
READY = b"R"
GRACE_SECONDS = 0.75  # between the interrupt and the alarm that ends the process
OPEN_DATABASES = 48
MAX_SQL_CHARACTERS = 1_000_000
INSTRUCTIONS_PER_CHECK = 5_000
CHUNK_ROWS, CHUNK_BYTES = 2_000, 1_000_000

READS = ("SELECT", "WITH", "VALUES", "EXPLAIN")
# fmt: off
OTHER_STATEMENTS = frozenset((
    "ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMIT", "CREATE", "DELETE", "DETACH", "DROP", "END", "INSERT", "PRAGMA",
    "REINDEX", "RELEASE", "REPLACE", "ROLLBACK", "SAVEPOINT", "UPDATE", "VACUUM",
))
# data_version: full-text tables ask for it when they are read.
READ_PRAGMAS = frozenset((
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "data_version",
))
# fmt: on
READ_ACTIONS = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
R_TREE_TABLE = re.compile(r"\w+_(?:node|parent|rowid)")
REFUSED_FUNCTIONS = frozenset(("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"))
# The authorizer's codes are listed by name in https://www.sqlite.org/c3ref/c_alter_table.html.
ACTION_NAMES = {
    getattr(sqlite3, f"SQLITE_{action}_{kind}"): f"{action} {kind}".replace("_", " ")
    for action in ("CREATE", "DROP")
    for kind in ("INDEX", "TABLE", "TRIGGER", "VIEW", "TEMP_INDEX", "TEMP_TABLE", "TEMP_TRIGGER", "TEMP_VIEW", "VTABLE")
} | {
    getattr(sqlite3, f"SQLITE_{action}"): action
    for action in ("ANALYZE", "ATTACH", "DELETE", "DETACH", "INSERT", "PRAGMA", "REINDEX", "TRANSACTION", "UPDATE")
}

Cell = None | int | float | str | bytes
Reply = tuple[str, tuple[str, ...], bool, bool, list[bytes]] | tuple[str, str]
Version = tuple[int, int, int]  # modification time (ns), size (bytes), inode

# SQLite's own lexical rules: an unclosed quote or comment runs to the end of the text.
TOKEN = re.compile(
    r"""(?P<blank>[ \t\n\f\r\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<blob>[xX]'[^']*(?:'|\Z))
      | (?P<word>[A-Za-z_\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*)
      | (?P<semicolon>;)
      | (?P<string>'(?:[^']++|'')*+(?:'|\Z))
      | (?P<name>"(?:[^"]++|"")*+(?:"|\Z) | `(?:[^`]++|``)*+(?:`|\Z) | \[[^\]]*(?:\]|\Z))
      | (?P<number>0[xX][0-9A-Fa-f]+ | (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class RefusedError(Exception):
    """The text is not exactly one reading statement."""


def first_word(sql: str) -> str:
    """The first token that is neither blank, comment nor semicolon, in upper case ("" when there is none)."""
    for token in TOKEN.finditer(sql):
        if token.lastgroup not in ("blank", "semicolon"):
            return token.group().upper()
    return ""


def split_statement(sql: str) -> tuple[str, str]:
    """The first statement, without its semicolon, and what follows it ("" when only blanks and comments do)."""
    begun = False
    end = len(sql)
    for token in TOKEN.finditer(sql) if ";" in sql else ():
        if token.lastgroup == "semicolon":
            end = min(end, token.start()) if begun else end
        elif token.lastgroup != "blank":
            if end < len(sql):
                return sql[:end], sql[token.start() :]
            begun = True
    return sql[:end], ""


def reading_statement(sql: str) -> str:
    """The one statement in ``sql``, known to begin like a query.

    Raises:
        RefusedError: it is empty, more than one, or of another kind.
        sqlite3.OperationalError: no SQL statement begins like this.
    """
    if len(sql) > MAX_SQL_CHARACTERS:
        raise RefusedError(f"the query is longer than {MAX_SQL_CHARACTERS} characters")
    statement, rest = split_statement(sql)
    if rest:
        raise RefusedError("only one statement may be run at a time")
    first = first_word(statement)
    if first in READS:
        return statement
    if not first:
        raise RefusedError("the query is empty")
    if first in OTHER_STATEMENTS:
        raise RefusedError(f"{first} is not allowed: only queries that read (SELECT, WITH, VALUES, EXPLAIN) are run")
    raise sqlite3.OperationalError(f'near "{first.lower()[:40]}": syntax error')


class Session:
    """Open databases and the state of the query being run."""

    def __init__(self, memory_mb: int) -> None:
        """No database is open; SQLite's heap gets half of ``memory_mb``."""
        self.heap_bytes = memory_mb * 1_000_000 // 2
        self.connections: OrderedDict[str, tuple[Version, sqlite3.Connection]] = OrderedDict()
        self.deadline = 0.0
        self.refusal = ""

    def connect(self, uri: str, version: Version) -> sqlite3.Connection:
        """The connection kept for ``uri``, opened anew when the file's ``version`` has changed."""
        known = self.connections.pop(uri, None)
        if known and known[0] == version:
            self.connections[uri] = known
            return known[1]
        if known:
            known[1].close()
        while len(self.connections) >= OPEN_DATABASES:
            self.connections.popitem(last=False)[1][1].close()
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        for pragma in (f"hard_heap_limit={self.heap_bytes}", "temp_store=MEMORY", "mmap_size=0", "query_only=1"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.heap_bytes // 4)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 4 * MAX_SQL_CHARACTERS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
        connection.set_authorizer(self.authorize)
        connection.set_progress_handler(self.is_late, INSTRUCTIONS_PER_CHECK)
        self.connections[uri] = (version, connection)
        return connection

    def authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        """SQLite's authorizer: everything that isn't known to read is refused."""
        if action in READ_ACTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in REFUSED_FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in READ_PRAGMAS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
            return sqlite3.SQLITE_OK  # asked for a table-valued function's columns; SQLite itself refuses a real one
        if R_TREE_TABLE.fullmatch(first or ""):
            return sqlite3.SQLITE_OK  # an R*Tree prepares writes when it is opened; `query_only` refuses a real one
        if action == sqlite3.SQLITE_FUNCTION:
            self.refusal = f"the function {second} is not allowed"
        else:
            self.refusal = f"{ACTION_NAMES.get(action, 'this')} is not allowed: the database is read-only"
        return sqlite3.SQLITE_DENY

    def is_late(self) -> bool:
        """SQLite's progress handler: a true answer interrupts the query."""
        return time.monotonic() > self.deadline

    def answer(self, uri: str, version: Version, sql: str, exact_text: bool, seconds: float, *caps: int) -> Reply:
        """Run one request and give the reply to send."""
        self.deadline, self.refusal = time.monotonic() + seconds, ""
        try:
            statement = reading_statement(sql)
            connection = self.connect(uri, version)
            connection.text_factory = str
            try:
                return self.fetch(connection, statement, *caps)
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" not in str(error):
                    raise
            # Lone surrogates keep different bytes different; U+FFFD can be shown.
            errors = "surrogateescape" if exact_text else "replace"
            connection.text_factory = partial(str, encoding="utf-8", errors=errors)
            return self.fetch(connection, statement, *caps)
        except RefusedError as error:
            return "refused", str(error)
        except MemoryError:
            return "memory", "the query needs more memory than it may use"
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if self.refusal:
                return "refused", self.refusal
            return ("timeout", "") if self.is_late() else ("failed", str(error))

    def fetch(
        self, connection: sqlite3.Connection, statement: str, max_rows: int, max_cell: int, max_total: int
    ) -> Reply:
        """Run a statement and marshal its rows chunk by chunk, so that a wide result never lies here as objects."""
        with contextlib.closing(connection.execute(statement)) as cursor:
            columns = tuple(column[0] for column in cursor.description or ())
            chunks: list[bytes] = []
            rows, total, cells_cut, more, size = 0, 0, False, False, 16
            while fetched := cursor.fetchmany(min(size, max_rows - rows + 1)):
                if self.is_late():
                    return "timeout", ""
                if rows + len(fetched) > max_rows:
                    fetched, more = fetched[: max_rows - rows], True
                chunk = marshal.dumps(fetched, MARSHAL_VERSION)
                if len(chunk) > max_cell:  # else no cell in it can be over the limit
                    cut = [tuple(cut_cell(cell, max_cell) for cell in row) for row in fetched]
                    cells_cut = cells_cut or cut != fetched
                    fetched, chunk = cut, marshal.dumps(cut, MARSHAL_VERSION)
                if total + len(chunk) > max_total:
                    fetched, more = fetched[: rows_within(fetched, max_total - total)], True
                    chunk = marshal.dumps(fetched, MARSHAL_VERSION)
                rows, total = rows + len(fetched), total + len(chunk)
                chunks.append(chunk)
                if more:
                    break
                size = max(1, min(CHUNK_ROWS, CHUNK_BYTES * len(fetched) // len(chunk)))
            return "rows", columns, cells_cut or more, more, chunks


def cut_cell(cell: Cell, max_bytes: int) -> Cell:
    """The cell, cut when its text (measured in UTF-8) or blob is longer than ``max_bytes``."""
    if isinstance(cell, bytes):
        return cell[:max_bytes]
    if (
        isinstance(cell, str)
        and len(cell) * 4 > max_bytes
        and len(encoded := cell.encode("utf-8", "surrogatepass")) > max_bytes
    ):
        return encoded[:max_bytes].decode("utf-8", "ignore")
    return cell


def rows_within(rows: list[tuple[Cell, ...]], budget: int) -> int:
    """How many of the first rows fit in ``budget`` bytes."""
    sizes = accumulate(len(marshal.dumps(row, MARSHAL_VERSION)) for row in rows)
    return sum(size <= budget for size in sizes)


def cap_process(memory_mb: int) -> None:
    """Bound the address space to what is used now plus ``memory_mb``; forbid writing to files and core dumps."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm", encoding="ascii") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        limit = used + memory_mb * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (0, 0))


def serve(requests: BinaryIO, replies: BinaryIO, memory_mb: int) -> None:
    """Answer requests until the calling process closes its pipe or ends."""
    session = Session(memory_mb)
    replies.write(READY)
    replies.flush()
    while len(header := requests.read(8)) == 8:
        request = marshal.loads(requests.read(int.from_bytes(header, "little")))
        # The default action of the alarm ends the process, even inside a single call of SQLite.
        signal.setitimer(signal.ITIMER_REAL, request[4] + GRACE_SECONDS)
        reply = session.answer(*request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        frame = marshal.dumps(reply, MARSHAL_VERSION)
        replies.write(len(frame).to_bytes(8, "little"))
        replies.write(frame)
        replies.flush()
        if reply[0] == "memory":
            break  # a fresh process is surer than one that has just run out of memory


def main() -> None:
    """Entry point of the subprocess."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle; its end closes the pipe
    memory_mb = int(sys.argv[1])
    cap_process(memory_mb)
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer, memory_mb)


if __name__ == "__main__":
    main()
