"""verl's agent-loop manager over agentlightning's store: prompts become rollouts, finished rollouts become rows.

verl's trainer calls `generate_sequences` and goes on; it then waits for the rows in the TransferQueue. A thread of this
manager queues the rollouts in the store, where agentlightning's runners take them, and watches for their end.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from agentlightning import LLM, EnqueueRolloutRequest, LightningStore, Rollout, RolloutConfig, Span, TraceAdapter
from agentlightning.adapter import TracerTraceToTriplet
from agentlightning.emitter import find_final_reward

from spider.chat_endpoint import CALL
from spider.rollout_facts import read
from spider.verl_bridge import rows
from spider.verl_bridge.rollout_log import RolloutLog, call_texts
from spider.verl_bridge.rows import SessionResult
from spider.verl_bridge.stats import RolloutStats
from spider.verl_bridge.transfer import Partition, Prompt, plain, put_group_rows, put_group_status, unpack
from spider.verl_bridge.watchdog import Pulse

if TYPE_CHECKING:
    from agentlightning import Triplet
    from tensordict import TensorDict


logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1
"""Seconds between two looks at the store for finished rollouts."""

LOOKED_AT = 128
"""Rollouts that a look asks for, the first ones queued: with as many runners or fewer, no other can have ended. Asking
for 512 takes 22 ms of the driver's one thread."""


@dataclass(frozen=True)
class RolloutSettings:
    """How prompts become rollouts.

    Attributes:
        model: Name under which the servers answer.
        endpoints: Base URLs of the OpenAI-compatible servers; the rollouts of one question share one of them.
        train_sampling: Sampling parameters of training requests.
        val_sampling: Sampling parameters of validation requests.
        n: Rollouts per training question.
        val_n: Rollouts per validation question.
        max_prompt_length: Longest prompt to train on, in tokens.
        max_response_length: Longest response, in tokens.
        timeout_seconds: A rollout that takes longer has failed.
    """

    model: str
    endpoints: Sequence[str]
    train_sampling: dict[str, object]
    val_sampling: dict[str, object]
    n: int
    val_n: int
    max_prompt_length: int
    max_response_length: int
    timeout_seconds: float = 600.0


class StoreRolloutManager:
    """Runs the rollouts of verl's prompts through agentlightning's store.

    Args:
        store: The store that the runners take rollouts from.
        adapter: Turns a rollout's spans into the triplets of the trained nodes.
        settings: How prompts become rollouts.
        pulse: Told of every rollout that ends.
        log: Where the rollouts' texts go.
    """

    def __init__(
        self,
        store: LightningStore,
        adapter: "TraceAdapter[list[Triplet]]",
        settings: RolloutSettings,
        pulse: Pulse,
        log: RolloutLog | None = None,
    ) -> None:
        self._store = store
        self._adapter = adapter
        self._settings = settings
        self._log = log
        self._pulse = pulse
        self._resources: dict[tuple[Partition, int], str] = {}
        self._every_node = TracerTraceToTriplet(agent_match=".*")
        self._stats: dict[Partition, RolloutStats] = {"train": RolloutStats(), "val": RolloutStats()}
        self._error: BaseException | None = None
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="rollout-manager", daemon=True).start()

    def generate_sequences(self, prompts: "TensorDict") -> None:
        """Start the rollouts of a batch of prompts and return at once."""
        partition: Partition = "val" if "validate" in prompts and plain(prompts["validate"]) else "train"
        future = asyncio.run_coroutine_threadsafe(self._run_or_fail(unpack(prompts), partition), self._loop)
        future.add_done_callback(self._settled)

    def take_stats(self, partition: Partition) -> RolloutStats:
        """Return the numbers since the last call and start anew."""
        stats, self._stats[partition] = self._stats[partition], RolloutStats()
        return stats

    def raise_if_failed(self) -> None:
        """Raise what broke this manager's own thread."""
        if self._error is not None:
            raise RuntimeError(f"the rollout manager failed: {self._error!r}") from self._error

    def _settled(self, future: "Future[None]") -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            self._error = error
            # verl trains on the groups that were finished before, so nothing else would tell.
            logger.error("this step or validation goes on without its other rollouts", exc_info=error)

    async def _run_or_fail(self, prompts: list[Prompt], partition: Partition) -> None:
        try:
            await self._run(prompts, partition)
        except BaseException:
            # verl waits for the end of these groups without a limit of its own.
            await asyncio.to_thread(put_group_status, [prompt.uid for prompt in prompts], partition, "failure")
            raise

    async def _run(self, prompts: list[Prompt], partition: Partition) -> None:
        n = self._settings.n if partition == "train" else self._settings.val_n
        requests = [await self._request(prompt, partition, i) for i, prompt in enumerate(prompts) for _ in range(n)]
        await asyncio.to_thread(put_group_status, [prompt.uid for prompt in prompts], partition, "running")
        rollouts = await self._store.enqueue_many_rollouts(requests)
        groups = [[rollout.rollout_id for rollout in rollouts[i * n : (i + 1) * n]] for i in range(len(prompts))]
        results: dict[str, SessionResult] = {}
        waiting = dict.fromkeys(rollout.rollout_id for rollout in rollouts)  # in the order in which they are taken
        open_groups = dict(enumerate(groups))
        while waiting:
            await asyncio.sleep(POLL_SECONDS)
            looked_at = list(islice(waiting, LOOKED_AT))
            for rollout in await self._store.wait_for_rollouts(rollout_ids=looked_at, timeout=0):
                results[rollout.rollout_id] = await self._collect(rollout)
                del waiting[rollout.rollout_id]
                self._pulse.beat()
            for i in [i for i, ids in open_groups.items() if waiting.keys().isdisjoint(ids)]:
                sessions = [results.pop(rollout_id) for rollout_id in open_groups.pop(i)]
                await asyncio.to_thread(self._finish_group, prompts[i], sessions, partition)

    async def _request(self, prompt: Prompt, partition: Partition, number: int) -> EnqueueRolloutRequest:
        server = number % len(self._settings.endpoints)
        return EnqueueRolloutRequest(
            input=prompt.fields["task"],
            mode=partition,
            resources_id=await self._resources_id(partition, server),
            config=RolloutConfig(timeout_seconds=self._settings.timeout_seconds),
        )

    async def _resources_id(self, partition: Partition, server: int) -> str:
        key = (partition, server)
        if key not in self._resources:
            sampling = self._settings.train_sampling if partition == "train" else self._settings.val_sampling
            llm = LLM(
                endpoint=self._settings.endpoints[server],
                model=self._settings.model,
                api_key="unused",
                sampling_parameters=dict(sampling),
            )
            self._resources[key] = (await self._store.add_resources({"main_llm": llm})).resources_id
        return self._resources[key]

    async def _collect(self, rollout: Rollout) -> SessionResult:
        try:
            return await self._read(rollout)
        except Exception as error:  # one unreadable trace is one failed rollout, not the end of a step's others
            logger.exception("rollout %s: its trace can't be read", rollout.rollout_id)
            return SessionResult(dropped=rows.ROLLOUT_FAILED, detail=f"its trace can't be read: {error!r}")

    async def _read(self, rollout: Rollout) -> SessionResult:
        spans = list(await self._store.query_spans(rollout.rollout_id, attempt_id="latest"))
        result = await self._result(rollout, spans)
        if self._log is not None:
            result.texts = await asyncio.to_thread(call_texts, spans)
        return result

    async def _result(self, rollout: Rollout, spans: list[Span]) -> SessionResult:
        result = SessionResult(calls=sum(span.name == CALL for span in spans), facts=read(spans))
        if rollout.status != "succeeded":
            attempt = await self._store.get_latest_attempt(rollout.rollout_id)
            in_time = attempt is None or attempt.status not in ("timeout", "unresponsive")
            result.dropped = rows.ROLLOUT_FAILED if in_time else rows.TIMED_OUT
            result.detail = _error_text(spans)
            return result
        result.reward = find_final_reward(spans)
        if result.reward is None:
            result.dropped = rows.NO_REWARD
        elif not result.calls:
            result.dropped, result.detail = rows.NO_TRACED_CALL, rows.NO_TRACED_CALL_DETAIL
        else:
            await self._add_rows(result, spans)
        return result

    async def _add_rows(self, result: SessionResult, spans: list[Span]) -> None:
        """Add the rows of the matched calls, or why there are none."""
        triplets = await asyncio.to_thread(self._adapter.adapt, spans)
        result.rows, result.left_out = rows.rows_from_triplets(
            triplets, self._settings.max_prompt_length, self._settings.max_response_length, result.facts.calls
        )
        if result.rows:
            return
        result.dropped = rows.why_no_rows(triplets, result.left_out)
        nodes = self._every_node.adapt(spans) if not triplets else []
        result.nodes_seen = frozenset(str(triplet.metadata.get("agent_name")) for triplet in nodes)

    def _finish_group(self, prompt: Prompt, sessions: list[SessionResult], partition: Partition) -> None:
        # The rows come before the group's end: verl takes a group as soon as it reads `finished`.
        put_group_rows(prompt, sessions, partition, version=max(prompt.global_step - 1, 0))
        self._stats[partition].add_group(sessions)
        if self._log is not None:
            self._log.add_group(prompt, sessions, partition)
        failed = any(not session.rows for session in sessions)
        put_group_status([prompt.uid], partition, "failure" if failed else "finished")


def _error_text(spans: Sequence[Span]) -> str:
    """Return the first error that the trace recorded."""
    return next((span.status.description for span in spans if span.status.description), "")
