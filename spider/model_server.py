"""Serve a model with vLLM's OpenAI server, with the flags that this machine and the model need.

    bash scripts/serve.sh MODEL [--port 8000] [--context-tokens N] [--device cpu] [-- FLAGS OF VLLM …]

MODEL is a folder, the name of one below ``model/``, or a hub's name. The command ends when the server does; Ctrl-C ends
both. `running` is the same for programs.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import duration, interruptible, positive
from spider.data import ROOT, load_environment
from spider.output import show
from spider.ports import listener
from spider.server_flags import (
    DEFAULT_PORT,
    Machine,
    context_length,
    find_machine,
    server_command,
    server_environment,
    tool_parser,
)
from spider.server_log import death, tail
from spider.server_model import ServerError, find_model, require_fetchable
from spider.signs_of_life import signs_of_life

logger = logging.getLogger("spider.model_server")

START_SECONDS = 900.0
"""How long a server may take until it answers: a large model from a slow disk takes minutes."""

POLL_SECONDS = 0.5


def require_free_port(host: str, port: int) -> None:
    """Refuse a port that something listens on.

    Raises:
        ServerError: with the process that has it, where that is known.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            owner, fix = listener(port), f"stop it, or give another one: --port {port + 1}"
            by = f" (by {owner})" if owner else ""
            raise ServerError(f"can't listen on {host}:{port}: {error.strerror}{by}; {fix}") from error


@dataclass(frozen=True)
class Server:
    """What to serve, and how.

    Attributes:
        model: Folder, name below ``model/``, or hub name.
        host: Address to listen on.
        port: Port to listen on.
        device: Where to run; the machine's accelerator by default.
        context: Tokens of prompt and reply; see `server_flags.context_length`.
        tool_parser: vLLM's tool parser, or ``none``; by default the one that fits the model's chat template.
        flags: More flags of vLLM.
        timeout: Seconds until the server must answer.
        log: File for what the server prints; ``outputs/serve-PORT.log`` by default.
    """

    model: str
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    device: Machine | None = None
    context: int | None = None
    tool_parser: str | None = None
    flags: Sequence[str] = ()
    timeout: float = START_SECONDS
    log: Path | None = None

    @property
    def url(self) -> str:
        """The base URL to ask it at."""
        return f"http://{'127.0.0.1' if self.host == '0.0.0.0' else self.host}:{self.port}/v1"

    @property
    def log_file(self) -> Path:
        """The file that it prints to, absolute."""
        return (self.log or ROOT / "outputs" / f"serve-{self.port}.log").resolve()


def plan(server: Server) -> tuple[list[str], dict[str, str]]:
    """The server's command and the variables it needs.

    Raises:
        ServerError: no such model, or a context that it doesn't have.
    """
    model, machine = find_model(server.model), server.device or find_machine()
    limit = model.integer("max_position_embeddings")
    if server.context and limit and server.context > limit:
        raise ServerError(
            f"--context-tokens {server.context}: {model.name} has {limit} positions; give at most that many"
        )
    context = server.context or context_length(model)
    parser = None if server.tool_parser == "none" else server.tool_parser or tool_parser(model)
    command = server_command(model, machine, server.host, server.port, context, parser)
    return [*command, *server.flags], server_environment(model, machine, context)


@contextlib.contextmanager
def running(server: Server) -> Iterator[subprocess.Popen[bytes]]:
    """Serve as long as the block lasts; yields the server's process once it answers at ``server.url``.

    Raises:
        ServerError: no such model here or at the hub, a port in use, no vLLM, or the server died; the message ends with
            its last lines.
    """
    command, variables = plan(server)
    require_free_port(server.host, server.port)
    require_fetchable(find_model(server.model))
    server.log_file.parent.mkdir(parents=True, exist_ok=True)
    with server.log_file.open("wb") as output:
        process, run_id = _start(command, variables, output.fileno())
    try:
        _wait_until_healthy(process, server)
        yield process
    finally:
        _end(process, run_id)


def _start(command: Sequence[str], variables: dict[str, str], output: int) -> tuple[subprocess.Popen[bytes], str]:
    from importlib.util import find_spec

    from spider.verl_bridge.processes import RUN_ID, start_reaper

    if find_spec("vllm") is None:
        raise ServerError("vLLM is not installed: run `bash scripts/setup.sh`")
    # The mark lets the reaper find the server's own children too, should this process be killed.
    run_id = uuid.uuid4().hex
    process = subprocess.Popen(
        command,
        env=os.environ | variables | {RUN_ID: run_id},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches this process, which then ends the server in order
    )
    start_reaper(run_id)
    return process, run_id


def _end(process: subprocess.Popen[bytes], run_id: str) -> None:
    from spider.verl_bridge.processes import end_run

    end_run(run_id)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)


def _wait_until_healthy(process: subprocess.Popen[bytes], server: Server) -> None:
    import httpx

    started = time.monotonic()
    with signs_of_life("loading", log=logger):
        while True:
            if process.poll() is not None:
                raise ServerError(death(process.returncode, server.log_file))
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{server.url.removesuffix('/v1')}/health", timeout=5).status_code == 200:
                    return
            if time.monotonic() - started > server.timeout:
                raise ServerError(f"no answer after {server.timeout:.0f} s; its last lines:\n{tail(server.log_file)}")
            time.sleep(POLL_SECONDS)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="serve.sh",
        description="Serve a model with vLLM's OpenAI server. Flags after -- go to vLLM as they are.",
    )
    parser.add_argument("model", help="a folder, the name of one below model/, or a hub's name")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port to listen on ({DEFAULT_PORT})")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine only)")
    parser.add_argument("--device", choices=("cuda", "cpu", "npu"), help="where to run (the machine's accelerator)")
    parser.add_argument(
        "--context-tokens",
        "--context",
        dest="context",
        type=positive,
        metavar="N",
        help="most tokens of prompt and reply together (the model's, at most 8192)",
    )
    parser.add_argument("--tool-parser", metavar="NAME", help="vLLM's tool parser, or none (by the chat template)")
    parser.add_argument(
        "--timeout", type=duration, default=START_SECONDS, metavar="S", help="seconds to start in (900)"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="what the server prints (outputs/serve-PORT.log)")
    parser.add_argument("--dry-run", action="store_true", help="print the command and its variables, and stop")
    parser.add_argument("--quiet", action="store_true", help="say only what goes wrong")
    given = list(sys.argv[1:] if argv is None else argv)
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    options.flags = given[cut + 1 :]
    if not 0 < options.port < 65536:
        parser.error(f"--port {options.port}: give a number from 1 to 65535")
    return options


@interruptible
def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the server ends or Ctrl-C; 130 after Ctrl-C, 1 when the server died or never started."""
    options = vars(parse_args(argv))
    quiet, dry_run = options.pop("quiet"), options.pop("dry_run")
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    load_environment()  # HF_TOKEN, for a hub's model
    server = Server(**options)
    try:
        if dry_run:
            command, variables = plan(server)
            show(shlex.join([f"{name}={value}" for name, value in variables.items()] + command))
            return 0
        # Started in the background by a script, a process is born deaf to SIGINT.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        return _serve(server)
    except ServerError as error:
        logger.error("error: %s", error)
        return 1
    except KeyboardInterrupt:
        logger.info("stopped")
        return 130


def _serve(server: Server) -> int:
    plan(server)  # a wrong name is said before anything is
    require_free_port(server.host, server.port)
    logger.info("loading %s; what vLLM prints goes to %s", server.model, server.log_file)
    started = time.monotonic()
    with running(server) as process:
        logger.info("ready after %.0f s: %s", time.monotonic() - started, server.url)
        elsewhere = "" if server.port == DEFAULT_PORT else f" --endpoint {server.url} (or OPENAI_BASE_URL in .env)"
        logger.info("ask it: python spider/sql_agent.py%s", elsewhere)
        code = process.wait()
    if code:
        raise ServerError(death(code, server.log_file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
