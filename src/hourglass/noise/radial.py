"""A polynomial times a geometric: sums of such weights in closed form, and the law of a level.

Newton's series writes a polynomial p of degree n by its differences at zero,
p(l) = sum_k D^k p(0) C(l, k), and sum_l C(l, k) b^l = b^k/(1-b)^(k+1). So

    sum_l p(l) b^l = (1/(1-b)) sum_k D^k p(0) beta^k,     beta = b/(1-b).

All differences here are nonnegative integers, so nothing cancels, and fixed-point integers rounded
outward enclose the sum to any precision. [B3]

The level of a draw from a body has the law P(n) = p(n) b^n / Z on n = 0, 1, 2, ..., b = exp(-rate).
Two exact samplers, chosen by the law and the width of a word, never by a draw:

* ``table``: one word per sample, looked up among the first digits of the cumulative
  probabilities, for laws whose table is short;
* ``mixture``: by Newton's series P is a mixture over k = 0..deg p of the laws of k plus k+1
  independent geometrics, with weights D^k p(0) beta^k.  [B3]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from operator import mul
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import DEFAULT_BITS, PRECISIONS, Enclosure, exp_minus, floor_scaled, outward
from .bits import Bits, Words, invert, invert_one
from .ladder import WINDOWS, Ladder

__all__ = [
    "Radial", "choose", "differences", "geometric_sum", "in_beta", "power", "product", "value_at",
]  # fmt: skip

#: The most digits that are added to preserve the relative precision of a tiny power.
_MOST_EXTRA: Final = 4096
#: Longest table of cumulative probabilities.
TABLE_LIMIT: Final = 8192


# --- sums ---------------------------------------------------------------------------------------


def power(rate: Fraction, exponent: int, bits: int = DEFAULT_BITS) -> Enclosure:
    """exp(-rate * exponent), with ``bits`` significant digits unless it is below 2^-4096."""
    x = exponent * rate
    return exp_minus(x, bits + min(int(x * 3 / 2) + 1, _MOST_EXTRA))


def product(factors: Iterable[int]) -> int:
    """The product of integers; 1 for an empty sequence."""
    return reduce(mul, factors, 1)


def choose(n: int, k: int) -> int:
    """C(n, k), n >= 0."""
    found = 1
    for i in range(k):
        found = found * (n - i) // (i + 1)
    return found


def differences(values: Sequence[int]) -> tuple[int, ...]:
    """D^k p(0), k = 0..n, of the polynomial of degree n with these values at 0..n."""
    row, found = list(values), []
    while row:
        found.append(row[0])
        row = [after - before for before, after in pairwise(row)]
    return tuple(found)


def value_at(coefficients: Sequence[int], place: int) -> int:
    """p(place) from the differences of p at zero, place >= 0."""
    total, binomial = 0, 1
    for k, coefficient in enumerate(coefficients):
        total += coefficient * binomial
        binomial = binomial * (place - k) // (k + 1)
    return total


@lru_cache(maxsize=1024)
def beta_scaled(rate: Fraction, bits: int) -> tuple[int, int]:
    """2^bits b/(1-b), rounded down and up."""
    b = exp_minus(rate, bits)
    return outward(Enclosure(b.low / (1 - b.low), b.high / (1 - b.high)), bits)


def geometric_sum(
    coefficients: Sequence[int], rate: Fraction, bits: int = DEFAULT_BITS
) -> Enclosure:
    """sum_l p(l) b^l, b = exp(-rate), from the differences of p at zero (none negative)."""
    digits = bits + min(int(rate * 3 / 2) + 1, _MOST_EXTRA) + 32
    beta_low, beta_high = beta_scaled(rate, digits)
    low = high = 0
    for coefficient in reversed(coefficients):
        low = (low * beta_low >> digits) + (coefficient << digits)
        high = -(-high * beta_high >> digits) + (coefficient << digits)
    # 1/(1-b) = 1 + beta
    one = 1 << digits
    scale = one * one
    return Enclosure(
        Fraction(low * (one + beta_low), scale), Fraction(high * (one + beta_high), scale)
    )


def in_beta(coefficients: Sequence[int], rate: Fraction, bits: int = DEFAULT_BITS) -> Enclosure:
    """sum_k a_k beta^k, for integers of either sign."""
    beta_low, beta_high = beta_scaled(rate, bits)
    low = high = digits = 0
    for coefficient in reversed(coefficients):
        low *= beta_low if low >= 0 else beta_high
        high *= beta_high if high >= 0 else beta_low
        low, high = low + (coefficient << digits), high + (coefficient << digits)
        digits += bits
    one = 1 << digits - bits
    return Enclosure(Fraction(low, one), Fraction(high, one))


# --- the law ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Radial:
    """P(n) = p(n) b^n / Z; ``coefficients`` are the differences D^k p(0), k = 0..deg p.

    Contract: ``sample(size, bits)`` is distributed as ``size`` independent draws.
    """

    rate: Fraction
    coefficients: tuple[int, ...]

    @classmethod
    def of(cls, rate: Fraction, values: list[int]) -> Radial:
        """The law with p(0), p(1), ... as given, at least one more than the degree of p."""
        found = differences(values)
        while len(found) > 1 and found[-1] == 0:
            found = found[:-1]
        return cls(rate, found)

    def total(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z, the sum of all weights."""
        return geometric_sum(self.coefficients, self.rate, bits)

    def total_from(self, start: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """The sum of the weights of start, start + 1, ..."""
        values = [value_at(self.coefficients, start + n) for n in range(len(self.coefficients))]
        rest = geometric_sum(differences(values), self.rate, bits)
        return power(self.rate, start, bits) * rest

    def pmf(self, n: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(n), enclosed."""
        if n < 0:
            return Enclosure.of(0)
        return value_at(self.coefficients, n) * power(self.rate, n, bits) / self.total(bits)

    def tail(self, n: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(at least n), enclosed."""
        if n <= 0:
            return Enclosure.of(1)
        return self.total_from(n, bits) / self.total(bits)

    # --- sampling ---------------------------------------------------------------------

    def sample(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """``size`` independent draws: int64, or Python integers where those could overflow."""
        if self.is_short(bits.width):
            return self.sample_by_table(size, bits)
        return self.sample_by_mixture(size, bits)

    def is_short(self, width: int) -> bool:
        """Whether the table for words of this width has at most TABLE_LIMIT entries."""
        return self._plan(width).table is not None

    def reach(self, width: int) -> int:
        """An upper bound on draws; a larger one has probability below 2^-400 and raises."""
        return self._plan(width).reach

    def _plan(self, width: int) -> _Plan:
        if width not in self._plans:  # cached here as well, because hashing a law takes longer
            self._plans[width] = _plan(self, width)
        return self._plans[width]

    @cached_property
    def _plans(self) -> dict[int, _Plan]:
        return {}

    def sample_by_table(self, size: int, bits: Bits) -> npt.NDArray[np.int64]:
        """Invert the CDF with one word; read more where the word does not decide."""
        return self.at(bits.words(size), bits)

    def at(self, words: Words, bits: Bits) -> npt.NDArray[np.int64]:
        """The draws for these words, by table."""
        plan = self._plan(bits.width)
        return invert(plan.thresholds, words, bits, self.threshold, plan.reach)

    def sample_one(self, bits: Bits) -> np.int64:
        """One draw by table, the same of the next word as in an array."""
        plan = self._plan(bits.width)
        return invert_one(plan.thresholds, bits, self.threshold, plan.reach)

    def threshold(self, n: int, digits: int) -> int:
        """floor(2^digits F(n)), F the probability of at most n."""
        if value_at(self.coefficients, n) == 0:
            return 0  # p never falls, so all before it are zero as well
        known = self._thresholds
        if (n, digits) not in known:
            enclosures = (1 - self.tail(n + 1, digits + more) for more in PRECISIONS)
            known[n, digits] = floor_scaled(enclosures, digits)
        return known[n, digits]

    @cached_property
    def _thresholds(self) -> dict[tuple[int, int], int]:
        return {}

    def sample_by_mixture(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """k by one word, then k plus k+1 geometrics; the number drawn does not depend on k."""
        order = self.order_at(bits.words(size), bits)
        return self.add_geometrics(order, len(self.coefficients), bits)

    def add_geometrics(
        self, order: npt.NDArray[np.int64], most: int, bits: Bits
    ) -> npt.NDArray[Any]:
        """order + the sum of order + 1 independent geometrics, out of ``most`` drawn for each."""
        total: npt.NDArray[Any] = order
        for place in range(most):
            drawn = self.geometric.sample(order.size, bits)
            total = total + np.where(place <= order, drawn, 0)
        return total

    @cached_property
    def geometric(self) -> Ladder:
        """P(n) = (1-b) b^n."""
        return Ladder(self.rate, 1, 1)

    def order_at(self, words: Words, bits: Bits) -> npt.NDArray[np.int64]:
        """The k of the mixture that each word picks: weights D^k p(0) beta^k."""
        table = _order_table(self, bits.width)
        return invert(table, words, bits, self.order_threshold, len(self.coefficients))

    def order_threshold(self, k: int, digits: int) -> int:
        """floor(2^digits P(order at most k))."""
        if k >= len(self.coefficients) - 1:
            return 1 << digits
        enclosures = (self._order_cumulated(k, digits + more) for more in PRECISIONS)
        return floor_scaled(enclosures, digits)

    def _order_cumulated(self, k: int, precision: int) -> Enclosure:
        """P(order at most k)."""
        return geometric_sum(self.coefficients[: k + 1], self.rate, precision) / self.total(
            precision
        )


@dataclass(frozen=True)
class _Plan:
    """How to draw with words of one width: by table, or without one if it is too long."""

    table: Words | None
    reach: int

    @property
    def thresholds(self) -> Words:
        """The table of a law that has one."""
        if self.table is None:
            raise ValueError("this law's table would be too long; use the mixture")
        return self.table


@lru_cache(maxsize=256)
def _plan(law: Radial, width: int) -> _Plan:
    if law.tail(TABLE_LIMIT).high < Fraction(1, 1 << width):
        precision = 2 * width + 128
        while (found := _cumulated(law, width, precision)) is None:
            precision *= 2
        return _Plan(_frozen(found), WINDOWS * (len(found) + 8))
    terms = len(law.coefficients)
    return _Plan(None, terms * (1 + (WINDOWS << law.geometric.digits_needed(width))))


@lru_cache(maxsize=64)
def _order_table(law: Radial, width: int) -> Words:
    return _frozen([law.order_threshold(k, width) for k in range(len(law.coefficients) - 1)])


def _frozen(thresholds: list[int]) -> Words:
    table = np.array(thresholds, dtype=np.uint64)
    table.flags.writeable = False
    return table


def _cumulated(law: Radial, width: int, precision: int) -> list[int] | None:
    """floor(2^width F(n)) for n = 0, 1, ... up to the first that is 2^width - 1.

    Uses integer enclosures of b^n by repeated products; None if they do not determine a floor.
    """
    b, total = exp_minus(law.rate, precision), law.total(precision)
    b_low, b_high = outward(b, precision)
    total_low, total_high = outward(total, precision)
    row = list(law.coefficients)  # the differences of p at n
    power_low = power_high = 1 << precision
    low = high = 0
    table: list[int] = []
    while not table or table[-1] != (1 << width) - 1:
        low, high = low + row[0] * power_low, high + row[0] * power_high
        floor = (low << width) // total_high
        if floor != (high << width) // total_low:
            return None
        table.append(floor)
        for k in range(len(row) - 1):
            row[k] += row[k + 1]
        power_low = power_low * b_low >> precision
        power_high = -(-power_high * b_high >> precision)
    return table
