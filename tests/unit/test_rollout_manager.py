"""How the rollout manager watches for the end of rollouts."""

import logging
import threading
from collections.abc import Sequence

import agentlightning as agl
import pytest
from tensordict import NonTensorData
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from spider.verl_bridge import rollout_manager
from spider.verl_bridge.rollout_manager import RolloutSettings, StoreRolloutManager
from spider.verl_bridge.watchdog import Pulse

UIDS = ["a", "b", "c", "d", "e"]
SETTINGS = RolloutSettings("m", ["http://127.0.0.1:1/v1"], {}, {}, 1, 1, max_prompt_length=9, max_response_length=9)


class Store(agl.InMemoryLightningStore):
    """Of the rollouts that a look asks for, the last one ends. Keeps each look as places in the queue."""

    def __init__(self) -> None:
        """Nothing has been asked yet."""
        super().__init__(thread_safe=True)
        self.queued: list[str] = []
        self.looks: list[list[int]] = []

    async def enqueue_many_rollouts(self, rollouts: Sequence[agl.EnqueueRolloutRequest]) -> Sequence[agl.Rollout]:
        """Queue rollouts."""
        queued = await super().enqueue_many_rollouts(rollouts)
        self.queued = [rollout.rollout_id for rollout in queued]
        return queued

    async def wait_for_rollouts(self, *, rollout_ids: list[str], timeout: float | None = None) -> list[agl.Rollout]:
        """The rollouts that have ended."""
        self.looks.append([self.queued.index(rollout_id) for rollout_id in rollout_ids])
        return [await self.update_rollout(rollout_ids[-1], status="failed")]


class ForgetfulStore(Store):
    """Has lost the attempt of the second rollout that ends."""

    async def get_latest_attempt(self, rollout_id: str) -> agl.Attempt | None:
        """The attempt of a rollout."""
        if rollout_id == self.queued[2]:
            raise ValueError("no such attempt")
        return await super().get_latest_attempt(rollout_id)


class BrokenStore(Store):
    """Can't tell which rollouts have ended."""

    async def wait_for_rollouts(self, *, rollout_ids: list[str], timeout: float | None = None) -> list[agl.Rollout]:
        """Fail."""
        raise OSError("the store is gone")


def start(manager: StoreRolloutManager) -> None:
    batch = list_of_dict_to_tensordict([{"uid": uid, "task": {"question": uid}} for uid in UIDS])
    batch["global_steps"] = NonTensorData(1)
    manager.generate_sequences(batch)


def run(monkeypatch: pytest.MonkeyPatch, store: Store) -> StoreRolloutManager:
    """Five rollouts to their end, two of which may be asked for at a time."""
    ended, all_ended = set[str](), threading.Event()

    def put_group_status(uids: Sequence[str], partition: str, status: str) -> None:
        if status != "running":
            ended.update(uids)
        if len(ended) == len(UIDS):
            all_ended.set()

    monkeypatch.setattr(rollout_manager, "LOOKED_AT", 2)
    monkeypatch.setattr(rollout_manager, "POLL_SECONDS", 0)
    monkeypatch.setattr(rollout_manager, "put_group_status", put_group_status)
    manager = StoreRolloutManager(store, agl.TracerTraceToTriplet(), SETTINGS, Pulse())
    start(manager)
    assert all_ended.wait(timeout=60)
    return manager


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The looks for the end of five rollouts."""
    store = Store()
    run(monkeypatch, store)
    return store.looks


def test_a_look_asks_for_the_first_rollouts_queued(looks: list[list[int]]) -> None:
    assert looks[0] == [0, 1]


def test_the_next_rollout_takes_the_place_of_one_that_ended(looks: list[list[int]]) -> None:
    assert looks[1:] == [[0, 2], [0, 3], [0, 4], [0]]


def test_a_rollout_whose_trace_cannot_be_read_has_failed_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = run(monkeypatch, ForgetfulStore()).take_stats("train")
    assert (stats.groups, stats.dropped["rollout_failed"]) == (5, 5)


class Logged(logging.Handler):
    """Keeps the error that was logged, and says when."""

    def __init__(self) -> None:
        """Nothing has been logged yet."""
        super().__init__()
        self.error: BaseException | None = None
        self.event = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the error."""
        self.error = record.exc_info[1] if record.exc_info else None
        self.event.set()


def test_an_error_while_collecting_rollouts_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    logged = Logged()
    monkeypatch.setattr(rollout_manager, "put_group_status", lambda *_: None)
    monkeypatch.setattr(rollout_manager.logger, "handlers", [logged])
    start(StoreRolloutManager(BrokenStore(), agl.TracerTraceToTriplet(), SETTINGS, Pulse()))
    assert logged.event.wait(timeout=60)
    assert str(logged.error) == "the store is gone"
