"""The environment of a run without an accelerator, apart from the platform so that reading it imports nothing."""

import os


def cpu_environment(cores: int | None = None) -> dict[str, str]:
    """Return the variables that every process of a CPU run needs.

    Args:
        cores: Number of cores to use; all of the machine's by default.
    """
    count = cores or len(os.sched_getaffinity(0))
    return {
        "VERL_PLATFORM": "cpu",
        # verl registers its FSDP engine for cuda and npu; on CPU the cuda class runs unchanged.
        "VERL_ENGINE_DEVICE": "cuda",
        # Ray gives its workers the lowest priority; here they are the run.
        "RAY_worker_niceness": "0",
        # Ray starts a Python process per logical core in advance; the few that are needed start on demand.
        "RAY_prestart_worker_first_driver": "0",
        "RAY_enable_worker_prestart": "0",
        # Ray pins OpenMP to one thread per worker unless it is told otherwise.
        "OMP_NUM_THREADS": str(count),
        # Pinned threads wait for each other whenever anything else runs on their core.
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
