"""Exact confidence intervals for the data's mean, sum and count.

What they cover is the noise: the interval holds, with at least the stated confidence over the
noise, the mean (sum, count) of the data itself, clamped to the bounds. They do not speak of a
population that the data may be a sample of.

**Mean.** If alpha is the data's mean as a share of the range, S' - alpha G N' is noise alone,
of a law that depends on alpha only. An alpha for which so large a value has a probability of
at most 1 - confidence is excluded; what is left is a confidence set for every number of
records, zero included. A whole cell of alphas is excluded at once by a bound that holds for
all of it (the value is linear in alpha), so nothing between two alphas tried is missed.

**Sum and count.** Their errors have a law free of the data; the interval is its quantile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from .algorithms import Algorithm
from .errors import OptionError
from .exact import to_double
from .tails import tails_of
from .totals import NoisyTotals

__all__ = ["Interval", "interval"]


@dataclass(frozen=True)
class Interval:
    """[low, high], which holds the data's ``of`` with at least this confidence."""

    low: float
    high: float
    confidence: float = 0.95
    of: str = "mean"

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter((self.low, self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@lru_cache(maxsize=4096)
def interval(
    algorithm: Algorithm, noisy: NoisyTotals, confidence: float, of: str, estimate: float
) -> Interval:
    """The interval of "mean", "sum" or "count"; ``estimate`` always lies inside it."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | Fraction):
        raise OptionError(f"confidence={confidence!r} is not a number; give one such as 0.95")
    if not 0 < confidence <= 0.999999:
        raise OptionError(
            f"confidence={confidence!r} is outside (0, 0.999999]; give a share such as 0.95"
        )
    kinds = {"mean": _mean, "sum": _sum, "count": _count}
    if of not in kinds:
        raise OptionError(f"of={of!r} is not one of mean, sum, count")
    low, high = kinds[of](algorithm, noisy, 1.0 - float(confidence))
    return Interval(min(low, estimate), max(high, estimate), float(confidence), of)


def _mean(algorithm: Algorithm, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    grid = algorithm.grid
    low, high = mean_shares(algorithm, noisy, miss)
    half = Fraction(0) if grid.own else grid.step / 2  # rounding to the grid
    lower, width = Fraction(grid.bounds.lower), grid.bounds.width
    low_value = max(lower, lower + width * Fraction(low) - half)
    high_value = min(lower + width, lower + width * Fraction(high) + half)
    return float(low_value), float(high_value)


def mean_shares(algorithm: Algorithm, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    """The least and the largest alpha not excluded; (0, 1) should all be."""
    tails = tails_of(algorithm)
    cells = float(Fraction(noisy.cells, noisy.parts * noisy.grid))
    size = float(noisy.size)

    def excluded(low: float, high: float) -> bool:
        ends = cells - low * size, cells - high * size
        if ends[0] * ends[1] <= 0:
            return False
        return tails.miss(tails.line(low), tails.line(high), min(map(abs, ends))) <= miss

    spread = math.sqrt(float(algorithm.moments.cells)) / max(1.0, abs(size))
    least_cell = max(2.0**-50, 2.0**-10 * min(1.0, spread))

    def first_left(low: float, high: float, from_above: bool) -> float | None:
        """The first alpha of a cell that is not excluded, coming from one side."""
        if excluded(low, high):
            return None
        if high - low <= least_cell:
            return high if from_above else low
        middle = 0.5 * (low + high)
        halves = [(low, middle), (middle, high)]
        for half in reversed(halves) if from_above else halves:
            found = first_left(*half, from_above)
            if found is not None:
                return found
        return None

    low, high = first_left(0.0, 1.0, False), first_left(0.0, 1.0, True)
    return (0.0, 1.0) if low is None or high is None else (low, high)


def _sum(algorithm: Algorithm, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    grid = algorithm.grid
    reach = grid.step * Fraction(_sum_reach(algorithm, miss))
    cells = Fraction(noisy.cells, noisy.parts)
    middle = Fraction(grid.bounds.lower) * noisy.size + grid.step * cells
    half = Fraction(0) if grid.own else grid.step / 2 * max(noisy.size, Fraction(1))
    return to_double(middle - reach - half), to_double(middle + reach + half)


def _count(algorithm: Algorithm, noisy: NoisyTotals, miss: float) -> tuple[int, int]:
    """The integers strictly within reach of N'."""
    reach = Fraction(_count_reach(algorithm, miss))
    low, high = math.floor(noisy.size - reach) + 1, math.ceil(noisy.size + reach) - 1
    return max(0, low), max(0, high)


@lru_cache(maxsize=256)
def _sum_reach(algorithm: Algorithm, miss: float) -> float:
    """In cells."""
    tails = tails_of(algorithm)
    line = tails.sum_line()
    return _least_reach(lambda reach: tails.miss(line, line, reach) <= miss)


@lru_cache(maxsize=256)
def _count_reach(algorithm: Algorithm, miss: float) -> float:
    """In records."""
    tails = tails_of(algorithm)
    return _least_reach(lambda reach: tails.count_miss(reach) <= miss)


def _least_reach(enough: Callable[[float], bool]) -> float:
    """The least reach, from above, that is enough; to a relative 2^-30."""
    high = 1.0
    while not enough(high):
        high *= 2.0
    low = 0.0
    while high - low > 2.0**-30 * high and high > 2.0**-60:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
