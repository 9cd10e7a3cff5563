"""Rollouts through agentlightning's own runner, store, tracer and adapter."""

import asyncio
import json
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import agentlightning as agl
import pytest

from benchmarks.chat_server import ChatServer, last_message, two_turns
from spider.lit_agent import TrainedSQLAgent
from spider.rollout_facts import RolloutFacts, read
from spider.sql_agent import LitSQLAgent
from spider.tracing import RolloutTracer
from spider.verl_bridge.rollout_log import call_texts, last_query

TASK = {"question": "How many pets are there?", "db_id": "pets", "query": "SELECT count(id) FROM pet"}
VAL_TASK = {**TASK, "db_id": "pets_val"}
COUNT = "```sql\nSELECT count(*) FROM pet\n```"

pytestmark = pytest.mark.usefixtures("data_folder")


@dataclass(frozen=True)
class Finished:
    """What the store holds of a rollout that has ended."""

    status: str
    spans: Sequence[agl.Span]

    def triplets(self, agent_match: str) -> list[agl.Triplet]:
        """The calls of the nodes whose names match."""
        return agl.TracerTraceToTriplet(agent_match=agent_match).adapt(self.spans)


def roll(
    server: ChatServer,
    task: Mapping[str, str] = TASK,
    mode: agl.RolloutMode = "train",
    agent: LitSQLAgent | None = None,
    **sampling: object,
) -> Finished:
    """One rollout, enqueued and run as a training run does."""

    async def run() -> Finished:
        store = agl.InMemoryLightningStore()
        llm = agl.LLM(endpoint=server.url, model="scripted", sampling_parameters=dict(sampling))
        resources = await store.add_resources({"main_llm": llm})
        queued = await store.enqueue_rollout(dict(task), mode=mode, resources_id=resources.resources_id)
        runner = agl.LitAgentRunner[Mapping[str, str]](RolloutTracer(), max_rollouts=1, heartbeat_interval=0)
        with runner.run_context(agent=agent or LitSQLAgent(), store=store):
            await runner.iter()
        rollout = await store.get_rollout_by_id(queued.rollout_id)
        assert rollout
        return Finished(rollout.status, await store.query_spans(queued.rollout_id))

    return asyncio.run(run())


def test_a_matching_result_earns_one(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    finished = roll(chat_server)
    assert finished.status == "succeeded"
    assert agl.find_final_reward(list(finished.spans)) == 1.0


def test_another_result_earns_nothing(chat_server: ChatServer) -> None:
    chat_server.say("```sql\nSELECT 4\n```", "THE QUERY IS CORRECT.")
    assert agl.find_final_reward(list(roll(chat_server).spans)) == 0.0


def test_a_training_runs_reward_comes_with_the_rollouts_own_spans(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    spans = roll(chat_server, agent=TrainedSQLAgent()).spans
    (root,) = (span for span in spans if span.parent_id is None)
    (reward,) = (span for span in spans if agl.get_reward_value(span) is not None)
    assert (reward.trace_id, reward.parent_id) == (root.trace_id, root.span_id)


@pytest.mark.parametrize(("mode", "task", "reward"), [("train", TASK, 0.1), ("val", VAL_TASK, 0.0)])
def test_shaping_pays_a_wrong_query_in_training_alone(
    chat_server: ChatServer, mode: agl.RolloutMode, task: Mapping[str, str], reward: float
) -> None:
    chat_server.say("```sql\nSELECT 4\n```", "THE QUERY IS CORRECT.")
    finished = roll(chat_server, task, mode, LitSQLAgent(shaping=(0.1, 0.2, 0.3)))
    assert agl.find_final_reward(list(finished.spans)) == reward


def test_the_adapter_finds_the_calls_of_a_node_by_its_name(chat_server: ChatServer) -> None:
    chat_server.say("```sql\nSELECT 4\n```", "THE QUERY IS INCORRECT.", COUNT, "THE QUERY IS CORRECT.")
    finished = roll(chat_server, return_token_ids=True)
    names = {match: [t.metadata["agent_name"] for t in finished.triplets(match)] for match in ("write", "check", ".*")}
    assert names["check"] == ["check_query", "check_query"]
    # `write` matches `rewrite_query` too.
    assert names["write"] == ["write_query", "rewrite_query"]
    assert len(names[".*"]) == 4


def test_the_record_of_a_rollout_holds_every_nodes_reply(chat_server: ChatServer) -> None:
    chat_server.say("```sql\nSELECT 4\n```", "THE QUERY IS INCORRECT.", COUNT, "THE QUERY IS CORRECT.")
    texts = call_texts(roll(chat_server, return_token_ids=True).spans)
    assert [call["node"] for call in texts] == ["write_query", "check_query", "rewrite_query", "check_query"]
    assert (texts[1]["text"], texts[2]["text"]) == ("THE QUERY IS INCORRECT.", COUNT)
    assert last_query(texts) == "SELECT count(*) FROM pet"


def test_token_ids_reach_the_triplet_as_the_server_returned_them(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    (triplet,) = roll(chat_server, extra_body={"return_token_ids": True}).triplets("write")
    assert bytes(triplet.response["token_ids"]).decode() == COUNT
    assert bytes(triplet.prompt["token_ids"]).decode() == last_message(chat_server.requests[0])


def test_log_probs_are_on_the_span_of_the_call(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    finished = roll(chat_server, return_token_ids=True, logprobs=True)
    span = next(span for span in finished.spans if span.name == "openai.chat.completion")
    logprobs = [entry["logprob"] for entry in json.loads(str(span.attributes["logprobs.content"]))]
    assert logprobs == [-byte / 100 for byte in COUNT.encode()]
    assert [entry["logprob"] for entry in finished.triplets("write")[0].response["logprobs"]] == logprobs


def test_training_samples_as_the_resource_says(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    roll(chat_server, temperature=0.7)
    assert chat_server.requests[0]["temperature"] == 0.7


def test_validation_is_greedy_over_the_validation_database(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    assert agl.find_final_reward(list(roll(chat_server, VAL_TASK, "val", temperature=0.7).spans)) == 1.0
    assert chat_server.requests[0]["temperature"] == 0


def test_validation_samples_at_its_own_temperature_when_given(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    roll(chat_server, VAL_TASK, "val", LitSQLAgent(val_temperature=0.4), temperature=0.7)
    assert chat_server.requests[0]["temperature"] == 0.4


def test_a_failed_call_fails_the_rollout_without_a_reward(chat_server: ChatServer) -> None:
    chat_server.say((400, {"error": {"message": "bad request"}}))
    finished = roll(chat_server, return_token_ids=True)
    assert finished.status == "failed"
    assert agl.find_final_reward(list(finished.spans)) is None
    assert not any(triplet.response["token_ids"] for triplet in finished.triplets("write"))


def test_the_way_to_the_reward_is_on_the_trace(chat_server: ChatServer) -> None:
    wrong = "```sql\nSELECT nope FROM pet\n```"
    chat_server.say(wrong, "THE QUERY IS INCORRECT.", COUNT, "THE QUERY IS CORRECT.")
    assert read(roll(chat_server).spans) == RolloutFacts(2, ("error:no_such_column", "rows"), first_reward=0.0)


def test_what_each_call_earned_is_on_the_trace_where_asked_for(chat_server: ChatServer) -> None:
    wrong = "```sql\nSELECT nope FROM pet\n```"
    chat_server.say(wrong, "THE QUERY IS CORRECT? THE QUERY IS INCORRECT.", COUNT, "THE QUERY IS INCORRECT.", COUNT)
    assert read(roll(chat_server, agent=LitSQLAgent(call_rewards=True)).spans).calls == (
        ("write_query", 0.0),
        ("check_query", 1.0),
        ("rewrite_query", 1.0),
        ("check_query", 0.0),
        ("rewrite_query", 1.0),
    )


def test_validation_tells_no_rewards_of_calls(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    assert read(roll(chat_server, VAL_TASK, "val", LitSQLAgent(call_rewards=True)).spans).calls == ()


def test_a_query_that_was_not_rewritten_has_no_first_reward(chat_server: ChatServer) -> None:
    chat_server.script = two_turns
    assert read(roll(chat_server).spans) == RolloutFacts(1, ("rows",), first_reward=None)


def test_a_missing_database_fails_the_rollout(chat_server: ChatServer) -> None:
    assert roll(chat_server, {**TASK, "db_id": "nope"}).status == "failed"


def test_a_rollout_copies_no_database(chat_server: ChatServer, data_folder: Path) -> None:
    chat_server.script = two_turns
    before = sorted(data_folder.rglob("*"))
    roll(chat_server)
    assert sorted(data_folder.rglob("*")) == before


def test_the_data_folder_is_read_when_a_rollout_runs(
    chat_server: ChatServer, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.script = two_turns
    agent = LitSQLAgent()
    moved = data_folder.rename(data_folder.with_name("moved"))
    monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(moved))
    assert roll(chat_server, agent=agent).status == "succeeded"


def test_the_agent_can_be_sent_to_another_process() -> None:
    copy = pickle.loads(pickle.dumps(LitSQLAgent(max_turns=2)))
    assert copy.max_turns == 2
    assert copy.trained_agents == "write"


def test_agentlightnings_command_line_makes_the_agent_and_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--litsqlagent.max-turns", "2", "--litsqlagent.val-temperature", "0.5", "--trainer.n-workers", "1"]
    monkeypatch.setattr(sys, "argv", ["prog", *arguments])
    agent, trainer = agl.lightning_cli(LitSQLAgent, agl.Trainer)
    assert (agent.max_turns, agent.val_temperature, trainer.n_workers) == (2, 0.5, 1)


def test_what_agentlightnings_command_line_makes_runs(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    chat_server.script = two_turns
    monkeypatch.setattr(sys, "argv", ["prog", "--litsqlagent.max-turns", "2", "--trainer.n-runners", "1"])
    agent, trainer = agl.lightning_cli(LitSQLAgent, agl.Trainer)
    trainer.initial_resources = {"main_llm": agl.LLM(endpoint=chat_server.url, model="scripted")}
    trainer.strategy = agl.SharedMemoryExecutionStrategy(n_runners=1, main_thread="algorithm")
    trainer.dev(agent, train_dataset=[TASK], val_dataset=[VAL_TASK])
    assert len(chat_server.requests) == 4


def test_a_failed_nodes_span_says_why(chat_server: ChatServer) -> None:
    chat_server.say((400, {"error": {"message": "bad request"}}))
    spans = roll(chat_server).spans
    assert {span.status.description for span in spans if span.name in ("openai.chat.completion", "chain.chain")} == {
        "bad request"
    }


def test_agentlightnings_own_tracer_sees_the_calls_too(chat_server: ChatServer) -> None:
    program = f"""
import asyncio
import agentlightning as agl
from spider.sql_agent import LitSQLAgent

async def main():
    store = agl.InMemoryLightningStore()
    llm = agl.LLM(endpoint={chat_server.url!r}, model="scripted", sampling_parameters={{"return_token_ids": True}})
    runner = agl.LitAgentRunner(agl.AgentOpsTracer(), heartbeat_interval=0)
    with runner.run_context(agent=LitSQLAgent(), store=store):
        rollout = await runner.step({TASK!r}, resources={{"main_llm": llm}}, mode="train")
    triplets = agl.TracerTraceToTriplet(agent_match="write").adapt(await store.query_spans(rollout.rollout_id))
    print([len(triplet.response["token_ids"]) for triplet in triplets])

asyncio.run(main())
"""
    chat_server.script = two_turns
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"[{len(COUNT)}]" in done.stdout


@pytest.mark.parametrize(
    ("method", "mode", "task"), [("training_rollout", "train", TASK), ("validation_rollout", "val", VAL_TASK)]
)
def test_the_older_rollout_methods_return_the_reward(
    chat_server: ChatServer, method: str, mode: agl.RolloutMode, task: Mapping[str, str]
) -> None:
    chat_server.script = two_turns
    llm = agl.LLM(endpoint=chat_server.url, model="scripted")
    rollout = agl.Rollout(rollout_id="r", input=dict(task), start_time=0.0, mode=mode)
    assert getattr(LitSQLAgent(), method)(task, {"main_llm": llm}, rollout) == 1.0
