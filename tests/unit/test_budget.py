"""A budget holds across threads and sessions."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spider.strategy.budget import BudgetSpentError, Ledger, Price, Spent


def test_a_ledger_counts_calls_tokens_and_money(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.json")
    ledger.reserve()
    ledger.charge(1_000, 100, Price(prompt=2.0, reply=10.0))
    assert ledger.spent == Spent(1, 1_000, 100, 0.003)


def test_a_call_too_many_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.json", max_calls=1)
    ledger.reserve()
    with pytest.raises(BudgetSpentError, match="all 1 calls are spent"):
        ledger.reserve()
    assert ledger.spent.calls == 1


def test_no_call_is_made_once_the_money_is_spent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.json", max_usd=0.5)
    ledger.reserve()
    ledger.charge(500_000, 0, Price(1.0, 1.0))
    with pytest.raises(BudgetSpentError, match=r"\$0\.5000 of \$0\.5 are spent"):
        ledger.reserve()


def test_a_call_of_unknown_price_costs_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "spent.json", max_usd=0.5)
    ledger.charge(10**9, 10**9, None)
    assert ledger.spent.usd == 0


def test_a_later_session_goes_on_counting(tmp_path: Path) -> None:
    Ledger(tmp_path / "spent.json").reserve()
    Ledger(tmp_path / "spent.json").charge(1, 2, None)
    assert Ledger(tmp_path / "spent.json").spent == Spent(1, 1, 2)
    assert json.loads((tmp_path / "spent.json").read_text())["calls"] == 1


def test_threads_and_other_ledgers_never_overspend(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path / "spent.json", max_calls=50) for _ in range(4)]

    def try_often(ledger: Ledger) -> int:
        made = 0
        for _ in range(30):
            try:
                ledger.reserve()
            except BudgetSpentError:
                break
            made += 1
        return made

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_often, ledgers * 2)) == 50
    assert ledgers[0].spent.calls == 50
