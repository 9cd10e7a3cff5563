"""Which model an endpoint means where none is named."""

from __future__ import annotations

from dataclasses import replace

from spider.chat_endpoint import DEFAULT_ENDPOINT, ChatEndpoint, EndpointError

LIST_SECONDS = 30.0  # for a list of models; a server that loads one doesn't listen yet


def hint(error: EndpointError) -> str:
    """What to do where no endpoint answers; nothing for one that answers and refuses."""
    if error.reason != "unreachable":
        return ""
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
