"""A run that has stopped getting on is ended, and says where it stands."""

import asyncio
import os
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import agentlightning as agl
import pytest

from spider.verl_bridge.watchdog import Pulse, StalledError, Watchdog, rollout_lines, run_watched, runner_lines


def make(store: agl.LightningStore, folder: Path, pulse: Pulse, seconds: float = 0.5) -> Watchdog:
    return Watchdog(pulse, seconds, store, uuid.uuid4().hex, folder / "stacks.txt")


async def open_rollout(store: agl.LightningStore) -> str:
    """A rollout that a runner took and left in the middle of a node."""
    await store.enqueue_rollout({"question": "?"}, mode="train")
    taken = await store.dequeue_rollout(worker_id="runner-0")
    assert taken is not None
    now = time.time()
    fields = agl.SpanCoreFields(
        name="chain.chain",
        attributes={"langchain.chain.type": "execute_query"},
        start_time=now - 40,
        end_time=now - 30,
        status=agl.TraceStatus(status_code="OK"),
    )
    attempt = taken.attempt.attempt_id
    span = agl.Span.from_core_fields(fields, rollout_id=taken.rollout_id, attempt_id=attempt, sequence_id=1)
    await store.add_span(span)
    return taken.rollout_id


def test_report_names_the_oldest_rollout_and_its_last_span() -> None:
    store = agl.InMemoryLightningStore()

    async def lines() -> tuple[str, list[str]]:
        rollout_id = await open_rollout(store)
        await store.enqueue_rollout({"question": "later"}, mode="train")
        return rollout_id, await rollout_lines(store)

    rollout_id, (count, oldest) = asyncio.run(lines())
    assert count.startswith("2 rollouts are open")
    assert rollout_id in oldest
    assert "its last span is chain.chain of execute_query, 30 s ago" in oldest


def test_report_names_the_runners() -> None:
    store = agl.InMemoryLightningStore()

    async def lines() -> tuple[str, list[str]]:
        return await open_rollout(store), await runner_lines(store)

    rollout_id, (line,) = asyncio.run(lines())
    assert line.startswith(f"runner runner-0: busy, rollout {rollout_id}")


def test_stalled_run_ends_with_phase_and_stacks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, pulse, stop = agl.InMemoryLightningStore(thread_safe=True), Pulse(), threading.Event()
    watchdog = make(store, tmp_path, pulse)

    def never_ends() -> None:
        watchdog.start()
        pulse.enter("generation")
        stop.wait(60)

    async def run() -> None:
        await open_rollout(store)
        await run_watched(never_ends, watchdog)

    try:
        with pytest.raises(StalledError, match="'generation'"):
            asyncio.run(run())
    finally:
        watchdog.stop()
        stop.set()
    assert "its last span is chain.chain of execute_query" in caplog.text
    assert "in never_ends" in caplog.text


def test_run_that_gets_on_is_left_alone(tmp_path: Path) -> None:
    store, pulse = agl.InMemoryLightningStore(thread_safe=True), Pulse()
    watchdog = make(store, tmp_path, pulse, seconds=3)

    def gets_on() -> None:
        watchdog.start()
        for _ in range(12):
            time.sleep(0.3)
            pulse.beat()

    asyncio.run(run_watched(gets_on, watchdog))
    watchdog.stop()


def test_error_of_the_work_goes_on(tmp_path: Path) -> None:
    watchdog = make(agl.InMemoryLightningStore(), tmp_path, Pulse())

    def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_watched(fails, watchdog))


def test_phase_is_again_what_it_was_after_a_part_of_it() -> None:
    pulse = Pulse()
    pulse.enter("generation")
    with pulse.during("checkpoint"):
        assert pulse.phase == "checkpoint"
    assert pulse.phase == "generation"


FORKS = """
import os, sys, time
from pathlib import Path
from spider.verl_bridge.watchdog import register_stacks, signal_runners
register_stacks(Path(sys.argv[1]))
def runners_work():
    os.write(written, b"up")
    time.sleep(30)
read, written = os.pipe()
child = os.fork()
if child == 0:
    runners_work()
    os._exit(0)
os.read(read, 2)
time.sleep(0.5)
signal_runners(os.environ["SPIDER_RUN_ID"])
os.kill(child, 9)
"""


def test_runners_stacks_are_written_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    environment = os.environ | {"SPIDER_RUN_ID": uuid.uuid4().hex, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", FORKS, str(path)], env=environment, check=True, timeout=30)
    assert "in runners_work" in path.read_text(encoding="utf-8")
