"""What broke a run, in one line that names the fix: a full disk, memory that ran out, and everything else in its words.

Errors come from other processes as text (Ray sends a worker's traceback along), so the text decides.
"""

import errno
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spider.server_log import first_error

ENGINE_DIED = "Engine core initialization failed"
"""vLLM's error when its engine, a process of its own, did not start; the cause is only in what that printed."""


@dataclass(frozen=True)
class Failure:
    """A kind of failure.

    Attributes:
        name: For the log and the tests.
        pattern: Found in the text of the error, or of what caused it.
        message: What it means and what to do; ``{folder}`` and ``{free}`` are the run's folder and the room left there.
    """

    name: str
    pattern: re.Pattern[str]
    message: str


FAILURES = (
    Failure(
        "disk_full",
        # torch's writer of checkpoints tells of a failed write only in its own words.
        re.compile(
            r"No space left on device|Disk quota exceeded|PytorchStreamWriter failed writing|unexpected pos \d+"
        ),
        "the disk is full: {free} left at {folder}. The last complete checkpoint is untouched. Make room (old "
        "checkpoints: --set trainer.max_actor_ckpt_to_keep=2), then give the same command with --resume",
    ),
    Failure(
        "gpu_cache_too_small",
        re.compile(
            r"No available memory for the cache blocks|max seq len .* is larger than the maximum number of tokens"
            r"|Free memory on device .* is less than desired GPU memory utilization"
            r"|KV cache is needed, which is larger than the available KV cache memory",
            re.DOTALL,
        ),
        "vLLM does not get the GPU memory it is to have: is another program on the card (nvidia-smi)? Otherwise change "
        "its share: --set actor_rollout_ref.rollout.gpu_memory_utilization=0.5 (higher if the cache does not fit)",
    ),
    Failure(
        "gpu_memory",
        re.compile(r"(CUDA|NPU|HIP) out of memory|torch\.(cuda\.)?OutOfMemoryError|CUDA error: out of memory"),
        "the GPU ran out of memory. In the update: smaller micro-batches (--set "
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192), --lora, or a smaller share for vLLM "
        "(--set actor_rollout_ref.rollout.gpu_memory_utilization=0.5)",
    ),
    Failure(
        "memory",
        re.compile(
            r"ray\.exceptions\.OutOfMemoryError|OutOfMemoryError: Task was killed|DefaultCPUAllocator: can't alloc"
        ),
        "the machine ran out of memory: end other programs, or take fewer rollouts at a time (--n-runners) and smaller "
        "micro-batches (--set actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1024)",
    ),
    Failure(
        "hub",
        re.compile(
            r"couldn't connect to '?https?://|LocalEntryNotFoundError|OfflineModeIsEnabled"
            r"|outgoing traffic has been disabled"
        ),
        "the model's files are neither here nor to be had from its hub: `python scripts/get_model.py MODEL`, where "
        "there is a network, fetches them whole (--source modelscope is another hub), or give --model FOLDER",
    ),
)


class EngineStartError(RuntimeError):
    """vLLM's engine did not start."""


def engine_start_error(error: BaseException, logs: Path | None) -> EngineStartError | None:
    """Return why vLLM's engine did not start, as it printed it; None if that isn't what happened.

    Args:
        error: What ended the run.
        logs: Ray's folder with what its workers printed.
    """
    if logs is None or not any(ENGINE_DIED in str(cause) for cause in causes(error)):
        return None
    for log in sorted(logs.glob("worker-*"), key=lambda path: path.stat().st_mtime, reverse=True):
        if "(EngineCore" in log.read_text(encoding="utf-8", errors="replace") and (reason := first_error(log)):
            return EngineStartError(f"vLLM did not start: {reason} (all that it printed: {log})")
    return None


def classify(error: BaseException) -> Failure | None:
    """Return the kind of failure that an error or one of its causes is, or None."""
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return FAILURES[0]
        text = f"{type(cause).__module__}.{type(cause).__qualname__}: {cause}"
        for failure in FAILURES:
            if failure.pattern.search(text):
                return failure
    return None


def in_words(error: BaseException, folder: Path | None = None) -> str:
    """Return one message for an error: what to do where it is a known kind, else its kind and its own words.

    Args:
        error: What ended the run.
        folder: The run's folder, where it has one.
    """
    failure = classify(error)
    if failure is None:
        return own_words(error)
    place = folder if folder is not None and folder.is_dir() else Path.cwd()
    free = f"{shutil.disk_usage(place).free / 1e9:.1f} GB"
    return failure.message.format(folder=place, free=free)


def own_words(error: BaseException) -> str:
    """Return an error's kind and message, or its cause's when it has no message of its own.

    Of an error in a worker, Ray's message is the worker's traceback: its last line is the worker's error.
    """
    if error.__cause__ is not None and not str(error):
        return own_words(error.__cause__)
    if type(error).__module__.startswith("spider."):
        return str(error)
    lines = str(error).strip().splitlines()
    return lines[-1] if lines and "ray::" in lines[0] else f"{type(error).__name__}: {error}"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Return the error and what it came from, outermost first."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__
