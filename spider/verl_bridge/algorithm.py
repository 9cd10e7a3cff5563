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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentlightning import Algorithm
from agentlightning.types import Dataset

from spider.files import make_folder, write_whole
from spider.verl_bridge.failures import engine_start_error
from spider.verl_bridge.processes import mark_run, start_reaper
from spider.verl_bridge.progress import Progress
from spider.verl_bridge.ray_processes import end_ray, start_ray, start_transfer_queue
from spider.verl_bridge.rollout_log import FILE, RolloutLog
from spider.verl_bridge.run_folder import RunFolderError, forget_rollouts, latest_checkpoint, step_of
from spider.verl_bridge.task_dataset import write_tasks
from spider.verl_bridge.tracking import drop_curves_after, start_wandb
from spider.verl_bridge.verl_config import reach_last_step, resolve_config
from spider.verl_bridge.waiting_store import serve_plainly
from spider.verl_bridge.watchdog import Pulse, Watchdog, run_watched

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
            keys: ``output_dir`` (folder of the run), ``rollout_timeout_seconds``, ``stall_minutes`` (longest time
            without a finished rollout or phase), ``sampling`` (parameters of every request to the model's server, over
            verl's own; e.g. ``ignore_eos``), ``wandb_offline`` and ``verbose``.

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
        self._pulse = Pulse()

    async def run(self, train_dataset: Dataset[Any] | None = None, val_dataset: Dataset[Any] | None = None) -> None:
        """Train until verl's last step.

        Args:
            train_dataset: Tasks to train on.
            val_dataset: Tasks to validate on.

        Raises:
            ValueError: If a data set is missing, or a resumed run's is another one.
            AllRolloutsDroppedError: If a step had no rows to train on.
            EngineStartError: If vLLM did not start.
            StalledError: If no rollout finished and no phase ended for too long.
        """
        if train_dataset is None or val_dataset is None:
            raise ValueError("VERL needs a training and a validation data set: give both to Trainer.fit")
        run_id = mark_run()
        start_reaper(run_id)
        output_dir = Path(self.config.agentlightning.output_dir or self.config.trainer.default_local_dir).resolve()
        _prepare(self.config, output_dir, train_dataset, val_dataset)
        progress = Progress(output_dir, sys.stderr)
        _continue(self.config, progress)
        store, adapter = self.get_store(), cast("TraceAdapter[list[Triplet]]", self.get_adapter())
        serve_plainly(store)
        limit_seconds = 60 * self.config.agentlightning.stall_minutes
        watchdog = Watchdog(self._pulse, limit_seconds, store, run_id, output_dir / "stacks.txt")
        logs: Path | None = None
        try:
            with _console_log(output_dir, verbose=self.config.agentlightning.verbose):
                logs = start_ray(self.config)
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop_after_step)
                await run_watched(lambda: self._train(store, adapter, progress, watchdog), watchdog)
        except Exception as error:
            if cause := engine_start_error(error, logs):
                raise cause from error
            raise
        finally:
            progress.close()
            end_ray(run_id)
            watchdog.stop()
        self.finished = True
        progress.summary(latest_checkpoint(Path(self.config.trainer.default_local_dir)))

    def _train(
        self,
        store: "LightningStore",
        adapter: "TraceAdapter[list[Triplet]]",
        progress: Progress,
        watchdog: Watchdog,
    ) -> None:
        import torch

        from spider.verl_bridge.rollout_manager import StoreRolloutManager
        from spider.verl_bridge.trainer import TrainingStoppedError, make_trainer

        # The driver's tensors are small: with a thread a core, its threads took five of an H200's cores to wait in.
        torch.set_num_threads(1)
        trainer = self._trainer = make_trainer(self.config, progress, self._pulse)
        trainer.stop_requested = self._stop_requested
        succeeded = False
        try:
            logger.info("loading the model into the trainer and into vLLM")
            trainer.transfer_queue = start_transfer_queue(self.config)
            trainer.init()
            settings = _rollout_settings(self.config, trainer)
            servers = {"model": settings.model, "endpoints": list(settings.endpoints)}
            write_whole(progress.output_dir / "servers.json", json.dumps(servers))
            log = RolloutLog(progress.output_dir / FILE)
            trainer.manager = StoreRolloutManager(store, adapter, settings, self._pulse, log)
            start_wandb(self.config, progress.output_dir, self.config.agentlightning.wandb_offline)
            logger.info("ready: %d steps", trainer.total_training_steps)
            watchdog.start()
            with contextlib.suppress(TrainingStoppedError):
                trainer.fit(cast("Any", trainer.manager))
            succeeded = True
        finally:
            tracking = getattr(trainer, "logger", None)
            if tracking is not None:
                tracking.finish(exit_code=0 if succeeded else 1)

    def _stop_after_step(self) -> None:
        if self._stop_requested:
            os.kill(os.getpid(), signal.SIGINT)  # asked twice: as Ctrl-C
            return
        logger.warning("asked to stop: finishing the step and saving a checkpoint first; once more stops at once")
        self._stop_requested = True
        if self._trainer is not None:
            self._trainer.stop_requested = True


def _continue(config: "DictConfig", progress: Progress) -> None:
    """Take up the run's numbers at the checkpoint that verl resumes from, or start them anew."""
    trainer = config.trainer
    if trainer.resume_mode == "auto":
        found = latest_checkpoint(Path(trainer.default_local_dir).resolve())
        trainer.resume_mode = "disable" if found is None else "resume_path"
        trainer.resume_from_path = found and str(found)
    if trainer.resume_mode != "resume_path":
        progress.restore(None)
        (progress.output_dir / FILE).unlink(missing_ok=True)
        drop_curves_after(Path(os.environ["TENSORBOARD_DIR"]), -1)
    else:
        step = step_of(Path(str(trainer.resume_from_path)))
        progress.restore(step)
        logger.info("continuing after step %d, from %s", step, trainer.resume_from_path)
        # verl saves before it validates: a run killed between the two still owes the validation.
        due = trainer.test_freq > 0 and step % trainer.test_freq == 0
        trainer.val_before_train = due and step not in progress.accuracies
        forget_rollouts(progress.output_dir / FILE, step, step in progress.accuracies)
        drop_curves_after(Path(os.environ["TENSORBOARD_DIR"]), step)
    if trainer.val_only:
        trainer.val_before_train = True


def _prepare(config: "DictConfig", output_dir: Path, train: Dataset[Any], val: Dataset[Any]) -> None:
    """Write the data sets where verl reads them, and set what its processes need from the environment."""
    from omegaconf import OmegaConf

    make_folder(output_dir)
    for split, tasks in (("train", train), ("val", val)):
        path = output_dir / "tasks" / f"{split}.jsonl"
        before = path.read_bytes() if path.is_file() and split == "train" else b""
        count = write_tasks((tasks[i] for i in range(len(tasks))), path)
        if before and config.trainer.resume_mode != "disable" and path.read_bytes() != before:
            path.write_bytes(before)
            raise RunFolderError(f"the run began with other training questions: resume it with those in {path}")
        if not count:
            raise ValueError(f"the {split} data set is empty")
        config.data[f"{split}_files"] = str(path)
    reach_last_step(config, len(train))
    vllm = "actor_rollout_ref.rollout.engine_kwargs.vllm.worker_extension_cls"
    if OmegaConf.select(config, vllm) is None:
        OmegaConf.update(config, vllm, "spider.verl_bridge.weight_channel.RunWorkerExtension", force_add=True)
    config.data.custom_cls.path = "pkg://spider.verl_bridge.task_dataset"
    config.data.custom_cls.name = "TaskDataset"
    os.environ.setdefault("TENSORBOARD_DIR", str(output_dir / "tensorboard"))
    os.environ["TRANSFER_QUEUE_ENABLE"] = "1"
    if config.trainer.device == "cpu":
        from spider.verl_bridge.cpu_environment import cpu_environment

        os.environ.update(cpu_environment())


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
