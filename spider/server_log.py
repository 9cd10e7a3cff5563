"""Why a model server ended, from what it printed."""

from __future__ import annotations

import re
from pathlib import Path

SHOWN_LINES = 15
ERROR_LINE = re.compile(
    r"^(?:\(\w+ pid=\d+\) ERROR [\d-]+ [\d:]+ \[[^\]]+\] )?((?:\w+\.)*\w*(?:Error|Exception): .+)$", re.M
)
"""An exception's last line, with or without vLLM's own prefix of process, time and place."""


def death(code: int, log: Path) -> str:
    """How a server ended, with the first error in its log, which tends to be the cause, and its last lines."""
    separator = "\n" if first_error(log) else "; "
    return f"the server {ending(code, log)}{separator}the last lines of {log}:\n{tail(log)}"


def ending(code: int, log: Path) -> str:
    """How a server ended and the first error in its log, in one line."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    error = first_error(log)
    return f"{how}: {error}" if error else how


def first_error(log: Path) -> str | None:
    """The first exception that a log names: what vLLM prints last is only that a process of its own has died."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = ERROR_LINE.search(text)
    return found[1].strip() if found else None


def tail(log: Path, lines: int = SHOWN_LINES) -> str:
    """The last lines of a log, indented."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in text[-lines:] if line.strip())
