"""Servers that the agent's tests talk to, on loopback: a chat endpoint that answers from a script, and PostgreSQL."""

import contextlib
import json
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

Answer = str | tuple[int, Mapping[str, object]]
Script = Callable[[Mapping[str, object]], Answer]

SCHEMA = """
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, age INTEGER, owner_id INTEGER REFERENCES owner(id));
INSERT INTO owner VALUES (1, 'Ann'), (2, 'Bo');
INSERT INTO pet VALUES (1, 'Rex', 'dog', 3, 1), (2, 'Tom', 'cat', NULL, 2), (3, 'Ada', 'dog', 9, 1);
"""


class ChatServer:
    """An OpenAI-compatible endpoint. `script` maps a request to a reply's text, or to a status and an error's body.

    It returns token ids and log-probs when asked to, as vLLM does, and keeps every request in `requests`.
    """

    def __init__(self) -> None:
        """Listen on a free port."""
        self.requests: list[Mapping[str, object]] = []
        self.script: Script = lambda request: "THE QUERY IS CORRECT."
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Keep quiet."""

            def do_GET(self) -> None:
                self.reply(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(request)
                answer = server.script(request)
                if isinstance(answer, str):
                    self.reply(200, completion(request, answer, len(server.requests)))
                else:
                    self.reply(answer[0], answer[1])

            def reply(self, status: int, body: Mapping[str, object]) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.send_header("Retry-After-Ms", "1")
                self.end_headers()
                self.wfile.write(raw)
                self.wfile.flush()

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def prompts(self) -> list[str]:
        """The last message of every request."""
        return [last_message(request) for request in self.requests]

    def say(self, *answers: Answer) -> None:
        """Give these answers in turn, the last one for ever."""
        left = list(answers)
        self.script = lambda request: left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        """Stop listening."""
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def last_message(request: Mapping[str, object]) -> str:
    messages = request["messages"]
    assert isinstance(messages, list)
    return messages[-1]["content"]


def completion(request: Mapping[str, object], text: str, number: int) -> Mapping[str, object]:
    """A reply's body; its token ids are the text's bytes, so that a test can tell where they come from."""
    ids = list(text.encode())
    choice: dict[str, object] = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    body: dict[str, object] = {"id": f"chat-{number}", "object": "chat.completion", "created": 1, "choices": [choice]}
    if request.get("logprobs"):
        choice["logprobs"] = {
            "content": [{"token": chr(i % 128), "logprob": -i / 100, "bytes": [i], "top_logprobs": []} for i in ids]
        }
    if request.get("return_token_ids"):
        body["prompt_token_ids"] = list(last_message(request).encode())
        choice["token_ids"] = ids
    usage = {"prompt_tokens": len(last_message(request)), "completion_tokens": len(ids)}
    return {**body, "model": request["model"], "usage": {**usage, "total_tokens": sum(usage.values())}}


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    yield server
    server.close()


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with the database `pets` in training and `pets_val` in validation, as `VERL_SPIDER_DATA_DIR`."""
    for folder, name in (("database", "pets"), ("test_database", "pets_val")):
        path = tmp_path / folder / name / f"{name}.sqlite"
        path.parent.mkdir(parents=True)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(SCHEMA)
    monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def pets(data_folder: Path) -> Path:
    """A small SQLite database."""
    return data_folder / "database" / "pets" / "pets.sqlite"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL server of Debian's packages, started for the tests; it holds the same two tables."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        message = "PostgreSQL isn't installed: apt-get install postgresql"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    folder = Path(tempfile.mkdtemp(prefix="agent-postgres-"))
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, user)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def run(program: str, *arguments: str) -> None:
        subprocess.run([found[-1] / program, *arguments], check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    run("initdb", "-D", f"{folder}/data", "-U", "agent", "-A", "trust", "--no-sync", "-E", "UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o", options, "start")
    try:
        url = f"postgresql://agent@127.0.0.1:{port}/postgres"
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SCHEMA.replace("owner VALUES", '"owner" VALUES').encode())
        yield url
    finally:
        run("pg_ctl", "-D", f"{folder}/data", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
