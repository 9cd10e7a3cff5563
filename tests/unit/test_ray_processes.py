"""What starts beside the trainer."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from omegaconf import OmegaConf

from spider.verl_bridge.ray_processes import start_transfer_queue

CONFIG = OmegaConf.create({"transfer_queue": {"backend": "SimpleStorage"}})


def test_the_transfer_queue_gets_its_part_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setitem(sys.modules, "transfer_queue", SimpleNamespace(init=given.append))
    assert start_transfer_queue(CONFIG).result(10) is None
    assert given == [CONFIG.transfer_queue]


def test_what_goes_wrong_with_the_transfer_queue_comes_out_of_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(_: object) -> None:
        raise ConnectionError("no storage")

    monkeypatch.setitem(sys.modules, "transfer_queue", SimpleNamespace(init=init))
    with pytest.raises(ConnectionError, match="no storage"):
        start_transfer_queue(CONFIG).result(10)
