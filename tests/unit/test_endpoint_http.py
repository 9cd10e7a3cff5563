"""When a model's server is asked again, and why a call fails."""

import socket

import pytest
import urllib3

from spider.endpoint_http import BackOff, EndpointError, call


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After-Ms": "20"}, 0.02), ({"Retry-After": "3"}, 3), ({"Retry-After": "3600"}, None), ({}, None)],
)
def test_a_server_says_when_to_come_back_within_a_minute(headers: dict[str, str], seconds: float | None) -> None:
    assert BackOff().get_retry_after(urllib3.HTTPResponse(headers=headers, status=429)) == seconds


def test_a_malformed_retry_after_counts_for_nothing() -> None:
    response = urllib3.HTTPResponse(headers={"Retry-After": "soon"}, status=503)
    assert BackOff().get_retry_after(response) is None


def test_the_wait_doubles_up_to_eight_seconds() -> None:
    waits, tried = [], BackOff(9, allowed_methods=None)
    for _ in range(7):
        tried = tried.increment("POST", "/", error=ConnectionError())
        waits.append(tried.get_backoff_time())
    assert all(most * 0.75 <= wait <= most for wait, most in zip(waits, (0.5, 1, 2, 4, 8, 8, 8), strict=True))


def test_a_server_that_says_nothing_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        with pytest.raises(EndpointError, match="in time") as caught:
            call(url, "models", retries=0, options={"timeout": 0.1})
    assert caught.value.reason == "timeout"
