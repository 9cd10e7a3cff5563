"""verl's worker, sending weights through this run's own socket (see `spider.verl_bridge.weight_channel`)."""

from typing import Protocol, cast

from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.engine_workers import ActorRolloutRefWorker

from spider.verl_bridge.processes import channel_of_run


class Sender(Protocol):
    """What sends weights to vLLM."""

    zmq_handle: str


class RunWorker(ActorRolloutRefWorker):
    """verl's actor, rollout and reference worker."""

    @register(dispatch_mode=Dispatch["ONE_TO_ALL"])
    def init_model(self) -> None:
        """Make the model, then rename the socket."""
        super().init_model()
        if hasattr(self.rollout, "zmq_handle"):
            sender = cast("Sender", self.rollout)
            sender.zmq_handle = channel_of_run(sender.zmq_handle)
