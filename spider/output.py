"""Standard output, as the place where results go: a reader that goes away (``… | head -1``) ends the command."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

READER_GONE = 141
"""The exit code of a program that SIGPIPE ended, which is what shells expect in a pipe."""


def show(text: str) -> None:
    """Write a result and its line's end; the command ends here when that can't be written."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        _end(error)


class OutputHandler(logging.Handler):
    """Shows log lines that are results; errors go where errors go."""

    def emit(self, record: logging.LogRecord) -> None:
        """Show one record."""
        try:
            text = self.format(record)
        except Exception:
            self.handleError(record)
        else:
            if record.levelno >= logging.ERROR:
                sys.stderr.write(f"{text}\n")
            else:
                show(text)


@contextlib.contextmanager
def written_out() -> Iterator[None]:
    """Around a whole command: what is left to write is written, or ends it like `show`."""
    if sys.stdout is None:  # a command may be started without one: `>&-`
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:
            # Python tries once more when it ends, and would fail once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _end(error)


def _end(error: OSError) -> NoReturn:
    sys.exit(READER_GONE if isinstance(error, BrokenPipeError) else f"error: can't write the output: {error.strerror}")
