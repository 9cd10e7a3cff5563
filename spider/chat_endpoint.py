"""The one place where the agent calls a model: an OpenAI-compatible server.

Each call is a span as agentlightning's adapters read it, whatever tracer runs: prompt, reply, token ids, log-probs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace

from spider.endpoint_http import RETRIES, TIMEOUT_SECONDS, EndpointError, Options, call, not_the_api
from spider.prompts import Reply
from spider.quick_json import dumps
from spider.server_flags import DEFAULT_PORT

DEFAULT_ENDPOINT = f"http://127.0.0.1:{DEFAULT_PORT}/v1"
"""Where scripts/serve.sh serves."""
CALL = "openai.chat.completion"  # a span's name, by which agentlightning's adapters know a call

tracer = trace.get_tracer(__name__)  # the one that is set up later, if one is

# Sampling parameters that say how to ask, with `call`'s names for them; all others are the server's.
_CALL_OPTIONS = {"extra_headers": "headers", "extra_query": "params", "timeout": "timeout"}


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
        options, parameters = _split(self.sampling)
        body = {"model": self.model, "messages": messages, **parameters}
        with tracer.start_as_current_span(CALL, kind=trace.SpanKind.CLIENT, set_status_on_exception=False) as span:
            span.set_attributes(_request_attributes(body))
            try:
                completion, attributes = _read(self._call("chat/completions", body, options), self.base_url)
            except EndpointError as error:
                span.set_status(trace.StatusCode.ERROR, str(error))
                raise
            span.set_attributes(attributes)
        return completion

    def models(self, timeout: float = TIMEOUT_SECONDS) -> list[str]:
        """Names of the models that the endpoint serves, asked for so many seconds at most.

        Raises:
            EndpointError: it doesn't answer.
        """
        try:
            return [model["id"] for model in self._call("models", options={"timeout": timeout})["data"]]
        except (KeyError, TypeError) as error:
            raise not_the_api(self.base_url) from error

    def _call(
        self, path: str, body: Mapping[str, object] | None = None, options: Options | None = None
    ) -> dict[str, Any]:
        return call(self.base_url, path, body, api_key=self.api_key, retries=self.retries, options=options)


def endpoint_from_environment(base_url: str | None = None, model: str | None = None) -> ChatEndpoint:
    """The endpoint of `OPENAI_BASE_URL` (or `OPENAI_API_BASE`), `MODEL` and `OPENAI_API_KEY`, where not given.

    Without any it is `DEFAULT_ENDPOINT`.

    Raises:
        ValueError: the endpoint can't be a URL.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or DEFAULT_ENDPOINT
    if not _is_url(url):
        raise ValueError(
            f"the endpoint {url!r} is not a URL: put a line like OPENAI_BASE_URL={DEFAULT_ENDPOINT} into .env, or give "
            "--endpoint"
        )
    return ChatEndpoint(url, model or os.environ.get("MODEL") or "", {}, os.environ.get("OPENAI_API_KEY") or "none")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(re.fullmatch(r"https?://\S+", text) and parts.hostname and parts.port != 0)
    except ValueError:  # half an IPv6 address, or a port that is none
        return False


def _split(sampling: Mapping[str, object]) -> tuple[Options, dict[str, object]]:
    """How to ask, and what goes into the request's body."""
    parameters = {name: value for name, value in sampling.items() if name not in _CALL_OPTIONS}
    extra = parameters.pop("extra_body", None)
    if isinstance(extra, Mapping):
        parameters.update(extra)
    return _options({ours: sampling[name] for name, ours in _CALL_OPTIONS.items() if name in sampling}), parameters


def _options(values: Mapping[str, Any]) -> Options:
    return Options(**values)


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


def _read(reply: Mapping[str, Any], base_url: str) -> tuple[Completion, dict[str, Any]]:
    """A server's reply, and the span's attributes under which agentlightning's adapters look for its parts.

    Raises:
        EndpointError: the reply isn't a chat completion.
    """
    try:
        return _completion(reply)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise not_the_api(base_url) from error


def _completion(reply: Mapping[str, Any]) -> tuple[Completion, dict[str, Any]]:
    choice = reply["choices"][0]
    usage = {name: count for name, count in (reply.get("usage") or {}).items() if isinstance(count, int)}
    message = choice["message"]
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else [content]
    if isinstance(content, Mapping) or not all(isinstance(part, str | Mapping) for part in parts):
        raise TypeError(f"a message's content is {content!r}")
    completion = Completion(
        content,
        usage,
        reply.get("prompt_token_ids") or (),
        # LiteLLM's proxy hands on what it doesn't know as the provider's.
        choice.get("token_ids") or (choice.get("provider_specific_fields") or {}).get("token_ids") or (),
    )
    logprobs = (choice.get("logprobs") or {}).get("content")
    attributes = {
        "gen_ai.response.id": reply.get("id"),
        "gen_ai.response.model": reply.get("model"),
        "gen_ai.completion.0.role": message.get("role"),
        "gen_ai.completion.0.content": content if isinstance(content, str) else dumps(content),
        "gen_ai.completion.0.finish_reason": choice.get("finish_reason"),
        "prompt_token_ids": completion.prompt_token_ids or None,
        "response_token_ids": completion.token_ids or None,
        "logprobs.content": dumps(logprobs) if logprobs else None,
    }
    counts = {
        f"gen_ai.usage.{name}": usage.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    return completion, {name: value for name, value in (attributes | counts).items() if value is not None}
