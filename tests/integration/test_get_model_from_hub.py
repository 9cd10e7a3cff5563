"""scripts/get_model.py against a server on loopback that speaks both hubs' interfaces."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hub_server import COMMIT, TOKEN, Hub, HubServer
from spider.data import ROOT
from spider.model_store import MARKER

REPO = "acme/small-model"
WEIGHTS = bytes(range(256)) * 12_000
BROKEN_AT = 2_000_000
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b'{"version": "1.0"}',
    "model.safetensors": WEIGHTS,
    "README.md": "# Small, größer".encode(),
    "pytorch_model.bin": b"the same weights once more",
    "pytorch_model.bin.index.json": b'{"weight_map": {"w": "pytorch_model-2.bin"}}',
    "original/consolidated.00.pth": b"the same weights once more",
    ".gitattributes": b"*.safetensors filter=lfs",
}
KEPT = {"config.json", "tokenizer.json", "model.safetensors", "README.md", MARKER}
SOURCES = ("hf", "modelscope")


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub({REPO: dict(FILES)})
    server = HubServer(hub)
    yield hub
    server.close()


def start(models: Path, hub_url: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MODEL"))}
    environment |= {"HF_ENDPOINT": hub_url, "MODELSCOPE_DOMAIN": hub_url, "HF_HOME": str(models / ".hf")}
    environment |= {"HF_TOKEN": "", "MODEL_SOURCE": "", **variables}  # nor what .env may say
    command = [sys.executable, str(ROOT / "scripts" / "get_model.py"), *arguments, "--models", str(models)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(models: Path, hub_url: str, *arguments: str, **variables: str) -> tuple[int, str]:
    """The exit code and the last line of what the command says."""
    with start(models, hub_url, *arguments, **variables) as process:
        output, errors = process.communicate(timeout=120)
    lines = (output + errors).strip().splitlines()
    return process.returncode, lines[-1] if lines else ""


def wait_for_bytes(models: Path) -> None:
    """Until some of a file has been written."""
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in models.rglob(".*.part")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("source", SOURCES)
def test_the_files_of_the_model_arrive_unchanged_and_no_others(hub: Hub, tmp_path: Path, source: str) -> None:
    code, said = run(tmp_path, hub.url, REPO, "--source", source)
    assert code == 0, said
    found = contents(tmp_path / "small-model")
    assert found.keys() == KEPT
    assert all(found[name] == FILES[name] for name in KEPT - {MARKER})


@pytest.mark.parametrize("source", SOURCES)
def test_a_broken_connection_is_taken_up_where_it_broke(hub: Hub, tmp_path: Path, source: str) -> None:
    hub.cut["model.safetensors"] = BROKEN_AT
    assert run(tmp_path, hub.url, REPO, "--source", source)[0] == 0
    first, second = hub.downloads("model.safetensors")
    assert first.start is None
    assert second.start is not None
    assert 0 < second.start <= BROKEN_AT
    assert (tmp_path / "small-model" / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("source", SOURCES)
def test_an_interrupted_call_is_taken_up_by_the_next(hub: Hub, tmp_path: Path, source: str) -> None:
    hub.stalls["model.safetensors"] = BROKEN_AT
    with start(tmp_path, hub.url, REPO, "--source", source) as process:
        wait_for_bytes(tmp_path)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1] == "get_model: interrupted; run it again to go on"
    assert not (tmp_path / "small-model").exists()
    assert run(tmp_path, hub.url, REPO, "--source", source)[0] == 0
    assert len(hub.downloads("config.json")) == 1
    assert hub.downloads("model.safetensors")[-1].start
    assert (tmp_path / "small-model" / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("source", SOURCES)
def test_a_file_that_arrives_damaged_is_refused_and_fetched_again(hub: Hub, tmp_path: Path, source: str) -> None:
    hub.spoilt.add("model.safetensors")
    code, said = run(tmp_path, hub.url, REPO, "--source", source)
    assert code == 1
    assert "model.safetensors" in said
    assert "damaged on the way" in said
    hub.spoilt.clear()
    assert run(tmp_path, hub.url, REPO, "--source", source)[0] == 0
    assert (tmp_path / "small-model" / "model.safetensors").read_bytes() == WEIGHTS


def test_a_model_that_is_there_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    assert run(tmp_path, hub.url, REPO)[0] == 0
    asked = len(hub.requests)
    for arguments in ((REPO,), (REPO, "--source", "hf")):
        code, said = run(tmp_path, "http://127.0.0.1:9", *arguments, MODEL_SOURCE="modelscope")
        assert (code, said.endswith("is complete: nothing to do")) == (0, True)
    assert len(hub.requests) == asked


def test_a_damaged_folder_is_fetched_again(hub: Hub, tmp_path: Path) -> None:
    assert run(tmp_path, hub.url, REPO)[0] == 0
    os.truncate(tmp_path / "small-model" / "model.safetensors", 1000)
    assert run(tmp_path, hub.url, REPO)[0] == 0
    assert (tmp_path / "small-model" / "model.safetensors").read_bytes() == WEIGHTS


def test_what_lies_in_hugging_faces_own_cache_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    snapshot = tmp_path / ".hf" / "hub" / "models--acme--small-model" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(WEIGHTS)
    (snapshot / "tokenizer.json").write_bytes(b"damaged")
    assert run(tmp_path, hub.url, REPO)[0] == 0
    assert not hub.downloads("model.safetensors")
    assert contents(tmp_path / "small-model")["tokenizer.json"] == FILES["tokenizer.json"]


def test_the_commit_is_recorded(hub: Hub, tmp_path: Path) -> None:
    assert run(tmp_path, hub.url, REPO)[0] == 0
    assert COMMIT.encode() in contents(tmp_path / "small-model")[MARKER]


def test_quiet_says_nothing(hub: Hub, tmp_path: Path) -> None:
    assert run(tmp_path, hub.url, REPO, "--quiet") == (0, "")


def test_a_gated_model_without_a_token_names_the_licence_and_the_variable(hub: Hub, tmp_path: Path) -> None:
    hub.gated.add(REPO)
    code, said = run(tmp_path, hub.url, REPO)
    assert code == 1
    assert said == (
        f"get_model: {REPO} is gated: accept its licence at https://huggingface.co/{REPO}, "
        "then set HF_TOKEN to a token of your account"
    )


def test_a_token_opens_a_gated_model(hub: Hub, tmp_path: Path) -> None:
    hub.gated.add(REPO)
    assert "no access: ask for it" in run(tmp_path, hub.url, REPO, HF_TOKEN="hf_other")[1]
    assert run(tmp_path, hub.url, REPO, HF_TOKEN=TOKEN)[0] == 0


@pytest.mark.parametrize(("source", "remedy"), [("hf", "set HF_ENDPOINT to a mirror"), ("modelscope", "--source hf")])
def test_no_network_is_one_line_with_the_remedy(tmp_path: Path, source: str, remedy: str) -> None:
    code, said = run(tmp_path, "http://127.0.0.1:9", REPO, "--source", source)
    assert code == 1
    assert "can't reach http://127.0.0.1:9" in said
    assert remedy in said


@pytest.mark.parametrize("source", SOURCES)
def test_no_disk_space_is_said_before_anything_is_fetched(hub: Hub, tmp_path: Path, source: str) -> None:
    hub.listed_sizes["model.safetensors"] = 10**18
    code, said = run(tmp_path, hub.url, REPO, "--source", source)
    assert code == 1
    assert said.startswith("get_model: no disk space: 1000000000.0 GB are needed")
    assert "--models DIR" in said
    assert not any(hub.downloads(name) for name in FILES)


def test_a_disk_that_fills_up_on_the_way_is_one_line_with_the_remedy(hub: Hub, tmp_path: Path) -> None:
    partial = tmp_path / ".small-model.partial"
    partial.mkdir()
    (partial / ".model.safetensors.part").symlink_to("/dev/full")
    code, said = run(tmp_path, hub.url, REPO)
    assert code == 1
    assert "No space left on device; free some disk space or name another disk with --models DIR" in said


@pytest.mark.parametrize("source", SOURCES)
def test_a_name_that_the_hub_does_not_know_is_one_line(hub: Hub, tmp_path: Path, source: str) -> None:
    code, said = run(tmp_path, hub.url, "acme/none", "--source", source)
    assert code == 1
    assert said.startswith("get_model: no model acme/none")


def test_a_revision_that_is_not_there_is_one_line(hub: Hub, tmp_path: Path) -> None:
    code, said = run(tmp_path, hub.url, REPO, "--revision", "v9")
    assert (code, "has no revision v9" in said) == (1, True)


def test_a_repository_without_a_tokenizer_is_refused(hub: Hub, tmp_path: Path) -> None:
    del hub.repos[REPO]["tokenizer.json"]
    code, said = run(tmp_path, hub.url, REPO)
    assert (code, "no tokenizer" in said) == (1, True)
    assert not (tmp_path / "small-model").exists()
