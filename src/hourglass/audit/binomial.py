"""Binomial tails and Clopper-Pearson limits, for any number of trials, without SciPy.

P(Bin(n, p) >= k) is the regularised incomplete beta function I_p(k, n-k+1), here by its continued
fraction (Lentz's method, DLMF 8.17.22). The limits solve for p by bisection and are then moved
outward by a relative 10^-7, more than the rounding errors (log-gamma at 10^7 trials has a relative
error of about 10^-8), so they err on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

__all__ = ["at_least", "at_most", "lower_limit", "upper_limit"]

_TINY: Final = 1e-300
_CLOSE: Final = 1e-15
_OUTWARD: Final = 1e-7


def at_least(k: int, n: int, p: float) -> float:
    """P(Bin(n, p) >= k)."""
    if k <= 0:
        return 1.0
    if k > n or p <= 0.0:
        return 0.0
    return 1.0 if p >= 1.0 else _incomplete_beta(float(k), float(n - k + 1), p, 1.0 - p)


def at_most(k: int, n: int, p: float) -> float:
    """P(Bin(n, p) <= k), without the cancellation of one minus a number near one."""
    if k >= n or p <= 0.0:
        return 1.0
    if k < 0 or p >= 1.0:
        return 0.0
    return _incomplete_beta(float(n - k), float(k + 1), 1.0 - p, p)


def lower_limit(k: int, n: int, alpha: float) -> float:
    """The p below which k or more hits in n trials would be rarer than alpha."""
    if k == 0:
        return 0.0
    return _last(lambda p: at_least(k, n, p) < alpha) * (1.0 - _OUTWARD)


def upper_limit(k: int, n: int, alpha: float) -> float:
    """The p above which k or fewer hits in n trials would be rarer than alpha."""
    if k == n:
        return 1.0
    return min(1.0, _last(lambda p: at_most(k, n, p) >= alpha) * (1.0 + _OUTWARD))


def _last(holds: Callable[[float], bool]) -> float:
    """The largest p up to which a condition holds."""
    low, high = 0.0, 1.0
    for _ in range(1100):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * high:
            break
    return low


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b), with y = 1 - x given as well, so that the smaller of the two is precise."""
    log_x = math.log(x) if x < 0.5 else math.log1p(-y)
    log_y = math.log(y) if y < 0.5 else math.log1p(-x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * log_x + b * log_y
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _fraction(b, a, y) / b


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
