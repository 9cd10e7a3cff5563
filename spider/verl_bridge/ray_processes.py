"""Ray's start and end, and what is imported meanwhile."""

import contextlib
import importlib
import logging
import os
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from spider.quick_imports import quick_imports
from spider.run_logging import take_over_loggers
from spider.server_flags import sampler_environment
from spider.verl_bridge.processes import end_run
from spider.verl_bridge.tracking import forwarded_environment

if TYPE_CHECKING:
    from omegaconf import DictConfig

logger = logging.getLogger(__name__)


def start_ray(config: "DictConfig") -> Path | None:
    """Start Ray, or join the cluster that ``RAY_ADDRESS`` names, and import what the trainer needs meanwhile.

    Returns:
        The folder with what Ray's workers on this machine print; None where Ray had been started before.

    Raises:
        RuntimeError: If another run is going on in that cluster.
    """
    # A thread that is at work while the run ends must not start Ray anew. Read when Ray is imported.
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    if config.trainer.device == "cuda":
        for name, value in sampler_environment().items():
            os.environ.setdefault(name, value)
    with quick_imports():
        import ray
        from omegaconf import OmegaConf
        from verl.trainer.constants_ppo import get_ppo_ray_runtime_env
        from verl.trainer.ppo.utils import need_critic, need_reference_policy
        from verl.utils.config import validate_config

    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    if not config.agentlightning.verbose:
        take_over_loggers()
    if ray.is_initialized():
        return None
    logger.info("starting Ray")
    options = OmegaConf.to_container(config.ray_kwargs.ray_init, resolve=True)
    is_local = config.trainer.nnodes == 1 and "RAY_ADDRESS" not in os.environ
    runtime_env = get_ppo_ray_runtime_env(config)
    if not is_local:
        runtime_env["env_vars"] |= forwarded_environment(os.environ)
    defaults: dict[str, object] = {
        "runtime_env": runtime_env,
        "include_dashboard": False,
        "log_to_driver": config.agentlightning.verbose,
        "logging_level": logging.WARNING,
    }
    if is_local:
        defaults["address"] = "local"
    merged = OmegaConf.to_container(OmegaConf.merge(defaults, options))
    # Ray mostly waits for its processes; the trainer's modules, which take as long to import, come meanwhile.
    importing = threading.Thread(target=_import_trainer, args=(config.actor_rollout_ref.rollout.name,), daemon=True)
    with quick_imports():
        importing.start()
        context = ray.init(**cast("dict[str, Any]", merged))
        importing.join()
    with contextlib.suppress(ValueError):  # there is no such actor
        ray.get_actor("TransferQueueController", namespace="transfer_queue")
        raise RuntimeError("another run is going on in this Ray cluster, and its rows would mix: give each its own")
    folder = cast("Any", context).address_info.get("session_dir")
    return Path(folder, "logs") if folder else None


def _import_trainer(rollout: str) -> None:
    """Import what `VERL._train` needs; a failure shows there, where it is imported again."""
    with contextlib.suppress(ImportError):
        importlib.import_module("spider.verl_bridge.trainer")
        importlib.import_module("verl.workers.rollout.replica").get_rollout_replica_class(rollout)


def start_transfer_queue(config: "DictConfig") -> Future[None]:
    """Start the TransferQueue's processes, in a thread: what they import takes as long as what the trainer's does.

    Returns:
        Done when they are there; its `result` raises what went wrong.
    """
    import transfer_queue as tq

    started: Future[None] = Future()

    def start() -> None:
        try:
            tq.init(config.transfer_queue)
        except BaseException as error:
            started.set_exception(error)
        else:
            started.set_result(None)

    # A thread of a pool would be waited for at the program's end.
    threading.Thread(target=start, name="transfer-queue", daemon=True).start()
    return started


def end_ray(run_id: str) -> None:
    """Leave Ray, and end every process of the run."""
    import ray

    ray.shutdown()
    end_run(run_id)
