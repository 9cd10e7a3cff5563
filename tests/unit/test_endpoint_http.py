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


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"code": 503}, "server_error"),
        ({"code": "502"}, "server_error"),
        ({"code": 429}, "rate_limited"),
        ({"code": None, "type": "overloaded_error"}, "server_error"),
        ({"code": "rate_limit_exceeded", "type": "requests"}, "rate_limited"),
    ],
)
def test_an_error_in_a_good_answer_is_what_its_code_or_type_says(
    chat_server: ChatServer, error: dict[str, object], reason: str
) -> None:
    chat_server.say((200, {"error": {"message": "try again", **error}}))
    with pytest.raises(EndpointError, match="try again") as caught:
        ChatEndpoint(chat_server.url, "m", retries=2).complete([{"role": "user", "content": "Hi"}])
    assert (caught.value.reason, len(chat_server.requests)) == (reason, 3)


def test_a_server_that_says_busy_in_a_good_answer_is_asked_again(chat_server: ChatServer) -> None:
    chat_server.say((200, {"error": {"message": "overloaded", "code": 503}}), "Hello")
    completion = ChatEndpoint(chat_server.url, "m", retries=1).complete([{"role": "user", "content": "Hi"}])
    assert completion.content == "Hello"


def test_both_kinds_of_trouble_share_the_retries(chat_server: ChatServer) -> None:
    busy = {"error": {"message": "overloaded", "code": 503}}
    chat_server.say((200, busy), (503, busy))
    with pytest.raises(EndpointError):
        ChatEndpoint(chat_server.url, "m", retries=3).complete([{"role": "user", "content": "Hi"}])
    assert len(chat_server.requests) == 4


@pytest.mark.parametrize("error", [{"code": 401}, {"code": "invalid_api_key"}, "no such model"])
def test_an_error_in_a_good_answer_that_time_does_not_mend_is_told_at_once(
    chat_server: ChatServer, error: object
) -> None:
    chat_server.say((200, {"error": error}))
    with pytest.raises(EndpointError) as caught:
        ChatEndpoint(chat_server.url, "m", retries=2).complete([{"role": "user", "content": "Hi"}])
    assert (caught.value.reason, len(chat_server.requests)) == ("rejected", 1)


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
