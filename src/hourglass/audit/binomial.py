"""Binomial tails and Clopper-Pearson limits, for any number of trials, without SciPy.

P(Bin(n, p) >= k) is the regularised incomplete beta function I_p(k, n-k+1), here by its
continued fraction (Lentz's method, DLMF 8.17.22). The limits solve for p by bisection and are
then moved outward by a part in 10^9, far more than the doubles err: they err on the safe side.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["at_least", "lower_limit", "upper_limit"]

_TINY: Final = 1e-300
_CLOSE: Final = 1e-15
_OUTWARD: Final = 1e-9


def at_least(k: int, n: int, p: float) -> float:
    """P(Bin(n, p) >= k)."""
    if k <= 0:
        return 1.0
    if k > n or p <= 0.0:
        return 0.0
    return 1.0 if p >= 1.0 else _incomplete_beta(float(k), float(n - k + 1), p)


def lower_limit(k: int, n: int, alpha: float) -> float:
    """The p below which k or more hits in n trials would be rarer than alpha."""
    if k == 0:
        return 0.0
    return _solve(lambda p: at_least(k, n, p) < alpha) * (1.0 - _OUTWARD)


def upper_limit(k: int, n: int, alpha: float) -> float:
    """The p above which k or fewer hits in n trials would be rarer than alpha."""
    if k == n:
        return 1.0
    # The mirror image: k or fewer hits are n-k or more misses.
    misses = _solve(lambda p: at_least(n - k, n, p) < alpha)
    return min(1.0, (1.0 - misses) * (1.0 + _OUTWARD) + 1e-15)


def _solve(below: object) -> float:
    """The largest p at which ``below`` holds, to the last digits of a double."""
    assert callable(below)
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-16 * high:
            break
    return low


def _incomplete_beta(a: float, b: float, x: float) -> float:
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b); converges in about sqrt(max(a, b)) steps."""
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 10_000_000):
        twice = a + 2 * m
        for term in (
            m * (b - m) * x / ((twice - 1.0) * twice),
            -(a + m) * (a + b + m) * x / (twice * (twice + 1.0)),
        ):
            d = 1.0 / _nonzero(1.0 + term * d)
            c = _nonzero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            return value
    raise ArithmeticError("the continued fraction of the binomial tail did not converge")


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
