"""The store in which a runner's request waits for work."""

import asyncio
import time

import agentlightning as agl
import httpx
import pytest
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.types import Receive, Scope, Send

from spider.ports import free_port
from spider.verl_bridge import waiting_store
from spider.verl_bridge.waiting_store import WaitingStore, serve_plainly


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_store, "WAIT_SECONDS", 60.0)


@pytest.mark.usefixtures("patient")
def test_a_rollout_that_comes_while_a_runner_waits_is_taken_by_it() -> None:
    async def run() -> tuple[agl.Rollout, agl.AttemptedRollout | None]:
        store = WaitingStore(thread_safe=True)
        waiting = asyncio.create_task(store.dequeue_rollout("runner-1"))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        return await store.enqueue_rollout({"question": "?"}), await waiting

    queued, taken = asyncio.run(run())
    assert taken is not None
    assert taken.rollout_id == queued.rollout_id


@pytest.mark.usefixtures("patient")
def test_a_rollout_that_is_there_is_taken_without_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_store, "LOOK_SECONDS", 3600.0)

    async def run() -> agl.AttemptedRollout | None:
        store = WaitingStore(thread_safe=True)
        await store.enqueue_rollout({"question": "?"})
        return await asyncio.wait_for(store.dequeue_rollout("runner-1"), timeout=30)

    assert asyncio.run(run())


def test_a_runner_for_which_nothing_comes_is_told_so_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_store, "WAIT_SECONDS", 0.2)

    async def run() -> float:
        started = time.monotonic()
        assert await WaitingStore(thread_safe=True).dequeue_rollout("runner-1") is None
        return time.monotonic() - started

    assert asyncio.run(run()) >= 0.2


@pytest.mark.usefixtures("patient")
def test_each_of_several_waiting_runners_gets_a_rollout_of_its_own() -> None:
    async def run() -> set[str]:
        store = WaitingStore(thread_safe=True)
        waiting = [asyncio.create_task(store.dequeue_rollout(f"runner-{number}")) for number in range(8)]
        await asyncio.sleep(0.1)
        for _ in waiting:
            await store.enqueue_rollout({"question": "?"})
        return {taken.rollout_id for taken in await asyncio.gather(*waiting) if taken}

    assert len(asyncio.run(run())) == 8


def test_nothing_of_agentlightnings_runs_around_a_plain_servers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    around: list[BaseHTTPMiddleware] = []

    async def noticed(self: BaseHTTPMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        around.append(self)
        await self.app(scope, receive, send)

    async def run() -> tuple[int, int]:
        server = agl.LightningStoreServer(WaitingStore(thread_safe=True), host="127.0.0.1", port=free_port())
        assert server.app is not None
        transport = httpx.ASGITransport(app=server.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://store") as client:
            await client.get("/v1/agl/health")  # a server that has answered keeps what runs around its answers
            before = len(around)
            serve_plainly(server)
            assert (await client.get("/v1/agl/health")).status_code == 200
        return before, len(around) - before

    monkeypatch.setattr(BaseHTTPMiddleware, "__call__", noticed)
    assert asyncio.run(run()) == (2, 0)
