"""Which model an endpoint means where none is named."""

from __future__ import annotations

from dataclasses import replace

from spider.chat_endpoint import DEFAULT_ENDPOINT, ChatEndpoint, EndpointError

LIST_SECONDS = 30.0  # for a list of models; a server that loads one doesn't listen yet


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


def first_model(endpoint: ChatEndpoint) -> str:
    """The name of the first model that an endpoint serves; it is asked once, so that one that isn't there is soon told.

    Raises:
        EndpointError: it doesn't answer, or serves none.
    """
    served = replace(endpoint, retries=0).models(timeout=LIST_SECONDS)
    if not served:
        raise EndpointError(f"{endpoint.base_url} serves no model: give --model NAME, or MODEL in .env", "rejected")
    return served[0]


def model_of(endpoint: ChatEndpoint) -> str:
    """The name of an endpoint's model, or of the first that it serves.

    Raises:
        EndpointError: nothing answers there; or none is named, and it serves none.
    """
    try:
        first = first_model(endpoint)
    except EndpointError as error:
        if endpoint.model and error.reason != "unreachable":  # it need not list its models
            return endpoint.model
        raise
    return endpoint.model or first
