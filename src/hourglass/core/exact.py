"""Numbers known exactly: rationals, and enclosures of exp by integers.

The laws of :mod:`hourglass.noise` have probabilities made of b = exp(-epsilon), which is
irrational for every rational epsilon > 0. Nothing here rounds to nearest: a value is held
between two rationals, and whoever needs more digits asks for more bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

__all__ = ["Enclosure", "exp_minus", "floor_scaled", "sign_of", "to_double"]

#: Bits of an enclosure when nobody asks for more: twice what a double can show.
DEFAULT_BITS = 160


@dataclass(frozen=True)
class Enclosure:
    """A real number known to lie in [low, high]; arithmetic keeps the promise."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, value: Enclosure | Fraction | int) -> Enclosure:
        """The value itself if it is an enclosure, else the point enclosure."""
        return value if isinstance(value, Enclosure) else cls(Fraction(value), Fraction(value))

    def __add__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = Enclosure.of(other)
        return Enclosure(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def __sub__(self, other: Enclosure | Fraction | int) -> Enclosure:
        return self + (-Enclosure.of(other))

    def __rsub__(self, other: Fraction | int) -> Enclosure:
        return Enclosure.of(other) - self

    def __mul__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = Enclosure.of(other)
        if self.low >= 0 and other.low >= 0:
            return Enclosure(self.low * other.low, self.high * other.high)
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Enclosure(min(corners), max(corners))

    def __truediv__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = Enclosure.of(other)
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("the divisor's enclosure contains zero: ask for more bits")
        return self * Enclosure(1 / other.high, 1 / other.low)

    def __rtruediv__(self, other: Fraction | int) -> Enclosure:
        return Enclosure.of(other) / self

    def __pow__(self, exponent: int) -> Enclosure:
        power = Enclosure.of(1)
        for _ in range(exponent):
            power = power * self
        return power

    __radd__ = __add__
    __rmul__ = __mul__

    def __contains__(self, value: Fraction | int) -> bool:
        return self.low <= value <= self.high

    def __float__(self) -> float:
        """The nearest double to the middle of the enclosure."""
        return float((self.low + self.high) / 2)

    def __repr__(self) -> str:
        return f"Enclosure({float(self)!r} ± {float((self.high - self.low) / 2):.1e})"


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction, bits: int = DEFAULT_BITS) -> Enclosure:
    """Enclose exp(-x), x >= 0, between multiples of 2^-bits at most a few steps apart.

    Taylor's series of an argument below 2^-8, where its terms alternate and fall, then
    repeated squaring; each product is rounded down in the lower end, up in the upper.
    """
    if x < 0:
        raise ValueError("exp_minus wants x >= 0")
    if x == 0:
        return Enclosure.of(1)
    squarings = int(x).bit_length() + 8
    precision = bits + squarings + 16
    one = 1 << precision
    y_low = (x.numerator << precision) // (x.denominator << squarings)
    y_high = y_low + 1
    low, high = one, one
    term_low, term_high, order = one, one, 0
    while term_high > 1:
        order += 1
        term_low = (term_low * y_low >> precision) // order
        term_high = -((-term_high * y_high >> precision) // order)
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - term_high, high + term_high  # the remainder is below the last term
    for _ in range(squarings):
        low, high = low * low >> precision, -(-high * high >> precision)
    return Enclosure(Fraction(max(low, 0), one), Fraction(high, one))


def floor_scaled(value: Callable[[int], Enclosure], bits: int) -> int:
    """floor(2^bits * v) of the real v that ``value(precision)`` encloses ever tighter.

    Ends unless v is an irrational-looking enclosure of a multiple of 2^-bits; the values
    met here are rational functions of exp(-rational), transcendental unless constant
    (Lindemann), and constants come as points.
    """
    precision = bits + 64
    while True:
        enclosure = value(precision)
        low = (enclosure.low.numerator << bits) // enclosure.low.denominator
        high = (enclosure.high.numerator << bits) // enclosure.high.denominator
        if low == high:
            return low
        precision *= 2


def sign_of(value: Callable[[int], Enclosure]) -> int:
    """-1, 0 or 1: the sign of the real that ``value(precision)`` encloses ever tighter."""
    precision = DEFAULT_BITS
    while True:
        enclosure = value(precision)
        if enclosure.low > 0:
            return 1
        if enclosure.high < 0:
            return -1
        if enclosure.low == enclosure.high:
            return 0
        precision *= 2


def to_double(value: Fraction | Enclosure) -> float:
    """The nearest double; past the largest, the largest: never an infinity."""
    if isinstance(value, Enclosure):
        value = (value.low + value.high) / 2
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max
