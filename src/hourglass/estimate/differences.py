"""Differences of the means of two groups, from the joint law of both errors.

The noises of two groups are independent, and so are their records. Let e = S'/(G N') - alpha be
the error of one group's mean, clipped to the bounds. If N' > 0,

    e >= r   if and only if   A + x - (alpha + r) y >= r n,

A the sum of (draw - alpha) if the mean is that of a population, else 0. So the tail of e is that
of a line of the noise, and for a given r it is largest where there are fewest records. The error
of the difference is e_1 - e_2; its tail is a sum over the values of one of the two. The quantile
is taken for the least favourable numbers of records and means that the groups may have: a part of
1 - confidence is spent on these (Berger and Boos 1994), and the means are divided into cells, as
for the ellipse of :mod:`hourglass.estimate.pairs`.

A group whose number of records is below three times the reach of the count's noise, so that N' may
not be positive, is tested by that ellipse instead. Which test applies depends on the true numbers
of records, not on the answer: if both are possible, both must exclude.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Final

import numpy as np

from ..mechanisms.tails import Line
from . import pairs
from .lines import Floats, Tail, tail
from .population import Seen, half_width
from .sampling import Steps, bounded, convolved

__all__ = ["difference"]

#: The points of a tail table per standard deviation of the error, and how far it extends.
PLACES: Final = 20
NEAR: Final = 4.0
FAR: Final = 20.0
OUTER: Final = 40
#: Lines are tabulated at multiples of powers of two between 2^-COARSEST and 2^-FINEST.
FINEST: Final = 8
COARSEST: Final = 5
#: The relative precision of a distance.
PRECISION: Final = 1 / 512


@dataclass(frozen=True, eq=False)
class Sides:
    """A mean in [low, high]: the tails of its error e and of -e."""

    low: float
    high: float
    up: Tail
    down: Tail


def difference(first: Seen, second: Seen, population: bool) -> tuple[float, float]:
    """The interval of the first mean minus the second, in shares of the range."""
    inner = [pairs.cut(seen, population)[0] for seen in (first, second)]
    floor = _fewest(inner[0])
    found = []
    if min(seen.least for seen in inner) < floor:
        found.append(pairs.difference(first, second, population))
    if min(seen.most for seen in inner) >= floor:
        found.append(_by_errors(first, second, population))
    return min(low for low, _ in found), max(high for _, high in found)


def _fewest(seen: Seen) -> int:
    """The fewest records for which N' is positive if the count's noise is within its reach."""
    return math.ceil(3 * seen.reach) + 1


def _by_errors(first: Seen, second: Seen, population: bool) -> tuple[float, float]:
    miss = (1.0 - first.confidence) * (1 - 2 * pairs.spent(first.confidence)) / 2
    middle = first.estimate - second.estimate
    lows, highs = [], []
    for one, two in product(sides(first, population), sides(second, population)):
        low, high = one.low - two.high, one.high - two.low
        below, above = middle - low, high - middle
        low = max(low, middle - _least(_too_far(one.up, two.down, miss), below))
        high = min(high, middle + _least(_too_far(one.down, two.up, miss), above))
        if low <= high:
            lows.append(low)
            highs.append(high)
    return (min(lows), max(highs)) if lows else (-1.0, 1.0)


def _too_far(one: Tail, other: Tail, miss: float) -> Callable[[float], bool]:
    """Whether the sum of the two errors exceeds a distance too rarely, rounding steps up."""
    ends = np.append(other.places, 1.0)
    mass = np.append(1.0, other.values) - np.append(other.values, 0.0)
    return lambda at: float(mass @ one(at - ends)) <= miss


def _least(enough: Callable[[float], bool], most: float) -> float:
    """The least sufficient distance, rounded up; ``most`` if there is none below."""
    low, high = 0.0, max(most, 0.0)
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@lru_cache(maxsize=64)
def sides(seen: Seen, population: bool) -> tuple[Sides, ...]:
    """The cells of a group's mean, with the tails of its error in each."""
    inner, edges = pairs.cut(seen, population)
    return tuple(
        Sides(
            low,
            high,
            _error_tail(inner, low, high, False, population),
            _error_tail(inner.mirrored, 1.0 - high, 1.0 - low, True, population),
        )
        for low, high in pairwise(edges)
    )


def _error_tail(seen: Seen, low: float, high: float, flip: bool, population: bool) -> Tail:
    """The tail of the error, for every mean in [low, high] and every number of records."""
    deviation = half_width(seen, population) / 2 + 1e-12
    side = np.append(
        np.arange(0.0, NEAR * deviation, deviation / PLACES),
        np.linspace(NEAR * deviation, FAR * deviation, OUTER),
    )
    places = np.concatenate([-side[:0:-1], side])
    width = 1.0 + high - low
    sampling = bounded(seen.most, high / width, width) if population else None
    values = _tails_at(seen, low, high, flip, places, sampling)
    return Tail(places, np.minimum.accumulate(np.minimum(values, 1.0)))


def _tails_at(
    seen: Seen, low: float, high: float, flip: bool, places: Floats, sampling: Steps | None
) -> Floats:
    """P(e >= r) at each point r: 1 where e cannot be smaller, 0 beyond the upper bound."""
    first, last = np.clip(low + places, 0.0, 1.0), np.clip(high + places, 0.0, 1.0)
    spread = float(places[-1]) / FAR
    cut = 2 ** min(max(math.ceil(-math.log2(max(spread, 1e-9))), COARSEST), FINEST)
    lines = np.round((first + last) / 2 * cut) / cut
    off = np.maximum(np.abs(lines - first), np.abs(lines - last)) * seen.reach + seen.lost
    least = max(seen.least, _fewest(seen))
    at = places * np.where(places > 0, least, seen.most) - off
    values = np.ones(len(places))
    positive = int(np.searchsorted(low + places, 0.0, side="right"))
    ends = np.nonzero(np.diff(lines[positive:]))[0] + positive + 1  # they never decrease
    for start, end in pairwise([positive, *ends.tolist(), len(places)]):
        here, line = slice(start, end), float(lines[start])
        table = tail(seen.mechanism, Line(1.0, 1.0 - line if flip else line), seen.copies)
        if sampling is None:
            values[here] = table(at[here])
        else:
            values[here] = convolved(sampling, table, at[here])
    return np.where(places > 1.0 - low, 0.0, values)
