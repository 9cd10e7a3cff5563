"""agentlightning's runner, with one request less to the store for every rollout."""

from collections.abc import Mapping
from typing import cast

import agentlightning as agl


class KeptResources:
    """A store of which resources are asked for once: those of a training run don't change under their id.

    Everything else is the store's own.
    """

    def __init__(self, store: agl.LightningStore) -> None:
        """Nothing is kept yet."""
        self._store = store
        self._kept: dict[str, agl.ResourcesUpdate] = {}

    def __getattr__(self, name: str) -> object:
        """What is not kept here."""
        return getattr(self._store, name)

    async def get_resources_by_id(self, resources_id: str) -> agl.ResourcesUpdate | None:
        """The resources with this id; None when there are none."""
        if resources_id not in self._kept:
            found = await self._store.get_resources_by_id(resources_id)
            if found is None:
                return None
            self._kept[resources_id] = found
        return self._kept[resources_id]


class TrainingRunner(agl.LitAgentRunner[Mapping[str, str]]):
    """Runs a training run's rollouts, one after another."""

    def init_worker(self, worker_id: int, store: agl.LightningStore, **kwargs: object) -> None:
        """As the parent's; the store is asked for each of its resources once."""
        super().init_worker(worker_id, cast("agl.LightningStore", KeptResources(store)), **kwargs)
