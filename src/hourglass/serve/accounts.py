"""A person's account in a budget: what they may spend, and what they have spent.

In the ledger a person's request keys begin with their name, so that nobody can use or read another
person's keys, and each charge records who asked. The allowance is checked under the ledger's lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..ledger import Allowance, Amount, Balance, Budget, Charge, Reservation, Sum
from ..ledger.entries import short_text
from ..ledger.replay import more_fit
from .catalogue import BudgetEntry, Person

__all__ = ["Account", "Standing", "description_of", "owner_of", "prefix_of"]


def prefix_of(person: str) -> str:
    """The prefix of a person's request keys."""
    return f"{person}/"


def owner_of(charge: Charge) -> tuple[str, str]:
    """Who asked, and the request key as given; no person for a charge made outside the service."""
    person, slash, key = charge.request.partition("/")
    return (person, key) if slash else ("", charge.request)


def description_of(dataset: str, subject: str) -> str:
    """The description of a charge: the dataset, and what was asked."""
    return f"{dataset}: {short_text(subject)}"[:200].strip()


@dataclass(frozen=True)
class Standing:
    """A person's standing: their allowance, what they spent, and the balance of the budget.

    Without an ``allowance`` of their own they may spend whatever the budget covers.
    """

    allowance: Amount | None
    spent: Amount
    budget: Balance

    @property
    def adds_up(self) -> bool:
        """Whether it is the sum of the charges that the budget limits."""
        return isinstance(self.budget.terms.rule, Sum)

    @property
    def remaining(self) -> Amount:
        """What they may still spend; with slots or a filter, the most for the next question."""
        left = self.budget.remaining
        if self.allowance is not None:
            left = left.least(self.allowance - self.spent)
        return Amount(max(Fraction(0), left.epsilon), max(Fraction(0), left.delta))

    def affords(self, price: Amount) -> bool:
        """Whether a question at this price can be asked."""
        own = self.allowance is None or price.fits(self.allowance - self.spent)
        return own and self.budget.covers(*price.pair)

    def questions_left(self, price: Amount) -> int:
        """How many questions at this price remain."""
        left = self.budget.more(*price.pair)
        if self.allowance is None:
            return left
        return min(left, more_fit(Sum(self.allowance), self.spent.pair, price))


@dataclass(frozen=True)
class Account:
    """A person's account in a budget, which is charged in place of the budget itself."""

    budget: Budget
    entry: BudgetEntry
    person: Person
    dataset: str = ""

    def reserve(
        self,
        epsilon: Any,
        delta: Any = 0,
        *,
        question: str,
        request: str | None = None,
        description: str = "",
    ) -> Reservation:
        """Charge the budget within the person's allowance, under one of the person's keys."""
        assert request is not None  # the service accepts no question without a key
        name = self.person.name
        limit = self.entry.allowance_of(name)
        return self.budget.reserve(
            epsilon,
            delta,
            question=question,
            request=prefix_of(name) + request,
            description=description_of(self.dataset, description),
            allowance=None if limit is None else Allowance(name, limit),
        )

    def standing(self) -> Standing:
        """The person's current standing."""
        balance, spent = self.budget.spent_by(self.person.name)
        return Standing(self.entry.allowance_of(self.person.name), spent, balance)
