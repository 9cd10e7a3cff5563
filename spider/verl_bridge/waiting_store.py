"""agentlightning's store in memory, in which a runner that asks for work waits for it a while."""

import asyncio
import time

import agentlightning as agl

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
