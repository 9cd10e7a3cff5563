"""The CPU platform answers what verl asks of an accelerator."""

import importlib.metadata
import subprocess
import sys

import pytest
import torch

from spider.verl_bridge.cpu_environment import cpu_environment

SCRIPT = """
import torch
from verl.plugin.platform import get_platform
from verl.utils.device import get_device_id, get_device_name, get_nccl_backend, get_torch_device
device = get_torch_device()
print(get_platform().device_name, get_device_id(), get_device_name(), get_nccl_backend())
print(device.memory_allocated(), device.is_available(), torch.zeros(1, device=get_device_id()).device)
print(torch.distributed.is_initialized() and torch.distributed.get_backend())
"""


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """What verl's device module says in a process with the CPU environment and a worker's rank."""
    import os

    group = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        env=os.environ | cpu_environment() | group,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.splitlines()[-3:]


def test_platform_is_registered_through_verls_entry_point() -> None:
    (entry,) = [
        point for point in importlib.metadata.entry_points(group="verl.plugins") if point.value.startswith("spider.")
    ]
    assert entry.value == "spider.verl_bridge.cpu_platform"


def test_verl_sees_the_cpu_as_its_device(answers: list[str]) -> None:
    assert answers[0] == "cpu cpu cpu gloo"


def test_device_module_counts_no_device_memory(answers: list[str]) -> None:
    assert answers[1] == "0 True cpu"


def test_workers_process_group_is_plain_gloo(answers: list[str]) -> None:
    assert answers[2] == "gloo"


def test_torch_refuses_the_backend_string_that_the_platform_avoids() -> None:
    with pytest.raises(ValueError, match=r"[Dd]uplicate"):
        torch.distributed.init_process_group("cpu:gloo,cpu:gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)


def test_environment_gives_every_core_to_openmp() -> None:
    assert cpu_environment(cores=4)["OMP_NUM_THREADS"] == "4"
