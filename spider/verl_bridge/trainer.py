"""verl's stock V1 trainers with this project's reporting and run control attached at their hooks."""

from typing import TYPE_CHECKING, Any

import ray
from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1 import PPOTrainer, PPOTrainerColocateAsync, PPOTrainerSync

from spider.verl_bridge.call_advantages import compute_call_advantage
from spider.verl_bridge.rollout_manager import POLL_SECONDS, StoreRolloutManager
from spider.verl_bridge.run_worker import RunWorker
from spider.verl_bridge.tracking import guard_wandb
from spider.verl_bridge.transfer import Partition
from spider.verl_bridge.watchdog import Pulse
from spider.verl_overrides import GRPO_BY_CALL

if TYPE_CHECKING:
    from concurrent.futures import Future

    from omegaconf import DictConfig
    from transfer_queue import KVBatchMeta
    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

    from spider.verl_bridge.progress import Progress


class AllRolloutsDroppedError(RuntimeError):
    """A step or a validation in which no rollout gave a row: training would go on without data."""


class TrainingStoppedError(Exception):
    """Raised between two steps to end a run that was asked to stop."""


class StoreTrainer(PPOTrainer):
    """Hooks shared by the trainers below: reporting, drops, and stopping after a step."""

    manager: StoreRolloutManager
    progress: "Progress"
    pulse: Pulse
    transfer_queue: "Future[None]"
    stop_requested = False
    _steps_done = 0

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        self.role_worker_mapping = {role: ray.remote(RunWorker) for role in self.role_worker_mapping}

    def _load_checkpoint(self) -> None:
        # The end of `init`, and the first place where rows may be asked for.
        self.transfer_queue.result()
        super()._load_checkpoint()

    def _build_replay_buffer(self) -> "ReplayBuffer":
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = POLL_SECONDS
        return buffer

    def _step_once(
        self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int
    ) -> "KVBatchMeta":
        try:
            return super()._step_once(metrics, timing_raw, sample_batch_size)
        except RuntimeError as error:
            self._explain(error, "train", f"step {self.global_steps}")
            raise

    def _validate(self) -> dict[str, float]:
        if self.stop_requested and not self._steps_done:
            raise TrainingStoppedError
        guard_wandb(self.logger.logger)
        try:
            with self.pulse.during("validation"):
                metrics = super()._validate()
        except Exception as error:
            self._explain(error, "val", "validation")
            raise
        stats = self.manager.take_stats("val")
        self.progress.validation(self.global_steps, stats)
        return metrics | stats.metrics("agent/val")

    def _explain(self, error: Exception, partition: Partition, where: str) -> None:
        """Raise the reason behind `error` when it is that no rollout gave a row."""
        self.manager.raise_if_failed()
        stats = self.manager.take_stats(partition)
        if stats.rollouts and not stats.rows:
            raise AllRolloutsDroppedError(
                f"{where}: none of {stats.rollouts} rollouts gave a row to train on. {stats.explain_drops()}"
            ) from error

    def on_train_begin(self) -> None:
        """Show the progress bar from the first step of this run on."""
        guard_wandb(self.logger.logger)
        super().on_train_begin()
        self.progress.begin(self.global_steps - 1, self.total_training_steps)

    def on_step_begin(self) -> None:
        """End the run here if it was asked to stop: the step before is finished, logged and reported."""
        super().on_step_begin()
        if self.stop_requested:
            self._stop()
        self.pulse.enter("generation")

    def on_sample_end(self) -> None:
        """Note that the rollouts are there."""
        self.pulse.enter("old log-probs and update")
        super().on_sample_end()

    def on_step_end(self) -> None:
        """Note that the weights go to vLLM."""
        with self.pulse.during("weights to vLLM"):
            super().on_step_end()

    def _update_actor(self, batch: "KVBatchMeta", metrics: dict[str, Any]) -> "KVBatchMeta":
        with self.pulse.during("update"):
            return super()._update_actor(batch, metrics)

    def _save_checkpoint(self) -> None:
        with self.pulse.during("checkpoint"):
            super()._save_checkpoint()

    def _compute_metrics(
        self, batch: "KVBatchMeta", metrics: dict[str, Any], timing_raw: dict[str, float], global_steps: int, epoch: int
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        stats = self.manager.take_stats("train")
        metrics.update(stats.metrics("agent"))
        self.progress.step(global_steps, metrics, stats)
        self._steps_done += 1

    def _stop(self) -> None:
        """End the run before a step begins, with a checkpoint of the one before."""
        self.global_steps -= 1
        save_freq = self.config.trainer.save_freq
        if self._steps_done and (save_freq <= 0 or self.global_steps % save_freq):
            self._save_checkpoint()
        self._shutdown_dump_executor()
        raise TrainingStoppedError


class StoreTrainerSync(StoreTrainer, PPOTrainerSync):
    """Rollouts and update take turns; every row is on-policy."""


class StoreTrainerColocateAsync(StoreTrainer, PPOTrainerColocateAsync):
    """Rollouts of the next step start before this step's update; rows may be one version old."""


_TRAINERS: dict[str, type[StoreTrainer]] = {"sync": StoreTrainerSync, "colocate_async": StoreTrainerColocateAsync}


def make_trainer(config: "DictConfig", progress: "Progress", pulse: Pulse) -> StoreTrainer:
    """Make the trainer that ``trainer.v1.trainer_mode`` names.

    Raises:
        ValueError: If the mode has no trainer here.
    """
    mode = config.trainer.v1.trainer_mode
    if mode not in _TRAINERS:
        raise ValueError(f"trainer.v1.trainer_mode is {mode!r}; this bridge has {', '.join(_TRAINERS)}")
    register_adv_est(GRPO_BY_CALL)(compute_call_advantage)
    trainer = _TRAINERS[mode](config=config)
    trainer.progress = progress
    trainer.pulse = pulse
    return trainer
