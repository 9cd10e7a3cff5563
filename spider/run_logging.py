"""Where log lines go: this project's to the terminal, everything to the run's file."""

import logging
import os
import sys
from pathlib import Path

QUIET = {
    "AGENTOPS_LOG_SESSION_REPLAY_URL": "false",
    "AGENTOPS_LOGGING_TO_FILE": "false",
    "AGENTOPS_LOG_LEVEL": "CRITICAL",
    "LITELLM_LOG": "CRITICAL",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Variables that keep libraries from writing to the terminal or the working directory, and from calling home."""


class TerminalHandler(logging.Handler):
    """Writes lines above a progress bar, to the standard error that the process started with."""

    def __init__(self, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._stream = sys.stderr
        self.setFormatter(logging.Formatter("%(message)s"))
        self.addFilter(logging.Filter("spider"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        from tqdm import tqdm

        try:
            tqdm.write(self.format(record), file=self._stream)
        except Exception:
            self.handleError(record)


def keep_libraries_quiet() -> None:
    """Set the variables of `QUIET` that are not set yet. Call it before the libraries are imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def hide_bars() -> None:
    """Have tqdm draw nothing, here and in processes started from here. Call it before tqdm is imported."""
    os.environ["TQDM_DISABLE"] = "1"


def set_up_logging(path: Path, quiet: bool = False) -> None:
    """Send this project's lines to the terminal and all lines to a file. Call it before the libraries are imported.

    Args:
        path: The file.
        quiet: Whether the terminal gets nothing but what goes wrong.
    """
    keep_libraries_quiet()
    if quiet:
        hide_bars()
    terminal = TerminalHandler(logging.WARNING if quiet else logging.INFO)
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[terminal, file], force=True)
    # On a full disk the run ends by itself, with one message; a traceback for each lost line would bury it.
    logging.raiseExceptions = False


def take_over_loggers() -> None:
    """Take the handlers that libraries gave their own loggers on import, so that their lines go to the file alone."""
    for name in list(logging.Logger.manager.loggerDict):
        logger = logging.getLogger(name)
        if logger.handlers:
            logger.handlers.clear()
            logger.propagate = True
    for name in ("httpx", "httpx2"):  # a line a request
        logging.getLogger(name).setLevel(logging.WARNING)
    # uvicorn sets its handlers anew when a server starts; a filter of its logger stays.
    logging.getLogger("uvicorn.error").addFilter(lambda record: record.levelno >= logging.WARNING)
