"""Commands as a person types them, `scripts/serve.sh` among them, with the sample as the data."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODEL = "SmolLM2-135M-Instruct"
START_SECONDS = 400


def environment() -> dict[str, str]:
    """This process's variables without any that names an endpoint; the sample is the data."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MODEL", "VERL_"))}
    # Empty, so that a developer's own .env does not fill them in.
    empty = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE", "MODEL"), "")
    return kept | empty | {"VERL_SPIDER_DATA_DIR": str(ROOT / "data" / "sample"), "PYTHONPATH": str(ROOT)}


def command(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a Python command to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def serve(*arguments: str) -> subprocess.Popen[str]:
    """Start ``scripts/serve.sh``."""
    return subprocess.Popen(
        ["bash", "scripts/serve.sh", *arguments],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )


def wait_until_ready(server: subprocess.Popen[str]) -> str:
    """What the server said up to the line that says it is ready, that line included."""
    said = ""
    assert server.stderr is not None
    for line in server.stderr:
        said += line
        if line.startswith("ready"):
            return said
    pytest.fail(f"serve.sh ended before it was ready:\n{said}")


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server for the block: its process, and its base URL as it said it."""
    server = serve(*arguments, "--timeout", str(START_SECONDS))
    try:
        said = wait_until_ready(server)
        found = re.search(r"http://\S+", said[said.index("ready") :])
        assert found
        yield server, found[0]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
