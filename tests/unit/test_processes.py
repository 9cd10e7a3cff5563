"""A run's processes, and only those, are ended."""

import os
import subprocess
import sys
import time
import uuid

import psutil
import pytest

from spider.verl_bridge.processes import MODULE, RUN_ID, channel_of_run, end_run, run_processes

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]


def start(command: list[str], run_id: str, **options: object) -> subprocess.Popen[bytes]:
    session = bool(options.get("start_new_session"))
    return subprocess.Popen(
        command, env=os.environ | {RUN_ID: run_id}, stdout=subprocess.PIPE, start_new_session=session
    )


def test_marked_process_of_another_session_is_ended() -> None:
    run_id = uuid.uuid4().hex
    process = start(SLEEP, run_id, start_new_session=True)
    assert end_run(run_id) == 1
    assert run_processes(run_id) == []
    assert not psutil.pid_exists(process.pid)


def test_process_that_ignores_sigterm_is_killed() -> None:
    run_id = uuid.uuid4().hex
    process = start(STUBBORN, run_id)
    assert process.stdout is not None
    process.stdout.readline()
    end_run(run_id, grace_seconds=0.5)
    assert run_processes(run_id) == []
    assert not psutil.pid_exists(process.pid)


def test_process_of_another_run_is_left_alone() -> None:
    mine, other = uuid.uuid4().hex, uuid.uuid4().hex
    process = start(SLEEP, other)
    try:
        assert end_run(mine) == 0
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(5)


def test_runs_with_the_same_ray_job_id_have_sockets_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    for run_id in ("a" * 32, "b" * 32, "a" * 32):
        monkeypatch.setenv(RUN_ID, run_id)
        names.append(channel_of_run("ipc:///tmp/rl-colocate-zmq-01000000-replica-0-rank-0.sock"))
    assert names[0] != names[1]
    assert names[0] == names[2]


def test_reaper_ends_the_run_when_its_parent_is_killed_and_nobody_waits_for_it() -> None:
    run_id = uuid.uuid4().hex
    parent = subprocess.Popen(SLEEP)
    child = start(SLEEP, run_id, start_new_session=True)
    reaper = subprocess.Popen([sys.executable, "-m", MODULE, str(parent.pid), run_id])
    time.sleep(0.5)
    parent.kill()
    assert child.wait(15) != 0
    assert reaper.wait(15) == 0
    parent.wait(5)
    assert not psutil.pid_exists(child.pid)
