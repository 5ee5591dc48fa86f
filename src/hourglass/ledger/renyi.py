"""The Rényi filter: releases of any epsilon, until their Rényi divergences use up an allowance.

A release of epsilon costs min(order * epsilon^2 / 2, epsilon), an upper bound of its Rényi
divergence of that order: an epsilon-DP mechanism is (epsilon^2 / 2)-zCDP (Bun and Steinke 2016,
Proposition 1.4), and no Rényi divergence exceeds the maximal one. The divergences of releases that
are chosen one after another add up even if answers decide about epsilon and about the end, as long
as the order is fixed and the sum stays within an allowance that was fixed beforehand (Feldman and
Zrnic 2021; Lécuyer 2021). An allowance B of the order a implies (epsilon, delta)-DP with

    epsilon = B + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1)

(Canonne, Kamath and Steinke 2020, Proposition 12; Balle et al. 2020, Theorem 21). Costs are rounded
up and the allowance down, in exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final

from ..core.exact import log_of
from ..errors import EpsilonError
from .entries import Amount, Entry, amount_fields, limit_amount, ratio_text, shown_number
from .replay import Cost, more_fit, own_delta, read_limit, register

__all__ = ["Renyi", "allowance_down", "checked_filter"]

#: Costs are rounded up to multiples of this, so that their sum stays short.
GRAIN: Final = Fraction(1, 10**30)
#: The allowance is rounded down to a multiple of this.
STEP: Final = Fraction(1, 10**12)
#: The most that the next release may be is shown rounded down to a multiple of this.
SHOWN: Final = Fraction(1, 10**6)
#: What is left of a filter is shown as a number of releases of this size.
EXAMPLE: Final = Amount(Fraction(1, 10))


@register
@dataclass(frozen=True)
class Renyi:
    """The rule of a budget with a Rényi filter of one order."""

    kind: ClassVar[str] = "init-renyi"
    name: ClassVar[str] = "renyi"

    limit: Amount
    order: Fraction
    allowance: Fraction

    @classmethod
    def made(cls, limit: Amount) -> Renyi | None:
        """The filter that covers the most small releases; None if no order has any room."""
        rooms = ((allowance_down(order, limit), order) for order in _orders())
        allowance, order = max(rooms, key=lambda room: room[0] / room[1])
        return cls(limit, order, allowance) if allowance > 0 else None

    @classmethod
    def of(cls, entry: Entry) -> Renyi:
        """The rule of a budget with this first entry; raises ValueError."""
        limit, order, allowance = read_limit(entry), entry.ratio("order"), entry.ratio("allowance")
        if order <= 1 or allowance <= 0 or limit.delta <= 0:
            raise ValueError("the filter is out of range")
        if allowance > allowance_down(order, limit):
            raise ValueError("the filter allows more than the limit")
        return cls(limit, order, allowance)

    @property
    def capacity(self) -> Cost:
        """The allowance."""
        return (self.allowance,)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""
        return amount_fields(self.limit) | {
            "order": ratio_text(self.order),
            "allowance": ratio_text(self.allowance),
        }

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""
        room = self._room((Fraction(0),), "")
        return f"{self.limit.words} by a Renyi filter, with room for {room}"

    @property
    def promise(self) -> str:
        """What a statement says of all releases."""
        epsilon, delta = map(shown_number, self.limit.pair)
        return (
            f"({epsilon}, {delta})-DP together, by a Renyi filter of order "
            f"{shown_number(self.order)}; this holds however the releases were chosen"
        )

    def cost(self, amount: Amount) -> Cost | None:
        """The Rényi divergence, rounded up; none for a release with a delta."""
        if amount.delta > 0:
            return None
        divergence = min(self.order * amount.epsilon**2 / 2, amount.epsilon)
        return (math.ceil(divergence / GRAIN) * GRAIN,)

    def most(self, used: Cost) -> Amount:
        """The largest epsilon, rounded down, whose cost is still covered."""
        room = self.allowance - used[0]
        square = 2 * room / self.order / SHOWN**2
        root = math.isqrt(square.numerator // square.denominator)
        return Amount(max(root, math.floor(room / SHOWN)) * SHOWN)

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""
        made = f"{charges} charge{'' if charges == 1 else 's'}"
        return (
            f"{self._share(used)} % of the Renyi filter for {self.limit.words} used in {made}; "
            f"{self.left(used)}"
        )

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""
        return f"there is room for {self._room(used, 'more ')}"

    def _room(self, used: Cost, more: str) -> str:
        many, most = more_fit(self, used, EXAMPLE), self.most(used)
        return (
            f"{many} {more}release{'' if many == 1 else 's'} of {EXAMPLE.words}, or for one of at "
            f"most {most.words}"
        )

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""
        amounts = (self.allowance, used[0], self.allowance - used[0])
        what = f"Renyi divergence of order {shown_number(self.order)}"
        limit, spent, left = (f"{float(amount):.6g}" for amount in amounts)
        return [(what, limit, spent, left)]

    def facts(self, used: Cost) -> dict[str, Any]:
        """The filter."""
        return {
            "filter": {
                "name": self.name,
                "order": str(self.order),
                "allowance": str(self.allowance),
                "used": str(used[0]),
                "left": str(self.allowance - used[0]),
                "releases_of_0.1_left": more_fit(self, used, EXAMPLE),
            }
        }

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""
        if amount.delta > 0:
            return own_delta(amount)
        most = self.most(used).epsilon
        return (
            f"epsilon: requested {shown_number(amount.epsilon)}; {self._share(used)} % of its "
            f"Renyi filter is used, and the next release may have at most {shown_number(most)}",
            "ask for no more than that, or repeat an earlier request by its key, which is free",
        )

    def _share(self, used: Cost) -> str:
        """What is used, in per cent, rounded up."""
        return shown_number(Fraction(math.ceil(used[0] / self.allowance * 1000), 10))


def allowance_down(order: Fraction, limit: Amount) -> Fraction:
    """The largest allowance of this order, rounded down, that implies the limit."""
    logs = (log_of(limit.delta) + log_of(order)) / (order - 1)
    exact = log_of(order / (order - 1)) + logs + limit.epsilon
    return math.floor(exact.low / STEP) * STEP


def _orders() -> Iterator[Fraction]:
    """The orders to choose from: one plus a number of two digits."""
    return (
        1 + digits * Fraction(10) ** power for power in range(-4, 8) for digits in range(10, 100)
    )


def checked_filter(epsilon: Any, delta: Any) -> Renyi:
    """The rule of a new budget with ``filter="renyi"``; otherwise raises an error."""
    limit = limit_amount(epsilon, delta)
    if limit.delta == 0:
        raise EpsilonError(
            "delta=0: a Renyi filter needs a delta; give one such as 1e-9, or leave out filter="
        )
    found = Renyi.made(limit)
    if found is None:
        raise EpsilonError(
            f"{limit}: a Renyi filter has no room at all within these; give a larger epsilon or "
            "delta, or leave out filter="
        )
    return found
