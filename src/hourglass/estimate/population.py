"""Intervals for the mean of the population that the records are a random sample of.

The records are assumed to be n independent draws from a population on the range, of mean mu (a
share of the range); n is fixed and secret. Then, with the noise (x, y) on the sum and the count,

    S'/G - mu N' = A + x - mu y,    A = the sum of (draw - mu),

and mu is excluded if a value of this pivot this large, or this small, is too unlikely for every
n. **n** is known to within the reach of the count's noise: a part of 1 - confidence,
:data:`SPENT`, is spent on the event that it is not (Berger and Boos 1994); within it the worst n
counts, and |y| is at most that reach. Bounds on A are in :mod:`hourglass.estimate.sampling`.

**Intervals of mu** are excluded at once. For every mu in [a, b], draws of mean mu are
stochastically below (yes/no data) or below in the increasing convex order (all data) yes/no draws
of mean b; the pivot is linear in mu, so it is nowhere below the smaller of its two ends; and the
noise of each mu is that of one tabulated line up to the reach of the count times the distance. So
nothing between two values tried is missed. From below, intervals that end closer and closer to the
end of the confidence interval are excluded; from above, their mirror images.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from statistics import NormalDist
from typing import Final

import numpy as np

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..mechanisms.base import MeanMechanism
from ..mechanisms.tails import Line
from .interval import Interval, _records, _values, check_confidence
from .lines import RESOLVED, Floats, Tail, count_reach, tabled, tail
from .sampling import bounded, convolved, many_yes_no, yes_no

__all__ = ["Seen", "margin", "population", "population_kind", "records_mean", "studentised"]

#: The part of 1 - confidence that is spent on the number of records, unless that is too little.
SPENT: Final = 1 / 50
#: The precision of an end of an interval, relative to its half-width.
PRECISION: Final = 1 / 256
#: Up to this many numbers of records times values, binomial laws are summed exactly.
MOST_SUMMED: Final = 2**13
#: The rounding error of the pivot, relative to the number of records.
LOST: Final = 2.0**-48


@dataclass(frozen=True)
class Seen:
    """Noisy totals in records, of one answer or the sum of ``copies`` answers, and what is spent.

    ``miss`` is the rest of 1 - confidence for each of the two sides.
    """

    mechanism: MeanMechanism
    cells: float
    size: float
    confidence: float
    copies: int = 1
    together: int = 1

    @property
    def _part(self) -> float:
        """The part of 1 - confidence spent on the count: more where its table would not reach."""
        left = (1.0 - self.confidence) / self.together
        return max(SPENT, min(1 / 2, 2 * RESOLVED * self.copies / left))

    @property
    def _spent(self) -> float:
        return self._part * (1.0 - self.confidence) / self.together

    @property
    def miss(self) -> float:
        """The probability of missing on each side."""
        return (1.0 - self.confidence) / self.together * (1 - self._part) / 2

    @cached_property
    def reach(self) -> float:
        """How far the count may be off, except with the probability spent on it."""
        return count_reach(self.mechanism, self._spent, self.copies)

    @property
    def least(self) -> int:
        """The fewest possible records."""
        return max(0, math.ceil(self.size - self.reach - 1e-6))

    @property
    def most(self) -> int:
        """The most possible records."""
        return max(1, math.floor(self.size + self.reach + 1e-6))

    @cached_property
    def summed(self) -> bool:
        """Whether the binomial laws of yes/no data are summed exactly, or bounded if they are many.

        The numbers of their values are those at the estimate, which is never far from an end.
        """
        values = 2 * math.sqrt(40 * self.most * self.estimate * (1 - self.estimate)) + 40
        together = (self.most - self.least + 1) * min(values, self.most)
        return together <= MOST_SUMMED and self.most <= 4 * MOST_SUMMED

    @property
    def kind(self) -> str:
        """The kind of the interval for a population's mean: exact if its law was summed.

        Values that were rounded to the two ends of the range are not yes/no data.
        """
        grid = self.mechanism.grid
        return "exact" if grid.cells == 1 and grid.own and self.summed else "valid"

    @property
    def estimate(self) -> float:
        """The mean as a share of the range."""
        return min(max(self.cells / self.size, 0.0), 1.0) if self.size > 0 else 0.5

    @property
    def mirrored(self) -> Seen:
        """With the two bounds exchanged."""
        return replace(self, cells=self.size - self.cells)

    @property
    def lost(self) -> float:
        """The rounding error, in records."""
        return LOST * (abs(self.cells) + abs(self.size) + self.most)


#: An upper bound on P(a pivot this large) over mu in [a, b], from the noisy totals, the line of the
#: noise, whether the bounds were exchanged, a and b.
Chance = Callable[[Seen, float, bool, float, float], float]


@lru_cache(maxsize=4096)
def population(
    mechanism: MeanMechanism,
    noisy: NoisyTotals,
    confidence: float,
    estimate: float,
    together: int = 1,
    copies: int = 1,
) -> Interval:
    """The interval of the population's mean; ``estimate`` always lies inside it.

    ``together`` is the number of intervals that hold jointly; ``copies`` answers were added up.
    """
    check_confidence(confidence)
    seen = Seen(mechanism, *_records(noisy), float(confidence), copies, together)
    low, high = _values(mechanism.grid, *shares(seen, sampled))
    low, high = min(low, estimate), max(high, estimate)
    return Interval(low, high, float(confidence), "population", seen.kind)


def population_kind(mechanism: MeanMechanism, noisy: NoisyTotals, confidence: float) -> str:
    """The kind of :func:`population`, without the interval."""
    return Seen(mechanism, *_records(noisy), float(confidence)).kind


def records_mean(seen: Seen) -> tuple[float, float]:
    """The interval of the mean of the records themselves, in shares of the range."""
    return shares(seen, noise_alone)


def shares(seen: Seen, chance: Chance) -> tuple[float, float]:
    """The interval in shares of the range; (0, 1) if even the estimate is excluded."""
    if _contradicted(seen):
        return 0.0, 1.0
    width = half_width(seen, chance is sampled)
    low = _end(seen, chance, False, width)
    return low, 1.0 - _end(seen.mirrored, chance, True, width)


def _contradicted(seen: Seen) -> bool:
    """Whether noise cannot explain even the estimate, as when a sum is far below zero.

    Every other mean is then less plausible still, and the interval would shrink to a point. As for
    the mean of one group's records, it is the whole range instead.
    """
    most, at = (1.0 - seen.confidence) / seen.together / 2, seen.estimate
    sides = ((seen, False, at), (seen.mirrored, True, 1.0 - at))
    return any(
        noise_alone(side, tabled(place), flip, place, place) <= most for side, flip, place in sides
    )


def half_width(seen: Seen, sampling: bool) -> float:
    """The approximate half-width of the interval, for finding its ends."""
    moments, a = seen.mechanism.moments, seen.estimate
    V1, V2, C = (to_double(m) for m in (moments.cells, moments.rest, moments.both))
    noise = (1 - a) ** 2 * V1 + a**2 * V2 - 2 * a * (1 - a) * C
    variance = seen.copies * noise + (seen.most * a * (1 - a) + 1.0 if sampling else 0.0)
    return min(1.0, 2 * math.sqrt(max(variance, 0.0)) / max(seen.size, 1.0))


def _end(seen: Seen, chance: Chance, flip: bool, width: float) -> float:
    """The end up to which everything from 0 on is excluded.

    The noise is taken along the tabulated line nearest to the expected end; if the end is found
    elsewhere, along the line there, until it no longer changes.
    """
    place, line = 0.0, tabled(seen.estimate - 0.9 * width)
    tried: set[float] = set()
    while line not in tried:
        tried.add(line)
        place = _walk(seen, partial(chance, seen, line, flip), place, width)
        line = tabled(place)
    return place


def _walk(seen: Seen, chance: Callable[[float, float], float], place: float, width: float) -> float:
    """Exclude interval by interval, with steps that are halved when one fails."""
    top = min(seen.estimate, 1.0 - 1e-12)
    least = max(PRECISION * width, 2.0**-52)  # a smaller step does not move a double below 1
    step = top - place - 1.25 * width if top - place > 2 * width else (top - place) / 2
    while step > least and place + step < 1.0:
        if chance(place, place + step) <= seen.miss:
            place += step
            step = min(step, max((top - place) / 2, 2 * least))
        else:
            step /= 2
    return place


def _noise(seen: Seen, line: float, flip: bool, low: float, high: float) -> tuple[Tail, float]:
    """The noise along a line, and how far the pivots of the interval may deviate from it."""
    table = tail(seen.mechanism, Line(1.0, 1.0 - line if flip else line), seen.copies)
    return table, max(abs(line - low), abs(line - high)) * seen.reach


def noise_alone(seen: Seen, line: float, flip: bool, low: float, high: float) -> float:
    """P(a pivot this large) if the mean is that of the records, so that there is only noise."""
    table, off = _noise(seen, line, flip, low, high)
    pivot = min(seen.cells - low * seen.size, seen.cells - high * seen.size)
    return float(table(pivot - off - seen.lost))


def sampled(seen: Seen, line: float, flip: bool, low: float, high: float) -> float:
    """P(a pivot this large) if the records are draws from a population of that mean."""
    table, off = _noise(seen, line, flip, low, high)
    off += seen.lost
    least, most = seen.least, seen.most
    # The pivot at the upper end of the interval; for a lower mu each record reduces it.
    pivot = min(seen.cells - high * seen.size, seen.cells - low * seen.size - most * (high - low))
    if seen.mechanism.grid.cells > 1:
        return float(convolved(bounded(most, high), table, pivot - off))
    if seen.summed:

        def at(n: Floats) -> Floats:
            ends = [seen.cells - mu * (seen.size - n) for mu in (low, high)]
            return np.minimum(*ends) - off

        return yes_no(least, most, high, table, at)
    return float(convolved(many_yes_no(least, most, high), table, pivot - off))


def margin(mechanism: MeanMechanism, records: int, mean: float | None, confidence: float) -> float:
    """The expected margin of the interval for a population's mean, on its longer side.

    ``mean`` is a share of the range; by default the worst of the middle and the two ends.
    """
    check_confidence(confidence)
    found = []
    moments = mechanism.moments
    equal = to_double(moments.cells) == to_double(moments.rest)  # at both bounds
    places = (0.5, 0.0) if equal else (0.5, 0.0, 1.0)
    for place in places if mean is None else (mean,):
        seen = Seen(mechanism, place * records, float(records), float(confidence))
        low, high = shares(seen, sampled)
        found.append(max(place - low, high - place))
    grid = mechanism.grid
    return max(found) * to_double(grid.bounds.width) + to_double(grid.slack)


def studentised(
    mean: float,
    variance: float,
    n: float,
    *,
    noise: float,
    confidence: float,
    bounds: tuple[float, float],
) -> Interval:
    """An approximate interval for a population's mean, from an estimated variance.

    ``mean``, ``variance`` and ``n`` are private estimates, ``noise`` is the expected error of the
    mean that the noise causes. Both errors are treated as normal; the quantile is that of Student's
    t distribution with n - 1 degrees of freedom, by its expansion. It is correct for many records;
    for few, or for a long-tailed law, its coverage can be below the confidence.
    """
    check_confidence(confidence)
    lower, upper = bounds
    if n <= 1:
        return Interval(lower, upper, float(confidence), "population", "approximate")
    z = NormalDist().inv_cdf((1 + float(confidence)) / 2)
    freedom = max(n - 1, 1.0)
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    most = (upper - lower) ** 2 / 4
    sampling = min(max(variance, 0.0), most) / n
    half = quantile * math.sqrt(sampling + noise**2)
    low, high = max(lower, mean - half), min(upper, mean + half)
    return Interval(min(low, mean), max(high, mean), float(confidence), "population", "approximate")
