"""Strategy files are checked; rules follow from counts."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from spider import export_strategy
from spider.strategy.measure import Query, Trace, decision_rules, interaction_patterns, trace, under_rules
from spider.strategy.runs import load_run
from spider.strategy.schema import (
    DecisionRules,
    End,
    OutcomeRule,
    PromptTemplates,
    Source,
    Strategy,
    load_strategy,
    save_strategy,
)

STRATEGY = Strategy(source=Source(run="r", kind="apo", rollouts=1, accuracy=0.5))


def traced(*queries: tuple[str, bool], end: End = "accepted") -> Trace:
    return Trace("?", tuple(Query("SELECT 1", outcome, right) for outcome, right in queries), end, 2 * len(queries))


def test_a_saved_strategy_is_read_back(tmp_path: Path) -> None:
    save_strategy(STRATEGY, tmp_path / "new" / "s.json")
    assert load_strategy(tmp_path / "new" / "s.json") == STRATEGY


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "format"),
        ({"decision_rules": {"max_attempts": 0}}, "decision_rules.max_attempts"),
        ({"decision_rules": {"by_outcome": {"nonsense": {}}}}, "unknown outcome 'nonsense'"),
        ({"decision_rules": {"by_outcome": {"rows": {"queries": 1, "right": 2}}}}, "the counts don't add up"),
        ({"prompt_templates": {"check": "Is it right?"}}, "must ask for the verdict"),
        ({"prompt_templates": {"wirte": "Write."}}, "prompt_templates.wirte"),
        ({"interaction_patterns": [{"outcomes": ["rows"]}]}, "interaction_patterns.0"),
    ],
)
def test_a_file_that_is_no_strategy_is_refused_by_the_field(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(json.loads(STRATEGY.model_dump_json()) | change))
    with pytest.raises(ValueError, match=message):
        load_strategy(path)


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ValueError, match="can't read the strategy"):
        load_strategy(tmp_path / "nope.json")
    with pytest.raises(ValueError, match=r"broken\.json is not a strategy"):
        load_strategy(tmp_path / "broken.json")


def test_instructions_that_are_left_out_are_the_usual_ones() -> None:
    templates = PromptTemplates(write="Write.").templates()
    assert templates.write == "Write."
    assert templates.check == STRATEGY.prompt_templates.check


def test_an_outcome_that_rewriting_does_not_mend_is_final_once_there_is_evidence() -> None:
    traces = [traced(("no_rows", False), ("rows", False))] * 9 + [traced(("no_rows", True), ("rows", False))]
    rule = decision_rules(traces, min_evidence=10).by_outcome["no_rows"]
    assert (rule.action, rule.queries, rule.right, rule.rewritten, rule.repaired, rule.broken) == (
        "stop",
        10,
        1,
        10,
        0,
        1,
    )
    assert decision_rules(traces, min_evidence=11).by_outcome["no_rows"].action == "check"


def test_an_outcome_that_rewriting_mends_is_left_to_the_checker() -> None:
    traces = [traced(("error:syntax", False), ("rows", True))] + [traced(("error:syntax", False), ("rows", False))] * 20
    rule = decision_rules(traces).by_outcome["error:syntax"]
    assert (rule.action, rule.rewritten, rule.repaired) == ("check", 21, 1)


def test_a_rewrite_that_repeats_its_query_counts_as_one_that_mends_nothing() -> None:
    rule = decision_rules([traced(("error:syntax", False), end="repeated")]).by_outcome["error:syntax"]
    assert (rule.rewritten, rule.repaired, rule.broken) == (1, 0, 0)


def test_as_many_attempts_are_allowed_as_pay() -> None:
    mended = traced(("rows", False), ("rows", True))
    spoilt = traced(("rows", False), ("rows", True), ("rows", False))
    rules = decision_rules([mended, spoilt, traced(("rows", True))])
    assert rules.accuracy_by_attempts == {1: 0.3333, 2: 1.0, 3: 0.6667}
    assert rules.max_attempts == 2


def test_attempts_that_add_nothing_are_not_allowed() -> None:
    assert decision_rules([traced(("rows", False), ("rows", False)), traced(("rows", True))]).max_attempts == 1


def test_patterns_are_what_questions_do_under_the_rules() -> None:
    traces = [
        traced(("rows", True)),
        traced(("rows", False), ("rows", True)),
        traced(("no_rows", False), ("rows", True)),
    ]
    rules = DecisionRules(max_attempts=1, by_outcome={"no_rows": OutcomeRule(action="stop")})
    patterns = {(p.outcomes, p.end): (p.count, p.right, p.calls) for p in interaction_patterns(traces, rules)}
    assert patterns == {
        (("rows",), "accepted"): (1, 1, 2),
        (("rows",), "out_of_turns"): (1, 0, 2),
        (("no_rows",), "final_outcome"): (1, 0, 1),
    }


def test_rules_that_allow_more_change_nothing() -> None:
    each = traced(("rows", False), ("rows", True))
    assert under_rules(each, DecisionRules(max_attempts=2)) == each


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    path = tmp_path / "pets.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE pet (name TEXT); INSERT INTO pet VALUES ('Rex'), ('Ada')")
    return path


def record(*texts: str, gold: str = "SELECT count(*) FROM pet") -> dict[str, object]:
    nodes = ["write_query", "check_query", "rewrite_query", "check_query"]
    turns = [{"node": node, "text": text} for node, text in zip(nodes, texts, strict=False)]
    return {"question": "?", "gold": gold, "reward": 0.0, "turns": turns}


def test_a_recorded_rollouts_queries_are_run_again_and_judged(pets: Path) -> None:
    texts = ("```sql\nSELECT nmae FROM pet\n```", "THE QUERY IS INCORRECT.", "```sql\nSELECT 2\n```")
    found = trace(record(*texts, "THE QUERY IS CORRECT."), pets)
    assert found
    assert found.queries == (
        Query("SELECT nmae FROM pet", "error:no_such_column", False),
        Query("SELECT 2", "rows", True),
    )
    assert (found.end, found.calls) == ("accepted", 4)


def test_a_repeated_query_is_counted_once(pets: Path) -> None:
    found = trace(record("```sql\nSELECT 1\n```", "THE QUERY IS INCORRECT.", "```sql\nSELECT  1\n```"), pets)
    assert found
    assert (len(found.queries), found.end) == (1, "repeated")


def test_a_rollout_that_cannot_be_judged_is_left_out(pets: Path) -> None:
    assert trace(record("```sql\nSELECT 1\n```", gold="SELECT nope FROM pet"), pets) is None
    assert trace(record() | {"turns": None}, pets) is None
    assert trace(record("```sql\nSELECT 1\n```") | {"reward": None}, pets) is None


def test_a_missing_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="VERL_SPIDER_DATA_DIR"):
        trace(record("```sql\nSELECT 1\n```"), tmp_path / "nope.sqlite")


def write_lines(path: Path, *records: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records) + '{"cut')


def test_the_later_half_of_a_training_run_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "rollouts.jsonl", *(record() | {"step": step} for step in range(5)))
    run = load_run(tmp_path)
    assert (run.kind, [each["step"] for each in run.records]) == ("training", [2, 3, 4])


def test_a_checkpoint_stands_for_its_run(tmp_path: Path) -> None:
    write_lines(tmp_path / "rollouts.jsonl", record() | {"step": 1})
    checkpoint = tmp_path / "checkpoints" / "global_step_1"
    checkpoint.mkdir(parents=True)
    assert load_run(checkpoint).folder == tmp_path


def test_rollouts_with_the_best_prompts_count_of_a_run_that_optimises_them(tmp_path: Path) -> None:
    write_lines(tmp_path / "rollouts.jsonl", record() | {"templates": "a"}, record() | {"templates": "b", "n": 2})
    prompts = {"version": "b", "model": "m", "templates": {"write": "Write."}}
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    run = load_run(tmp_path)
    assert (run.kind, run.model, run.templates.write, len(run.records)) == ("apo", "m", "Write.", 1)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("prompts.json", '{"vers', "the file: Invalid JSON"),
        ("prompts.json", '{"version": "b", "model": "m"}', "templates: Field required"),
        ("prompts.json", '{"version": "b", "model": "m", "templates": {"wirte": ""}}', r"templates\.wirte: "),
        ("servers.json", "[]", "the file: Input should be an object"),
    ],
)
def test_a_damaged_file_of_a_run_is_named(tmp_path: Path, name: str, text: str, problem: str) -> None:
    write_lines(tmp_path / "rollouts.jsonl", record() | {"step": 1})
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f"{name} was damaged or cut off: {problem}"):
        load_run(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"[]\n1\n", b"\x00\xff\n"])
def test_a_file_without_rollouts_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rollouts.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=r"rollouts\.jsonl holds no rollout to count: .* give another run"):
        load_run(tmp_path)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rollouts"):
        load_run(tmp_path)


@pytest.fixture
def training_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A training run's folder with two rollouts over the database `pets`, which lies in the data folder."""
    database = tmp_path / "database" / "pets" / "pets.sqlite"
    database.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.executescript("CREATE TABLE pet (name TEXT); INSERT INTO pet VALUES ('Rex'), ('Ada')")
    monkeypatch.setenv("VERL_SPIDER_DATA_DIR", str(tmp_path))
    common = {"step": 1, "mode": "train", "db_id": "pets"}
    mended = record("SELECT nmae FROM pet", "THE QUERY IS INCORRECT.", "SELECT 2", "THE QUERY IS CORRECT.")
    write_lines(tmp_path / "rollouts.jsonl", mended | common, record("SELECT 2", "THE QUERY IS CORRECT.") | common)
    (tmp_path / "servers.json").write_text('{"model": "m"}')
    return tmp_path


def test_a_training_run_is_exported_with_what_rewriting_mended(training_run: Path) -> None:
    output = training_run / "out" / "strategy.json"
    assert export_strategy.main(["--checkpoint", str(training_run), "--output", str(output), "--quiet"]) == 0
    strategy = load_strategy(output)
    assert (strategy.source.kind, strategy.source.model, strategy.source.rollouts) == ("training", "m", 2)
    assert strategy.decision_rules.max_attempts == 2
    assert strategy.decision_rules.accuracy_by_attempts == {1: 0.5, 2: 1.0}
    assert strategy.decision_rules.by_outcome["error:no_such_column"] == OutcomeRule(queries=1, rewritten=1, repaired=1)
    assert {pattern.outcomes for pattern in strategy.interaction_patterns} == {
        ("rows",),
        ("error:no_such_column", "rows"),
    }


def test_an_export_of_no_run_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert export_strategy.main(["--checkpoint", str(tmp_path), "--output", str(tmp_path / "s.json")]) == 2
    assert "no rollouts.jsonl in" in caplog.text
    assert not (tmp_path / "s.json").exists()


def test_a_folder_as_the_output_is_refused_before_any_query(
    training_run: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_strategy, "traces_of", lambda *_, **__: pytest.fail("a query was run"))
    assert export_strategy.main(["--checkpoint", str(training_run), "--output", str(training_run)]) == 2
    assert f"{training_run} is a folder" in caplog.text
    assert not training_run.with_name(f"{training_run.name}.part").exists()


def test_a_run_whose_rollouts_all_failed_gives_no_strategy(training_run: Path) -> None:
    failed = record("SELECT 2") | {"reward": None, "step": 1, "mode": "train", "db_id": "pets"}
    write_lines(training_run / "rollouts.jsonl", failed)
    assert export_strategy.main(["--checkpoint", str(training_run), "--output", str(training_run / "s.json")]) == 1
