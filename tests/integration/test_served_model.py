"""The real model behind `scripts/serve.sh`, asked by every command that can ask one, without and with a strategy.

The prompt search is a tiny one. A model of 135M parameters can't edit an instruction (what it once wrote was a query):
the search has to cope, and to keep the usual instructions unless an edit is better.
"""

import json

import httpx
import pytest

from spider.prompts import DEFAULT_TEMPLATES
from spider.server_flags import DEFAULT_PORT
from spider.strategy.schema import load_strategy
from tests.served_model import MOST_CALLS, Served
from tests.serving import MODEL, START_SECONDS, serve

pytestmark = pytest.mark.slow


def test_agent_works_against_the_served_model_with_no_setting(served: Served) -> None:
    assert served.agent.returncode == 0, served.agent.stdout
    assert f"{MODEL} at http://127.0.0.1:{DEFAULT_PORT}/v1" in served.agent.stdout
    assert "2 of 2 rollouts finished" in served.agent.stdout


def test_served_model_returns_the_token_ids_that_training_needs(served: Served) -> None:
    assert "returns no token ids" not in served.agent.stdout


def test_second_server_on_the_port_is_refused_with_the_fix(served: Served) -> None:
    assert served.second_server.returncode == 1
    assert f"can't listen on 127.0.0.1:{DEFAULT_PORT}" in served.second_server.stderr
    assert f"--port {DEFAULT_PORT + 1}" in served.second_server.stderr


def test_prompt_search_measures_the_usual_instructions_within_its_budget(served: Served) -> None:
    assert served.search.returncode == 0, served.search.stderr
    prompts = json.loads((served.run / "prompts.json").read_text(encoding="utf-8"))
    assert prompts["model"] == prompts["optimizer_model"] == MODEL
    assert 0 < prompts["spent"]["calls"] <= MOST_CALLS
    assert prompts["spent"]["prompt_tokens"] > 0


def test_prompt_search_asks_the_model_for_a_critique(served: Served) -> None:
    lines = (served.run / "optimizer.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line)["reply"] for line in lines if line]
    assert replies
    assert all(reply["choices"] for reply in replies)


def test_prompt_search_keeps_the_usual_instructions_unless_an_edit_is_better(served: Served) -> None:
    prompts = json.loads((served.run / "prompts.json").read_text(encoding="utf-8"))
    edited = prompts["templates"]["write"] != DEFAULT_TEMPLATES.write
    assert edited == (prompts["accuracy"] > prompts["baseline"])


def test_exported_strategy_counts_the_rollouts_with_the_best_instructions(served: Served) -> None:
    assert served.export.returncode == 0, served.export.stderr
    strategy = load_strategy(served.strategy)
    prompts = json.loads((served.run / "prompts.json").read_text(encoding="utf-8"))
    assert strategy.prompt_templates.model_dump() == prompts["templates"]
    assert (strategy.source.kind, strategy.source.model) == ("apo", MODEL)
    assert strategy.source.rollouts >= 2
    assert strategy.decision_rules.max_attempts == 1


def test_agent_follows_a_strategy(served: Served) -> None:
    assert served.guided_agent.returncode == 0, served.guided_agent.stdout
    assert "1 of 1 rollouts finished" in served.guided_agent.stdout


def test_question_is_answered_with_a_strategy(served: Served) -> None:
    assert served.answer.returncode == 0, served.answer.stderr
    answer = json.loads(served.answer.stdout)
    assert answer["sql"].upper().startswith("SELECT")
    assert answer["turns"] == 1


def test_library_gives_the_commands_answer(served: Served) -> None:
    sql, result = served.solution
    answer = json.loads(served.answer.stdout)
    assert (sql, result.answer) == (answer["sql"], answer["answer"])


def test_ctrl_c_ends_the_server_and_frees_the_port(served: Served) -> None:
    assert served.exit_code == 130
    assert served.seconds_to_end < 15
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{DEFAULT_PORT}/health")


def test_a_server_that_dies_shows_its_last_lines() -> None:
    finished = serve(MODEL, "--port", "8765", "--", "--no-such-flag")
    _, said = finished.communicate(timeout=START_SECONDS)
    assert finished.returncode == 1
    assert "error: the server ended with code 2" in said
    assert "unrecognized arguments: --no-such-flag" in said
