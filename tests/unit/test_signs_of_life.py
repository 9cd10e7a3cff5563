"""Long work says that it goes on, and nothing after its end."""

import logging
import re
import time

import pytest

from spider.signs_of_life import signs_of_life


def test_long_work_says_that_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="spider.signs_of_life")
    with signs_of_life("waiting", seconds=0.01):
        deadline = time.monotonic() + 30
        while not caplog.messages and time.monotonic() < deadline:
            time.sleep(0.01)
    assert re.fullmatch(r"still waiting after \d+ s", caplog.messages[0])


def test_short_work_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="spider.signs_of_life")
    with signs_of_life("waiting", seconds=1):
        pass
    time.sleep(1.2)
    assert not caplog.messages
