"""The optimiser's client pays from the budget and remembers what it was told."""

import asyncio
from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from benchmarks.chat_server import ChatServer
from spider.strategy.budget import Ledger, Price
from spider.strategy.optimizer_client import PAYMENT_REQUIRED, JournaledTransport, journaled_client


def ask(server: ChatServer, folder: Path, question: str, max_calls: int | None = None) -> str | None:
    """One question through a client of its own, as in a session of its own."""

    async def call() -> str | None:
        ledger = Ledger(folder / "spent.json", max_calls)
        transport = JournaledTransport(folder / "optimizer.jsonl", ledger, Price(1.0, 2.0), max_tokens=7)
        async with journaled_client(server.url, "none", transport) as client:
            messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
            reply = await client.chat.completions.create(model="m", messages=messages)
        return reply.choices[0].message.content

    return asyncio.run(call())


def test_a_request_of_an_earlier_session_gets_the_same_reply_without_a_call(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.say("first", "second")
    assert [ask(chat_server, tmp_path, "Why?"), ask(chat_server, tmp_path, "Why?")] == ["first", "first"]
    assert ask(chat_server, tmp_path, "How?") == "second"
    assert len(chat_server.requests) == 2


def test_a_call_is_counted_paid_and_limited(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.say("reply")
    ask(chat_server, tmp_path, "Why?")
    spent = Ledger(tmp_path / "spent.json").spent
    assert (spent.calls, spent.prompt_tokens, spent.reply_tokens) == (1, 4, 5)
    assert spent.usd == pytest.approx(14e-6)
    assert chat_server.requests[0]["max_completion_tokens"] == 7


def test_a_spent_budget_refuses_the_call_at_once(chat_server: ChatServer, tmp_path: Path) -> None:
    ask(chat_server, tmp_path, "Why?", max_calls=1)
    with pytest.raises(openai.APIStatusError, match="all 1 calls are spent") as error:
        ask(chat_server, tmp_path, "How?", max_calls=1)
    assert error.value.status_code == PAYMENT_REQUIRED
    assert len(chat_server.requests) == 1
