"""The client of the model that criticises and edits instructions: it pays from the budget and remembers replies."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI

from spider.strategy.budget import BudgetSpentError, Ledger, Price

PAYMENT_REQUIRED = 402
TIMEOUT_SECONDS = 600.0


class JournaledTransport(httpx2.AsyncBaseTransport):
    """HTTP to the optimiser's model: a request that was answered in an earlier session gets the same answer again.

    Args:
        path: The file of requests' hashes and replies, one JSON object a line.
        ledger: Allows and counts the calls that are made.
        price: What they cost.
        max_tokens: Most tokens of a reply; APO itself sets no limit.
    """

    def __init__(self, path: Path, ledger: Ledger, price: Price | None, max_tokens: int = 2048) -> None:
        self._path = path
        self._ledger = ledger
        self._price = price
        self._max_tokens = max_tokens
        self._inner = httpx2.AsyncHTTPTransport()
        self._past: dict[str, list[dict[str, Any]]] = {}
        for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else ():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # the last line, cut by the session's end
                continue
            self._past.setdefault(entry["request"], []).append(entry["reply"])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer from the past, or pass the request on and keep what comes back.

        The client takes any exception for a lost connection, so a spent budget is an answer too: 402.
        """
        asked = hashlib.sha256(await request.aread()).hexdigest()
        if self._past.get(asked):
            return httpx2.Response(200, json=self._past[asked].pop(0), request=request)
        try:
            self._ledger.reserve()
        except BudgetSpentError as error:
            return httpx2.Response(PAYMENT_REQUIRED, json={"error": {"message": str(error)}}, request=request)
        response = await self._inner.handle_async_request(self._limited(request))
        content = await response.aread()
        if response.status_code == 200:
            reply = json.loads(content)
            usage = reply.get("usage") or {}
            self._ledger.charge(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), self._price)
            with self._path.open("a", encoding="utf-8") as file:
                # The line end comes first: an earlier session's last line may have been cut.
                file.write("\n" + json.dumps({"request": asked, "reply": reply}))
        headers = {"content-type": response.headers.get("content-type", "application/json")}
        return httpx2.Response(response.status_code, headers=headers, content=content, request=request)

    def _limited(self, request: httpx2.Request) -> httpx2.Request:
        """The request with a limit for its reply."""
        body = {"max_completion_tokens": self._max_tokens, **json.loads(request.content)}
        kept = {name: value for name, value in request.headers.items() if name != "content-length"}
        extensions = request.extensions
        return httpx2.Request(request.method, request.url, headers=kept, json=body, extensions=extensions)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def journaled_client(base_url: str, api_key: str, transport: JournaledTransport) -> AsyncOpenAI:
    """A client of the optimiser's model that remembers what it was told."""
    http = httpx2.AsyncClient(transport=transport, timeout=TIMEOUT_SECONDS)
    return AsyncOpenAI(base_url=base_url, api_key=api_key, http_client=http)
