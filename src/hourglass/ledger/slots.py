"""Slots: a fixed number of releases of one size, by their optimal composition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

from .composition import equal_total_fits, slots_epsilon
from .entries import Amount, Entry, amount_fields, ratio_text, shown_number
from .replay import Cost, own_delta, read_limit, register

__all__ = ["MAX_SLOTS", "Slots"]


#: The exact total of more slots takes seconds.
MAX_SLOTS: Final = 10_000


@register
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
