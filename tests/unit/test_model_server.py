"""Serving without a model server: flags, refusals and the command line."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spider import model_server, server_flags
from spider.chat_endpoint import DEFAULT_ENDPOINT, endpoint_from_environment
from spider.model_server import Server, plan, require_free_port
from spider.model_sources import hugging_face
from spider.server_flags import Machine, Model, cache_gib, context_length, read_model, tool_parser
from spider.server_log import death
from spider.server_model import ServerError, find_model, require_fetchable

ROOT = Path(__file__).resolve().parents[2]
OFF = {"VLLM_USE_FLASHINFER_SAMPLER": "0"}
LLAMA = {"max_position_embeddings": 2048, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder, as far as flags depend on it."""
    (tmp_path / "Small").mkdir()
    (tmp_path / "Small" / "config.json").write_text(json.dumps(LLAMA | {"head_dim": 64}))
    return tmp_path / "Small"


def flags(command: list[str]) -> dict[str, str]:
    """Each flag with what follows it."""
    return {flag: value for flag, value in zip(command, [*command[1:], ""], strict=True) if flag.startswith("--")}


@pytest.mark.parametrize(
    ("template", "parser"),
    [
        ("<tool_call>{...}</tool_call>", "hermes"),
        ("<tool_call><function=name>", "qwen3_coder"),
        ("Environment: ipython", "llama3_json"),
        ("[TOOL_CALLS]", "mistral"),
        ("{{ message.content }}", None),
    ],
)
def test_tool_parser_follows_the_chat_template(template: str, parser: str | None) -> None:
    assert tool_parser(Model("m", "anything", {"model_type": "llama"}, template)) == parser


@pytest.mark.parametrize(
    ("name", "parser"),
    [
        ("Qwen2.5-Coder-1.5B-Instruct", "hermes"),
        ("Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("Llama-3.2-1B-Instruct", "llama3_json"),
        ("Mistral-7B-Instruct-v0.3", "mistral"),
        ("gpt2", None),
    ],
)
def test_tool_parser_of_a_hubs_model_follows_its_name(name: str, parser: str | None) -> None:
    assert tool_parser(Model(f"org/{name}", name, {})) == parser


def test_every_tool_parser_is_one_of_vllms() -> None:
    import importlib.util

    spec = importlib.util.find_spec("vllm")
    assert spec is not None
    assert spec.origin is not None
    known = (Path(spec.origin).parent / "tool_parsers" / "__init__.py").read_text(encoding="utf-8")
    assert all(f'"{name}"' in known for name in ("hermes", "qwen3_coder", "llama3_json", "mistral"))


def test_chat_template_is_read_from_the_tokenizers_settings_too(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "<tool_call>"}))
    assert tool_parser(read_model(str(folder))) == "hermes"


@pytest.mark.parametrize(("positions", "length"), [(2048, 2048), (131072, 8192)])
def test_context_is_the_models_but_at_most_8192(positions: int, length: int) -> None:
    assert context_length(Model("m", "m", {"max_position_embeddings": positions})) == length


def test_cache_holds_four_full_sequences_of_smollm2() -> None:
    smollm2 = Model("m", "m", LLAMA | {"head_dim": 64})
    each = 2 * 30 * 3 * 64 * 4 * 8192  # keys and values, layers, heads, width, bytes, tokens
    assert cache_gib(smollm2, 8192, 4) == -(-4 * each // 2**30) == 2


@pytest.mark.parametrize("device", ["cpu", "cuda", "npu"])
def test_every_machine_gets_the_models_name_context_and_address(folder: Path, device: Machine) -> None:
    command, _ = plan(Server(str(folder), port=9000, device=device))
    given = flags(command)
    assert given["--served-model-name"] == "Small"
    assert (given["--host"], given["--port"], given["--max-model-len"]) == ("127.0.0.1", "9000", "2048")


def test_cpu_gets_cache_and_unpinned_threads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    command, variables = plan(Server(str(folder), device="cpu"))
    assert variables["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert variables["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"
    assert "--enforce-eager" in command
    assert "--seed" not in command


def test_a_variable_that_is_set_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "9")
    assert "VLLM_CPU_KVCACHE_SPACE" not in plan(Server(str(folder), device="cpu"))[1]


def test_processor_without_bfloat16_units_computes_in_float32(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server_flags, "Path", lambda _: tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx512f\n")
    assert server_flags.cpu_dtype() == "float32"
    (tmp_path / "cpuinfo").write_text("flags\t\t: fpu avx512f avx512_bf16\n")
    assert server_flags.cpu_dtype() == "bfloat16"


def test_more_flags_come_last(folder: Path) -> None:
    assert plan(Server(str(folder), device="cpu", flags=("--max-num-seqs", "2")))[0][-2:] == ["--max-num-seqs", "2"]


def test_context_beyond_the_models_is_refused(folder: Path) -> None:
    with pytest.raises(ServerError, match="has 2048 positions"):
        plan(Server(str(folder), device="cpu", context=4096))


@pytest.mark.parametrize("name", ["./no-such-folder", "no-such-model", "/no/such/model"])
def test_no_such_model_is_refused(name: str) -> None:
    with pytest.raises(ServerError, match="no model at"):
        find_model(name)


def test_a_hubs_name_is_left_to_vllm() -> None:
    assert find_model("some-org/No-Such-Model").path == "some-org/No-Such-Model"


def test_a_hubs_model_that_cannot_be_fetched_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ServerError, match=r"No-Such-Model: unset HF_HUB_OFFLINE"):
        require_fetchable(find_model("some-org/No-Such-Model"))


def test_a_folders_model_asks_no_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "require_model", lambda repo: pytest.fail(f"asked for {repo}"))
    require_fetchable(find_model(str(folder)))


@pytest.mark.parametrize(
    ("flashinfer", "nvcc", "wanted"), [(True, True, {}), (False, True, OFF), (True, False, OFF), (False, False, OFF)]
)
def test_flashinfers_sampler_is_off_where_it_or_its_compiler_is_missing(
    monkeypatch: pytest.MonkeyPatch, flashinfer: bool, nvcc: bool, wanted: dict[str, str]
) -> None:
    monkeypatch.setattr(server_flags, "find_spec", lambda name: object() if flashinfer else None)
    monkeypatch.setattr(server_flags.shutil, "which", lambda name: f"/bin/{name}" if nvcc else None)
    assert server_flags.sampler_environment() == wanted


def test_a_port_in_use_names_its_process_and_the_fix() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=rf"in use \(by .*process {os.getpid()}\).*--port {port + 1}"):
            require_free_port("127.0.0.1", port)


def test_without_a_setting_the_agent_asks_where_serve_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    assert endpoint_from_environment().base_url == DEFAULT_ENDPOINT == Server("any").url


def test_death_of_a_server_names_the_first_error_before_the_last_lines(tmp_path: Path) -> None:
    prefix = "(Worker pid=8459) ERROR 11-30 02:57:43 [multiproc_executor.py:1058]"
    lines = [f"{prefix} Traceback (most recent call last):", f"{prefix} ValueError: Available memory is less"]
    lines += ["RuntimeError: Engine core initialization failed. See root cause above."]
    (tmp_path / "log").write_text("\n".join(lines))
    said = death(1, tmp_path / "log")
    assert said.startswith("the server ended with code 1: ValueError: Available memory is less\nthe last lines of")
    assert said.endswith("  RuntimeError: Engine core initialization failed. See root cause above.")


def test_death_without_an_error_shows_the_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a warning that OSError may come\nserve: error: no such flag\n")
    assert death(-9, tmp_path / "log") == (
        f"the server was killed by signal 9; the last lines of {tmp_path / 'log'}:\n"
        "  a warning that OSError may come\n  serve: error: no such flag"
    )


def test_script_prints_the_command_without_starting_anything(folder: Path) -> None:
    started = time.monotonic()
    finished = subprocess.run(
        ["bash", "scripts/serve.sh", str(folder), "--device", "cpu", "--dry-run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert f"serve {folder}" in finished.stdout
    assert time.monotonic() - started < 1 or os.getloadavg()[0] > (os.cpu_count() or 1)


def test_command_line_imports_none_of_the_heavy_libraries() -> None:
    check = (
        "import sys\nfrom spider import model_server\n"
        "sys.exit(','.join(sorted({'torch', 'vllm', 'openai', 'httpx', 'transformers'} & set(sys.modules))) or 0)"
    )
    finished = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def test_a_port_out_of_range_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        model_server.main(["model", "--port", "70000"])
