"""The terms of a budget, and its balance: what the rule of the budget makes of its charges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..errors import EpsilonError, OptionError, shown
from .entries import Entry
from .renyi import Renyi, checked_filter
from .rules import Cost, Rule, Slots, Sum, checked_slots, covers, more_fit
from .values import Amount, Anchor, limit_amount

__all__ = ["Balance", "Terms", "checked_rule", "read_rule", "same_terms"]

_RULES: Final = {rule.kind: rule for rule in (Sum, Slots, Renyi)}


@dataclass(frozen=True)
class Terms:
    """The terms of a budget: its name, and the rule that limits its charges."""

    name: str
    rule: Rule
    created: str
    description: str = ""

    @property
    def limit(self) -> Amount:
        """What all charges together promise: (epsilon, delta)-DP."""
        return self.rule.limit


@dataclass(frozen=True)
class Balance:
    """The balance of a budget.

    ``used`` is the cost of the charges in the units of the budget's rule. ``spent`` is what they
    cost together: the sum of their amounts or, with slots or a filter, the limit if that is less.
    """

    terms: Terms
    spent: Amount
    charges: int
    open: int
    anchor: Anchor
    used: Cost

    @property
    def remaining(self) -> Amount:
        """What may still be spent; with slots or a filter, the most that the next charge may be."""
        return self.terms.rule.most(self.used)

    @property
    def left(self) -> str:
        """What is left, in the words of the budget's rule: a sentence without its full stop."""
        return self.terms.rule.left(self.used)

    def covers(self, amount: Amount) -> bool:
        """Whether the budget covers a charge of this amount."""
        return covers(self.terms.rule, self.used, amount)

    def more(self, amount: Amount) -> int:
        """How many more charges of this amount the budget covers."""
        return more_fit(self.terms.rule, self.used, amount)

    def __str__(self) -> str:
        return f"budget {self.terms.name}: {self.terms.rule.told(self.used, self.charges)}"


def same_terms(one: Rule, other: Rule) -> bool:
    """Whether two rules were made from the same options."""

    def options(rule: Rule) -> tuple[Any, ...]:
        size = (rule.count, rule.epsilon) if isinstance(rule, Slots) else rule.limit.epsilon
        return rule.kind, size, rule.limit.delta

    return options(one) == options(other)


def read_rule(entry: Entry) -> Rule:
    """The rule in a budget's first entry; raises ValueError."""
    return _RULES[entry.kind].of(entry)


def checked_rule(epsilon: Any, delta: Any, slots: Any = None, filter: Any = None) -> Rule:
    """The rule of a new budget; otherwise raises an EpsilonError or an OptionError."""
    if filter is not None and filter != "renyi":
        raise OptionError(
            f"filter={shown(filter)} is not a filter; give 'renyi', or leave it out for a budget "
            "that adds up its charges"
        )
    if slots is not None:
        if filter is not None:
            raise OptionError("slots and filter are two rules for one budget; give one of them")
        if epsilon is not None:
            raise OptionError(
                f"epsilon={shown(epsilon)} was given together with slots, from which the total "
                "epsilon is computed; leave epsilon out"
            )
        return checked_slots(slots, delta)
    if epsilon is None:
        raise EpsilonError(
            "epsilon is missing; give the limit on the total of all charges, such as epsilon=1, or "
            "slots=(100, '1/10')"
        )
    return Sum(limit_amount(epsilon, delta)) if filter is None else checked_filter(epsilon, delta)
