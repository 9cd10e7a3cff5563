"""The one place where the agent calls a model: an OpenAI-compatible server, through the `openai` client."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

import openai
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from spider.server_flags import DEFAULT_PORT

DEFAULT_ENDPOINT = f"http://127.0.0.1:{DEFAULT_PORT}/v1"
"""Where scripts/serve.sh serves."""
RETRIES = 5  # with back-off from 0.5 s up to 8 s, for connection errors, 408, 409, 429 and 5xx
TIMEOUT_SECONDS = 600.0  # of one call: a busy server on CPU takes minutes

_REQUEST_FIELDS = frozenset(CompletionCreateParamsNonStreaming.__annotations__) - {"messages", "model", "stream"}
_CLIENT_FIELDS = frozenset({"extra_body", "extra_headers", "extra_query", "timeout"})
_TOO_LONG = re.compile(
    r"context.{0,3}(?:length|window|limit)|max(?:imum)?_?(?:model_len|seq_?len| sequence length| input length)"
    r"|prompt.{0,30}(?:too long|longer than|exceeds)|too many (?:input )?tokens",
    re.IGNORECASE,
)


class EndpointError(RuntimeError):
    """A call that gave no reply, after its retries. The message is the server's own.

    `reason` is one of ``prompt_too_long``, ``rejected``, ``server_error``, ``rate_limited``, ``timeout``,
    ``unreachable``; `status` is the HTTP status, 0 when there was no answer.
    """

    def __init__(self, message: str, reason: str, status: int = 0) -> None:
        """Keep what is needed to rebuild the error in another process."""
        super().__init__(message, reason, status)
        self.reason = reason
        self.status = status

    def __str__(self) -> str:
        """The server's message."""
        return str(self.args[0])


@dataclass(frozen=True)
class ChatEndpoint:
    """A model behind a base URL (``http://host:port/v1``). `sampling` holds request parameters.

    What the OpenAI API doesn't know of them (``top_k``, ``return_token_ids``) goes into the request's body as it is.
    """

    base_url: str
    model: str
    sampling: Mapping[str, object] = field(default_factory=dict)
    api_key: str = "none"
    retries: int = RETRIES

    def complete(self, messages: Sequence[Mapping[str, str]]) -> ChatCompletion:
        """The server's reply to `messages`.

        Raises:
            EndpointError: no reply.
        """
        completions = _client(self.base_url, self.api_key, self.retries).chat.completions
        # The parameters' names come from configuration: no overload can be chosen for them.
        create = cast("Callable[..., ChatCompletion]", completions.create)
        try:
            return create(messages=list(messages), model=self.model, **_request(self.sampling))
        except openai.APIError as error:
            raise _endpoint_error(error, self.base_url) from error

    def models(self) -> list[str]:
        """Names of the models that the endpoint serves.

        Raises:
            EndpointError: it doesn't answer.
        """
        try:
            return [model.id for model in _client(self.base_url, self.api_key, self.retries).models.list()]
        except openai.APIError as error:
            raise _endpoint_error(error, self.base_url) from error


def endpoint_from_environment(base_url: str | None = None, model: str | None = None) -> ChatEndpoint:
    """The endpoint of `OPENAI_BASE_URL` (or `OPENAI_API_BASE`), `MODEL` and `OPENAI_API_KEY`, where not given.

    Without any it is `DEFAULT_ENDPOINT`.

    Raises:
        ValueError: the endpoint can't be a URL.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or DEFAULT_ENDPOINT
    if not re.match(r"https?://[^/\s]", url):
        raise ValueError(
            f"the endpoint {url!r} is not a URL: put a line like OPENAI_BASE_URL={DEFAULT_ENDPOINT} into .env, or give "
            "--endpoint"
        )
    return ChatEndpoint(url, model or os.environ.get("MODEL") or "", {}, os.environ.get("OPENAI_API_KEY") or "none")


def _request(sampling: Mapping[str, object]) -> dict[str, object]:
    """Request parameters, with those unknown to the OpenAI API moved into `extra_body`."""
    known = {name: value for name, value in sampling.items() if name in _REQUEST_FIELDS | _CLIENT_FIELDS}
    unknown = {name: value for name, value in sampling.items() if name not in known}
    if unknown:
        body = known.get("extra_body")
        known["extra_body"] = {**(body if isinstance(body, Mapping) else {}), **unknown}
    return known


@lru_cache(maxsize=1)
def _root_client() -> openai.OpenAI:
    """One pool of connections a process: a client takes tens of milliseconds to make, a copy of one almost nothing."""
    return openai.OpenAI(base_url="http://127.0.0.1/v1", api_key="none", timeout=TIMEOUT_SECONDS)


@lru_cache(maxsize=64)
def _client(base_url: str, api_key: str, retries: int) -> openai.OpenAI:
    return _root_client().copy(base_url=base_url, api_key=api_key, max_retries=retries)


def _forget_clients() -> None:
    _client.cache_clear()
    _root_client.cache_clear()


# A forked process must not talk over its parent's connections.
os.register_at_fork(after_in_child=_forget_clients)


def _endpoint_error(error: openai.APIError, base_url: str) -> EndpointError:
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"no answer from {base_url} in time", "timeout")
    if isinstance(error, openai.APIConnectionError):
        return EndpointError(f"can't reach {base_url}: {error.__cause__ or error}", "unreachable")
    if not isinstance(error, openai.APIStatusError):
        return EndpointError(error.message, "rejected")
    message, status = _server_message(error), error.status_code
    if status == 400 and (error.code == "context_length_exceeded" or _TOO_LONG.search(message)):
        return EndpointError(message, "prompt_too_long", status)
    if status == 429:
        return EndpointError(message, "rate_limited", status)
    return EndpointError(message, "server_error" if status >= 500 else "rejected", status)


def _server_message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping) and isinstance(message := body.get("message") or body.get("detail"), str):
        return message
    text = error.response.text.strip()
    return text if text and not text.startswith("<") else f"HTTP {error.status_code} {error.response.reason_phrase}"
