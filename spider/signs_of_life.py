"""A line now and then while something takes long, so that slow can be told from stuck."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

SECONDS_BETWEEN_LINES = 15.0
logger = logging.getLogger(__name__)


@contextlib.contextmanager
def signs_of_life(doing: str, seconds: float = SECONDS_BETWEEN_LINES, log: logging.Logger = logger) -> Iterator[None]:
    """Around what may take long: log ``still DOING after N s`` every so many seconds until it is over."""
    over, started = threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(seconds):
            log.info("still %s after %.0f s", doing, time.monotonic() - started)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
