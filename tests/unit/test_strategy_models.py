"""The models of a search are looked for before a call is paid."""

from collections.abc import Sequence

import pytest

from benchmarks.chat_server import ChatServer
from spider.apo_training import parser
from spider.strategy.models import endpoints


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "MODEL", "OPTIMIZER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def named(server: ChatServer, *arguments: str) -> Sequence[str]:
    """The names of both models."""
    return [endpoint.model for endpoint in endpoints(parser().parse_args(["--endpoint", server.url, *arguments]))]


def test_without_names_both_are_the_first_served(chat_server: ChatServer) -> None:
    assert named(chat_server) == ["scripted", "scripted"]


def test_named_models_that_are_served_are_taken(chat_server: ChatServer) -> None:
    chat_server.models = ["a", "b"]
    assert named(chat_server, "--model", "b", "--optimizer-model", "a") == ["b", "a"]


@pytest.mark.parametrize("flag", ["--model", "--optimizer-model"])
def test_a_model_that_is_not_served_is_refused_by_its_flag(chat_server: ChatServer, flag: str) -> None:
    with pytest.raises(ValueError, match=rf"{flag}: {chat_server.url} has no model bogus; it has scripted"):
        named(chat_server, flag, "bogus")
    assert chat_server.requests == []
