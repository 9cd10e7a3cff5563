"""agentlightning's store in memory, in which a runner that asks for work waits for it a while."""

import asyncio
import time
from collections.abc import Sequence

import agentlightning as agl
from starlette.middleware.base import BaseHTTPMiddleware

from spider.packed_token_ids import unpack

WAIT_SECONDS = 2.0
"""How long a runner waits for work in one request. The server's end waits for open requests, so it is short."""

LOOK_SECONDS = 0.05
"""Seconds between two looks at the queue while a runner waits."""


class WaitingStore(agl.InMemoryLightningStore):
    """Answers a runner when there is a rollout for it, or after `WAIT_SECONDS`.

    The stock store answers at once, so idle runners ask again and again: 64 of them, every 0.15 s, keep the store's
    server, which is the driver, busy with nothing (`python -m benchmarks.driver --runners 64`).
    """

    async def dequeue_rollout(self, worker_id: str | None = None) -> agl.AttemptedRollout | None:
        """Take the next rollout from the queue; None when none has come for `WAIT_SECONDS`."""
        queue, given_up = self.collections.rollout_queue, time.monotonic() + WAIT_SECONDS
        while not await queue.size() and time.monotonic() < given_up:
            await asyncio.sleep(LOOK_SECONDS)
        return await super().dequeue_rollout(worker_id)

    async def add_many_spans(self, spans: Sequence[agl.Span]) -> Sequence[agl.Span]:
        """Add spans, whose token ids may be packed (`spider.packed_token_ids`)."""
        unpack(spans)
        return await super().add_many_spans(spans)


def serve_plainly(store: agl.LightningStore) -> None:
    """Take out of the store's server, if it has one, what agentlightning runs around each of its answers.

    Two functions, which log times at debug level and put a traceback into the answer to a failed request, as
    Starlette's `BaseHTTPMiddleware`, whose tasks and streams were half of what a request took. A request that fails is
    answered with 500 all the same, and uvicorn logs the error.
    """
    if isinstance(store, agl.LightningStoreServer) and store.app is not None:
        app = store.app
        app.user_middleware = [
            middleware for middleware in app.user_middleware if middleware.cls is not BaseHTTPMiddleware
        ]
        app.middleware_stack = app.build_middleware_stack()
