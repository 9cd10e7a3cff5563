"""Servers that the agent's tests talk to, on loopback: a chat endpoint that answers from a script, and PostgreSQL."""

import contextlib
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.chat_server import ChatServer

# litellm, which agentlightning imports, otherwise looks up a price list on the net and waits for it.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

SCHEMA = """
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, age INTEGER, owner_id INTEGER REFERENCES owner(id));
INSERT INTO owner VALUES (1, 'Ann'), (2, 'Bo');
INSERT INTO pet VALUES (1, 'Rex', 'dog', 3, 1), (2, 'Tom', 'cat', NULL, 2), (3, 'Ada', 'dog', 9, 1);
"""


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
