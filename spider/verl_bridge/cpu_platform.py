"""verl platform plug-in: train and roll out on machines without an accelerator.

verl finds this module through the entry-point group ``verl.plugins`` and uses it when ``VERL_PLATFORM=cpu``, which
`spider.verl_bridge.cpu_environment` sets with the rest for ``trainer.device: cpu``.
"""

import contextlib
import functools
import os
import random
import types
from typing import cast

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


@functools.cache
def _cpu_module() -> types.ModuleType:
    """Build a ``torch.cuda`` look-alike: the calls that verl makes, answered for a host without device memory."""
    module = types.ModuleType("spider_cpu_device", "torch.cuda's interface for the host processor.")
    zero = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    nothing = ("empty_cache", "ipc_collect", "set_device", "set_per_process_memory_fraction", "manual_seed_all")
    answers: dict[str, object] = {
        **dict.fromkeys(zero, lambda *_args, **_kwargs: 0),
        **dict.fromkeys(nothing, lambda *_args, **_kwargs: None),
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "get_device_name": lambda *_args: "cpu",
        "current_device": lambda: "cpu",
        "mem_get_info": lambda *_args: (0, 0),
        "manual_seed": torch.manual_seed,
        "get_rng_state": lambda *_args: torch.get_rng_state(),
        "set_rng_state": lambda state, *_args: torch.set_rng_state(state),
        "synchronize": torch.cpu.synchronize,
        "current_stream": torch.cpu.current_stream,
        "stream": torch.cpu.stream,
        "Stream": torch.cpu.Stream,
        "Event": torch.Event,
    }
    for name, answer in answers.items():
        setattr(module, name, answer)
    return module


@PlatformRegistry.register(platform="cpu")
class PlatformCPU(PlatformBase):
    """The host processor as a verl platform: gloo collectives, weights through shared memory, one logical GPU."""

    @property
    def device_name(self) -> str:
        """Return torch's device type."""
        return "cpu"

    @property
    def vendor_name(self) -> str:
        """Return a vendor that no accelerator engine is registered for."""
        return "cpu"

    @property
    def device_module(self) -> types.ModuleType:
        """Return the stand-in for ``torch.cuda``."""
        return _cpu_module()

    def is_available(self) -> bool:
        """Return True: there is always a processor."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Return whether this platform was asked for, so that auto-detection never prefers it to a GPU."""
        return os.environ.get("VERL_PLATFORM", "").lower() == "cpu"

    def current_device(self) -> int:
        """Return the device verl moves tensors to. The name stands in for an index: ``tensor.to(0)`` means cuda:0."""
        return cast("int", "cpu")

    def device_count(self) -> int:
        """Return 1: the host."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Do nothing: there is one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Do nothing: CPU operations are synchronous."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch's and Python's generators."""
        torch.manual_seed(seed)
        random.seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Do nothing: the host allocator has no such settings."""

    def empty_cache(self) -> None:
        """Do nothing: nothing is cached."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """Return (None, None): no compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return ``gloo``, with the worker's process group already made.

        verl composes the backend string ``cpu:gloo,<device>:<backend>`` from this name, which on CPU reads
        ``cpu:gloo,cpu:gloo`` and is refused by torch. It leaves an existing group alone, so it is made here.
        """
        if "RANK" in os.environ and not torch.distributed.is_initialized():
            torch.distributed.init_process_group(
                backend="gloo",
                rank=int(os.environ["RANK"]),
                world_size=int(os.environ["WORLD_SIZE"]),
                init_method=os.environ.get("DIST_INIT_METHOD"),
            )
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable that Ray fills with the logical GPU's number."""
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, msg: str) -> None:
        """Return a range that marks nothing. verl's base class declares this context manager as a plain method."""
        return cast("None", contextlib.nullcontext())

    def profiler_start(self) -> None:
        """Do nothing: no device profiler."""

    def profiler_stop(self) -> None:
        """Do nothing: no device profiler."""

    def ray_resource_name(self) -> str:
        """Return Ray's name of the logical accelerator that schedules the one worker."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return the variable that keeps Ray from hiding devices."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Return False: weights go to vLLM through shared memory."""
        return False

    def cudart(self) -> None:
        """Return None: no CUDA runtime."""
        return
