"""What a rollout costs a training run's driver, which serves agentlightning's store to the runners' processes.

    python -m benchmarks.driver [--rollouts 128] [--runners 2] [--rounds 5] [--stock]

The runners, the store and the strategy are a training run's own; the model's server answers at once. The driver's
processor time counts from the first rollout enqueued to the last one finished, its spans in the store. At the end,
its time while the runners wait for work is counted, as during an update.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import agentlightning as agl

from benchmarks.rollout import TASK, WARM_UP, endpoint, make_database
from spider.lit_agent import TrainedSQLAgent, span_bytes
from spider.ports import free_port
from spider.run_logging import keep_libraries_quiet
from spider.tracing import RolloutTracer
from spider.verl_bridge.training_runner import TrainingRunner
from spider.verl_bridge.waiting_store import WaitingStore, serve_plainly

POLL_SECONDS = 0.15
IDLE_SECONDS = 10.0
logger = logging.getLogger(__name__)


class Rounds(agl.Algorithm):
    """Enqueues rollouts and waits for them, as a training step does."""

    def __init__(self, url: str, size: int, rounds: int, stock: bool) -> None:
        """Measure `rounds` rounds of `size` rollouts after one that warms up."""
        super().__init__()
        self.url, self.size, self.rounds, self.stock = url, size, rounds, stock
        self.cpu_ms: list[float] = []
        self.idle_share = 0.0

    async def run(
        self,
        train_dataset: agl.Dataset[Mapping[str, str]] | None = None,
        val_dataset: agl.Dataset[Mapping[str, str]] | None = None,
    ) -> None:
        """Measure."""
        store = self.get_store()
        if not self.stock:
            serve_plainly(store)
        sampling = {"temperature": 1.0, "logprobs": True, "extra_body": {"return_token_ids": True}}
        llm = agl.LLM(endpoint=self.url, model="scripted", sampling_parameters=sampling)
        resources = (await store.add_resources({"main_llm": llm})).resources_id
        for number in range(self.rounds + 1):
            size = self.size if number else WARM_UP
            started, cpu_started = time.perf_counter(), time.process_time()
            queued = [await store.enqueue_rollout(TASK, mode="train", resources_id=resources) for _ in range(size)]
            finished = await store.wait_for_rollouts(rollout_ids=[rollout.rollout_id for rollout in queued])
            seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
            assert [rollout.status for rollout in finished] == ["succeeded"] * size
            for rollout in finished:
                spans = await store.query_spans(rollout.rollout_id)
                assert agl.find_final_reward(spans) == 1.0
                assert len(agl.TracerTraceToTriplet(agent_match="query").adapt(spans)) == 2
            if number:
                self.cpu_ms.append(1000 * cpu_seconds / size)
                logger.info(
                    "round %d: %.1f ms CPU of the driver a rollout, %.1f rollouts/s",
                    number,
                    self.cpu_ms[-1],
                    size / seconds,
                )
        cpu_started = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        self.idle_share = (time.process_time() - cpu_started) / IDLE_SECONDS


def main() -> int:
    """Measure, and say how much of the driver's time a rollout takes."""
    parser = argparse.ArgumentParser(description="Processor time that a rollout costs a training run's driver.")
    parser.add_argument("--rollouts", type=int, default=128, metavar="N", help="of each round (128)")
    parser.add_argument("--runners", type=int, default=2, metavar="N", help="processes that run the agent (2)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measured after a short one (5)")
    parser.add_argument("--stock", action="store_true", help="agentlightning's own store, server and runner")
    options = parser.parse_args()
    make_store = agl.InMemoryLightningStore if options.stock else WaitingStore
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    keep_libraries_quiet()
    logging.getLogger("agentlightning").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        make_database(Path(folder) / "database" / "pets" / "pets.sqlite")
        os.environ["VERL_SPIDER_DATA_DIR"] = folder
        algorithm = Rounds(url, options.rollouts, options.rounds, options.stock)
        tracer = RolloutTracer(packs_token_ids=not options.stock)
        make_runner = agl.LitAgentRunner if options.stock else TrainingRunner
        trainer = agl.Trainer(
            n_runners=options.runners,
            algorithm=algorithm,
            store=make_store(thread_safe=True, span_size_estimator=span_bytes),
            tracer=tracer,
            runner=make_runner(tracer, poll_interval=POLL_SECONDS, interval_jitter=POLL_SECONDS / 3),
            strategy=agl.ClientServerExecutionStrategy(
                n_runners=options.runners, server_host="127.0.0.1", server_port=free_port()
            ),
        )
        trainer.fit(TrainedSQLAgent(), train_dataset=[TASK])
    logger.info("median: %.1f ms CPU of the driver a rollout", statistics.median(algorithm.cpu_ms))
    logger.info("%.0f %% of a core while %d runners wait", 100 * algorithm.idle_share, options.runners)
    return 0


if __name__ == "__main__":
    sys.exit(main())
