"""A run's rollouts are kept as text, up to a size."""

import json
from pathlib import Path

from spider.verl_bridge.rollout_log import RolloutLog
from spider.verl_bridge.rows import SessionResult
from spider.verl_bridge.transfer import Prompt

TASK = {"question": "How many pets?", "db_id": "pets", "query": "SELECT count(*) FROM pet"}
PROMPT = Prompt("group-1", {"task": TASK}, global_step=3)


def session(reward: float | None = 1.0) -> SessionResult:
    texts = [
        {"node": "write_query", "text": "```sql\nSELECT 1\n```"},
        {"node": "check_query", "text": "THE QUERY IS INCORRECT."},
        {"node": "rewrite_query", "text": "```sql\nSELECT 2\n```"},
        {"node": "check_query", "text": "```sql\nSELECT 3\n``` THE QUERY IS CORRECT."},
    ]
    return SessionResult(reward=reward, calls=4, texts=[{"node": t["node"], "text": t["text"]} for t in texts])


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_group_is_a_line_for_each_rollout(tmp_path: Path) -> None:
    RolloutLog(tmp_path / "r.jsonl").add_group(PROMPT, [session(), session(0.0)], "val")
    written = lines(tmp_path / "r.jsonl")
    assert [line["reward"] for line in written] == [1.0, 0.0]
    assert (written[0]["step"], written[0]["mode"], written[0]["uid"]) == (3, "val", "group-1")
    assert (written[0]["question"], written[0]["gold"]) == (TASK["question"], TASK["query"])


def test_the_query_is_the_last_one_that_was_asked_for(tmp_path: Path) -> None:
    RolloutLog(tmp_path / "r.jsonl").add_group(PROMPT, [session()], "train")
    assert lines(tmp_path / "r.jsonl")[0]["query"] == "SELECT 2"


def test_a_failed_rollout_says_why(tmp_path: Path) -> None:
    failed = SessionResult(dropped="timed_out", detail="no answer in time")
    RolloutLog(tmp_path / "r.jsonl").add_group(PROMPT, [failed], "train")
    (line,) = lines(tmp_path / "r.jsonl")
    assert (line["dropped"], line["detail"], line["reward"]) == ("timed_out", "no answer in time", None)


def test_past_the_size_only_the_numbers_are_kept(tmp_path: Path) -> None:
    log = RolloutLog(tmp_path / "r.jsonl", max_bytes=10)
    log.add_group(PROMPT, [session()], "train")
    log.add_group(PROMPT, [session(0.0)], "train")
    first, second = lines(tmp_path / "r.jsonl")
    assert first["turns"]
    assert (second["turns"], second["query"], second["reward"]) == (None, None, 0.0)


def test_a_second_log_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    RolloutLog(tmp_path / "r.jsonl").add_group(PROMPT, [session()], "train")
    RolloutLog(tmp_path / "r.jsonl").add_group(PROMPT, [session()], "train")
    assert len(lines(tmp_path / "r.jsonl")) == 2


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    RolloutLog(tmp_path / "missing" / "r.jsonl").add_group(PROMPT, [session()], "train")
    assert not (tmp_path / "missing").exists()
