"""When a model's server is asked again, and why a call fails."""

import socket

import pytest
import urllib3

from benchmarks.chat_server import ChatServer
from spider.chat_endpoint import ChatEndpoint
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


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (400, "This model's maximum context length is 2048 tokens.", "prompt_too_long"),
        (400, "the request exceeds the available context size (4096 tokens), try increasing it", "prompt_too_long"),
        (400, "Input length 5000 exceeds the maximum allowed 4096", "prompt_too_long"),
        (400, "input tokens (5000) exceeds limit 4096", "prompt_too_long"),
        (413, "Payload too large", "prompt_too_long"),
        (400, "temperature must be positive", "rejected"),
        (404, "no such model", "rejected"),
        (200, "the model is loading", "rejected"),
    ],
)
def test_a_refusal_has_the_servers_message_and_a_reason(
    chat_server: ChatServer, status: int, message: str, reason: str
) -> None:
    chat_server.say((status, {"error": {"message": message}}))
    with pytest.raises(EndpointError) as caught:
        ChatEndpoint(chat_server.url, "m", retries=0).complete([{"role": "user", "content": "Hi"}])
    assert (str(caught.value), caught.value.reason) == (message, reason)


@pytest.mark.parametrize("content", [5, [None], {"text": "a"}])
def test_content_that_is_no_text_is_not_the_api(chat_server: ChatServer, content: object) -> None:
    chat_server.say((200, {"choices": [{"message": {"content": content}}]}))
    with pytest.raises(EndpointError, match="is not the OpenAI API's"):
        ChatEndpoint(chat_server.url, "m", retries=0).complete([{"role": "user", "content": "Hi"}])


def test_counts_that_are_no_numbers_are_left_out(chat_server: ChatServer) -> None:
    reply = {"choices": [{"message": {"content": "Hi"}}], "usage": {"prompt_tokens": "x", "completion_tokens": 2}}
    chat_server.say((200, reply))
    completion = ChatEndpoint(chat_server.url, "m", retries=0).complete([{"role": "user", "content": "Hi"}])
    assert completion.usage == {"completion_tokens": 2}
