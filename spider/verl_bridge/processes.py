"""End every process that a run started: runners, Ray's daemons and workers, vLLM's engine.

Ray and vLLM start processes of their own sessions, which outlive a killed parent. All of them inherit the environment,
so a variable with the run's id marks them, and only them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MODULE = "spider.verl_bridge.processes"
RUN_ID = "SPIDER_RUN_ID"
GRACE_SECONDS = 3.0


def mark_run() -> str:
    """Mark this process and all that it starts from now on; return the run's id."""
    return os.environ.setdefault(RUN_ID, uuid.uuid4().hex)


def channel_of_run(handle: str) -> str:
    """Return verl's name of the socket that carries weights, with this run's mark in it (see `weight_channel`)."""
    return handle.replace("/rl-colocate-zmq-", f"/rl-colocate-zmq-{os.environ.get(RUN_ID, '')[:12]}-")


def relaunch_marked(module: str) -> None:
    """Start this program anew, in place, when it is not marked yet.

    A process's environment is visible to others only as it was when its program started, so a mark set later would not
    be seen on processes that are forked from this one.
    """
    if RUN_ID not in os.environ:
        mark_run()
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])


def run_processes(run_id: str) -> list[psutil.Process]:
    """List the run's processes other than this one and its reaper."""
    import psutil

    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            marked = process.pid != os.getpid() and process.environ().get(RUN_ID) == run_id
            if marked and MODULE not in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def end_run(run_id: str, grace_seconds: float = GRACE_SECONDS) -> int:
    """Terminate the run's processes, then kill what is left after the grace period; return how many there were."""
    import psutil

    processes = run_processes(run_id)
    for process in processes:
        _signal(process, kill=False)
    _, alive = psutil.wait_procs(processes, timeout=grace_seconds)
    # What was starting meanwhile is not in the first list.
    for process in {*alive, *run_processes(run_id)}:
        _signal(process, kill=True)
    psutil.wait_procs(alive, timeout=grace_seconds)
    return len(processes)


@functools.cache
def start_reaper(run_id: str) -> None:
    """Start a small process that ends the run when this one is gone, however it went; once for each run."""
    subprocess.Popen(
        [sys.executable, "-m", MODULE, str(os.getpid()), run_id],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _signal(process: psutil.Process, kill: bool) -> None:
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        if kill:
            process.kill()
        else:
            process.terminate()


def _reap(parent: int, run_id: str) -> None:
    with contextlib.suppress(ProcessLookupError):
        # Readable once the process has ended, even if nobody waits for it and it stays a zombie.
        select.select([os.pidfd_open(parent)], [], [])
    # The run ends its processes itself when it can.
    time.sleep(1.0)
    end_run(run_id)


if __name__ == "__main__":
    _reap(int(sys.argv[1]), sys.argv[2])
