"""Which model an endpoint means where none is named."""

from __future__ import annotations

from spider.chat_endpoint import ChatEndpoint, EndpointError


def first_model(endpoint: ChatEndpoint) -> str:
    """The name of the first model that an endpoint serves.

    Raises:
        EndpointError: it doesn't answer, or serves none.
    """
    served = endpoint.models()
    if not served:
        raise EndpointError(f"{endpoint.base_url} serves no model: give --model NAME, or MODEL in .env", "rejected")
    return served[0]
