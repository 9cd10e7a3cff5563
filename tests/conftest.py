"""Skips what this machine can't run: tests marked `gpu` where no NVIDIA GPU answers."""

import shutil
import signal
import subprocess

import pytest


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
