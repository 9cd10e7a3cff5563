"""Which model an endpoint means, and what is said where it doesn't work."""

import pytest

from benchmarks.chat_server import ChatServer
from spider.chat_endpoint import ChatEndpoint, EndpointError
from spider.first_model import UnknownModelError, hint, model_of, require_served
from spider.ports import free_port


def test_a_named_model_that_is_served_is_taken(chat_server: ChatServer) -> None:
    chat_server.models = ["scripted", "mine"]
    assert model_of(ChatEndpoint(chat_server.url, "mine")) == "mine"


@pytest.mark.parametrize("models", [None, []])
def test_a_named_model_is_taken_as_it_is_where_none_are_listed(
    chat_server: ChatServer, models: list[str] | None
) -> None:
    chat_server.models = models
    assert model_of(ChatEndpoint(chat_server.url, "mine")) == "mine"


def test_a_named_model_that_is_not_served_is_refused_with_those_that_are(chat_server: ChatServer) -> None:
    chat_server.models = ["scripted", "other"]
    with pytest.raises(UnknownModelError, match=r"/v1 has no model mine; it has scripted, other$"):
        model_of(ChatEndpoint(chat_server.url, "mine"))
    assert chat_server.requests == []


def test_of_many_models_those_with_the_likest_names_are_told() -> None:
    served = [*(f"embedding-{number}" for number in range(40)), "gpt-large"]
    with pytest.raises(UnknownModelError, match=r"it has gpt-large, .* and 31 more$"):
        require_served("http://there/v1", "gpt-lrage", served)


def test_without_a_name_it_is_the_first_one_served(chat_server: ChatServer) -> None:
    assert model_of(ChatEndpoint(chat_server.url, "")) == "scripted"


def test_a_named_model_of_an_endpoint_that_is_not_there_is_an_error() -> None:
    with pytest.raises(EndpointError) as found:
        model_of(ChatEndpoint(f"http://127.0.0.1:{free_port()}/v1", "mine"))
    assert found.value.reason == "unreachable"


@pytest.mark.parametrize(
    ("message", "status", "said"),
    [
        ("Not Found", 404, " (HTTP 404); does the address end in /v1?"),
        ("The model `nope` does not exist.", 404, "without --model"),
        ("bad key", 401, " (HTTP 401); OPENAI_API_KEY of .env is the key"),
        ("oops", 400, " (HTTP 400)"),
    ],
)
def test_a_refusal_is_followed_by_its_status_and_what_to_look_at(message: str, status: int, said: str) -> None:
    assert said in hint(EndpointError(message, "rejected", status))
