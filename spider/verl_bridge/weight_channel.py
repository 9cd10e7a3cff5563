"""The socket through which vLLM gets the trainer's weights, one for each run.

verl names it by Ray's job id and the rank. Two runs on one machine have a Ray of their own each, and the same job id in
both: one run's trainer would remove the other's socket and send its weights to the other's engine. The run's mark in
the name keeps them apart, on the trainer's side (`spider.verl_bridge.run_worker`) and on vLLM's.
"""

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension

from spider.verl_bridge.processes import channel_of_run


class RunWorkerExtension(vLLMColocateWorkerExtension):
    """verl's extension of vLLM's workers, receiving weights through this run's own socket."""

    def _get_zmq_handle(self) -> str:
        return channel_of_run(super()._get_zmq_handle())
