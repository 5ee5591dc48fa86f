"""A person's part of a budget: exact, under the budget's own lock, on both stores."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest

from hourglass.errors import BudgetExceededError
from hourglass.ledger import Allowance, Amount, Budget

from .support import Place, fresh


def allowance(person: str, epsilon: str) -> Allowance:
    return Allowance(person, Amount(Fraction(epsilon)))


def test_an_allowance_counts_its_own_charges_alone(place: Place) -> None:
    budget = fresh(place, epsilon=1)
    own = allowance("ana", "3/10")
    budget.reserve("0.2", question="q", request="ana/1", allowance=own)
    budget.reserve("0.2", question="q", request="anabel/1", allowance=allowance("anabel", "1"))
    budget.reserve("0.2", question="q", request="by-hand")
    with pytest.raises(BudgetExceededError) as refused:
        budget.reserve("0.2", question="q", request="ana/2", allowance=own)
    assert refused.value.remaining == (Fraction(1, 10), Fraction(0))
    assert budget.balance().spent.epsilon == Fraction(3, 5)
    budget.reserve("0.1", question="q", request="ana/3", allowance=own)  # to the last bit
    again = budget.reserve("0.2", question="q", request="ana/1", allowance=own)
    assert again.reopened  # what is paid for stays paid for
    for one in (budget, Budget(place.location, "b")):  # kept up, and added up from the start
        assert one.spent_by("ana")[1].epsilon == Fraction(3, 10)
        assert one.spent_by("ana/1")[1].epsilon == 0


def test_racing_charges_pass_neither_limit(place: Place) -> None:
    """Four people with 4/10 each race for 1, in two processes' worth of sessions."""
    fresh(place, epsilon=1)
    budgets = [Budget(place.location, "b") for _ in range(2)]
    granted = dict.fromkeys("abcd", 0)
    lock = threading.Lock()

    def ask(name: str, number: int) -> None:
        try:
            budgets[number % 2].reserve(
                "0.1", question="q", request=f"{name}/{number}", allowance=allowance(name, "0.4")
            )
        except BudgetExceededError:
            return
        with lock:
            granted[name] += 1

    threads = [
        threading.Thread(target=ask, args=(name, number)) for name in granted for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted.values()) == 10
    assert max(granted.values()) <= 4
    assert budgets[0].balance().spent.epsilon == 1
    assert budgets[0].verify().sound
