"""The terms of a budget, and its balance: what the rule of the budget makes of its charges."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final

from ..errors import EpsilonError, OptionError, shown
from .entries import Entry
from .renyi import Renyi, checked_filter
from .rules import MAX_SLOTS, Cost, Rule, Slots, Sum, covers, more_fit
from .values import MAX_LIMIT, Amount, Anchor, charged_amount, limit_amount, shown_number

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

    def covers(self, epsilon: Any, delta: Any = 0) -> bool:
        """Whether the budget covers a charge of this price."""
        return covers(self.terms.rule, self.used, charged_amount(epsilon, delta))

    def more(self, epsilon: Any, delta: Any = 0) -> int:
        """How many more charges of this price the budget covers."""
        return more_fit(self.terms.rule, self.used, charged_amount(epsilon, delta))

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
        return _checked_slots(slots, delta)
    if epsilon is None:
        raise EpsilonError(
            "epsilon is missing; give the limit on the total of all charges, such as epsilon=1, or "
            "slots=(100, '1/10')"
        )
    return Sum(limit_amount(epsilon, delta)) if filter is None else checked_filter(epsilon, delta)


def _checked_slots(slots: Any, delta: Any) -> Slots:
    """The rule of a new budget with ``slots=(count, epsilon)``; otherwise raises an error."""
    if not isinstance(slots, tuple | list) or len(slots) != 2:
        raise OptionError(
            f"slots={shown(slots)} is not a pair; give the number of releases and the epsilon of "
            "each, such as slots=(100, '1/10')"
        )
    number, size = slots
    count = 0 if isinstance(number, bool) or not isinstance(number, Integral) else int(number)
    if not 0 < count <= MAX_SLOTS:
        raise OptionError(
            f"slots=({shown(number)}, ...) is not a whole number from 1 to {MAX_SLOTS}; give the "
            "number of releases"
        )
    epsilon = charged_amount(size).epsilon
    if count * epsilon > MAX_LIMIT:
        raise EpsilonError(
            f"slots=({count}, {shown(size)}): the slots add up to more than {MAX_LIMIT}, which "
            "protects nobody; give fewer or smaller slots"
        )
    exact = limit_amount(1, delta).delta
    if exact == 0:
        raise EpsilonError(
            "delta=0: slots need a delta, at which all of them together cost less than their sum; "
            f"give one such as 1e-9, or a budget of epsilon={shown_number(count * epsilon)} "
            "without slots"
        )
    return Slots.made(count, epsilon, exact)
