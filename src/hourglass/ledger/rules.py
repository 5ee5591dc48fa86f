"""The rules by which a budget adds up its charges: their sum, or slots of one size.

A rule gives each charge a cost and accepts charges while the costs add up to no more than its
capacity. What it accepts is together (limit.epsilon, limit.delta)-DP, even if answers decide what
is asked next and when to stop. The third rule, a Renyi filter, is in renyi.py; docs/budget.md has
the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import add, le
from typing import Any, ClassVar, Final, Protocol

from .composition import equal_total_fits, slots_epsilon
from .entries import Entry, amount_fields, ratio_text
from .values import Amount, shown_number, shown_numbers

__all__ = [
    "MAX_SLOTS", "Cost", "Rule", "Slots", "Sum", "charged", "covers", "more_fit", "own_delta",
    "read_limit",
]  # fmt: skip

#: What a charge costs, in the units of its budget's rule: (epsilon, delta), slots, or a share of
#: the filter's allowance.
Cost = tuple[Fraction, ...]

#: The exact total of more slots takes seconds.
MAX_SLOTS: Final = 10_000


class Rule(Protocol):
    """How a budget adds up its charges."""

    #: The kind of the budget's first entry. A version that does not know it refuses the budget.
    kind: ClassVar[str]
    #: What the rule is called in JSON.
    name: ClassVar[str]

    @property
    def limit(self) -> Amount:
        """What all charges together promise."""

    @property
    def capacity(self) -> Cost:
        """What the costs may add up to."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""

    @property
    def promise(self) -> str:
        """What a statement says of all releases; nothing if it can give their sum."""

    def cost(self, amount: Amount) -> Cost | None:
        """What a charge costs; None if the rule never allows it."""

    def most(self, used: Cost) -> Amount:
        """The most that the next charge may be."""

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""

    def facts(self, used: Cost) -> dict[str, Any]:
        """What the JSON of a balance has beside the amounts."""

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""


def charged(rule: Rule, used: Cost, amount: Amount) -> Cost | None:
    """The costs with those of one more charge; None if the rule does not allow it."""
    cost = rule.cost(amount)
    if cost is None:
        return None
    after = tuple(map(add, used, cost))
    return after if all(map(le, after, rule.capacity)) else None


def covers(rule: Rule, used: Cost, amount: Amount) -> bool:
    """Whether a charge may be made after others that cost ``used``."""
    return charged(rule, used, amount) is not None


def more_fit(rule: Rule, used: Cost, amount: Amount) -> int:
    """How many more charges like this one may be made."""
    cost = rule.cost(amount)
    if cost is None:
        return 0
    parts = zip(rule.capacity, used, cost, strict=True)
    return max(0, min((most - spent) // part for most, spent, part in parts if part > 0))


def own_delta(amount: Amount) -> tuple[str, str]:
    """Why a rule that needs its delta for composition refuses a charge with a delta."""
    return (
        f"delta={shown_number(amount.delta)}: its delta is used for adding up the releases, and no "
        "release may have one of its own",
        "list the public names of the groups with keys=, or use a budget without slots and filter",
    )


@dataclass(frozen=True)
class Sum:
    """The plain rule: epsilons and deltas add up."""

    kind: ClassVar[str] = "init"
    name: ClassVar[str] = "sum"

    limit: Amount

    @property
    def capacity(self) -> Cost:
        """The limit."""
        return self.limit.pair

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""
        return dict(amount_fields(self.limit))

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""
        return self.limit.words

    @property
    def promise(self) -> str:
        """Nothing: a statement gives the sum."""
        return ""

    @classmethod
    def of(cls, entry: Entry) -> Sum:
        """The rule of a budget with this first entry; raises ValueError."""
        return cls(read_limit(entry))

    def cost(self, amount: Amount) -> Cost | None:
        """The amount itself."""
        return amount.pair

    def most(self, used: Cost) -> Amount:
        """All that is left."""
        return self.limit - Amount(*used)

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""
        made = f"{charges} charge{'' if charges == 1 else 's'}"
        return (
            f"{Amount(*used).words} of {self.limit.words} spent in {made}, "
            f"{self.most(used).words} left"
        )

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""
        left = self.most(used)
        return f"{left.words} remain{'' if left.delta else 's'}"

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""
        rows = []
        for what, *amounts in zip(
            ("epsilon", "delta"), self.limit.pair, used, self.most(used).pair, strict=True
        ):
            limit, spent, left = shown_numbers(amounts)
            rows.append((what, limit, spent, left))
        return rows

    def facts(self, used: Cost) -> dict[str, Any]:
        """Nothing more than the amounts."""
        return {}

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""
        parts = [
            f"{what}: requested {shown_number(asked)}, spent {shown_number(spent)} of "
            f"{shown_number(most)}, remaining {shown_number(most - spent)}"
            for what, asked, spent, most in zip(
                ("epsilon", "delta"), amount.pair, used, self.limit.pair, strict=True
            )
            if asked > most - spent
        ]
        remedy = (
            "ask for no more than remains, or repeat an earlier request by its key, which is free"
        )
        if amount.delta > 0 == self.limit.delta:
            remedy = (
                "this budget allows no delta: list the public names of the groups with keys=, or "
                "use a budget that was created with a delta"
            )
        return "; ".join(parts), remedy


@dataclass(frozen=True)
class Slots:
    """A fixed number of releases, each of at most one epsilon (Kairouz, Oh, Viswanath 2015)."""

    kind: ClassVar[str] = "init-slots"
    name: ClassVar[str] = "slots"

    limit: Amount
    count: int
    epsilon: Fraction

    @classmethod
    def made(cls, count: int, epsilon: Fraction, delta: Fraction) -> Slots:
        """The rule with the least total that all slots together have at ``delta``."""
        return cls(Amount(slots_epsilon(epsilon, count, delta), delta), count, epsilon)

    @classmethod
    def of(cls, entry: Entry) -> Slots:
        """The rule of a budget with this first entry; raises ValueError."""
        limit, count, epsilon = read_limit(entry), entry.whole("slots"), entry.ratio("slot")
        if not 0 < count <= MAX_SLOTS or epsilon <= 0 or limit.delta <= 0:
            raise ValueError("the slots are out of range")
        if not equal_total_fits(epsilon, count, *limit.pair):
            raise ValueError("the slots together cost more than the limit")
        return cls(limit, count, epsilon)

    @property
    def capacity(self) -> Cost:
        """The number of slots."""
        return (Fraction(self.count),)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""
        return amount_fields(self.limit) | {"slots": self.count, "slot": ratio_text(self.epsilon)}

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""
        return f"{self._sized(self.count)}, together {self._together}"

    @property
    def promise(self) -> str:
        """What a statement says of all releases."""
        return (
            f"{self._together} together, by the optimal composition of {self._sized(self.count)}; "
            "this holds however the releases were chosen"
        )

    @property
    def _together(self) -> str:
        return f"({shown_number(self.limit.epsilon)}, {shown_number(self.limit.delta)})-DP"

    def _sized(self, count: int) -> str:
        return f"{count} slot{'' if count == 1 else 's'} of epsilon {shown_number(self.epsilon)}"

    def cost(self, amount: Amount) -> Cost | None:
        """One slot, whatever the epsilon; none if it is larger than a slot."""
        return (Fraction(1),) if amount.fits(Amount(self.epsilon)) else None

    def most(self, used: Cost) -> Amount:
        """The size of a slot, if one is left."""
        return Amount(self.epsilon if used[0] < self.count else Fraction(0))

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""
        spent = int(used[0])
        whole = "it is" if self.count == 1 else f"all {self.count} together are"
        return (
            f"{spent} of {self._sized(self.count)} used, {self.count - spent} left; "
            f"{whole} {self._together}"
        )

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""
        left = self.count - int(used[0])
        return f"{left} of {self._sized(self.count)} {'is' if left == 1 else 'are'} left"

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""
        what, spent = f"slots of epsilon {shown_number(self.epsilon)}", int(used[0])
        return [(what, str(self.count), str(spent), str(self.count - spent))]

    def facts(self, used: Cost) -> dict[str, Any]:
        """The slots."""
        spent = int(used[0])
        return {
            "slots": {
                "count": self.count,
                "epsilon": str(self.epsilon),
                "used": spent,
                "left": self.count - spent,
            }
        }

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""
        if amount.delta > 0:
            return own_delta(amount)
        if amount.epsilon > self.epsilon:
            return (
                f"epsilon={shown_number(amount.epsilon)} is larger than its slots of epsilon "
                f"{shown_number(self.epsilon)}, and a release takes one slot",
                "ask for no more than one slot; several slots do not add up to a larger one",
            )
        return (
            f"all {self._sized(self.count)} are used",
            "repeat an earlier request by its key, which is free",
        )


def read_limit(entry: Entry) -> Amount:
    """The limit in a budget's first entry; raises ValueError."""
    limit = entry.amount()
    if limit.epsilon <= 0 or not 0 <= limit.delta < 1:
        raise ValueError("the limit is out of range")
    return limit
