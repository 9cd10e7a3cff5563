"""The one place where the agent calls a model: an OpenAI-compatible server, through the `openai` client.

Each call is a span as agentlightning's adapters read it, whatever tracer runs: prompt, reply, token ids, log-probs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import openai
from opentelemetry import trace

from spider.prompts import Reply
from spider.server_flags import DEFAULT_PORT

DEFAULT_ENDPOINT = f"http://127.0.0.1:{DEFAULT_PORT}/v1"
"""Where scripts/serve.sh serves."""
RETRIES = 5  # with back-off from 0.5 s up to 8 s, for connection errors, 408, 409, 429 and 5xx
TIMEOUT_SECONDS = 600.0  # of one call: a busy server on CPU takes minutes
CALL = "openai.chat.completion"  # a span's name, by which agentlightning's adapters know a call

tracer = trace.get_tracer(__name__)  # the one that is set up later, if one is

# Sampling parameters that the client handles, with its own names for them; all others are the server's.
_CLIENT_OPTIONS = {"extra_headers": "headers", "extra_query": "params", "timeout": "timeout"}
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
class Completion:
    """A server's reply and the tokens it counted; token ids are empty where the server returns none."""

    content: Reply
    usage: Mapping[str, int]
    prompt_token_ids: Sequence[int] = ()
    token_ids: Sequence[int] = ()


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

    def complete(self, messages: Sequence[Mapping[str, str]]) -> Completion:
        """The server's reply to `messages`.

        Raises:
            EndpointError: no reply.
        """
        client = _client(self.api_key, self.retries)
        options, parameters = _split(self.sampling)
        body = {"model": self.model, "messages": messages, **parameters}
        with tracer.start_as_current_span(CALL, kind=trace.SpanKind.CLIENT, set_status_on_exception=False) as span:
            span.set_attributes(_request_attributes(body))
            try:
                # The client's own `create` checks both ways against the API's types, which takes longer than the call.
                reply = client.post(self._url("chat/completions"), body=body, options=options, cast_to=dict[str, Any])
                completion, attributes = _read(reply)
            except (openai.APIError, AttributeError, IndexError, KeyError, TypeError) as error:
                failure = _endpoint_error(error, self.base_url)
                span.set_status(trace.StatusCode.ERROR, str(failure))
                raise failure from error
            span.set_attributes(attributes)
        return completion

    def models(self) -> list[str]:
        """Names of the models that the endpoint serves.

        Raises:
            EndpointError: it doesn't answer.
        """
        try:
            reply = _client(self.api_key, self.retries).get(self._url("models"), cast_to=dict[str, Any])
            return [model["id"] for model in reply["data"]]
        except (openai.APIError, KeyError, TypeError) as error:
            raise _endpoint_error(error, self.base_url) from error

    def _url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"


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


def _split(sampling: Mapping[str, object]) -> tuple[openai.RequestOptions, dict[str, object]]:
    """The client's options, and what goes into the request's body."""
    parameters = {name: value for name, value in sampling.items() if name not in _CLIENT_OPTIONS}
    extra = parameters.pop("extra_body", None)
    if isinstance(extra, Mapping):
        parameters.update(extra)
    return _options({ours: sampling[name] for name, ours in _CLIENT_OPTIONS.items() if name in sampling}), parameters


def _options(values: Mapping[str, Any]) -> openai.RequestOptions:
    return openai.RequestOptions(**values)


def _request_attributes(body: Mapping[str, Any]) -> dict[str, str | float]:
    """The request as OpenTelemetry's conventions name its parts."""
    attributes: dict[str, str | float] = {"gen_ai.request.type": "chat", "gen_ai.system": "OpenAI"}
    for at, message in enumerate(body["messages"]):
        attributes[f"gen_ai.prompt.{at}.role"] = message["role"]
        attributes[f"gen_ai.prompt.{at}.content"] = message["content"]
    for name in ("model", "max_tokens", "temperature", "top_p"):
        if body.get(name) is not None:
            attributes[f"gen_ai.request.{name}"] = body[name]
    return attributes


def _read(reply: Mapping[str, Any]) -> tuple[Completion, dict[str, Any]]:
    """A server's reply, and the span's attributes under which agentlightning's adapters look for its parts."""
    choice, usage = reply["choices"][0], reply.get("usage") or {}
    message = choice["message"]
    completion = Completion(
        message.get("content") or "",
        usage,
        reply.get("prompt_token_ids") or (),
        # LiteLLM's proxy hands on what it doesn't know as the provider's.
        choice.get("token_ids") or (choice.get("provider_specific_fields") or {}).get("token_ids") or (),
    )
    content, logprobs = completion.content, (choice.get("logprobs") or {}).get("content")
    attributes = {
        "gen_ai.response.id": reply.get("id"),
        "gen_ai.response.model": reply.get("model"),
        "gen_ai.completion.0.role": message.get("role"),
        "gen_ai.completion.0.content": content if isinstance(content, str) else json.dumps(content),
        "gen_ai.completion.0.finish_reason": choice.get("finish_reason"),
        "prompt_token_ids": completion.prompt_token_ids or None,
        "response_token_ids": completion.token_ids or None,
        "logprobs.content": json.dumps(logprobs) if logprobs else None,
    }
    counts = {
        f"gen_ai.usage.{name}": usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    return completion, {name: value for name, value in (attributes | counts).items() if value is not None}


@lru_cache(maxsize=16)
def _client(api_key: str, retries: int) -> openai.OpenAI:
    """One client for all servers, whose URLs may name a rollout: it takes tens of milliseconds to make."""
    return openai.OpenAI(base_url="http://127.0.0.1", api_key=api_key, max_retries=retries, timeout=TIMEOUT_SECONDS)


# A forked process must not talk over its parent's connections.
os.register_at_fork(after_in_child=_client.cache_clear)


def _endpoint_error(error: Exception, base_url: str) -> EndpointError:
    if not isinstance(error, openai.APIError):  # what `_read` stumbled over
        return EndpointError(f"what {base_url} answers is not the OpenAI API's", "rejected")
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
