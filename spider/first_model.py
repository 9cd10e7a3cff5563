"""Which model an endpoint means where none is named, and whether it has the one that is."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace

from spider.chat_endpoint import DEFAULT_ENDPOINT, ChatEndpoint, EndpointError

LIST_SECONDS = 30.0  # for a list of models; a server that loads one doesn't listen yet
NAMES = 10  # of an endpoint's models, at most, in a message: some list hundreds


class UnknownModelError(ValueError):
    """The model that is named isn't among those that the endpoint lists; the message has some of their names."""


def hint(error: EndpointError) -> str:
    """What to do where no endpoint answers; the HTTP status of one that refuses, and where to look if that says it."""
    answer = f" (HTTP {error.status})" if error.status else ""
    if error.status == 404 and "model" in str(error).lower():
        return f"{answer}; without --model, and MODEL in .env, the first that it serves is asked"
    if error.status == 404:
        return f"{answer}; does the address end in /v1?"
    if error.status in (401, 403):
        return f"{answer}; OPENAI_API_KEY of .env is the key"
    if error.reason != "unreachable":
        return answer
    line = f"OPENAI_BASE_URL={DEFAULT_ENDPOINT}"
    return f"; start one with `bash scripts/serve.sh MODEL`, or put yours into .env, like {line}"


def require_served(url: str, name: str, served: Sequence[str]) -> None:
    """Refuse a model that isn't among those that an endpoint lists, if it lists any.

    Raises:
        UnknownModelError: with those that it has, or the names that are most like this one.
    """
    if not served or name in served:
        return
    near = served if len(served) <= NAMES else difflib.get_close_matches(name, served, NAMES, cutoff=0)
    further = f" and {len(served) - len(near)} more" if len(served) > len(near) else ""
    raise UnknownModelError(f"{url} has no model {name}; it has {', '.join(near)}{further}")


def served_models(endpoint: ChatEndpoint) -> list[str]:
    """The names of an endpoint's models; it is asked once, so that one that isn't there is soon told.

    Raises:
        EndpointError: it doesn't answer.
    """
    return replace(endpoint, retries=0).models(timeout=LIST_SECONDS)


def first_model(endpoint: ChatEndpoint) -> str:
    """The name of the first model that an endpoint serves.

    Raises:
        EndpointError: it doesn't answer, or serves none.
    """
    return _first(endpoint, served_models(endpoint))


def model_of(endpoint: ChatEndpoint) -> str:
    """The name of an endpoint's model, or of the first that it serves.

    Raises:
        EndpointError: nothing answers there; or none is named, and it serves none.
        UnknownModelError: it lists its models, and the one that is named isn't there.
    """
    try:
        served = served_models(endpoint)
    except EndpointError as error:
        if endpoint.model and error.reason != "unreachable":  # it need not list its models
            return endpoint.model
        raise
    if not endpoint.model:
        return _first(endpoint, served)
    require_served(endpoint.base_url, endpoint.model, served)
    return endpoint.model


def _first(endpoint: ChatEndpoint, served: Sequence[str]) -> str:
    if not served:
        raise EndpointError(f"{endpoint.base_url} serves no model: give --model NAME, or MODEL in .env", "rejected")
    return served[0]
