"""The agent's way through its graph, over a real SQLite file and an HTTP endpoint that answers from a script."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.chat_server import ChatServer, last_message
from spider.chat_endpoint import ChatEndpoint, EndpointError
from spider.prompts import NO_QUERY_FEEDBACK
from spider.sql_agent import SQLAgent, State

COUNT = "```sql\nSELECT count(*) FROM pet\n```"
DOGS = "```sql\nSELECT name FROM pet WHERE kind = 'dog'\n```"
WRONG = "Too many rows.\nTHE QUERY IS INCORRECT."
RIGHT = "THE QUERY IS CORRECT."
QUESTION = "How many pets are there?"
TOO_LONG = (400, {"error": {"message": "This model's maximum context length is 2048 tokens.", "code": 400}})


def ask(server: ChatServer, db: Path, max_turns: int = 5, **sampling: object) -> State:
    settings = {"model": "scripted", **sampling}
    agent = SQLAgent(db, max_turns=max_turns, endpoint=server.url, verl_replacement=settings)
    return State(**agent.graph().invoke({"question": QUESTION}))


def test_a_query_found_correct_is_final(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    state = ask(chat_server, pets)
    assert state["query"] == "SELECT count(*) FROM pet"
    assert state["execution"] == "count(*)\n3\n(1 row)"
    assert state["answer"] == "count(*) is 3."
    assert state["feedback"] == RIGHT
    assert state["num_turns"] == 1
    assert len(chat_server.requests) == 2


def test_the_state_keeps_every_prompt_and_reply(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    kinds = [message.type for message in ask(chat_server, pets)["messages"]]
    assert kinds == ["system", "human", "ai", "system", "human", "ai"]


def test_the_prompts_hold_schema_query_result_and_feedback(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS, WRONG, COUNT, RIGHT)
    ask(chat_server, pets)
    write, check, rewrite, _ = chat_server.prompts()
    assert "CREATE TABLE pet" in write
    assert QUESTION in write
    assert "SELECT name FROM pet WHERE kind = 'dog'" in check
    assert "name\nRex\nAda\n(2 rows)" in check
    assert "Too many rows." in rewrite
    assert "name\nRex\nAda\n(2 rows)" in rewrite


def test_a_query_found_wrong_is_rewritten(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS, WRONG, COUNT, RIGHT)
    state = ask(chat_server, pets)
    assert state["query"] == "SELECT count(*) FROM pet"
    assert state["num_turns"] == 2


def test_writing_counts_as_the_first_turn(chat_server: ChatServer, pets: Path) -> None:
    chat_server.script = lambda request: WRONG if "Does the query" in last_message(request) else numbered(chat_server)
    state = ask(chat_server, pets, max_turns=3)
    assert state["num_turns"] == 3
    written = [prompt for prompt in chat_server.prompts() if "Does the query" not in prompt]
    assert len(written) == 3


def numbered(server: ChatServer) -> str:
    """A query that differs each time."""
    return f"```sql\nSELECT {len(server.requests)}\n```"


def test_a_single_turn_ends_after_its_check(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS, WRONG)
    assert ask(chat_server, pets, max_turns=1)["num_turns"] == 1
    assert len(chat_server.requests) == 2


def test_the_last_turns_check_can_be_left_out(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS)
    agent = SQLAgent(pets, 1, endpoint=chat_server.url, verl_replacement={"model": "m"}, check_last_turn=False)
    agent.graph().invoke({"question": QUESTION})
    assert len(chat_server.requests) == 1


def test_the_state_keeps_every_query_that_was_run_with_its_outcome(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("```sql\nSELECT nmae FROM pet\n```", WRONG, COUNT, RIGHT)
    assert ask(chat_server, pets)["attempts"] == [
        {"query": "SELECT nmae FROM pet", "outcome": "error:no_such_column"},
        {"query": "SELECT count(*) FROM pet", "outcome": "rows"},
    ]


def test_a_final_outcome_is_neither_checked_nor_rewritten(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("```sql\nSELECT nmae FROM pet\n```", WRONG, DOGS, RIGHT)
    agent = SQLAgent(
        pets, endpoint=chat_server.url, verl_replacement={"model": "m"}, final_outcomes=["error:no_such_column"]
    )
    assert agent.graph().invoke({"question": QUESTION})["num_turns"] == 1
    assert len(chat_server.requests) == 1


def test_a_rewrite_that_repeats_the_query_ends_the_loop(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS, WRONG, DOGS.replace(" FROM", "\nFROM"), WRONG)
    state = ask(chat_server, pets)
    assert len(chat_server.requests) == 3
    assert state["answer"] == "2 rows of name: Rex; Ada."


def test_blanks_inside_a_text_make_another_query(chat_server: ChatServer, pets: Path) -> None:
    fenced = "```sql\nSELECT count(*) FROM pet WHERE name = '{}'\n```"
    chat_server.say(fenced.format("a  b"), WRONG, fenced.format("a b"), RIGHT)
    ask(chat_server, pets)
    assert len(chat_server.requests) == 4


def test_a_closed_quote_makes_another_query(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("```sql\nSELECT count(*) FROM pet'\n```", WRONG, COUNT, RIGHT)
    assert ask(chat_server, pets)["query"] == "SELECT count(*) FROM pet"
    assert len(chat_server.requests) == 4


def test_a_reply_without_a_query_gets_its_own_feedback(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("I don't know.", COUNT, RIGHT)
    state = ask(chat_server, pets)
    assert NO_QUERY_FEEDBACK in chat_server.prompts()[1]
    assert state["query"] == "SELECT count(*) FROM pet"


def test_no_query_at_all_ends_with_an_empty_one(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("I don't know.")
    state = ask(chat_server, pets)
    assert state["query"] == ""
    assert state["answer"] == "No answer. No query was given."


def test_a_failing_query_is_shown_to_the_checker(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("```sql\nSELECT nope FROM pet\n```", WRONG, COUNT, RIGHT)
    ask(chat_server, pets)
    assert "Error: no such column: nope" in chat_server.prompts()[1]


def test_a_given_schema_takes_the_place_of_the_databases(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    agent = SQLAgent(pets, endpoint=chat_server.url, db_schema="pet(id, name)", verl_replacement={"model": "m"})
    agent.graph().invoke({"question": QUESTION})
    assert "pet(id, name)" in chat_server.prompts()[0]
    assert "CREATE TABLE" not in chat_server.prompts()[0]


def test_sampling_parameters_reach_the_request(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    ask(chat_server, pets, temperature=0.3, max_tokens=9, top_k=5, extra_body={"min_p": 0.1, "return_token_ids": True})
    request = chat_server.requests[0]
    sent = {name: request.get(name) for name in ("model", "temperature", "max_tokens", "top_k", "min_p")}
    assert sent == {"model": "scripted", "temperature": 0.3, "max_tokens": 9, "top_k": 5, "min_p": 0.1}
    assert request["return_token_ids"] is True


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(chat_server: ChatServer, pets: Path, status: int) -> None:
    chat_server.say((status, {"error": {"message": "busy"}}), COUNT, RIGHT)
    assert ask(chat_server, pets)["query"] == "SELECT count(*) FROM pet"
    assert chat_server.prompts()[0] == chat_server.prompts()[1]


def test_a_server_that_stays_in_trouble_fails_with_its_own_message(chat_server: ChatServer) -> None:
    chat_server.say((503, {"error": {"message": "the engine is dead"}}))
    endpoint = ChatEndpoint(chat_server.url, "m", retries=1)
    with pytest.raises(EndpointError, match=r"^the engine is dead$") as caught:
        endpoint.complete([{"role": "user", "content": "hi"}])
    assert caught.value.reason == "server_error"
    assert len(chat_server.requests) == 2


def test_a_rejected_request_is_not_sent_again(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say((404, {"error": {"message": "The model `x` does not exist."}}))
    with pytest.raises(EndpointError, match="does not exist"):
        ask(chat_server, pets)
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{"message": None}]}])
def test_a_reply_that_is_no_chat_completion_is_an_error(chat_server: ChatServer, body: Mapping[str, object]) -> None:
    chat_server.say((200, body))
    with pytest.raises(EndpointError, match="not the OpenAI API's"):
        ChatEndpoint(chat_server.url, "m").complete([{"role": "user", "content": "hi"}])


def test_an_endpoint_that_is_not_there_is_said_to_be_unreachable() -> None:
    with pytest.raises(EndpointError, match="can't reach") as caught:
        ChatEndpoint("http://127.0.0.1:1/v1", "m", retries=0).complete([{"role": "user", "content": "hi"}])
    assert caught.value.reason == "unreachable"


def test_a_prompt_over_the_context_limit_is_shortened_once(chat_server: ChatServer, pets: Path) -> None:
    def script(request: Mapping[str, object]) -> str | tuple[int, Mapping[str, object]]:
        return TOO_LONG if len(last_message(request)) > 1200 else RIGHT if "Does" in last_message(request) else COUNT

    chat_server.script = script
    agent = SQLAgent(
        pets,
        endpoint=chat_server.url,
        verl_replacement={"model": "m"},
        db_schema="\n".join(f"column_{n} TEXT," for n in range(80)),
        table_info_truncate=1200,
    )
    assert agent.graph().invoke({"question": QUESTION})["query"] == "SELECT count(*) FROM pet"
    first, second = chat_server.prompts()[:2]
    assert len(first) > len(second)
    kept = re.findall(r"^column_.*", second, flags=re.MULTILINE)
    assert kept == [f"column_{n} TEXT," for n in range(len(kept))]


def test_a_prompt_that_stays_too_long_fails_with_the_servers_message(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(TOO_LONG)
    with pytest.raises(EndpointError, match="maximum context length is 2048") as caught:
        ask(chat_server, pets)
    assert caught.value.reason == "prompt_too_long"
    assert len(chat_server.requests) == 2


def test_an_empty_reply_is_no_query(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say("")
    assert ask(chat_server, pets, max_turns=1)["query"] == ""


def test_agents_over_different_databases_share_a_graph_but_no_state(
    chat_server: ChatServer, pets: Path, tmp_path: Path
) -> None:
    chat_server.say(COUNT)
    other = tmp_path / "other.sqlite"
    other.touch()
    settings = {"model": "m"}
    graphs = [
        SQLAgent(db, 1, endpoint=chat_server.url, verl_replacement=settings, check_last_turn=False).graph()
        for db in (pets, other)
    ]
    answers = [graph.invoke({"question": QUESTION})["answer"] for graph in graphs]
    assert answers == ["count(*) is 3.", "No answer. Error: no such table: pet"]
