"""A training run's store, served to its runners: fewer requests, lighter answers, the same spans."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import agentlightning as agl
import httpx
import pytest

from benchmarks.chat_server import ChatServer, last_message, two_turns
from spider.lit_agent import TrainedSQLAgent
from spider.ports import free_port
from spider.tracing import RolloutTracer
from spider.verl_bridge.training_runner import TrainingRunner
from spider.verl_bridge.waiting_store import WaitingStore, serve_plainly

TASK = {"question": "How many pets are there?", "db_id": "pets", "query": "SELECT count(id) FROM pet"}
Result = TypeVar("Result")


class CountingStore(WaitingStore):
    """Counts what it is asked for resources, and keeps the names of the attributes that spans come with."""

    asked = 0

    def __init__(self) -> None:
        """Nothing has come yet."""
        super().__init__(thread_safe=True)
        self.came: set[str] = set()

    async def add_many_spans(self, spans: Sequence[agl.Span]) -> Sequence[agl.Span]:
        """Add spans."""
        self.came.update(name for span in spans for name in span.attributes)
        return await super().add_many_spans(spans)

    async def get_resources_by_id(self, resources_id: str) -> agl.ResourcesUpdate | None:
        """The resources with this id."""
        self.asked += 1
        return await super().get_resources_by_id(resources_id)


def with_served_store(work: Callable[[CountingStore, agl.LightningStoreServer], Awaitable[Result]]) -> Result:
    """What `work` returns, done while the store is served as in a training run."""

    async def run() -> Result:
        store = CountingStore()
        server = agl.LightningStoreServer(store, host="127.0.0.1", port=free_port())
        await server.start()
        try:
            serve_plainly(server)
            return await work(store, server)
        finally:
            await server.stop()

    return asyncio.run(run())


async def roll(chat_server: ChatServer, store: CountingStore, server: agl.LightningStoreServer) -> list[agl.Span]:
    """The spans of two rollouts of a runner that reaches the store by its server."""
    sampling = {"logprobs": True, "extra_body": {"return_token_ids": True}}
    llm = agl.LLM(endpoint=chat_server.url, model="scripted", sampling_parameters=sampling)
    resources = await store.add_resources({"main_llm": llm})
    queued = [await store.enqueue_rollout(TASK, mode="train", resources_id=resources.resources_id) for _ in range(2)]
    client = agl.LightningStoreClient(server.endpoint)
    runner = TrainingRunner(RolloutTracer(packs_token_ids=True), max_rollouts=2, heartbeat_interval=0)
    try:
        with runner.run_context(agent=TrainedSQLAgent(), store=client):
            await asyncio.to_thread(asyncio.run, runner.iter())
    finally:
        await client.close()
    return [span for rollout in queued for span in await store.query_spans(rollout.rollout_id)]


@pytest.mark.usefixtures("data_folder")
def test_token_ids_that_went_as_text_are_lists_in_the_store(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    spans = with_served_store(lambda store, server: roll(chat_server, store, server))
    triplets = agl.TracerTraceToTriplet(agent_match="write").adapt(spans[: len(spans) // 2])
    assert bytes(triplets[0].prompt["token_ids"]).decode() == last_message(chat_server.requests[0])
    assert bytes(triplets[0].response["token_ids"]).decode() == "```sql\nSELECT count(*) FROM pet\n```"
    assert not [name for span in spans for name in span.attributes if name.endswith(".json")]


@pytest.mark.usefixtures("data_folder")
def test_token_ids_go_to_the_store_as_text_alone(chat_server: ChatServer) -> None:
    chat_server.script = two_turns

    async def came(store: CountingStore, server: agl.LightningStoreServer) -> set[str]:
        await roll(chat_server, store, server)
        return {name for name in store.came if "token_ids" in name}

    assert with_served_store(came) == {"prompt_token_ids.json", "response_token_ids.json"}


@pytest.mark.usefixtures("data_folder")
def test_a_runner_asks_for_its_resources_once(chat_server: ChatServer) -> None:
    chat_server.script = two_turns

    async def asked(store: CountingStore, server: agl.LightningStoreServer) -> int:
        await roll(chat_server, store, server)
        return store.asked

    assert with_served_store(asked) == 1


def test_a_request_that_breaks_the_store_is_answered_with_500() -> None:
    async def status(store: CountingStore, server: agl.LightningStoreServer) -> int:
        async def broken(worker_id: str | None = None) -> agl.AttemptedRollout | None:
            raise ZeroDivisionError(worker_id)

        store.dequeue_rollout = broken
        async with httpx.AsyncClient() as client:
            body: Mapping[str, object] = {"limit": 1, "worker_id": "runner-1"}
            return (await client.post(f"{server.endpoint}/v1/agl/queues/rollouts/dequeue", json=body)).status_code

    assert with_served_store(status) == 500
