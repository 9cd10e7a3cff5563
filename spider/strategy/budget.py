"""What a run may spend on calls of a model, and what it has spent: a small file, so that a run can be resumed."""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from spider.chat_endpoint import ChatEndpoint, Completion
from spider.files import write_whole


class BudgetSpentError(RuntimeError):
    """The run may not make another call."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens, of prompts and of replies."""

    prompt: float
    reply: float


@dataclass(frozen=True)
class Spent:
    """Calls, tokens of prompts and of replies, and US dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.prompt_tokens + self.reply_tokens


class Ledger:
    """Counts calls and money in a file. For threads and processes.

    A call is counted before it is made and paid after: calls never exceed their limit, money does by at most what the
    calls in flight cost.

    Args:
        path: The file; it needn't exist.
        max_calls: Most calls, those of earlier sessions included; None for any number.
        max_usd: Most US dollars; None for any sum.
    """

    def __init__(self, path: Path, max_calls: int | None = None, max_usd: float | None = None) -> None:
        self.path = path
        self.max_calls = max_calls
        self.max_usd = max_usd
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        """What has been spent so far."""
        with self._open() as (spent, _):
            return spent

    def reserve(self) -> None:
        """Count a call that is about to be made.

        Raises:
            BudgetSpentError: it would be one too many, or the money is spent.
        """
        with self._open() as (spent, save):
            self._require(spent)
            save(replace(spent, calls=spent.calls + 1))

    def require(self) -> None:
        """Raise BudgetSpentError where `reserve` would."""
        self._require(self.spent)

    def _require(self, spent: Spent) -> None:
        if self.max_calls is not None and spent.calls >= self.max_calls:
            raise BudgetSpentError(f"all {self.max_calls} calls are spent")
        if self.max_usd is not None and spent.usd >= self.max_usd:
            raise BudgetSpentError(f"${spent.usd:.4f} of ${self.max_usd:g} are spent")

    def charge(self, prompt_tokens: int, reply_tokens: int, price: Price | None) -> None:
        """Pay for a call that was made."""
        usd = (price.prompt * prompt_tokens + price.reply * reply_tokens) / 1e6 if price else 0.0
        with self._open() as (spent, save):
            tokens = (spent.prompt_tokens + prompt_tokens, spent.reply_tokens + reply_tokens)
            save(Spent(spent.calls, *tokens, spent.usd + usd))

    @contextmanager
    def _open(self) -> Iterator[tuple[Spent, Callable[[Spent], None]]]:
        """The file's content, and what replaces it whole, while no one else has the file."""
        with self._lock, self.path.with_suffix(".lock").open("a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""

            def save(spent: Spent) -> None:
                write_whole(self.path, json.dumps(asdict(spent)))

            yield Spent(**json.loads(text)) if text else Spent(), save


@dataclass(frozen=True)
class MeteredEndpoint(ChatEndpoint):
    """An endpoint whose calls a ledger allows and counts."""

    ledger: Ledger | None = None
    price: Price | None = None

    def complete(self, messages: Sequence[Mapping[str, str]]) -> Completion:
        """See `ChatEndpoint.complete`.

        Raises:
            EndpointError: no reply.
            BudgetSpentError: the ledger doesn't allow the call.
        """
        if self.ledger is None:
            return super().complete(messages)
        self.ledger.reserve()
        completion = super().complete(messages)
        usage = completion.usage
        self.ledger.charge(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), self.price)
        return completion


def known_price(model: str) -> Price | None:
    """What litellm's price list says of a model; None where it has none."""
    import litellm

    litellm.suppress_debug_info = True  # it prints a list of providers for a model that it does not know

    try:
        entry = litellm.get_model_info(model)
    except Exception:  # it raises a plain Exception for a model that it doesn't know
        return None
    return Price(1e6 * (entry["input_cost_per_token"] or 0), 1e6 * (entry["output_cost_per_token"] or 0))
