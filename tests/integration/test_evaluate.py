"""`python -m spider.evaluate` against a scripted endpoint, on the sample's questions."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from benchmarks.chat_server import Answer, ChatServer, last_message
from spider.data import ROOT, load_tasks
from spider.evaluate import main
from spider.evaluation.command import default_output
from spider.evaluation.models import Model
from spider.model_server import Server
from spider.server_model import ServerError

SAMPLE = ROOT / "data" / "sample"
GOLD = {task["question"]: task["query"] for task in load_tasks(SAMPLE / "test_dev.parquet")}
QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def _sample_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(SAMPLE))


def asked(request: Mapping[str, object]) -> str:
    """The question of a request."""
    found = QUESTION.search(last_message(request))
    assert found
    return found[1]


def gold_writer(request: Mapping[str, object]) -> Answer:
    """Writes the gold query at once, and finds every query correct."""
    if "THE QUERY IS" in last_message(request):
        return "THE QUERY IS CORRECT."
    return f"```sql\n{GOLD[asked(request)]}\n```"


def late_gold_writer(request: Mapping[str, object]) -> Answer:
    """Writes a query that fails first, and the gold query when it is told so."""
    prompt = last_message(request)
    if "Feedback:" in prompt:
        return f"```sql\n{GOLD[asked(request)]}\n```"
    if "THE QUERY IS" in prompt:
        return f"THE QUERY IS {'IN' if 'nowhere' in prompt else ''}CORRECT."
    return "```sql\nSELECT 1 FROM nowhere\n```"


def evaluate(server: ChatServer, output: Path, *arguments: str) -> int:
    """Run the command on six questions."""
    common = ["--endpoint", server.url, "--split", "dev", "--limit", "6", "--output", str(output), "--quiet"]
    return main([*common, *arguments])


def results(output: Path) -> list[dict[str, Any]]:
    """The settings of the run's results."""
    return json.loads((output / "results.json").read_text(encoding="utf-8"))["settings"]


def test_gold_queries_are_all_right_by_both_rules(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.script = gold_writer
    assert evaluate(chat_server, tmp_path) == 0
    (setting,) = results(tmp_path)
    assert (setting["strict"]["accuracy"], setting["strict"]["questions"]) == (1.0, 6)
    assert setting["published"]["accuracy"] == 1.0
    assert setting["failures"] == {}
    assert setting["cost"]["total_tokens"] > 0


def test_accuracy_by_turn_shows_what_rewriting_mends(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.script = late_gold_writer
    assert evaluate(chat_server, tmp_path, "--max-turns", "1,2") == 0
    one, two = results(tmp_path)
    assert (one["strict"]["accuracy"], two["strict"]["accuracy"]) == (0.0, 1.0)
    assert [turn["accuracy"] for turn in two["by_turn"]] == [0.0, 1.0]
    assert {kind: entry["count"] for kind, entry in one["kinds"].items()} == {"error:no_such_table": 6}
    assert two["rewriting"] == {"error:no_such_table": {"first": 6, "rewritten": 6, "right_at_the_end": 6}}
    assert two["checker"]["wrong_said_incorrect"] == 6


def test_a_failed_call_is_counted_by_its_reason_and_not_as_wrong(chat_server: ChatServer, tmp_path: Path) -> None:
    broken = next(iter(GOLD))
    refusal: Answer = (400, {"error": {"message": "no such luck"}})
    chat_server.script = lambda request: refusal if asked(request) == broken else gold_writer(request)
    assert evaluate(chat_server, tmp_path) == 1
    (setting,) = results(tmp_path)
    assert setting["failures"] == {"rejected": 1}
    assert setting["failure_details"] == {"rejected": "no such luck"}
    assert (setting["strict"]["questions"], setting["strict"]["accuracy"]) == (5, 1.0)


def test_a_second_run_asks_only_what_failed(chat_server: ChatServer, tmp_path: Path) -> None:
    broken = next(iter(GOLD))
    refusal: Answer = (400, {"error": {"message": "no such luck"}})
    chat_server.script = lambda request: refusal if asked(request) == broken else gold_writer(request)
    evaluate(chat_server, tmp_path, "--max-turns", "1")
    chat_server.requests.clear()
    chat_server.script = gold_writer
    assert evaluate(chat_server, tmp_path, "--max-turns", "1") == 0
    assert [asked(request) for request in chat_server.requests] == [broken]
    assert results(tmp_path)[0]["strict"]["questions"] == 6


def test_another_temperature_does_not_mix_with_the_answers_that_are_there(
    chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chat_server.script = gold_writer
    evaluate(chat_server, tmp_path, "--max-turns", "1")
    assert evaluate(chat_server, tmp_path, "--max-turns", "1", "--temperature", "0.5") == 2
    assert "temperature 0.0, now 0.5" in capfd.readouterr().err
    assert evaluate(chat_server, tmp_path, "--max-turns", "1", "--temperature", "0.5", "--fresh") == 0


def test_a_folders_answers_and_an_endpoints_lie_apart(tmp_path: Path) -> None:
    served, asked_for = Model("m", "model/m"), Model("m", "m", "http://127.0.0.1:8000/v1")
    assert default_output(served, tmp_path / "dev.parquet") != default_output(asked_for, tmp_path / "dev.parquet")


def test_samples_give_pass_at_k(chat_server: ChatServer, tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def every_second(request: Mapping[str, object]) -> Answer:
        question = asked(request)
        seen[question] = seen.get(question, 0) + 1
        return gold_writer(request) if seen[question] % 2 else "```sql\nSELECT 'nothing', 'like', 'it'\n```"

    chat_server.script = every_second
    assert evaluate(chat_server, tmp_path, "--samples", "4", "--max-turns", "1", "--workers", "1") == 0
    (setting,) = results(tmp_path)
    assert setting["strict"]["accuracy"] == 0.5
    assert setting["pass_at_k"] == {"1": 0.5, "2": pytest.approx(5 / 6), "4": 1.0}
    assert {request["temperature"] for request in chat_server.requests} == {1.0}


def test_a_server_that_is_gone_ends_the_run_with_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    server = ChatServer()
    server.close()
    assert evaluate(server, tmp_path) == 2
    assert "the endpoint doesn't work" in capfd.readouterr().err


def test_without_a_terminal_lines_say_how_many_answers_are_there(
    chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.script = gold_writer
    monkeypatch.setattr("spider.evaluation.running.SECONDS_BETWEEN_LINES", 0.0)
    main(
        ["--endpoint", chat_server.url, "--split", "dev", "--limit", "3", "--max-turns", "1", "--output", str(tmp_path)]
    )
    assert "3 of 3 answers" in capfd.readouterr().err.splitlines()


def test_greedy_and_sampled_answers_lie_apart(tmp_path: Path) -> None:
    file, model = tmp_path / "dev.parquet", Model("m", "model/m")
    assert default_output(model, file) != default_output(model, file, sampled=True)


def test_two_runs_are_compared(chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    chat_server.script = late_gold_writer
    evaluate(chat_server, tmp_path / "a", "--max-turns", "1")
    evaluate(chat_server, tmp_path / "b", "--max-turns", "2")
    capfd.readouterr()
    assert main(["--compare", str(tmp_path / "a"), str(tmp_path / "b" / "results.json")]) == 0
    row = next(line for line in capfd.readouterr().out.splitlines() if line.startswith("  all"))
    assert row.split()[-3:] == ["0", "6", "0.031"]  # 2 / 2^6


def test_the_published_table_has_a_row_for_every_setting(
    chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chat_server.script = gold_writer
    assert evaluate(chat_server, tmp_path, "--published-table") == 0
    table = capfd.readouterr().out.splitlines()[-9:]
    assert table[0].split()[:3] == ["context", "turns", "checker"]
    assert [row.split()[:3] for row in table[1:5]] == [
        [context, turns, "untrained"] for context in ("2048", "4096") for turns in ("1", "3")
    ]
    assert all("100.0 %" in row for row in table[1:5])
    assert all("not run" in row for row in table[5:])
    assert table[2].endswith("76.4 %")


SERVER = """
import os, sys, time
from benchmarks.chat_server import ChatServer, two_turns
server, most = ChatServer(int(sys.argv[1])), int(sys.argv[2])

def die():
    os.write(1, b"RuntimeError: Engine core died\\n")  # whole, whichever threads get here
    time.sleep(1)  # until the answers are sent
    os._exit(3)

server.script = lambda request: two_turns(request) if len(server.requests) <= most else die()
server.thread.join()
"""


def serving_at_most(answers: int) -> Callable[[Server], AbstractContextManager[subprocess.Popen[bytes]]]:
    """In place of vLLM: a server that dies after so many answers."""

    @contextmanager
    def running(server: Server) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-c", SERVER, str(server.port), str(answers)]
        server.log_file.parent.mkdir(exist_ok=True)
        with server.log_file.open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log)
        try:
            while socket.socket().connect_ex(("127.0.0.1", server.port)):
                assert process.poll() is None
                time.sleep(0.1)
            yield process
        finally:
            process.kill()
            process.wait()
            server.log_file.unlink()

    return running


def test_a_server_that_dies_midway_ends_the_run_with_one_line_and_keeps_its_answers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    command = ["--model", str(tmp_path), "--split", "dev", "--limit", "40", "--max-turns", "1"]
    command += ["--workers", "40", "--output", str(tmp_path / "out")]
    monkeypatch.setattr("spider.evaluation.models.running", serving_at_most(2))
    assert main([*command, "--quiet"]) == 1
    (said,) = capfd.readouterr().err.splitlines()
    assert "the server ended with code 3: RuntimeError: Engine core died; see" in said
    assert said.endswith("what was answered is kept: run the same command again to go on")
    monkeypatch.setattr("spider.evaluation.models.running", serving_at_most(100))
    assert main(command) == 0
    assert "38 answers to get, 2 are there" in capfd.readouterr().err


def test_a_server_that_cannot_be_started_is_no_usage_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Server) -> NoReturn:
        raise ServerError("vLLM is not installed: run `bash scripts/setup.sh`")

    monkeypatch.setattr("spider.evaluation.models.running", refuse)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert main(["--model", str(tmp_path), "--split", "dev", "--limit", "1", "--output", str(tmp_path), "--quiet"]) == 1
    assert capfd.readouterr().err == "error: vLLM is not installed: run `bash scripts/setup.sh`\n"


def test_a_model_that_is_not_there_is_a_usage_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "nowhere", "--output", str(tmp_path)]) == 2
    assert "no model at nowhere" in capfd.readouterr().err


def test_a_model_that_the_endpoint_does_not_list_is_a_usage_error(
    chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["--endpoint", chat_server.url, "--model", "bogus", "--output", str(tmp_path)]) == 2
    assert capfd.readouterr().err == f"error: {chat_server.url} has no model bogus; it has scripted\n"


def test_fresh_with_a_file_in_the_folders_place_is_told_with_the_fix(
    chat_server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert evaluate(chat_server, tmp_path / "file" / "out", "--fresh") == 2
    assert "a file is in the way; name another folder" in capfd.readouterr().err
