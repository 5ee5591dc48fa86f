"""Sums of a polynomial times a geometric sequence, in closed form.

Newton's series writes a polynomial p of degree n by its differences at zero,
p(l) = sum_k D^k p(0) C(l, k), and sum_l C(l, k) b^l = b^k/(1-b)^(k+1). So

    sum_l p(l) b^l = (1/(1-b)) sum_k D^k p(0) beta^k,     beta = b/(1-b).

All differences here are nonnegative integers, so nothing cancels, and fixed-point integers rounded
outward enclose the sum to any precision. [B3]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from operator import mul

from ..core.exact import DEFAULT_BITS, Enclosure, exp_minus, outward

__all__ = ["choose", "differences", "geometric_sum", "in_beta", "power", "product", "value_at"]

#: The most digits that are added to preserve the relative precision of a tiny power.
_MOST_EXTRA = 4096


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
