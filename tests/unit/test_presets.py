"""Presets against golden dictionaries: what a preset sets must not change unseen.

python tests/unit/test_presets.py    writes the golden files anew; look at `git diff tests/unit/golden` before commit
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spider.agent_graph import SQLAgent
from spider.ci_outputs import write_ci_outputs
from spider.data import ROOT
from spider.preflight import require_model
from spider.preset_changes import MODEL_NODES, UsageError, select_preset
from spider.presets import PRESETS, Preset, timestamped
from spider.train_sql_agent import main, parse_args
from spider.verl_bridge.verl_config import ENGINE_SECTION, UnknownKeyError, engine_arguments, resolve_config
from spider.verl_overrides import to_verl

GOLDEN = Path(__file__).parent / "golden"
COMMANDS = {
    **{name: name for name in PRESETS},
    "qwen-lora": "qwen --lora",
    "qwen-paper": "qwen --paper",
    "smollm2-lora-8": "smollm2 --lora 8",
    "qwen-two-gpus": "qwen --gpus 2 --nodes 2",
    "smollm2-call-rewards": "smollm2 --call-rewards",
}


def golden(command: str) -> dict[str, object]:
    """What a command line sets, with nothing of this machine or moment in it."""
    args = parse_args(command.split())
    preset = select_preset(args)
    config = json.loads(json.dumps(to_verl(preset, Path("/run"))))
    config["actor_rollout_ref"]["model"]["path"] = preset.model
    config["trainer"]["experiment_name"] = PRESETS[args.preset].experiment
    return config


def selected(command: str) -> Preset:
    return select_preset(parse_args(command.split()))


@pytest.mark.parametrize("name", COMMANDS)
def test_preset_expands_to_its_golden_dictionary(name: str) -> None:
    expected = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert golden(COMMANDS[name]) == expected, "meant? then run `python tests/unit/test_presets.py`"


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_key_is_verls_or_the_engines(name: str) -> None:
    resolve_config(golden(COMMANDS[name]))


def test_the_cpu_presets_engine_argument_is_one_of_the_engines() -> None:
    config = resolve_config(golden("tiny"))
    assert set(config.actor_rollout_ref.rollout.engine_kwargs.vllm) <= engine_arguments()


def test_misspelt_engine_argument_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownKeyError, match=r"no argument max_num_seq .*did you mean max_num_seqs"):
        resolve_config(nested(f"{ENGINE_SECTION}.max_num_seq", 3))


def test_engine_argument_may_be_written_as_on_the_command_line() -> None:
    resolve_config(nested(f"{ENGINE_SECTION}.max-num-seqs", 3))


def nested(path: str, value: object) -> dict[str, object]:
    key, _, rest = path.partition(".")
    return {key: nested(rest, value) if rest else value}


def test_misspelt_override_ends_with_usage_code_and_a_suggestion(caplog: pytest.LogCaptureFixture) -> None:
    assert main(["qwen", "--dry-run", "--set", "trainer.save_frq=1"]) == 2
    assert "did you mean trainer.save_freq" in caplog.text


def test_fast_names_its_experiment_by_the_time() -> None:
    preset = timestamped(PRESETS["fast"], datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert preset.experiment == "fast-20260102-030405"
    assert selected("fast").experiment.startswith("fast-20")


def test_project_and_run_are_appended_for_github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "output"
    output.write_text("before=1\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_OUTPUT", str(output))
    preset = selected("fast")
    write_ci_outputs(preset)
    assert output.read_text(encoding="utf-8") == (
        f"before=1\nproject_name=AgentLightningCI\nrun_name={preset.experiment}\n"
    )


@pytest.mark.parametrize("output", [".", "missing/output"])
def test_a_github_output_that_can_not_be_written_is_named(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / output))
    with pytest.raises(UsageError, match=r"^GITHUB_OUTPUT is .*: set it to a file .* or unset it$"):
        write_ci_outputs(selected("fast"))


def test_a_bad_github_output_is_refused_before_there_is_a_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path))
    monkeypatch.setattr("spider.train_sql_agent.require_model", lambda _: None)
    monkeypatch.setattr("spider.verl_bridge.processes.relaunch_marked", lambda _: None)
    assert main(["tiny", "--output-dir", str(tmp_path / "run")]) == 2
    assert "GITHUB_OUTPUT" in caplog.text
    assert not (tmp_path / "run").exists()


def test_lora_trains_adapters_at_ten_times_the_rate() -> None:
    preset = selected("qwen --lora 16")
    assert (preset.lora_rank, preset.learning_rate) == (16, pytest.approx(1e-5))


def test_lora_without_a_number_has_rank_32() -> None:
    assert selected("qwen --lora").lora_rank == 32


def test_lora_on_every_preset_merges_the_adapters_into_vllms_weights() -> None:
    for name in PRESETS:
        model = resolve_config(golden(f"{name} --lora")).actor_rollout_ref.model
        assert (model.lora_rank, model.lora.merge, model.lora_alpha) == (32, True, 32)


def test_paper_restores_the_published_values() -> None:
    config = resolve_config(golden("qwen --paper"))
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert actor.fsdp_config.param_offload is True
    assert actor.fsdp_config.optimizer_offload is True
    assert actor.use_dynamic_bsz is False
    assert actor.ppo_micro_batch_size_per_gpu == 4
    assert rollout.log_prob_micro_batch_size_per_gpu == 4
    assert rollout.gpu_memory_utilization == 0.8
    assert config.algorithm.rollout_correction.bypass_mode is False


def test_paper_keeps_what_the_published_fast_run_gave_vllm() -> None:
    assert selected("fast --paper").gpu_memory_utilization == 0.6


def test_flags_win_over_published_values() -> None:
    assert selected("qwen --paper --n-runners 3").n_runners == 3


def test_turns_and_context_reach_the_preset() -> None:
    preset = selected("qwen --max-turns 2 --context-chars 999")
    assert (preset.max_turns, preset.context_chars) == (2, 999)


def test_a_local_folder_is_the_model_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "my own model"
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    preset = select_preset(parse_args(["qwen", "--model", str(folder)]))
    model = resolve_config(to_verl(preset, Path("/run"))).actor_rollout_ref.model
    assert model.path == str(folder)
    require_model(preset)


def test_active_agent_chooses_from_the_graphs_nodes_that_ask_the_model() -> None:
    database = ROOT / "data/sample/database/art_museum/art_museum.sqlite"
    nodes = set(SQLAgent(database).graph().get_graph().nodes) - {"__start__", "__end__", "execute_query"}
    assert set(MODEL_NODES) == nodes


@pytest.mark.parametrize("pattern", ["write", "write|check", "all"])
def test_active_agent_takes_node_names_and_all(pattern: str) -> None:
    assert select_preset(parse_args(["tiny", "--active-agent", pattern])) == PRESETS["tiny"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("qwen --lora 0", "--lora needs a rank of at least 1"),
        ("qwen --gpus 0", "--gpus must be at least 1"),
        ("qwen --nodes -1", "--nodes must be at least 1"),
        ("qwen --max-turns 0", "--max-turns must be at least 1"),
        ("tiny --gpus 2", "on CPU"),
        ("tiny --paper", "nothing is published for tiny"),
        ("qwen --active-agent (", "not a regular expression"),
        ("qwen --active-agent no_such_node", "write_query, check_query, rewrite_query"),
        ("qwen --active-agent execute_query", "matches no node that asks the model"),
        ("--seed 1 apo", "apo comes first"),
    ],
)
def test_senseless_flags_are_refused_by_name(command: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        selected(command)
    assert words in str(caught.value)


def test_an_unknown_preset_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["nosuch"])
    listed = capsys.readouterr().err.partition("choose from")[2]
    assert [name for name in (*PRESETS, "apo") if f"'{name}'" not in listed] == []


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob("*.json"):
        path.unlink()
    for name, command in COMMANDS.items():
        text = json.dumps(golden(command), indent=1) + os.linesep
        (GOLDEN / f"{name}.json").write_text(text, encoding="utf-8")
