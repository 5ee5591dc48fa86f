"""Ratios and differences of the means of two groups, from both pivots together.

The noises of two groups are independent. Let z = S'/G - alpha N' be the pivot of a group: pure
noise or, for the mean of a population, noise and sampling (:mod:`hourglass.estimate.population`). A
pair of means is excluded if the two pivots lie outside an ellipse,

    (z_1 / c_1)^2 + (z_2 / c_2)^2 >= q^2,

that they leave with a probability of at most 1 - confidence. In terms of the two means, the
remaining set is also an ellipse, around the two estimates and with the half-axes q c / N'; the
extremes of a difference or a ratio over it have a closed form. It holds for every number of
records. (For differences of groups that are not small :mod:`hourglass.estimate.differences` is
narrower.)

c is about the standard deviation of z: it depends only on the law of the noise or, for a
population, on the number of records rounded to a power of four. q depends slightly on the two
means. So a part of 1 - confidence, :func:`spent`, is spent on an interval for each mean, which is
divided into cells; each pair of cells has its own q, sufficient for all means in them. For all
means in [low, high], draws less their mean lie in [-high, 1 - low]: they are below, in the convex
order, yes/no data of that width (:mod:`hourglass.estimate.sampling`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from typing import Final

import numpy as np

from ..core.exact import to_double
from ..mechanisms.tails import Line
from .lines import FINE, RESOLVED, Floats, Tail, tail
from .population import Seen, noise_alone, sampled, shares
from .sampling import bounded, convolved

__all__ = ["cut", "difference", "ratio", "spent"]

#: The part of 1 - confidence that is spent on the interval of each group's mean, unless that is
#: too little.
SPENT: Final = 1 / 40
#: The most cells that a mean's interval is divided into.
CELLS: Final = 8
#: Fewer cells are used if the pivot varies by less than this part of its standard deviation in one.
OFF: Final = 1 / 25
#: The points of a tail table, and how many standard deviations it extends to.
PLACES: Final = 192
FAR: Final = 16.0

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Cell:
    """A mean in [low, high]: the tail of |z|, and c for each possible power of four of n."""

    low: float
    high: float
    tail: Tail
    scales: tuple[float, ...]


def spent(confidence: float) -> float:
    """The part of 1 - confidence for each group's mean: more where tables would not reach."""
    return max(SPENT, min(1 / 4, 20 * RESOLVED / (1.0 - confidence)))


@lru_cache(maxsize=64)
def cells(seen: Seen, population: bool) -> tuple[Cell, ...]:
    """The cells of a group at the confidence of the pair."""
    inner, edges = cut(seen, population)
    scales = _scales(inner, population)
    places = np.linspace(0.0, FAR * scales[-1], PLACES)
    return tuple(
        Cell(low, high, Tail(places, _sides(inner, low, high, places, population)), scales)
        for low, high in pairwise(edges)
    )


@lru_cache(maxsize=64)
def cut(seen: Seen, population: bool) -> tuple[Seen, tuple[float, ...]]:
    """A group at the confidence spent on it, and the edges of the cells of its mean."""
    inner = replace(seen, confidence=1.0 - spent(seen.confidence) * (1.0 - seen.confidence))
    low, high = shares(inner, sampled if population else noise_alone)
    off = (high - low) / 2 * max(inner.reach, inner.most if population else 0.0)
    many = min(CELLS, max(1, math.ceil(off / (OFF * _scales(inner, population)[-1]))))
    return inner, tuple(np.linspace(low, high, many + 1).tolist())


def _scales(seen: Seen, population: bool) -> tuple[float, ...]:
    noise = math.sqrt(seen.copies * to_double(seen.mechanism.moments.cells))
    if not population:
        return (noise,)
    powers = range(_power(seen.least), _power(seen.most) + 1)
    return tuple(math.sqrt(noise**2 + 4.0**power / 4) for power in powers)


def _power(n: int) -> int:
    """The power of four nearest to n."""
    return max(0, round(math.log(max(n, 1), 4)))


def _sides(seen: Seen, low: float, high: float, places: Floats, population: bool) -> Floats:
    """P(|z| >= place), for the worst mean in [low, high] and number of records."""
    alpha = round((low + high) / 2 * 2**FINE) / 2**FINE
    table = tail(seen.mechanism, Line(1.0, alpha), seen.copies)
    off = max(abs(alpha - low), abs(alpha - high)) * seen.reach + seen.lost
    if not population:
        both = 2.0 * table(places - off)
    else:
        width = 1.0 + high - low
        up, down = (bounded(seen.most, end / width, width) for end in (high, 1.0 - low))
        both = convolved(up, table, places - off) + convolved(down, table, places - off)
    return np.minimum.accumulate(np.minimum(1.0, both))


def _outside(one: Tail, two: Tail, c: float, d: float, q: float) -> float:
    """P((z_1 / c)^2 + (z_2 / d)^2 >= q^2) at most, each |z_1| at the end of its step."""
    mass = one.values[:-1] - one.values[1:]
    left = d * np.sqrt(np.maximum(0.0, q * q - (one.places[1:] / c) ** 2))
    return float(mass @ two(left) + one.values[-1] + (1.0 - one.values[0]))


def _quantile(one: Tail, two: Tail, c: float, d: float, miss: float) -> float:
    """The least sufficient q, rounded up; infinite if there is none."""
    low, high = 0.0, FAR
    if _outside(one, two, c, d, high) > miss:
        return math.inf
    while high - low > 0.004 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(one, two, c, d, middle) > miss else (low, middle)
    return high


def _ellipses(first: Seen, second: Seen, population: bool) -> Iterator[tuple[Cell, Cell, Ends]]:
    """Pairs of cells, each with the half-axes of its ellipse in shares of the range."""
    miss = (1.0 - first.confidence) * (1 - 2 * spent(first.confidence))
    for one, two in product(cells(first, population), cells(second, population)):
        for c, d in product(one.scales, two.scales):
            q = _quantile(one.tail, two.tail, c, d, miss)
            yield one, two, (_axis(q * c, first.size), _axis(q * d, second.size))


def _axis(reach: float, size: float) -> float:
    return reach / size if size > 0 else math.inf


def difference(first: Seen, second: Seen, population: bool) -> Ends:
    """The interval of the first mean minus the second, in shares of the range."""
    lows, highs = [], []
    for one, two, axes in _ellipses(first, second, population):
        low, high = one.low - two.high, one.high - two.low
        half = math.hypot(*axes)
        if math.isfinite(half):
            middle = first.cells / first.size - second.cells / second.size
            low, high = max(low, middle - half), min(high, middle + half)
        if low <= high:
            lows.append(low)
            highs.append(high)
    return (min(lows), max(highs)) if lows else (-1.0, 1.0)


def ratio(first: Seen, second: Seen, population: bool, lower: float, width: float) -> Ends:
    """The interval of the ratio of the two means, each lower + width alpha; may be unbounded."""
    lows, highs = [], []
    for one, two, axes in _ellipses(first, second, population):
        tops, bottoms = (
            (lower + width * cell.low, lower + width * cell.high) for cell in (one, two)
        )
        if bottoms[0] <= 0.0 <= bottoms[1]:
            return -math.inf, math.inf
        ends = [top / bottom for top in tops for bottom in bottoms]
        low, high = min(ends), max(ends)
        if all(map(math.isfinite, axes)):
            top, bottom = (lower + width * seen.cells / seen.size for seen in (first, second))
            inner = _tangents(top, bottom, width * axes[0], width * axes[1])
            low, high = max(low, inner[0]), min(high, inner[1])
        if low <= high:
            lows.append(low)
            highs.append(high)
    return (min(lows), max(highs)) if lows else (-math.inf, math.inf)


def _tangents(top: float, bottom: float, a: float, b: float) -> Ends:
    """The slopes from the origin to an ellipse: (top - r bottom)^2 = a^2 + r^2 b^2."""
    largest = max(abs(top), abs(bottom), a, b) or 1.0  # squares of large numbers would overflow
    top, bottom, a, b = (each / largest for each in (top, bottom, a, b))
    square = bottom**2 - b**2
    root = top**2 * bottom**2 - square * (top**2 - a**2)
    if not (square > 0 and root >= 0):  # nor if an axis is infinite
        return -math.inf, math.inf
    middle, half = top * bottom / square, math.sqrt(root) / square
    return middle - half, middle + half
