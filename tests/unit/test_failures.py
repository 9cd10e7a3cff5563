"""Errors of a run in one line that names the fix."""

import re
import shutil
from pathlib import Path

import pytest
import torch

from spider.verl_bridge.failures import ENGINE_DIED, classify, engine_start_error, in_words

TEXTS = {
    "gpu_memory": "ray::WorkerDict.update() torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "gpu_cache_too_small": "ValueError: Free memory on device cuda:0 (3.1/79.2 GiB) on startup is less than desired "
    "GPU memory utilization (0.6, 47.5 GiB).",
    "memory": "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "disk_full": "ray::WorkerDict.save_checkpoint() OSError: [Errno 28] No space left on device",
    "hub": "InstantiationException: Error in call to target 'verl.workers.config.model.HFModelConfig':\nOSError(\"We "
    "couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\")",
}


@pytest.mark.parametrize("name", TEXTS)
def test_kind_is_told_from_a_workers_traceback(name: str) -> None:
    failure = classify(RuntimeError(TEXTS[name]))
    assert failure is not None
    assert failure.name == name


def test_model_that_its_hub_does_not_give_is_one_line_with_the_remedies() -> None:
    words = in_words(RuntimeError(TEXTS["hub"]))
    assert "scripts/get_model.py MODEL" in words
    assert "--model FOLDER" in words
    assert "\n" not in words


def test_cause_decides_when_the_error_does_not_tell() -> None:
    try:
        try:
            raise RuntimeError(TEXTS["gpu_memory"])
        except RuntimeError as cause:
            raise ValueError("the step failed") from cause
    except ValueError as error:
        failure = classify(error)
    assert failure is not None
    assert failure.name == "gpu_memory"


def test_full_disk_of_a_log_is_one_line_with_the_room_left_and_the_way_on(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, Path("/dev/full").open("w", encoding="utf-8") as file:
        file.write("a line")
    words = in_words(caught.value, tmp_path)
    assert f"left at {tmp_path}" in words
    room = re.search(r"([\d.]+) GB left", words)
    assert room is not None
    assert abs(float(room[1]) - shutil.disk_usage(tmp_path).free / 1e9) < 5
    assert "--resume" in words
    assert "\n" not in words


def test_full_disk_of_a_checkpoint_is_told_by_torchs_own_words() -> None:
    with pytest.raises((OSError, RuntimeError)) as caught:
        torch.save({"weight": torch.zeros(200_000)}, "/dev/full")
    failure = classify(caught.value)
    assert failure is not None, str(caught.value)
    assert failure.name == "disk_full"


def test_other_errors_keep_their_own_words() -> None:
    assert in_words(KeyError("x")) == "KeyError: 'x'"


def test_error_without_words_takes_its_causes() -> None:
    error = RuntimeError()
    error.__cause__ = ValueError("the reason")
    assert in_words(error) == "ValueError: the reason"


def test_error_in_a_worker_is_told_by_its_own_last_line() -> None:
    text = '\x1b[36mray::Server.launch()\x1b[39m (pid=1)\n  File "a.py", line 1, in run\nValueError: no such key'
    assert in_words(RuntimeError(text)) == "ValueError: no such key"


def test_engine_that_did_not_start_is_told_by_what_it_printed(tmp_path: Path) -> None:
    (tmp_path / "worker-1.err").write_text("ValueError: another worker's\n")
    (tmp_path / "worker-2.out").write_text(
        "(EngineCore pid=7) ERROR 11-30 13:58:32 [core.py:900] ValueError: Free memory on device cuda:0 (3.1/79.2 GiB) "
        "on startup is less than desired GPU memory utilization (0.6, 47.5 GiB).\n"
    )
    error = engine_start_error(RuntimeError(f"ray::Server.launch()\nRuntimeError: {ENGINE_DIED}. See above."), tmp_path)
    assert error is not None
    assert "vLLM did not start: ValueError: Free memory on device" in str(error)
    failure = classify(error)
    assert failure is not None
    assert failure.name == "gpu_cache_too_small"


def test_other_errors_are_not_taken_for_an_engine_that_did_not_start(tmp_path: Path) -> None:
    (tmp_path / "worker-1.out").write_text("(EngineCore pid=7) ERROR 11-30 13:58:32 [core.py:900] ValueError: no\n")
    assert engine_start_error(ValueError("a reason of its own"), tmp_path) is None
