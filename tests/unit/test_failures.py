"""Errors of a run in one line that names the fix."""

import re
import shutil
from pathlib import Path

import pytest
import torch

from spider.verl_bridge.failures import classify, in_words

TEXTS = {
    "gpu_memory": "ray::WorkerDict.update() torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "gpu_cache_too_small": "ValueError: Free memory on device cuda:0 (3.1/79.2 GiB) on startup is less than desired "
    "GPU memory utilization (0.6, 47.5 GiB).",
    "memory": "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "disk_full": "ray::WorkerDict.save_checkpoint() OSError: [Errno 28] No space left on device",
}


@pytest.mark.parametrize("name", TEXTS)
def test_kind_is_told_from_a_workers_traceback(name: str) -> None:
    failure = classify(RuntimeError(TEXTS[name]))
    assert failure is not None
    assert failure.name == name


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
