"""Exact confidence intervals for the data's mean, sum and count.

They cover the noise: with at least the stated confidence over the noise, the interval contains the
mean (sum, count) of the data itself, clamped to the bounds. They say nothing about a population
that the data may be a sample of.

**Mean.** If alpha is the data's mean as a share of the range, S' - alpha G N' is pure noise, whose
law depends only on alpha. An alpha for which a value this large has a probability of at most
1 - confidence is excluded; the rest is a confidence set for every number of records, including
zero. The alphas are divided into cells, each with one reach that is sufficient for all of its
alphas (the value is linear in alpha), so nothing between two alphas tried is missed. The reaches
depend only on the law, so many groups share them.

**Sum and count.** The law of their errors does not depend on the data; the interval is its
quantile.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.limits import Grid
from ..core.totals import NoisyTotals
from ..errors import OptionError, shown
from ..mechanisms.base import MeanMechanism
from .point import (
    CELLS,
    Reaches,
    count_reach,
    each,
    exact_sum,
    reaches_of,
    rung_below,
    sum_,
    sum_reach,
)  # fmt: skip
from .spread import spread_ends

__all__ = [
    "Interval", "check_confidence", "fresh_interval", "interval", "mean_ends", "possible_sums",
    "std_ends", "sum_ends",
]  # fmt: skip

Floats = npt.NDArray[np.float64]

#: Added to a reach, times the records: more than the rounding errors in S' - alpha G N'.
LOST: Final = 2.0**-50
#: Up to this many intervals are computed one by one: the reaches of all cells would take longer.
FEW: Final = 200
#: How many intervals are processed at once, so that their cells fit a processor's cache.
BATCH: Final = 64


@dataclass(frozen=True)
class Interval:
    """An interval [low, high] that contains the quantity ``of`` with at least this confidence.

    It is also the pair of its ends: ``low, high = interval``, ``interval[0]``, an array of two.
    ``value in interval`` tells whether a value lies within.

    ``kind`` is "exact" if the laws themselves were inverted, "valid" if a proven bound on them was
    used (wider than necessary), and "approximate" if it is correct for many records but not proven
    for few.
    """

    low: float
    high: float
    confidence: float = 0.95
    of: str = "mean"
    kind: str = "exact"

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter((self.low, self.high))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: int) -> float:
        return (self.low, self.high)[place]

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def check_confidence(confidence: float) -> None:
    """Raise an error unless an interval can be computed for this confidence."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | Fraction):
        raise OptionError(
            f"confidence={shown(confidence)} is not a number; give a number such as 0.95"
        )
    if not 0 < confidence <= 0.999999:
        raise OptionError(
            f"confidence={shown(confidence)} is outside (0, 0.999999]; give a number such as 0.95"
        )


def fresh_interval(
    mechanism: MeanMechanism,
    noisy: NoisyTotals,
    confidence: float,
    of: str,
    estimate: float,
    together: int = 1,
) -> Interval:
    """The interval of "mean", "sum" or "count"; ``estimate`` always lies inside it.

    ``together`` is the number of intervals that hold jointly with that confidence.
    """
    check_confidence(confidence)
    kinds: dict[str, Any] = {"mean": _mean, "sum": _sum, "count": _count}
    if noisy.squares is not None:
        kinds |= {"variance": spread_ends, "std": _std}
    if of not in kinds:
        more = "; variance and std need spread=True" if of in ("variance", "std") else ""
        raise OptionError(f"of={shown(of)} is not one of {', '.join(kinds)}, population{more}")
    low, high = kinds[of](mechanism, noisy, (1.0 - float(confidence)) / together)
    kind = "approximate" if of in ("variance", "std") else "exact"
    return Interval(min(low, estimate), max(high, estimate), float(confidence), of, kind)


#: The same; the last ones are cached, so that a figure and its table do not compute them twice.
interval = lru_cache(maxsize=4096)(fresh_interval)


def mean_ends(
    mechanism: MeanMechanism,
    noisy: NoisyTotals,
    confidence: float,
    *,
    exact: bool,
    together: int = 1,
) -> tuple[Floats, Floats]:
    """The intervals of many means at once.

    With ``exact`` they equal those of :func:`interval`; otherwise they are computed in doubles and
    widened by the rounding errors.
    """
    check_confidence(confidence)
    grid, miss = mechanism.grid, (1.0 - float(confidence)) / together
    if exact:
        cells, weight = _columns(_records(one) for one in each(noisy))
        left = (ends.tolist() for ends in shares_left(mechanism, cells, weight, miss))
        return _columns(_values(grid, *ends) for ends in zip(*left, strict=True))
    unit = float(noisy.parts * noisy.grid)
    cells, weight = (np.asarray(p, dtype=np.float64) / unit for p in (noisy.cells, noisy.weight))
    low, high = shares_left(mechanism, cells, weight, miss)
    slack = to_double(grid.slack) + 4.0 * math.ulp(max(abs(grid.lower), abs(grid.upper)))
    with np.errstate(over="ignore"):  # the bounds are finite
        lows = grid.lower * (1.0 - low) + grid.upper * low - slack
        highs = grid.lower * (1.0 - high) + grid.upper * high + slack
    return np.maximum(lows, grid.lower), np.minimum(highs, grid.upper)


def sum_ends(
    mechanism: MeanMechanism, noisy: NoisyTotals, confidence: float, *, exact: bool
) -> tuple[Any, Any]:
    """The intervals of many sums at once; see :func:`mean_ends` for ``exact``."""
    check_confidence(confidence)
    miss = 1.0 - float(confidence)
    if not isinstance(noisy.cells, np.ndarray):
        return _sum(mechanism, noisy, miss)
    if exact:
        return _columns(_sum(mechanism, one, miss) for one in each(noisy))
    grid, middles = mechanism.grid, sum_(noisy, mechanism.grid)
    sizes = noisy.weight.astype(np.float64) / (noisy.parts * noisy.grid)
    most = np.maximum(sizes + count_reach(mechanism, miss), 1.0)
    largest = max(abs(grid.lower), abs(grid.upper))
    reach = to_double(grid.step * sum_reach(mechanism, miss)) + to_double(grid.slack) * most
    reach += LOST * largest * (np.abs(sizes) + (np.abs(middles) + reach) / largest)
    return possible_sums(grid, middles - reach, middles + reach)


def possible_sums(grid: Grid, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of one interval or of many, moved to the nearest possible sums within it.

    Those of whole numbers are whole, and none lies beyond 0 if no clamped value does.
    """
    ends = (np.ceil(low), np.floor(high)) if grid.own else (low, high)
    if not grid.lower < 0.0 < grid.upper:
        nearer = np.maximum if grid.lower >= 0.0 else np.minimum
        ends = nearer(ends[0], 0.0), nearer(ends[1], 0.0)
    return ends if isinstance(low, np.ndarray) else (float(ends[0]), float(ends[1]))


def _mean(mechanism: MeanMechanism, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    return _values(mechanism.grid, *_shares_of_one(mechanism, *_records(noisy), miss))


def _values(grid: Grid, low: float, high: float) -> tuple[float, float]:
    """Shares of the range in the units of the data, allowing for rounding to the grid."""
    lower, width = Fraction(grid.bounds.lower), grid.bounds.width
    low_value = max(lower, lower + width * Fraction(low) - grid.slack)
    high_value = min(lower + width, lower + width * Fraction(high) + grid.slack)
    return float(low_value), float(high_value)


def _records(noisy: NoisyTotals) -> tuple[float, float]:
    """S'/G and N', both in records."""
    return to_double(Fraction(noisy.cells, noisy.parts * noisy.grid)), to_double(noisy.size)


def _columns(pairs: Iterable[tuple[float, float]]) -> tuple[Floats, Floats]:
    first, second = np.array(list(pairs), dtype=np.float64).reshape(-1, 2).T
    return first, second


def shares_left(
    mechanism: MeanMechanism, cells: Floats, sizes: Floats, miss: float
) -> tuple[Floats, Floats]:
    """The least and the largest alpha not excluded, for each answer; (0, 1) if all are excluded."""
    reaches = reaches_of(mechanism, miss)
    if len(cells) >= FEW or reaches.worthwhile:
        return _shares_of_many(reaches.all, cells, sizes)
    pairs = zip(cells.tolist(), sizes.tolist(), strict=True)
    return _columns(_shares_of_one(mechanism, *pair, miss) for pair in pairs)


def _shares_of_one(
    mechanism: MeanMechanism, cells: float, size: float, miss: float
) -> tuple[float, float]:
    reaches = reaches_of(mechanism, miss)
    if reaches.worthwhile:
        ends = _shares_of_many(reaches.all, np.array([cells]), np.array([size]))
        return float(ends[0][0]), float(ends[1][0])
    return _searched(reaches, cells, size)


def _searched(reaches: Reaches, cells: float, size: float) -> tuple[float, float]:
    """Excludes runs of cells at once if possible, so that few reaches are needed."""
    search = _Search(reaches, cells, size)
    lowest, highest = search.outermost(0, CELLS, False), search.outermost(0, CELLS, True)
    if lowest is None or highest is None:
        return 0.0, 1.0
    below = max(0.0, search.distances(lowest, lowest + 1)[0] - search.reach(lowest))
    above = max(0.0, search.distances(highest, highest + 1)[1] - search.reach(highest))
    low = lowest / CELLS + (below / abs(size) if below else 0.0)
    return low, (highest + 1) / CELLS - (above / abs(size) if above else 0.0)


class _Search:
    """Which cells of alphas are left, given S'/G and N' of one answer."""

    def __init__(self, reaches: Reaches, cells: float, size: float) -> None:
        self.reaches, self.cells, self.size = reaches, cells, size
        self.lost = LOST * (abs(cells) + abs(size))
        self.left = cache(self._left)  # both sides need the same cells

    def reach(self, place: int) -> float:
        """The distance from which on a cell is excluded."""
        return self.reaches[place] + self.lost

    def distances(self, first: int, last: int) -> tuple[float, float, float]:
        """The distances from zero of the two ends, and of the nearest alpha between them."""
        ends = self.cells - first / CELLS * self.size, self.cells - last / CELLS * self.size
        low, high = map(abs, ends)
        return low, high, 0.0 if ends[0] * ends[1] <= 0 else min(low, high)

    def _left(self, first: int, last: int) -> bool:
        """Whether an alpha of the cells first..last-1 may be left."""
        nearest = self.distances(first, last)[2]
        if last - first == 1:
            return nearest < self.reach(first)
        if nearest <= self.lost:
            return True
        # At a rung below the distance: if it is excluded there, each of the cells excludes it too.
        return not self.reaches.excluded(first, last, rung_below(nearest - self.lost))

    def outermost(self, first: int, last: int, from_above: bool) -> int | None:
        """The first cell with an alpha that is not excluded, from one side."""
        if last - first < CELLS and not self.left(first, last):
            return None
        if last - first == 1:
            return first
        middle = (first + last) // 2
        halves = [(first, middle), (middle, last)]
        for half in reversed(halves) if from_above else halves:
            if (found := self.outermost(*half, from_above)) is not None:
                return found
        return None


def _shares_of_many(reaches: Floats, cells: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Tries every cell for each of many answers."""
    lows, highs = np.zeros(len(cells)), np.ones(len(cells))
    edges = np.arange(CELLS + 1) / CELLS
    for start in range(0, len(cells), BATCH):
        part = slice(start, start + BATCH)
        value, size = cells[part, None], sizes[part, None]
        ends = value - edges * size
        far, here = np.abs(ends), np.arange(len(ends))
        positive = ends > 0.0
        crossed = positive[:, :-1] != positive[:, 1:]
        nearest = np.where(crossed, 0.0, np.minimum(far[:, :-1], far[:, 1:]))
        reach = reaches + LOST * (np.abs(value) + np.abs(size))
        left = nearest < reach
        lowest, highest = left.argmax(axis=1), CELLS - 1 - left[:, ::-1].argmax(axis=1)
        below = np.maximum(0.0, far[here, lowest] - reach[here, lowest])
        above = np.maximum(0.0, far[here, highest + 1] - reach[here, highest])
        scale = np.where(size[:, 0] == 0.0, 1.0, np.abs(size[:, 0]))
        some = left.any(axis=1)
        lows[part] = np.where(some, edges[lowest] + below / scale, 0.0)
        highs[part] = np.where(some, edges[highest + 1] - above / scale, 1.0)
    return lows, highs


def _sum(mechanism: MeanMechanism, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    grid = mechanism.grid
    reach = grid.step * sum_reach(mechanism, miss)
    middle = exact_sum(noisy, grid)
    # Each record was moved by at most the slack; this is the largest number of records.
    most = max(noisy.size + Fraction(count_reach(mechanism, miss)), Fraction(1))
    reach += grid.slack * most
    return possible_sums(grid, to_double(middle - reach), to_double(middle + reach))


def _count(mechanism: MeanMechanism, noisy: NoisyTotals, miss: float) -> tuple[int, int]:
    """The integers strictly within reach of N'."""
    reach = Fraction(count_reach(mechanism, miss))
    low, high = math.floor(noisy.size - reach) + 1, math.ceil(noisy.size + reach) - 1
    return max(0, low), max(0, high)


def std_ends(mechanism: Any, noisy: NoisyTotals, confidence: float) -> tuple[Any, Any]:
    """The interval of the standard deviation of one answer, or those of many at once."""
    check_confidence(confidence)
    low, high = spread_ends(mechanism, noisy, 1.0 - float(confidence))
    return np.sqrt(low), np.sqrt(high)


def _std(mechanism: Any, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    low, high = spread_ends(mechanism, noisy, miss)
    return math.sqrt(low), math.sqrt(high)
