"""Questions to a database: as a library, and as a process over a scripted endpoint."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.chat_server import Answer, ChatServer, last_message
from spider.chat_endpoint import EndpointError
from spider.inference import TrainedAgent
from spider.strategy.schema import (
    DecisionRules,
    Exchange,
    InteractionPattern,
    OutcomeRule,
    PromptTemplates,
    Source,
    Strategy,
    save_strategy,
)

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "spider" / "inference.py"
COUNT = "```sql\nSELECT count(*) FROM pet\n```"
MISSPELT = "```sql\nSELECT nmae FROM pet\n```"
DOGS = "```sql\nSELECT name, age FROM pet WHERE kind = 'dog' ORDER BY id\n```"
MANY = "```sql\nWITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10001) SELECT x FROM n\n```"
RIGHT = "THE QUERY IS CORRECT."
WRONG = "THE QUERY IS INCORRECT."
QUESTION = "How many pets are there?"


def start(server: ChatServer | None, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line inside `spider/`, with an environment that names no endpoint but the server's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MODEL", "DATABASE"))}
    endpoint = {"OPENAI_BASE_URL": server.url if server else "", "OPENAI_API_BASE": ""}
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        env=kept | endpoint,
        cwd=SCRIPT.parent,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def strategy(tmp_path: Path) -> Path:
    """Own instructions, two attempts, and an outcome that is final."""
    path = tmp_path / "strategy.json"
    pattern = InteractionPattern(
        outcomes=("rows",), end="accepted", count=20, right=15, calls=2, example=Exchange(question="?", queries=())
    )
    rules = DecisionRules(max_attempts=2, by_outcome={"error:no_such_column": OutcomeRule(action="stop")})
    made = Strategy(
        source=Source(run="r", kind="apo", rollouts=20, accuracy=0.7),
        prompt_templates=PromptTemplates(write="Say it in {dialect}."),
        decision_rules=rules,
        interaction_patterns=(pattern,),
    )
    save_strategy(made, path)
    return path


def test_execute_returns_the_query_and_what_it_gave(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(DOGS, RIGHT)
    sql, result = TrainedAgent(chat_server.url, db=pets).execute("Which dogs?")
    assert sql == "SELECT name, age FROM pet WHERE kind = 'dog' ORDER BY id"
    assert (result.columns, list(result.rows)) == (("name", "age"), [("Rex", 3), ("Ada", 9)])
    assert (result.answered, result.turns, result.end, result.verdict) == (True, 1, "accepted", "found correct")
    assert result.answer == "2 rows of name, age: Rex, 3; Ada, 9."


def test_a_result_says_whether_its_rows_are_all(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(MANY, RIGHT, DOGS, RIGHT)
    agent = TrainedAgent(chat_server.url, db=pets)
    results = [agent.execute(question)[1] for question in ("Which numbers?", "Which dogs?")]
    assert [(len(result.rows), result.more) for result in results] == [(10_000, True), (2, False)]


def test_the_model_is_the_first_one_served_and_is_asked_greedily(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    TrainedAgent(chat_server.url, db=pets).execute(QUESTION)
    assert (chat_server.requests[0]["model"], chat_server.requests[0]["temperature"]) == ("scripted", 0.0)


def test_a_context_may_name_the_database_and_notes(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    TrainedAgent(chat_server.url).execute(QUESTION, {"db": pets, "notes": "Old means above 5."})
    assert f"Old means above 5.\n\nQuestion: {QUESTION}" in chat_server.prompts()[0]
    assert "CREATE TABLE pet" in chat_server.prompts()[0]


def test_a_context_that_is_text_is_notes(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    TrainedAgent(chat_server.url, db=pets).execute(QUESTION, "Old means above 5.")
    assert "Old means above 5." in chat_server.prompts()[0]


def test_without_a_database_it_says_how_to_name_one(chat_server: ChatServer) -> None:
    with pytest.raises(ValueError, match="no database: give"):
        TrainedAgent(chat_server.url).execute(QUESTION)


def test_a_query_that_never_works_is_no_answer(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(MISSPELT, WRONG, MISSPELT, WRONG)
    _, result = TrainedAgent(chat_server.url, db=pets).execute(QUESTION)
    assert (result.answered, result.outcome, result.end) == (False, "error:no_such_column", "repeated")


def test_a_server_that_refuses_raises_its_own_words(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say((400, {"error": {"message": "no such model"}}))
    with pytest.raises(EndpointError, match="no such model"):
        TrainedAgent(chat_server.url, db=pets, model="nope").execute(QUESTION)


def test_a_strategy_brings_its_instructions_rules_and_measured_accuracy(
    chat_server: ChatServer, pets: Path, strategy: Path
) -> None:
    chat_server.say(COUNT, RIGHT)
    agent = TrainedAgent(chat_server.url, strategy_file=strategy, db=pets)
    _, result = agent.execute(QUESTION)
    assert agent.max_turns == 2
    assert chat_server.prompts()[0].endswith("Say it in SQLite.")
    assert result.pattern
    assert result.pattern.accuracy == 0.75


def test_an_outcome_that_rewriting_does_not_mend_ends_the_work(
    chat_server: ChatServer, pets: Path, strategy: Path
) -> None:
    chat_server.say(MISSPELT, WRONG, COUNT, RIGHT)
    _, result = TrainedAgent(chat_server.url, strategy, db=pets).execute(QUESTION)
    assert (len(chat_server.requests), result.end) == (1, "final_outcome")


def test_postgresql_is_asked_read_only(chat_server: ChatServer, postgres_url: str) -> None:
    chat_server.say("```sql\nDELETE FROM pet\n```", WRONG, COUNT, RIGHT)
    _, result = TrainedAgent(chat_server.url, db=postgres_url).execute(QUESTION)
    assert [attempt["outcome"] for attempt in result.attempts] == ["refused", "rows"]
    assert list(result.rows) == [(3,)]
    assert "PostgreSQL" in chat_server.prompts()[0]


@pytest.mark.parametrize("scheme", ["mysql", "mariadb"])
def test_mariadb_is_asked_read_only_by_either_name(chat_server: ChatServer, mariadb_url: str, scheme: str) -> None:
    writing = "WITH gone AS (SELECT 1) DELETE FROM pet"
    chat_server.say(f"```sql\n{writing}\n```", WRONG, MISSPELT, WRONG, COUNT, RIGHT)
    _, result = TrainedAgent(chat_server.url, db=mariadb_url.replace("mysql", scheme)).execute(QUESTION)
    assert [attempt["outcome"] for attempt in result.attempts][1:] == ["error:no_such_column", "rows"]
    assert result.attempts[0]["outcome"] != "rows"
    assert list(result.rows) == [(3,)]
    assert "CREATE TABLE pet" in chat_server.prompts()[0]


def test_the_command_shows_answer_query_and_turns(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(MISSPELT, WRONG, COUNT, RIGHT)
    finished = start(chat_server, "--db", pets, QUESTION)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("count(*) is 3.\n\nSELECT count(*) FROM pet\n\n2 turns, found correct")
    assert "(error:no_such_column -> rows)" in finished.stdout


def test_the_command_says_that_rows_are_cut(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(MANY, RIGHT)
    assert " of more than 10000 rows)\n" in start(chat_server, "--db", pets, "Which numbers?").stdout


def test_json_says_that_rows_are_cut(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(MANY, RIGHT)
    assert json.loads(start(chat_server, "--db", pets, "--json", "Which numbers?").stdout)["more"] is True


def test_json_holds_columns_and_rows(chat_server: ChatServer, pets: Path, strategy: Path) -> None:
    chat_server.say(DOGS, RIGHT)
    finished = start(
        chat_server, "--db", pets, "--json", "--task", "Which dogs?", "--strategy", strategy, "--model", "m"
    )
    answer = json.loads(finished.stdout)
    assert (answer["columns"], answer["rows"]) == (["name", "age"], [["Rex", 3], ["Ada", 9]])
    assert (answer["turns"], answer["measured"]) == (1, {"right": 15, "of": 20})


def test_a_conversation_shows_the_model_the_questions_before(chat_server: ChatServer, pets: Path) -> None:
    def script(request: Mapping[str, object]) -> Answer:
        return RIGHT if "THE QUERY IS" in last_message(request) else COUNT

    chat_server.script = script
    finished = start(chat_server, "--db", pets, "--interactive", "--quiet", stdin="First?\nSecond?\n/new\nThird?\n")
    assert finished.stdout == "count(*) is 3.\n" * 3
    first, second, third = (prompt for prompt in chat_server.prompts() if "THE QUERY IS" not in prompt)
    assert "Earlier questions" not in first + third
    assert "- First?\n  SELECT count(*) FROM pet\n\nQuestion: Second?" in second


def test_a_conversation_without_a_terminal_shows_each_question_before_its_answer(
    chat_server: ChatServer, pets: Path
) -> None:
    chat_server.say(COUNT, RIGHT, DOGS, RIGHT)
    shown = start(chat_server, "--db", pets, "--interactive", stdin="How many?\n\nWhich dogs?\n").stdout
    parts = [shown.index(part) for part in ("> How many?\ncount(*) is 3.", "> Which dogs?\n2 rows of name, age")]
    assert parts == sorted(parts)
    assert shown.count("> ") == 2


def test_a_conversation_in_json_is_an_object_a_line(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    shown = start(chat_server, "--db", pets, "--interactive", "--json", stdin="First?\nSecond?\n").stdout
    assert [json.loads(line)["question"] for line in shown.splitlines()] == ["First?", "Second?"]


def test_a_question_without_a_database_goes_to_the_one_that_fits(chat_server: ChatServer, pets: Path) -> None:
    chat_server.say(COUNT, RIGHT)
    finished = start(chat_server, "Which pet has no owner?")
    assert f"no --db: asking {pets}" in finished.stderr
    assert finished.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--db", "nope.sqlite", "How many?"], "no file nope.sqlite"),
        (["--db", "oracle://host/x", "How many?"], "oracle databases can't be opened read-only here"),
        (["--db", "sqlite:////nope.sqlite", "How many?"], "no file sqlite:////nope.sqlite"),
        (["--db", "postgresql://host:port/x", "How many?"], "not a database URL"),
        (["--db", "postgresql://127.0.0.1:1/x", "How many?"], "can't read the schema of postgresql"),
        (["--endpoint", "http://[::1", "How many?"], "'http://[::1' is not a URL"),
        (["--endpoint", "http://127.0.0.1:99999/v1", "How many?"], "is not a URL"),
        (["--interactive", "How many?"], "give one question"),
        (["--task", "How many?", "How many?"], "give one question"),
        (["--strategy", "nope.json", "How many?"], "can't read the strategy nope.json"),
        (["--max-turns", "0", "How many?"], "give 1 or more"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_one_line(
    chat_server: ChatServer, arguments: list[str], message: str
) -> None:
    finished = start(chat_server, *arguments)
    assert finished.returncode == 2
    assert message in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_dead_endpoint_is_named(pets: Path) -> None:
    finished = start(None, "--endpoint", "http://127.0.0.1:1/v1", "--db", pets, "--model", "m", "--quiet", "How many?")
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: can't reach http://127.0.0.1:1/v1")
    assert finished.stderr.count("\n") == 1


def test_a_database_without_tables_is_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "new.sqlite").touch()
    finished = start(chat_server, "--db", tmp_path / "new.sqlite", "How many?")
    assert (finished.returncode, finished.stderr.count("\n")) == (2, 1)
    assert "new.sqlite has no tables" in finished.stderr


def test_a_database_with_changes_in_its_write_ahead_log_is_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE pet (name TEXT)")
        result = start(chat_server, "--db", path, QUESTION)
    assert result.returncode == 2
    assert "has changes that are still in its write-ahead log" in result.stderr
