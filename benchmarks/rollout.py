"""Rollouts a second of one process, two model calls each and tracing on, against an endpoint that answers at once.

    python -m benchmarks.rollout [--rollouts 500] [--csv FILE]

Beside it, a straight reading of the published recipe: agentlightning's own tracer, the database file copied twice,
LangChain's `SQLDatabase`, a new client and a new graph for every rollout, through the same runner, store, endpoint and
reward. The endpoint's URL names the rollout, as agentlightning's proxy has it. Each runs in its own process, in turn,
in rounds, so that whatever else the machine does weighs on both. The processor's time of a rollout, beside the clock's,
says what it would be on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import logging
import multiprocessing
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spider.ports import free_port

if TYPE_CHECKING:
    import agentlightning as agl
    from langchain_core.callbacks import BaseCallbackHandler

    from spider.lit_agent import LitSQLAgent

ROOT = Path(__file__).resolve().parent.parent
TASK = {"question": "How many pets are there?", "db_id": "pets", "query": "SELECT count(id) FROM pet"}
ROUNDS, WARM_UP = 5, 5
logger = logging.getLogger(__name__)


class Round(NamedTuple):
    """Rollouts a second, and the process's CPU time of one in milliseconds."""

    rate: float
    cpu_ms: float

    def __str__(self) -> str:
        """Both, with their units."""
        return f"{self.rate:.1f} rollouts/s ({self.cpu_ms:.1f} ms CPU each)"


def main() -> int:
    """Measure, and say how many rollouts a second and how much faster."""
    parser = argparse.ArgumentParser(description="Rollouts a second of one process, beside the published recipe's.")
    parser.add_argument("--rollouts", type=int, default=500, metavar="N", help="of each kind (500)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="where to write the rounds")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    size = max(options.rollouts // ROUNDS, 1)
    rounds: list[dict[str, Round]] = []
    with tempfile.TemporaryDirectory() as folder, endpoint() as url, contextlib.ExitStack() as stack:
        make_database(Path(folder) / "database" / "pets" / "pets.sqlite")
        os.environ["VERL_SPIDER_DATA_DIR"] = folder
        spawn = multiprocessing.get_context("spawn")
        processes = {kind: stack.enter_context(ProcessPoolExecutor(1, spawn)) for kind in ("agent", "recipe")}
        for number in range(ROUNDS + 1):
            measured = {
                kind: process.submit(run_round, kind, url, size if number else WARM_UP).result()
                for kind, process in processes.items()
            }
            if number:
                rounds.append(measured)
                shown = ", ".join(f"{kind} {figures}" for kind, figures in measured.items())
                logger.info("round %d of %d rollouts: %s", number, size, shown)
    for kind in processes:
        rates = [measured[kind].rate for measured in rounds]
        milliseconds = [measured[kind].cpu_ms for measured in rounds]
        logger.info("%s: median %s", kind, Round(statistics.median(rates), statistics.median(milliseconds)))
    ratios = [measured["agent"].rate / measured["recipe"].rate for measured in rounds]
    logger.info("ratio: median %.1f, from %.1f to %.1f", statistics.median(ratios), min(ratios), max(ratios))
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("round", "kind", "rollouts_per_s", "cpu_ms_per_rollout"))
            for number, measured in enumerate(rounds, 1):
                writer.writerows((number, kind, f"{r.rate:.1f}", f"{r.cpu_ms:.1f}") for kind, r in measured.items())
    return 0


@contextlib.contextmanager
def endpoint() -> Iterator[str]:
    """The scripted endpoint in a process of its own."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.chat_server", str(port)], cwd=ROOT)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def make_database(path: Path) -> None:
    """A database of about 1 MB, an ordinary size in Spider."""
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, owner_id INT REFERENCES owner(id));"
        )
        connection.executemany("INSERT INTO pet VALUES (?, ?, ?)", ((n, f"pet {n}" * 4, n) for n in range(20_000)))
        connection.commit()


def run_round(kind: str, url: str, size: int) -> Round:
    """Measure `size` rollouts in this process; it is the same one for every round of a kind."""
    from spider.run_logging import keep_libraries_quiet

    keep_libraries_quiet()
    logging.getLogger("agentlightning").setLevel(logging.ERROR)
    return asyncio.run(measure(kind, url, size))


async def measure(kind: str, url: str, size: int) -> Round:
    """Enqueue the rollouts, then time the runner that takes them from the store."""
    import agentlightning as agl

    from spider.lit_agent import TrainedSQLAgent, span_bytes
    from spider.tracing import RolloutTracer

    sampling = {"temperature": 1.0, "logprobs": True, "extra_body": {"return_token_ids": True}}
    llm = agl.ProxyLLM(endpoint=url, model="scripted", sampling_parameters=sampling)
    store = agl.InMemoryLightningStore(span_size_estimator=span_bytes)
    resources = (await store.add_resources({"main_llm": llm})).resources_id
    queued = [await store.enqueue_rollout(TASK, mode="train", resources_id=resources) for _ in range(size)]
    agent, tracer = (TrainedSQLAgent(), RolloutTracer()) if kind == "agent" else (recipe_agent(), agl.AgentOpsTracer())
    runner = agl.LitAgentRunner[Mapping[str, str]](tracer, max_rollouts=size, heartbeat_interval=0)
    with runner.run_context(agent=agent, store=store):
        started, cpu_started = time.perf_counter(), time.process_time()
        await runner.iter()
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    for rollout in queued:
        spans = await store.query_spans(rollout.rollout_id)
        assert agl.find_final_reward(spans) == 1.0
        triplets = agl.TracerTraceToTriplet(agent_match="query").adapt(spans)
        assert [bool(triplet.response["token_ids"]) for triplet in triplets] == [True, True]
    return Round(size / seconds, 1000 * cpu_seconds / size)


def recipe_agent() -> LitSQLAgent:
    """The published recipe's rollout."""
    import agentlightning as agl

    from spider.data import database_path
    from spider.lit_agent import LitSQLAgent
    from spider.reward import evaluate_query

    class Recipe(LitSQLAgent):
        def rollout(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
            original = database_path(task["db_id"], rollout.mode)
            llm = resources["main_llm"]
            assert isinstance(llm, agl.ProxyLLM)
            assert isinstance(rollout, agl.AttemptedRollout)
            llm = llm.with_attempted_rollout(rollout)
            with tempfile.TemporaryDirectory() as folder:
                for_agent, for_reward = Path(folder) / "agent.sqlite", Path(folder) / "reward.sqlite"
                shutil.copyfile(original, for_agent)
                query = recipe_query(task["question"], for_agent, llm, self.handlers())
                shutil.copyfile(original, for_reward)
                return evaluate_query(query, task["query"], for_reward)

    return Recipe()


def recipe_query(question: str, database: Path, llm: agl.LLM, handlers: list[BaseCallbackHandler]) -> str:
    """Write, execute and check with a new database, client and graph, as the recipe does for every question."""
    from langchain_community.tools.sql_database.tool import QuerySQLDatabaseTool
    from langchain_community.utilities import SQLDatabase
    from langchain_openai import ChatOpenAI
    from langgraph.graph import END, START, StateGraph
    from pydantic import SecretStr

    from spider.agent_graph import Question, State
    from spider.prompts import check_messages, extract_query, write_messages

    db = SQLDatabase.from_uri(f"sqlite:///{database}")
    model = ChatOpenAI(
        model=llm.model,
        base_url=llm.endpoint,
        api_key=SecretStr("none"),
        temperature=1.0,
        logprobs=True,
        max_retries=0,
        extra_body={"return_token_ids": True},
    )

    def write_query(state: State) -> dict[str, object]:
        reply = model.invoke(write_messages(state["question"], db.get_table_info()))
        return {"query": extract_query(reply.text), "num_turns": 1, "messages": [reply]}

    def execute_query(state: State) -> dict[str, object]:
        return {"execution": str(QuerySQLDatabaseTool(db=db).invoke(state["query"]))}

    def check_query(state: State) -> dict[str, object]:
        prompt = check_messages(state["question"], db.get_table_info(), state["query"], state["execution"])
        reply = model.invoke(prompt)
        return {"feedback": reply.text, "messages": [*state["messages"], reply]}

    builder = StateGraph(State, input_schema=Question)
    for name, node in (("write_query", write_query), ("execute_query", execute_query), ("check_query", check_query)):
        builder.add_node(name, node)
    for edge in ((START, "write_query"), ("write_query", "execute_query"), ("execute_query", "check_query")):
        builder.add_edge(*edge)
    builder.add_conditional_edges("check_query", lambda state: END)
    return builder.compile().invoke({"question": question}, {"callbacks": handlers})["query"]


if __name__ == "__main__":
    sys.exit(main())
