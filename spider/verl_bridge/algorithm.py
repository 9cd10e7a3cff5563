"""`VERL`: an agentlightning algorithm that trains with verl's stock V1 trainer.

It takes the same nested dictionary as ``agentlightning.VERL`` and runs in the process that calls `Trainer.fit`: Ray's
driver, with agentlightning's store at hand. verl's workers and vLLM's servers are Ray actors; the rollouts are done by
agentlightning's runners, which take them from the store and call vLLM directly.
"""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentlightning import Algorithm
from agentlightning.types import Dataset

from spider.run_logging import take_over_loggers
from spider.verl_bridge.processes import end_run, mark_run, start_reaper
from spider.verl_bridge.progress import Progress
from spider.verl_bridge.task_dataset import write_tasks
from spider.verl_bridge.verl_config import resolve_config

if TYPE_CHECKING:
    from agentlightning import LightningStore, TraceAdapter, Triplet
    from omegaconf import DictConfig

    from spider.verl_bridge.rollout_manager import RolloutSettings
    from spider.verl_bridge.trainer import StoreTrainer

logger = logging.getLogger(__name__)


class VERL(Algorithm):
    """Train the agent's model with verl.

    Args:
        config: Overrides of verl's trainer configuration, nested. The section ``agentlightning`` holds the bridge's own
            keys: ``output_dir`` (folder of the run), ``rollout_timeout_seconds``, ``sampling`` (parameters of every
            request to the model's server, over verl's own; e.g. ``ignore_eos``) and ``verbose``.

    Raises:
        UnknownKeyError: If an override names a key that verl does not have.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.config = resolve_config(config)
        self.finished = False
        """Whether the run came to its end or stopped after a step when asked to, rather than by an error or Ctrl-C."""
        self._trainer: StoreTrainer | None = None
        self._stop_requested = False

    async def run(self, train_dataset: Dataset[Any] | None = None, val_dataset: Dataset[Any] | None = None) -> None:
        """Train until verl's last step.

        Args:
            train_dataset: Tasks to train on.
            val_dataset: Tasks to validate on.

        Raises:
            ValueError: If a data set is missing.
            AllRolloutsDroppedError: If a step had no rows to train on.
        """
        if train_dataset is None or val_dataset is None:
            raise ValueError("VERL needs a training and a validation data set: give both to Trainer.fit")
        run_id = mark_run()
        start_reaper(run_id)
        output_dir = Path(self.config.agentlightning.output_dir or self.config.trainer.default_local_dir).resolve()
        _prepare(self.config, output_dir, train_dataset, val_dataset)
        progress = Progress(output_dir, sys.stderr)
        store, adapter = self.get_store(), cast("TraceAdapter[list[Triplet]]", self.get_adapter())
        try:
            with _console_log(output_dir, verbose=self.config.agentlightning.verbose):
                _start_ray(self.config)
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop_after_step)
                await _in_thread(lambda: self._train(store, adapter, progress))
        finally:
            progress.close()
            _end_ray(run_id)
        self.finished = True
        progress.summary(latest_checkpoint(Path(self.config.trainer.default_local_dir)))

    def _train(self, store: "LightningStore", adapter: "TraceAdapter[list[Triplet]]", progress: Progress) -> None:
        import transfer_queue as tq

        from spider.verl_bridge.rollout_log import FILE, RolloutLog
        from spider.verl_bridge.rollout_manager import StoreRolloutManager
        from spider.verl_bridge.trainer import TrainingStoppedError, make_trainer

        tq.init(self.config.transfer_queue)
        trainer = self._trainer = make_trainer(self.config, progress)
        trainer.stop_requested = self._stop_requested
        succeeded = False
        try:
            logger.info("loading the model into the trainer and into vLLM")
            trainer.init()
            settings = _rollout_settings(self.config, trainer)
            servers = {"model": settings.model, "endpoints": list(settings.endpoints)}
            written = progress.output_dir / "servers.json.part"
            written.write_text(json.dumps(servers), encoding="utf-8")
            written.replace(progress.output_dir / "servers.json")
            trainer.manager = StoreRolloutManager(store, adapter, settings, RolloutLog(progress.output_dir / FILE))
            logger.info("ready: %d steps", trainer.total_training_steps)
            with contextlib.suppress(TrainingStoppedError):
                trainer.fit(cast("Any", trainer.manager))
            succeeded = True
        finally:
            tracking = getattr(trainer, "logger", None)
            if tracking is not None:
                tracking.finish(exit_code=0 if succeeded else 1)

    def _stop_after_step(self) -> None:
        logger.warning("asked to stop: finishing the step and saving a checkpoint first")
        self._stop_requested = True
        if self._trainer is not None:
            self._trainer.stop_requested = True


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint that verl finished writing under `folder`, or None."""
    tracker = folder / "latest_checkpointed_iteration.txt"
    return folder / f"global_step_{tracker.read_text().strip()}" if tracker.is_file() else None


def _prepare(config: "DictConfig", output_dir: Path, train: Dataset[Any], val: Dataset[Any]) -> None:
    """Write the data sets where verl reads them, and set what its processes need from the environment."""
    output_dir.mkdir(parents=True, exist_ok=True)
    for split, tasks in (("train", train), ("val", val)):
        path = output_dir / "tasks" / f"{split}.jsonl"
        count = write_tasks((tasks[i] for i in range(len(tasks))), path)
        if not count:
            raise ValueError(f"the {split} data set is empty")
        config.data[f"{split}_files"] = str(path)
    config.data.custom_cls.path = "pkg://spider.verl_bridge.task_dataset"
    config.data.custom_cls.name = "TaskDataset"
    os.environ.setdefault("TENSORBOARD_DIR", str(output_dir / "tensorboard"))
    os.environ["TRANSFER_QUEUE_ENABLE"] = "1"
    if config.trainer.device == "cpu":
        from spider.verl_bridge.cpu_environment import cpu_environment

        os.environ.update(cpu_environment())


def _start_ray(config: "DictConfig") -> None:
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
        return
    logger.info("starting Ray")
    options = OmegaConf.to_container(config.ray_kwargs.ray_init, resolve=True)
    defaults: dict[str, object] = {
        "runtime_env": get_ppo_ray_runtime_env(config),
        "include_dashboard": False,
        "log_to_driver": config.agentlightning.verbose,
        "logging_level": logging.WARNING,
    }
    if config.trainer.nnodes == 1 and "RAY_ADDRESS" not in os.environ:
        defaults["address"] = "local"
    merged = OmegaConf.to_container(OmegaConf.merge(defaults, options))
    ray.init(**cast("dict[str, Any]", merged))


def _end_ray(run_id: str) -> None:
    import ray

    ray.shutdown()
    end_run(run_id)


def _rollout_settings(config: "DictConfig", trainer: "StoreTrainer") -> "RolloutSettings":
    """Read from verl's configuration and its running servers how rollouts are to be made."""
    import httpx
    from omegaconf import OmegaConf

    from spider.verl_bridge.rollout_manager import RolloutSettings

    rollout = config.actor_rollout_ref.rollout
    endpoints = [f"http://{address}/v1" for address in trainer.llm_server_manager.get_addresses()]
    served = httpx.get(f"{endpoints[0]}/models", timeout=30).raise_for_status().json()
    common = {"max_tokens": rollout.response_length, "logprobs": True, "extra_body": {"return_token_ids": True}}
    always = cast("dict[str, object]", OmegaConf.to_container(config.agentlightning.sampling, resolve=True))
    return RolloutSettings(
        model=served["data"][0]["id"],
        endpoints=endpoints,
        train_sampling=common | {"temperature": rollout.temperature, "top_p": rollout.top_p} | always,
        val_sampling=common
        | {"temperature": rollout.val_kwargs.temperature, "top_p": rollout.val_kwargs.top_p}
        | always,
        n=rollout.n,
        val_n=rollout.val_kwargs.n,
        max_prompt_length=rollout.prompt_length,
        max_response_length=rollout.response_length,
        timeout_seconds=config.agentlightning.rollout_timeout_seconds,
    )


@contextlib.contextmanager
def _console_log(output_dir: Path, verbose: bool) -> Iterator[None]:
    """Send what verl prints to ``console.log``, so that the terminal shows the run's own lines."""
    if verbose:
        yield
        return
    with (
        (output_dir / "console.log").open("a", encoding="utf-8", buffering=1) as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        yield


async def _in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a thread that a cancelled caller does not wait for (asyncio.to_thread would)."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def target() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, done, error)

    threading.Thread(target=target, name="verl-trainer", daemon=True).start()
    await done


def _settle(done: "asyncio.Future[None]", error: BaseException | None) -> None:
    if done.cancelled():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
