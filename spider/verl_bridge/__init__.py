"""The seam between agentlightning's store and verl's stock trainer: `VERL` is the algorithm to give to a Trainer."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spider.verl_bridge.algorithm import VERL

__all__ = ["VERL"]


def __getattr__(name: str) -> object:
    """Import the algorithm when it is first asked for: it brings torch, Ray and verl."""
    if name == "VERL":
        from spider.verl_bridge.algorithm import VERL

        return VERL
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
