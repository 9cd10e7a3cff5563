"""What holds for every command: a quick --help, a quiet mode, exit codes, Ctrl-C, a reader that goes away."""

import importlib
import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from spider.arguments import interruptible
from spider.data import ROOT

COMMANDS = (
    "spider.evaluate",
    "spider.export_strategy",
    "spider.inference",
    "spider.model_server",
    "spider.report",
    "spider.sql_agent",
    "spider.train_sql_agent",
    "spider.train_sql_agent apo",
    "scripts.check_gold",
    "scripts.export_checkpoint",
    "scripts.get_model",
    "scripts.make_sample_data",
    "scripts.prepare_data",
    "scripts.warm_start rows",
    "scripts.warm_start train",
    "scripts.warm_start evaluate",
    "scripts.warm_start card",
)
INTERNAL = {"spider.sandbox_worker", "spider.verl_bridge.processes"}
"""Programs that are started by others, never by a user."""

WRONG = [
    ("spider.evaluate", ["--endpoint", "http://127.0.0.1:1/v1"]),
    ("spider.export_strategy", ["--checkpoint", "nowhere"]),
    ("spider.inference", ["--db", "nowhere.sqlite", "How many?"]),
    ("spider.model_server", ["nowhere"]),
    ("spider.report", ["nowhere"]),
    ("spider.sql_agent", ["--limit", "1"]),
    ("spider.train_sql_agent", ["tiny", "--model", "nowhere"]),
    ("spider.train_sql_agent apo", ["--train-files", "nowhere.parquet"]),
    ("scripts.check_gold", ["nowhere.parquet"]),
    ("scripts.export_checkpoint", ["nowhere", "out"]),
    ("scripts.get_model", ["nowhere"]),
    ("scripts.prepare_data", ["nowhere"]),
    ("scripts.warm_start rows", ["--train-files", "nowhere.parquet"]),
    ("scripts.warm_start train", ["--rows", "nowhere.parquet"]),
    ("scripts.warm_start evaluate", ["--label", "before", "--model", "nowhere"]),
    ("scripts.warm_start card", ["--adapter", "nowhere"]),
]
"""Requests that can't be met: what is named isn't there."""

SAMPLE = ROOT / "data" / "sample"


def command(
    line: str, *arguments: str | Path, stdout: IO[bytes] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *line.split(), *arguments],
        cwd=ROOT,
        env=os.environ | {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "PYTHONUNBUFFERED": ""},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )


def test_every_entry_point_is_among_these() -> None:
    files = [
        file for folder in ("spider", "scripts") for file in (ROOT / folder).rglob("*.py") if "gpu" not in file.parts
    ]
    programs = [file for file in files if '\nif __name__ == "__main__":\n' in file.read_text(encoding="utf-8")]
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in programs}
    assert names - INTERNAL == {line.split()[0] for line in COMMANDS}


@pytest.mark.parametrize("line", COMMANDS)
def test_help_takes_less_than_a_second_of_the_processor(line: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", *line.split(), "--help"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert used.ru_utime + used.ru_stime < 1


@pytest.mark.parametrize("line", COMMANDS)
def test_there_is_a_quiet_mode(line: str) -> None:
    assert "--quiet" in command(line, "--help").stdout


@pytest.mark.parametrize("line", COMMANDS)
def test_an_unknown_flag_is_a_usage_error(line: str) -> None:
    ended = command(line, "--nonsense")
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: ")


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("scripts.check_gold", ["--seconds", "0"]),
        ("scripts.check_gold", ["--seconds", "nan"]),
        ("scripts.prepare_data", ["spider.zip", "--seconds", "-1"]),
        ("spider.evaluate", ["--temperature", "-1"]),
        ("spider.evaluate", ["--temperature", "inf"]),
        ("spider.model_server", ["smollm2", "--timeout", "soon"]),
        ("spider.sql_agent", ["--limit", "0"]),
    ],
)
def test_a_number_that_makes_no_sense_is_a_usage_error(
    line: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        importlib.import_module(line).main(arguments)
    assert f"error: argument {arguments[-2]}: " in capsys.readouterr().err


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.count(" ") == 0])
def test_ctrl_c_while_it_starts_is_exit_code_130(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(line)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("argparse.ArgumentParser.parse_args", interrupt)
    assert module.main([]) == 130


@pytest.fixture
def unread() -> Iterator[IO[bytes]]:
    """A pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        yield pipe


def test_a_command_ends_quietly_when_its_reader_goes_away(unread: IO[bytes]) -> None:
    ended = command("scripts.check_gold", SAMPLE / "test_dev.parquet", stdout=unread)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_nothing_is_lost_when_the_reader_goes_away(
    unread: IO[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))  # a first use, when matplotlib makes its font cache and logs that
    picture = tmp_path / "sample.png"
    ended = command("scripts.prepare_data", "--describe", SAMPLE, "--png", picture, stdout=unread)
    assert (ended.returncode, ended.stderr) == (141, "")
    assert picture.is_file()


def test_what_python_writes_when_it_ends_may_find_no_reader(unread: IO[bytes]) -> None:
    ended = command("scripts.check_gold", "--help", stdout=unread)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_output_that_can_not_be_written_is_one_clear_error() -> None:
    with Path("/dev/full").open("wb") as full:
        ended = command("scripts.check_gold", SAMPLE / "test_dev.parquet", stdout=full)
    assert (ended.returncode, ended.stderr) == (1, "error: can't write the output: No space left on device\n")


def test_a_command_needs_no_standard_output() -> None:
    check = [sys.executable, "-m", "scripts.check_gold", "--limit", "1", str(SAMPLE / "test_dev.parquet")]
    assert subprocess.run(["sh", "-c", f"{shlex.join(check)} >&-"], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("scripts.check_gold", [SAMPLE / "test_dev.parquet"]),
        ("scripts.prepare_data", ["--verify", SAMPLE]),
        ("scripts.make_sample_data", ["--check"]),
    ],
)
def test_quiet_says_nothing_when_all_is_well(line: str, arguments: list[str | Path]) -> None:
    ended = command(line, *arguments, "--quiet")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize(("line", "arguments"), WRONG)
def test_quiet_says_what_goes_wrong_in_one_line(line: str, arguments: list[str]) -> None:
    ended = command(line, *arguments, "--quiet")
    assert ended.returncode in (1, 2)
    assert len((ended.stdout + ended.stderr).strip().splitlines()) == 1
    assert "nowhere" in ended.stdout + ended.stderr or "127.0.0.1:1" in ended.stdout + ended.stderr


@pytest.mark.parametrize(("line", "arguments"), WRONG)
def test_a_python_without_packages_is_told_how_to_get_them_in_one_line(line: str, arguments: list[str]) -> None:
    module, *words = line.split()
    file = ROOT / f"{module.replace('.', '/')}.py"
    # -S leaves out what is installed, -E the environment's folders.
    ended = subprocess.run(
        [sys.executable, "-ES", file, *words, *arguments, "--quiet"], capture_output=True, text=True, check=False
    )
    assert ended.returncode in (1, 2)
    (said,) = (ended.stdout + ended.stderr).splitlines()
    assert "bash scripts/setup.sh" in said or "nowhere" in said


def test_a_module_of_this_program_that_is_missing_is_no_missing_package() -> None:
    @interruptible
    def main() -> int:
        importlib.import_module("spider.nowhere")
        return 0

    with pytest.raises(ModuleNotFoundError, match=r"spider\.nowhere"):
        main()


def test_a_python_that_is_too_old_is_told_so_before_anything_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "hexversion", 0x030A0DF0)
    with pytest.raises(SystemExit, match=r"is older than 3\.11: set \.venv up with `bash scripts/setup.sh`"):
        runpy.run_path(str(ROOT / "spider" / "__init__.py"))


@pytest.mark.parametrize("script", ["lint.sh", "setup.sh", "test.sh"])
def test_a_script_answers_help_with_how_it_is_called(script: str) -> None:
    said = subprocess.run(["bash", ROOT / "scripts" / script, "--help"], capture_output=True, text=True, check=True)
    assert f"bash scripts/{script}" in said.stdout


def test_linting_without_an_environment_names_the_command_that_makes_it(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    lint = tmp_path / "scripts" / "lint.sh"
    lint.write_bytes((ROOT / "scripts" / "lint.sh").read_bytes())
    ended = subprocess.run(["bash", lint], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "lint: no .venv with ruff and pyright: make it with `bash scripts/setup.sh test`\n"
