"""Servers that the agent's tests talk to, on loopback: a scripted chat endpoint, PostgreSQL and MariaDB."""

import contextlib
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spider.ports import free_port
from tests.served_model import Served, serve_and_ask
from tests.training_run import Run, clean_up, five_steps

# litellm, which agentlightning imports, otherwise looks up a price list on the net and waits for it.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

SCHEMA = """
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, age INTEGER, owner_id INTEGER REFERENCES owner(id));
INSERT INTO owner VALUES (1, 'Ann'), (2, 'Bo');
INSERT INTO pet VALUES (1, 'Rex', 'dog', 3, 1), (2, 'Tom', 'cat', NULL, 2), (3, 'Ada', 'dog', 9, 1);
"""


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
    port = free_port()

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


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """The URL of a MariaDB server of Debian's packages, started for the tests; it holds the same two tables."""
    server, installer = Path("/usr/sbin/mariadbd"), Path("/usr/bin/mariadb-install-db")
    if not all(path.exists() for path in (server, installer, Path("/usr/bin/my_print_defaults"))):
        message = "MariaDB isn't installed: apt-get install mariadb-server-core mariadb-client-core"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    folder = Path(tempfile.mkdtemp(prefix="agent-mariadb-"))
    port = free_port()
    user = pwd.getpwuid(os.geteuid()).pw_name
    common = ["--no-defaults", f"--datadir={folder}/data", f"--user={user}"]
    setup = [installer, *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(setup, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    network = [f"--socket={folder}/socket", "--bind-address=127.0.0.1", f"--port={port}", "--skip-networking=0"]
    quick = ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=8M", f"--log-error={folder}/log"]
    process = subprocess.Popen([server, *common, *network, *quick])
    try:
        import pymysql
        from pymysql.constants import CLIENT

        while not Path(f"{folder}/socket").exists():
            assert process.poll() is None, Path(f"{folder}/log").read_text()
            time.sleep(0.05)
        several = CLIENT.MULTI_STATEMENTS
        connection = pymysql.connect(host="127.0.0.1", port=port, user="root", client_flag=several, autocommit=True)
        with connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE pets; USE pets;" + SCHEMA)
        yield f"mysql://root@127.0.0.1:{port}/pets"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """What happened while the model was served, before any training."""
    return serve_and_ask(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def training_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Five real training steps, which take minutes: the tests that need a trained model or its files share them."""
    run = five_steps(tmp_path_factory.mktemp("training") / "run")
    yield run
    clean_up(run)
