"""Exact numbers: rationals as they are given, and enclosures of exp, log and sums with them.

Privacy parameters are rationals, so that exactly what is used is charged. The laws of
:mod:`hourglass.noise` have probabilities computed from b = exp(-epsilon), which is irrational for
every rational epsilon > 0. Nothing here rounds such a value to nearest: it is enclosed between two
rationals, which can be made as tight as needed.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from math import isqrt
from numbers import Rational
from typing import Any, Final

import numpy as np

from ..errors import EpsilonError, OptionError, shown

__all__ = [
    "MAX_EPSILON", "MIN_EPSILON", "PRECISIONS", "Enclosure", "Exact", "choose", "decimal",
    "differences", "exact_delta", "exact_epsilon", "exact_number", "exact_rate", "exact_share",
    "exp_minus", "floor_scaled", "geometric_sum", "in_beta", "log_of", "outward", "power",
    "product", "ratio_to_double", "short_exponent", "to_double", "value_at", "whole_number",
    "whole_numbers",
]  # fmt: skip

#: The default precision of an enclosure, in bits: three times that of a double.
DEFAULT_BITS = 160
#: Increasing precisions, for ``(f(bits) for bits in PRECISIONS)``: ever tighter enclosures of one
#: number. The end is never reached in practice.
PRECISIONS: Final = tuple(DEFAULT_BITS << doublings for doublings in range(40))


@dataclass(frozen=True)
class Enclosure:
    """A real number known to lie in [low, high]; arithmetic preserves the enclosure."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, value: Enclosure | Fraction | int) -> Enclosure:
        """The value itself if it is an enclosure, else the point enclosure."""
        if isinstance(value, Enclosure):
            return value
        point = Fraction(value)
        return cls(point, point)

    def __add__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = Enclosure.of(other)
        return Enclosure(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def __sub__(self, other: Enclosure | Fraction | int) -> Enclosure:
        other = Enclosure.of(other)
        return Enclosure(self.low - other.high, self.high - other.low)

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
            raise ZeroDivisionError("the divisor's enclosure contains zero; use more bits")
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

    @property
    def sign(self) -> int | None:
        """-1, 0 or 1; None if the enclosure is too wide to tell."""
        if self.low > 0:
            return 1
        if self.high < 0:
            return -1
        return 0 if self.low == self.high else None

    def __contains__(self, value: Fraction | int) -> bool:
        return self.low <= value <= self.high

    def __float__(self) -> float:
        """The nearest double to the middle of the enclosure."""
        above, below = self._middle()
        return above / below

    def _middle(self) -> tuple[int, int]:
        """The middle as a quotient of integers, not in lowest terms: it is rounded all the same."""
        low, high = self.low.as_integer_ratio(), self.high.as_integer_ratio()
        return low[0] * high[1] + high[0] * low[1], 2 * low[1] * high[1]

    def __repr__(self) -> str:
        return f"Enclosure({float(self)!r} ± {float((self.high - self.low) / 2):.1e})"


@lru_cache(maxsize=4096)
def exp_minus(x: Fraction, bits: int = DEFAULT_BITS) -> Enclosure:
    """Enclose exp(-x), x >= 0, between multiples of 2^-bits at most a few steps apart.

    Taylor series of a small argument, whose terms alternate and decrease, then repeated squaring,
    about as many squarings as terms; each product is rounded down for the lower end and up for the
    upper.
    """
    if x < 0:
        raise ValueError("exp_minus needs x >= 0")
    if x == 0:
        return Enclosure.of(1)
    if x >= bits:  # exp(-x) < 2^-x
        return Enclosure(Fraction(0), Fraction(1, 1 << bits))
    squarings = int(x).bit_length() + max(8, isqrt(bits) // 2)
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


@lru_cache(maxsize=4096)
def log_of(x: Fraction, bits: int = DEFAULT_BITS) -> Enclosure:
    """Enclose log(x), x > 0: log(2^k m) = k log(2) + 2 artanh((m - 1) / (m + 1)), 1/2 < m < 2."""
    if x <= 0:
        raise ValueError("log_of needs x > 0")
    twos = x.numerator.bit_length() - x.denominator.bit_length()
    rest = x / Fraction(2) ** twos
    return twos * _twice_artanh(Fraction(1, 3), bits) + _twice_artanh((rest - 1) / (rest + 1), bits)


def _twice_artanh(z: Fraction, bits: int) -> Enclosure:
    """Enclose 2 artanh(z) = 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3."""
    if z <= 0:
        return -_twice_artanh(-z, bits) if z else Enclosure.of(0)
    one = 1 << bits
    power_low = (z.numerator << bits) // z.denominator
    power_high = power_low + 1
    square_low, square_high = power_low * power_low >> bits, -(-power_high * power_high >> bits)
    low = high = 0
    order = 1
    while power_high > 1:
        low, high = low + power_low // order, high - (-power_high // order)
        power_low = power_low * square_low >> bits
        power_high = -(-power_high * square_high >> bits)
        order += 2
    high += 2  # the other powers decrease by a factor of nine or more
    return Enclosure(Fraction(2 * low, one), Fraction(2 * high, one))


def floor_scaled(enclosures: Iterable[Enclosure], bits: int) -> int:
    """floor(2^bits * v) of the real number v that all the increasingly tight enclosures contain.

    This terminates unless v is a multiple of 2^-bits that is not given as a point. The values here
    are rational functions of exp(-rational), which are transcendental unless constant (Lindemann),
    and constants are given as points.
    """
    for enclosure in enclosures:
        low = (enclosure.low.numerator << bits) // enclosure.low.denominator
        high = (enclosure.high.numerator << bits) // enclosure.high.denominator
        if low == high:
            return low
    raise ArithmeticError("no enclosure was tight enough to determine the floor")


def outward(value: Enclosure, digits: int) -> tuple[int, int]:
    """2^digits times the enclosure, with its ends rounded outward to integers."""
    low, high = value.low, value.high
    return (
        (low.numerator << digits) // low.denominator,
        -((-high.numerator << digits) // high.denominator),
    )


def to_double(value: Fraction | Enclosure) -> float:
    """The nearest double; beyond the largest, the largest instead of an infinity."""
    pair = value._middle() if isinstance(value, Enclosure) else value.as_integer_ratio()
    return ratio_to_double(*pair)


def ratio_to_double(above: int, below: int) -> float:
    """The same for above / below, below > 0: Python rounds a quotient of integers once."""
    try:
        return above / below
    except OverflowError:
        return sys.float_info.max if above > 0 else -sys.float_info.max


# --- numbers as they are given ------------------------------------------------------------------

#: The types that an exact number may be given as; a float means the decimal that it prints as.
Exact = int | float | str | Fraction | Decimal

#: Below this the noise exceeds the signal of any dataset that fits on a disk.
MIN_EPSILON: Final = Fraction(1, 1_000_000)
#: Above this a release offers practically no protection.
MAX_EPSILON: Final = Fraction(100)

#: Beyond this exponent a decimal's exact value would fill the memory; doubles end at 308.
_MAX_EXPONENT: Final = 400


def exact_number(value: Any) -> Fraction | None:
    """The rational that ``value`` means, or None if it means none.

    An int, Fraction or Decimal means itself, text the decimal (or ratio) that it denotes, and a
    float the decimal that it prints as: 0.1 is 1/10, not the nearest double. A boolean is not a
    number here.
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, np.generic):
        value = value.item() if isinstance(value, np.integer) else str(value)
    if isinstance(value, float):
        value = repr(value)
    try:
        if isinstance(value, str):
            value = Fraction(value) if "/" in value else Decimal(value)
        if isinstance(value, Decimal) and abs(value.adjusted()) > _MAX_EXPONENT:
            return None
        if isinstance(value, Rational | Decimal):
            return Fraction(value)
    except (ValueError, ArithmeticError, InvalidOperation):
        return None
    return None


def decimal(value: Fraction) -> str:
    """The exact number as a decimal if that is short, otherwise as a ratio."""
    for digits in (12, 17):  # 17 are enough for every double
        text = f"{float(value):.{digits}g}"
        if Fraction(text) == value:
            return short_exponent(text)
    return str(value)


def short_exponent(text: str) -> str:
    """A number with a short exponent: 1e-6, not 1e-06."""
    return re.sub("e[+]?(-?)0*(?=[0-9])", r"e\1", text)


def whole_number(name: str, value: Any) -> int:
    """A coordinate of a point of a law as an int, or an OptionError."""
    try:
        return operator.index(value)
    except TypeError:
        raise OptionError(
            f"{name}={shown(value)} is not a whole number; give one point, in whole numbers"
        ) from None


def whole_numbers(name: str, values: Any, count: int, wanted: str) -> list[int]:
    """A point of a law with so many coordinates, or an OptionError that says what is wanted."""
    given = [*values] if isinstance(values, Iterable) else []
    if len(given) != count:
        raise OptionError(f"{name}={shown(values)} is not a point; give {wanted}")
    return [whole_number(name, value) for value in given]


def exact_epsilon(value: Any) -> Fraction:
    """Epsilon as an exact rational in [1e-6, 100]; otherwise raises an EpsilonError."""
    if value is None:
        raise EpsilonError(
            "epsilon is missing; give the privacy parameter, such as epsilon=1 (smaller is more "
            "private)"
        )
    epsilon = exact_number(value)
    if epsilon is None:
        raise EpsilonError(
            f"epsilon={shown(value)} is not a number; give a positive number such as 1, 0.1 or "
            "'1/10'"
        )
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise EpsilonError(
            f"epsilon={shown(value)} is outside [{MIN_EPSILON}, {MAX_EPSILON}]; "
            "useful values lie between 0.01 and 10, and smaller is more private"
        )
    return epsilon


def exact_delta(value: Any) -> Fraction:
    """Delta as an exact rational in (0, 1); otherwise raises an EpsilonError."""
    delta = exact_number(value)
    if delta is None or not 0 < delta < 1:
        raise EpsilonError(
            f"delta={shown(value)} is not a number between 0 and 1 (both excluded); "
            "choose it far below one over the number of people, such as 1e-9"
        )
    return delta


def exact_share(outside: Any) -> Fraction:
    """The share of epsilon for counting values outside the bounds, as an exact rational."""
    share = exact_number(outside)
    if share is None or not 0 < share < 1:
        raise OptionError(
            f"outside={shown(outside)} is not a share of epsilon between 0 and 1; give a share "
            'such as "1/10"'
        )
    return share


def exact_rate(value: Any) -> Fraction:
    """The decay of a law per integer step, any exact positive number."""
    rate = exact_number(value)
    if rate is None or rate <= 0:
        raise EpsilonError(f"rate={shown(value)} is not a positive number")
    return rate


# --- sums of a polynomial times a geometric -------------------------------------------------------

# Newton's series writes a polynomial p of degree n by its differences at zero,
# p(l) = sum_k D^k p(0) C(l, k), and sum_l C(l, k) b^l = b^k/(1-b)^(k+1). So
#
#     sum_l p(l) b^l = (1/(1-b)) sum_k D^k p(0) beta^k,     beta = b/(1-b).
#
# All differences here are nonnegative integers, so nothing cancels, and fixed-point integers
# rounded outward enclose the sum to any precision. [B3] (noise/body.proof.md)

#: The most digits that are added to preserve the relative precision of a tiny power.
_MOST_EXTRA: Final = 4096


def power(rate: Fraction, exponent: int, bits: int = DEFAULT_BITS) -> Enclosure:
    """exp(-rate * exponent), with ``bits`` significant digits unless it is below 2^-4096."""
    x = exponent * rate
    return exp_minus(x, bits + min(int(x * 3 / 2) + 1, _MOST_EXTRA))


def product(factors: Iterable[int]) -> int:
    """The product of integers; 1 for an empty sequence."""
    return reduce(operator.mul, factors, 1)


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
