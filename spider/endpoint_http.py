"""JSON to and from a model's server, asked again while it is in trouble; why a call gave nothing is an `EndpointError`.

    call("http://127.0.0.1:8000/v1", "models")["data"]

`urllib3` with the retries of the OpenAI client, whose checks and layers take five times as long as the call itself.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, TypedDict
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InvalidHeader,
    MaxRetryError,
    NewConnectionError,
    ReadTimeoutError,
)

from spider.quick_json import loads

RETRIES = 5  # with back-off from 0.5 s up to 8 s
RETRIED = (408, 409, 429, *range(500, 600))  # answers; no answer is tried again too
TIMEOUT_SECONDS = 600.0  # of one call: a busy server on CPU takes minutes
LONGEST_WAIT = 60.0  # seconds; a server that wants to be left alone for longer is asked as one that doesn't say
CONNECTIONS = 64  # kept to one server

# Names of errors, for which an answer of status 200 may give no number.
_ERRORS = {"rate_limit_error": 429, "rate_limit_exceeded": 429, "overloaded_error": 503, "server_error": 500}
_TOO_LONG = re.compile(
    r"context.{0,3}(?:length|window|limit|size)|max(?:imum)?_?(?:model_len|seq_?len| sequence length| input length)"
    r"|prompt.{0,30}(?:too long|longer than|exceeds)|too many (?:input )?tokens|input (?:length|tokens).{0,30}exceed",
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


class Options(TypedDict, total=False):
    """How to ask: headers beside the usual ones, the URL's query, and seconds (None: no limit)."""

    headers: Mapping[str, str]
    params: Mapping[str, str]
    timeout: float | None


def call(
    base_url: str,
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    api_key: str = "none",
    retries: int = RETRIES,
    options: Options | None = None,
) -> dict[str, Any]:
    """The object that the server answers with; a request with a `body` is a POST, one without a GET.

    Raises:
        EndpointError: it answers with an error, not with JSON, or not at all.
    """
    options = options or {}
    query = urlencode(options.get("params", {}))
    try:
        ask = partial(
            _send,
            "GET" if body is None else "POST",
            f"{base_url.rstrip('/')}/{path}{'?' if query else ''}{query}",
            body=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {api_key}",
                "Content-Type": "application/json",
                "User-Agent": "spider-sql-agent",
                **options.get("headers", {}),
            },
            timeout=options.get("timeout", TIMEOUT_SECONDS),
        )
        tries = BackOff(retries, allowed_methods=None, status_forcelist=RETRIED, raise_on_status=False)
        return _reply(ask, tries, base_url)
    except HTTPError as error:
        raise _no_answer(error, base_url) from error


def _send(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], timeout: float | None, retries: BackOff
) -> urllib3.BaseHTTPResponse:
    """A server's answer.

    A `PoolManager` looks for the server's connections at each call, for a fifth of its time. It is asked where there is
    more to do: through a proxy, and where a server sends elsewhere.
    """
    parts = urlsplit(url)
    manager = _connections(parts.scheme, parts.netloc)
    if manager.proxy is None:
        server = _server(parts.scheme, parts.netloc)
        target = url[len(f"{parts.scheme}://{parts.netloc}") :]
        response = server.urlopen(method, target, body, headers, retries, redirect=False, timeout=timeout)
        if not response.get_redirect_location():
            return response
    return manager.request(method, url, body=body, headers=headers, timeout=timeout, retries=retries)


def not_the_api(base_url: str) -> EndpointError:
    """The error for an answer that isn't understood."""
    return EndpointError(f"what {base_url} answers is not the OpenAI API's", "rejected")


class BackOff(urllib3.Retry):
    """Waits for as long as the server says, else for half a second, twice as long each time."""

    def get_backoff_time(self) -> float:
        """Seconds, of which up to a quarter is left to chance so that not all agents come back at once."""
        return min(0.5 * 2 ** (len(self.history) - 1), 8.0) * (1 - 0.25 * random.random())

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        """Seconds that the server asks for."""
        seconds = None
        with suppress(ValueError, InvalidHeader):
            milliseconds = response.headers.get("Retry-After-Ms")
            seconds = float(milliseconds) / 1000 if milliseconds else super().get_retry_after(response)
        return seconds if seconds and 0 < seconds <= LONGEST_WAIT else None


@lru_cache(maxsize=16)
def _connections(scheme: str, netloc: str) -> urllib3.PoolManager:
    """Connections that are kept, through the proxy that the environment names for the host, if any."""
    proxy = None if proxy_bypass(urlsplit(f"//{netloc}").hostname or "") else getproxies().get(scheme)
    certificates = os.environ.get("SSL_CERT_FILE") or certifi.where()
    if proxy:
        return urllib3.ProxyManager(proxy, maxsize=CONNECTIONS, ca_certs=certificates)
    return urllib3.PoolManager(maxsize=CONNECTIONS, ca_certs=certificates)


@lru_cache(maxsize=16)
def _server(scheme: str, netloc: str) -> urllib3.HTTPConnectionPool:
    """The connections to one server."""
    return _connections(scheme, netloc).connection_from_url(f"{scheme}://{netloc}")


# A forked process must not talk over its parent's connections.
os.register_at_fork(after_in_child=_connections.cache_clear)
os.register_at_fork(after_in_child=_server.cache_clear)


def _reply(ask: Callable[..., urllib3.BaseHTTPResponse], tries: urllib3.Retry, base_url: str) -> dict[str, Any]:
    """The object in the answer. urllib3 asks again by an answer's status; this, by an error's in a good answer."""
    while True:
        response = ask(retries=tries)
        reply: Any = None
        with suppress(ValueError):
            reply = loads(response.data)
        status = _status(response.status, reply)
        if status < 400:
            if not isinstance(reply, dict):
                raise not_the_api(base_url)
            return reply
        tries = response.retries or tries
        if response.status >= 400 or status not in RETRIED or not tries.total:
            raise _refusal(response, reply, status)
        tries = tries.increment(response=response)
        tries.sleep(response)


def _no_answer(error: HTTPError, base_url: str) -> EndpointError:
    cause = error.reason if isinstance(error, MaxRetryError) and error.reason else error
    if isinstance(cause, ConnectTimeoutError | ReadTimeoutError) and not isinstance(cause, NewConnectionError):
        return EndpointError(f"no answer from {base_url} in time", "timeout")
    return EndpointError(f"can't reach {base_url}: {cause.__cause__ or cause}", "unreachable")


def _status(status: int, reply: object) -> int:
    """What an answer comes to: some servers put an error into one of status 200, with the real one as code or type."""
    error = reply.get("error") if isinstance(reply, Mapping) else None
    if status >= 400 or not error:
        return status
    for said in (str(error.get("code")), str(error.get("type"))) if isinstance(error, Mapping) else ():
        if re.fullmatch("[45][0-9][0-9]", said):
            return int(said)
        if said in _ERRORS:
            return _ERRORS[said]
    return 400


def _refusal(response: urllib3.BaseHTTPResponse, reply: object, status: int) -> EndpointError:
    text = response.data.decode(errors="replace").strip()
    error = reply.get("error", reply) if isinstance(reply, Mapping) else reply
    code, message = None, None
    if isinstance(error, Mapping):
        code, message = error.get("code"), error.get("message") or error.get("detail")
    if not isinstance(message, str):
        message = text if text and not text.startswith("<") else f"HTTP {response.status} {response.reason}"
    if status == 413 or (status == 400 and (code == "context_length_exceeded" or _TOO_LONG.search(message))):
        reason = "prompt_too_long"
    elif status == 429:
        reason = "rate_limited"
    else:
        reason = "server_error" if status >= 500 else "rejected"
    return EndpointError(message, reason, response.status)
