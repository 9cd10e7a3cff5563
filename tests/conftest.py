"""Skips what this machine can't run: tests marked `gpu` where no NVIDIA GPU answers."""

import logging
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from benchmarks.chat_server import ChatServer


def has_gpu() -> bool:
    """Whether nvidia-smi lists a GPU."""
    if not shutil.which("nvidia-smi"):
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).stdout.startswith(b"GPU")


def pytest_configure() -> None:
    """Hear Ctrl-C, and so do the programs under test: a script's background process is born deaf to it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if marked and not has_gpu():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """A command that a test calls sets up logging: the next test must not hear through it, nor be quiet by it."""
    root, ours = logging.getLogger(), logging.getLogger("spider")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()
