"""When a model's server is asked again, and why a call fails."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import urllib3

from benchmarks.chat_server import ChatServer
from spider.chat_endpoint import ChatEndpoint
from spider.endpoint_http import BackOff, EndpointError, Options, call


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


@pytest.fixture
def go_between(chat_server: ChatServer) -> Iterator[tuple[str, list[str]]]:
    """A proxy for whole URLs, which sends on to `chat_server` what is asked by path; and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            body = json.dumps({"proxied": True}).encode()
            self.send_response(200 if "://" in self.path else 308)
            self.send_header("Location", f"{chat_server.url}/chat/completions")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


def test_a_server_that_sends_elsewhere_is_followed(chat_server: ChatServer, go_between: tuple[str, list[str]]) -> None:
    reply = ChatEndpoint(f"{go_between[0]}/v1", "m").complete([{"role": "user", "content": "Hi"}])
    assert reply.content == "THE QUERY IS CORRECT."
    assert [request["model"] for request in chat_server.requests] == ["m"]
    assert set(go_between[1]) == {"/v1/chat/completions"}


def test_the_environments_proxy_is_asked(go_between: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", go_between[0])
    assert call("http://model.test:81/v1", "chat/completions", {"model": "m"}, retries=0) == {"proxied": True}
    assert go_between[1] == ["http://model.test:81/v1/chat/completions"]


def test_a_query_reaches_the_server(chat_server: ChatServer) -> None:
    options: Options = {"params": {"a": "1 2"}}
    assert call(chat_server.url, "models", options=options)["data"][0]["id"] == "scripted"
