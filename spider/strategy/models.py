"""The two models of a search, and what they cost: the agent's, and the one that criticises and edits."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from spider.chat_endpoint import ChatEndpoint, EndpointError, endpoint_from_environment
from spider.first_model import UnknownModelError, hint, model_of
from spider.strategy.budget import Price, known_price


def endpoints(options: argparse.Namespace) -> tuple[ChatEndpoint, ChatEndpoint]:
    """The agent's model and the one that criticises and edits; fills in their names where they weren't given.

    Raises:
        ValueError: none is set, it doesn't answer, or it doesn't have the model.
    """

    def served(flag: str, url: str | None, model: str | None, api_key: str | None = None) -> ChatEndpoint:
        found = endpoint_from_environment(url, model)
        found = replace(found, api_key=api_key or found.api_key)
        try:
            name = model_of(found)
        except EndpointError as error:
            raise ValueError(f"the endpoint doesn't work: {error}{hint(error)}") from error
        except UnknownModelError as error:
            raise ValueError(f"{flag}: {error}") from error
        return replace(found, model=name, sampling={"temperature": 0.0, "max_completion_tokens": options.max_tokens})

    agent = served("--model", options.endpoint, options.model)
    optimizer = agent
    if options.optimizer_endpoint or options.optimizer_model:
        name = options.optimizer_model or (None if options.optimizer_endpoint else agent.model)
        # The agent's key is not another provider's to see.
        key = os.environ.get("OPTIMIZER_API_KEY") or ("none" if options.optimizer_endpoint else None)
        optimizer = served("--optimizer-model", options.optimizer_endpoint or options.endpoint, name, key)
    options.model, options.optimizer_model = agent.model, optimizer.model
    return agent, optimizer


def price_of(model: str, options: argparse.Namespace) -> Price | None:
    """What a model costs: as given, or as litellm lists it.

    Raises:
        ValueError: money is limited and the price unknown.
    """
    price = Price(*options.price) if options.price else known_price(model)
    if price is None and options.max_usd is not None:
        raise ValueError(f"--max-usd needs a price, and litellm lists none for {model}: give --price PROMPT REPLY")
    return price
