"""End a run that has stopped getting on, and say where it stands.

Nothing in the stack has a limit of its own on the whole: verl waits for rollouts without end, and a lost runner or an
engine that hangs leaves them open. A thread of the driver's watches for signs of life instead.
"""

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spider.verl_bridge.processes import end_run, run_processes

if TYPE_CHECKING:
    from agentlightning import LightningStore

logger = logging.getLogger(__name__)

STORE_SECONDS = 10.0
"""Longest wait for the store's answer to a question of the report."""

LAST_RESORT_SECONDS = 60.0
"""Time that a stalled run gets to end in order before it is killed."""


_registered: set[int] = set()
"""This process, once it has the handler of `register_stacks`."""


class StalledError(RuntimeError):
    """The run stopped getting on."""


class Pulse:
    """What a run is doing, and when it last got on: a rollout finished, or one phase gave way to the next."""

    def __init__(self) -> None:
        self.phase = "start"
        self._last = time.monotonic()

    def beat(self) -> None:
        """Note a sign of life."""
        self._last = time.monotonic()

    def enter(self, phase: str) -> None:
        """Note that a phase begins."""
        self.phase = phase
        self.beat()

    @contextlib.contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Name what is done inside the block; afterwards it is again what it was before, if the block ended well."""
        before = self.phase
        self.enter(phase)
        yield
        self.enter(before)

    def idle_seconds(self) -> float:
        """Return the seconds since the last sign of life."""
        return time.monotonic() - self._last


class Watchdog:
    """Watches a run's pulse in a thread of its own, and ends the run when there was no sign of life for too long.

    Args:
        pulse: What the run is doing.
        limit_seconds: Longest time without a sign of life.
        store: Where the rollouts are.
        run_id: Mark of the run's processes, which are listed and, as a last resort, killed.
        stacks: File for the stacks of the driver and of the runners (see `register_stacks`).

    Attributes:
        on_stall: Called once, in the watchdog's thread, with the error that ends the run.
    """

    on_stall: Callable[[StalledError], None]

    def __init__(
        self,
        pulse: Pulse,
        limit_seconds: float,
        store: "LightningStore",
        run_id: str,
        stacks: Path,
    ) -> None:
        self._pulse = pulse
        self._limit = limit_seconds
        self._store = store
        self._run_id = run_id
        self._stacks = stacks
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin to watch."""
        self._pulse.beat()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(min(self._limit / 10, 5.0)):
            if self._pulse.idle_seconds() > self._limit:
                self._bark()
                return

    def _bark(self) -> None:
        message = (
            f"no rollout finished and no phase ended for {self._limit / 60:g} min, in the phase "
            f"{self._pulse.phase!r}: the run is stopped. Stacks of the driver and the runners: {self._stacks}. "
            "A longer limit: --set agentlightning.stall_minutes=N"
        )
        logger.error("stalled in the phase %r", self._pulse.phase)
        for line in [*ask(rollout_lines(self._store)), *ask(runner_lines(self._store)), *process_lines(self._run_id)]:
            logger.error("%s", line)
        logger.error("stacks of the driver:\n%s", driver_stacks())
        signal_runners(self._run_id)
        self.on_stall(StalledError(message))
        if not self._stopped.wait(LAST_RESORT_SECONDS):
            logger.error("error: %s", message)
            end_run(self._run_id)
            os._exit(1)


def ask(lines: Coroutine[object, object, list[str]]) -> list[str]:
    """Run a question to the store in a loop of its own, and never fail."""

    async def limited() -> list[str]:
        return await asyncio.wait_for(lines, STORE_SECONDS)

    try:
        return asyncio.run(limited())
    except Exception as error:
        return [f"the store does not answer: {error!r}"]


async def rollout_lines(store: "LightningStore") -> list[str]:
    """Tell how many rollouts are open, and of the oldest one where its trace ends."""
    open_ones = await store.query_rollouts(status_in=["queuing", "requeuing", "preparing", "running"])
    if not open_ones:
        return ["no rollout is open"]
    # A rollout stays in preparation until its spans arrive, which is when it ends.
    at_work = [rollout for rollout in open_ones if rollout.status in ("preparing", "running")]
    started = at_work or open_ones
    oldest = min(started, key=lambda rollout: rollout.start_time)
    spans = list(await store.query_spans(oldest.rollout_id))
    age = time.time() - oldest.start_time
    last = "no span yet"
    if spans:
        span = max(spans, key=lambda span: span.end_time or span.start_time or 0.0)
        node = span.attributes.get("langchain.chain.type")
        ended = time.time() - (span.end_time or span.start_time or 0.0)
        last = f"its last span is {span.name}{f' of {node}' if node else ''}, {ended:.0f} s ago"
    return [
        f"{len(open_ones)} rollouts are open, {len(at_work)} of them with a runner",
        f"the oldest, {oldest.rollout_id} ({oldest.status}, {age:.0f} s old): {last}",
    ]


async def runner_lines(store: "LightningStore") -> list[str]:
    """Tell what each runner said of itself, and how long ago."""
    now = time.time()
    lines: list[str] = []
    for worker in await store.query_workers():
        silent = "never" if worker.last_heartbeat_time is None else f"{now - worker.last_heartbeat_time:.0f} s ago"
        lines.append(
            f"runner {worker.worker_id}: {worker.status}, rollout {worker.current_rollout_id or 'none'}, "
            f"last heartbeat {silent}"
        )
    return lines or ["no runner has reported"]


def process_lines(run_id: str) -> list[str]:
    """Tell the state of each of the run's processes and the processor time it has used; sleeping ones come last."""
    import psutil

    lines: list[tuple[bool, str]] = []
    for process in run_processes(run_id):
        with contextlib.suppress(psutil.Error):
            times, status = process.cpu_times(), process.status()
            name = " ".join(process.cmdline())[:80].strip() or process.name()
            line = f"process {process.pid} {status}, {times.user + times.system:.0f} s of CPU: {name}"
            lines.append((status == psutil.STATUS_SLEEPING, line))
    return [line for _, line in sorted(lines, key=lambda each: each[0])]


def driver_stacks() -> str:
    """Return the stacks of all threads of this process."""
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read()


def register_stacks(path: Path) -> None:
    """Write the stacks of this process, and of those forked from it, to a file on SIGUSR1."""
    # The file stays open for as long as the process lives: the handler may open nothing.
    faulthandler.register(signal.SIGUSR1, path.open("a", encoding="utf-8"), all_threads=True)
    _registered.add(os.getpid())


def signal_runners(run_id: str) -> None:
    """Have this process and its forked runners write their stacks.

    Only processes with this one's program have the handler; SIGUSR1 would kill any other.
    """
    import psutil

    me = psutil.Process()
    if me.pid not in _registered:
        return
    for process in [me, *(p for p in run_processes(run_id) if p.ppid() == me.pid)]:
        with contextlib.suppress(psutil.Error):
            if process.cmdline() == me.cmdline():
                process.send_signal(signal.SIGUSR1)
    time.sleep(0.5)


async def run_watched(work: Callable[[], None], watchdog: Watchdog) -> None:
    """Run `work` in a thread that a cancelled caller does not wait for (asyncio.to_thread would).

    Args:
        work: What to run; it starts the watchdog when it is time to.
        watchdog: Ends the wait when it finds the run stalled. Stop it when all is cleared away: after a stall it ends
            the process if that takes too long.

    Raises:
        StalledError: If the run stopped getting on. Whatever `work` raises goes on, too.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, done, error)

    def target() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        settle(error)

    watchdog.on_stall = settle
    threading.Thread(target=target, name="verl-trainer", daemon=True).start()
    await done


def _settle(done: "asyncio.Future[None]", error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
