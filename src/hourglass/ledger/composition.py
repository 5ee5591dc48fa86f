"""The tighter total: the cost of many releases on the same data at a chosen delta.

A budget enforces sums, which are not tight: k releases of epsilon each are together (epsilon',
delta)-DP for an epsilon' below k*epsilon, if a delta > 0 is allowed. The least such epsilon' is
known: Kairouz, Oh, Viswanath, "The Composition Theorem for Differential Privacy" (2015), Theorem
3.3 for equal epsilons; Murtagh and Vadhan, "The Complexity of Computing the Optimal Composition of
Differential Privacy" (2016), Theorem 1.5 for unequal ones:

    delta(epsilon') = sum over sets S of max(0, e^(sum in S) - e^epsilon' e^(sum outside S))
                      / product of (1 + e^epsilon_i)

which is the hockey-stick divergence of as many independent randomised responses, the worst
mechanisms possible. Contract: the result is never below the optimum; each inexact step errs
upward.

Condition: the number of charges and their sizes were fixed before the first answer was seen. If
answers decide how much is asked next, or when to stop, this total can be exceeded; the sum still
holds (Rogers, Roth, Ullman, Vadhan, "Privacy Odometers and Filters", 2016). A budget with slots
fixes number and size when it is created (slots.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from ..core.exact import Enclosure, exp_minus, outward
from .entries import Amount

__all__ = ["CONDITION", "Responses", "equal_total_fits", "optimal_epsilon", "slots_epsilon"]

#: The condition, which is always shown with the total.
CONDITION: Final = (
    "the number of charges and their epsilons were fixed before the first answer was seen"
)

#: Totals are rounded up to a multiple of this.
STEP: Final = Fraction(1, 10**6)
#: Binary digits of the numbers in the closed form.
DIGITS: Final = 320
#: Up to this many equal charges, and this sum, the closed form is evaluated exactly.
EXACT_COUNT: Final = 200
EXACT_SUM: Final = 200
#: Unequal epsilons are rounded up to a lattice with about this many points in total.
LATTICE: Final = 50_000
#: More charges than this are first merged into this many, whose epsilons are sums.
FUSED: Final = 2_000


def optimal_epsilon(charges: Iterable[Amount], delta: Fraction) -> Fraction | None:
    """The least total epsilon, rounded up, for which the charges are together (., delta)-DP.

    None if the charges' own deltas use up ``delta``. Never above the sum. It holds only under
    :data:`CONDITION`.
    """
    amounts = list(charges)
    total = sum((amount.epsilon for amount in amounts), Fraction(0))
    kept = math.prod((1 - amount.delta for amount in amounts), start=Fraction(1))
    spare = 1 - (1 - delta) / kept  # Murtagh-Vadhan: (1 - delta) = (1 - spare) * kept
    if spare < 0:
        return None
    if spare == 0 or not amounts:
        return total
    epsilons = [amount.epsilon for amount in amounts]
    each, count = epsilons[0], len(epsilons)
    if len(set(epsilons)) == 1 and count <= EXACT_COUNT and total <= EXACT_SUM:
        return _least(total, lambda at: equal_total_fits(each, count, at, spare))
    response = Responses(epsilons)
    return _least(total, lambda at: response.delta_up(at) <= spare)


def slots_epsilon(epsilon: Fraction, count: int, delta: Fraction) -> Fraction:
    """The total epsilon at ``delta`` > 0, rounded up, of ``count`` releases of at most ``epsilon``.

    Number and size are fixed here, so it holds however the releases are chosen and whenever they
    end: each of them is computed from one of ``count`` independent randomised responses.
    """
    least = _least(count * epsilon, lambda at: equal_total_fits(epsilon, count, at, delta))
    return max(least, min(STEP, epsilon))


def equal_total_fits(epsilon: Fraction, count: int, total: Fraction, delta: Fraction) -> bool:
    """Whether ``count`` releases of ``epsilon`` are certainly (total, delta)-DP.

    With l of the responses lost, the two sides weigh C(count, l) e^(-l epsilon) and C(count, l)
    e^(-(count-l) epsilon), over (1 + e^-epsilon)^count; Kairouz-Oh-Viswanath's delta is the sum of
    the first minus e^total times the second, where that is positive. Everything is computed in
    enclosures, so rounding never decides.
    """
    short = count * epsilon - total
    if short <= 0:
        return True
    flip = exp_minus(epsilon, DIGITS + 2 * math.ceil(epsilon))
    fewer = _Scaled.of(flip)
    more = fewer.inverse()
    first = _Scaled.of(Enclosure.of(1))
    second = _Scaled.of(exp_minus(short, DIGITS + 2 * math.ceil(short)))
    places = DIGITS + delta.denominator.bit_length()
    excess = 0  # an upper bound, in units of 2^-places
    for lost in range(count):
        if (count - 2 * lost) * epsilon <= total:
            break
        excess += first.units_up(places) - second.units_down(places)
        first = first.times(fewer).ratio(count - lost, lost + 1)
        second = second.times(more).ratio(count - lost, lost + 1)
    whole = _Scaled.of(flip + 1).power(count)
    return excess * delta.denominator <= whole.units_down(places) * delta.numerator


@dataclass(frozen=True)
class _Scaled:
    """A positive number in [low, high] * 2^shift, to DIGITS binary digits whatever its size."""

    low: int
    high: int
    shift: int

    @classmethod
    def of(cls, value: Enclosure) -> _Scaled:
        places = DIGITS + value.low.denominator.bit_length()
        low, high = outward(value, places)
        return _trimmed(low, high, -places)

    def times(self, other: _Scaled) -> _Scaled:
        """The product."""
        return _trimmed(self.low * other.low, self.high * other.high, self.shift + other.shift)

    def ratio(self, above: int, below: int) -> _Scaled:
        """This number times above / below."""
        low, high = self.low * above << DIGITS, self.high * above << DIGITS
        return _trimmed(low // below, -(-high // below), self.shift - DIGITS)

    def inverse(self) -> _Scaled:
        """One over this number."""
        one = 1 << 3 * DIGITS
        return _trimmed(one // self.high, -(-one // self.low), -self.shift - 3 * DIGITS)

    def power(self, exponent: int) -> _Scaled:
        """This number multiplied with itself, by repeated squaring."""
        found, square = _Scaled(1, 1, 0), self
        while exponent:
            if exponent % 2:
                found = found.times(square)
            square, exponent = square.times(square), exponent // 2
        return found

    def units_down(self, places: int) -> int:
        """In units of 2^-places, rounded down."""
        move = self.shift + places
        return self.low << move if move >= 0 else self.low >> -move

    def units_up(self, places: int) -> int:
        """In units of 2^-places, rounded up."""
        move = self.shift + places
        return self.high << move if move >= 0 else -(-self.high >> -move)


def _trimmed(low: int, high: int, shift: int) -> _Scaled:
    spare = max(0, high.bit_length() - DIGITS)
    return _Scaled(low >> spare, -(-high >> spare), shift + spare)


class Responses:
    """The privacy loss of independent randomised responses, on a lattice.

    Rounding an epsilon up, and merging two into their sum, can only raise delta. The masses are
    sums of products of positive doubles, so their relative error is bounded; ``slack`` is above
    that bound.
    """

    def __init__(self, epsilons: Sequence[Fraction]) -> None:
        fused = _fused(sorted(epsilons), FUSED)
        total = sum(fused, Fraction(0))
        unit = _common_unit(fused)
        if unit is None or total / unit > LATTICE:
            unit = total / LATTICE
        steps = [math.ceil(epsilon / unit) for epsilon in fused]
        masses = np.zeros(sum(steps) + 1)
        masses[0], reached = 1.0, 0
        for step in steps:
            flip = math.exp(-float(step * unit))
            part = masses[: reached + 1].copy()
            masses[: reached + 1] *= flip / (1 + flip)
            masses[step : reached + step + 1] += part / (1 + flip)
            reached += step
        self._losses = (2 * np.arange(reached + 1) - reached) * float(unit)
        self._masses = masses
        self._slack = Fraction(1 + 1e-15 * (8 * len(steps) + float(total)))

    def delta_up(self, total: Fraction) -> Fraction:
        """An upper bound of delta at ``total``."""
        at = float(total)
        above = self._losses > at * (1 - 1e-12)
        losses, masses = self._losses[above], self._masses[above]
        rounding = 1e-15 * (1 + np.abs(losses) + at)  # of the difference of two doubles
        excess = np.clip(-np.expm1(at - losses) + rounding, 0, 1)
        return Fraction(float(np.sum(masses * excess))) * self._slack + Fraction(1, 10**290)


def _least(total: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """The least sufficient multiple of STEP, or the total, which is always sufficient."""
    low, high = -1, math.ceil(total / STEP)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle * STEP) else (middle, high)
    return min(high * STEP, total)


def _fused(epsilons: list[Fraction], most: int) -> list[Fraction]:
    size = -(-len(epsilons) // most)
    return [sum(epsilons[i : i + size], Fraction(0)) for i in range(0, len(epsilons), size)]


def _common_unit(epsilons: Sequence[Fraction]) -> Fraction | None:
    """The greatest number of which all are multiples, unless it is too small to be useful."""
    denominator = 1
    for value in set(epsilons):
        denominator = math.lcm(denominator, value.denominator)
        if denominator > 10**30:
            return None
    return Fraction(math.gcd(*(int(value * denominator) for value in epsilons)), denominator)
