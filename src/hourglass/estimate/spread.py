"""The variance and the standard deviation of the records, from noisy totals with squares.

With c the estimated mean, in parts of the range, the sum of (x - c)^2 over the records is a
combination of the three noisy totals. Divided by N' it estimates the variance; the noise in c
itself matters only to second order. The variance of values in [0, 1] with mean c is at most c (1 -
c), which the estimate is clipped to.

**Interval.** sum (x - c)^2 - v N, which is zero at the records' variance v, is observed with the
noise f(v) U, f(v) = (c^2 - v, -c (1-c) - v, (1-c)^2 - v). The interval consists of those v for
which the observed value does not exceed the quantile of |f(v) U|. Since c replaces the mean, this
is approximate: exact to leading order in one over the number of records. The quantiles come from a
fixed sample of the law, the same for every release; they use no data and nothing secret. They are
computed at a number of means and variances and interpolated, so many groups share them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import ratio_to_double, to_double
from ..core.limits import Grid
from ..core.totals import NoisyTotals
from ..mechanisms.spread import HourglassSpread
from ..noise import HourglassTriangle, SeededBits
from .point import each, share

__all__ = ["spread_ends", "variance"]

Floats = npt.NDArray[np.float64]

#: The size of the fixed sample: its 95 % quantile is within one per cent.
SAMPLE: Final = 50_000
#: The number of variances at which the quantile is computed; between them it is interpolated.
_PLACES: Final = 17
#: The quantile is computed at this many means and one more; between them it is interpolated, too.
_MEANS: Final = 128
#: Added to a quantile, times the records: more than the rounding errors where it is compared.
_LOST: Final = 2.0**-46
#: No values in [0, 1] have a larger variance.
MOST: Final = 0.25


def variance(noisy: NoisyTotals, mechanism: HourglassSpread) -> Any:
    """The mean squared distance of the records from their mean, in the units of the data."""
    width = mechanism.grid.bounds.width
    if isinstance(noisy.cells, np.ndarray):
        found = [_share_of_one(one) for one in each(noisy)]
        return np.array([to_double(width**2 * part) for part in found], dtype=np.float64)
    return to_double(width**2 * _share_of_one(noisy))


def _share_of_one(noisy: NoisyTotals) -> Fraction:
    """The variance in squared widths of the range, computed exactly."""
    c: Fraction = share(noisy)
    most = c * (1 - c)
    if noisy.size <= 0:
        return most / 2
    return min(max(Fraction(*_around(noisy, c)) / noisy.size, Fraction(0)), most)


def _around(noisy: NoisyTotals, c: Fraction) -> tuple[int, int]:
    """The noisy sum of (x - c)^2 in squared widths, as a numerator and a denominator."""
    (u0, u1, u2), p, q = _three(noisy), c.numerator, c.denominator
    over = u0 * p * p - u1 * p * (q - p) + u2 * (q - p) ** 2
    return over, q * q * (noisy.parts * noisy.grid // 2)


def _three(noisy: NoisyTotals) -> tuple[Any, Any, Any]:
    """The noisy totals of (G-q)^2, 2q(G-q) and q^2."""
    u1 = noisy.cells - 2 * noisy.squares
    return (noisy.rest - u1) // 2, u1, noisy.squares


def spread_ends(mechanism: HourglassSpread, noisy: NoisyTotals, miss: float) -> tuple[Any, Any]:
    """The least and the largest variance that are kept, of one answer or of many.

    In the units of the data. Those of an answer do not depend on the others.
    """
    many = isinstance(noisy.cells, np.ndarray)
    seen = [_seen(one) for one in (each(noisy) if many else [noisy])]
    c, size, around = np.array(seen, dtype=np.float64).reshape(-1, 3).T
    kept = _kept(size, around, _quantiles(mechanism.law, c, miss))
    low, high = _values(mechanism.grid, *kept)
    return (low, high) if many else (float(low[0]), float(high[0]))


def _seen(noisy: NoisyTotals) -> tuple[float, float, float]:
    """c, N', and the noisy sum of (x - c)^2, of one answer."""
    c: Fraction = share(noisy)
    return to_double(c), to_double(noisy.size), ratio_to_double(*_around(noisy, c))


def _kept(size: Floats, around: Floats, quantiles: Floats) -> tuple[Floats, Floats]:
    """The ends of the variances v with abs(around - v size) <= quantile(v), of each answer.

    ``quantiles`` has a row for each answer, with the quantile at each of the places; between two
    of them it is a line, so where it crosses is computed. All variances are kept if none is.
    """
    places = np.linspace(0.0, MOST, _PLACES)
    size, around = size[:, None], around[:, None]
    within = quantiles + _LOST * (np.abs(around) + np.abs(size))
    starts = np.zeros((len(size), _PLACES - 1))
    ends = np.ones_like(starts)
    for distance in (around - places * size, places * size - around):
        left = within - distance  # not negative where v is kept
        here, there = left[:, :-1], left[:, 1:]
        crossed = (here < 0.0) != (there < 0.0)
        cut = here / np.where(crossed, here - there, 1.0)
        starts = np.where(here < 0.0, np.maximum(starts, np.where(crossed, cut, 2.0)), starts)
        ends = np.where(there < 0.0, np.minimum(ends, np.where(crossed, cut, -1.0)), ends)
    some, step = starts <= ends, MOST / (_PLACES - 1)
    first = np.where(some, places[:-1] + step * starts, MOST).min(axis=1)
    last = np.where(some, places[:-1] + step * ends, 0.0).max(axis=1)
    none = ~some.any(axis=1)
    return np.where(none, 0.0, first), np.where(none, MOST, last)


def _values(grid: Grid, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Widen the ends by the rounding to the grid, the most that a standard deviation changes."""
    width, slack = to_double(grid.bounds.width), to_double(grid.slack)
    least = np.maximum(0.0, np.sqrt(low) * width - slack)
    largest = np.minimum(width / 2, np.sqrt(high) * width + slack)
    return least**2, largest**2


def _quantiles(law: HourglassTriangle, c: Floats, miss: float) -> Floats:
    """A row for each c, with the quantile at each of the places."""
    below = np.minimum((c * _MEANS).astype(np.int64), _MEANS - 1)
    needed, where = np.unique(np.concatenate([below, below + 1]), return_inverse=True)
    rows = np.array([_row(law, int(place), miss) for place in needed]).reshape(-1, _PLACES)
    first, second = rows[where].reshape(2, len(c), _PLACES)
    found: Floats = first + (c * _MEANS - below)[:, None] * (second - first)
    return found


@lru_cache(maxsize=8 * (_MEANS + 1))
def _row(law: HourglassTriangle, place: int, miss: float) -> tuple[float, ...]:
    """The quantiles for one of the means between which they are interpolated."""
    places = np.linspace(0.0, MOST, _PLACES).tolist()
    return tuple(_quantile(law, place / _MEANS, v, miss) for v in places)


def _quantile(law: HourglassTriangle, c: float, v: float, miss: float) -> float:
    f = np.array([c * c - v, -c * (1 - c) - v, (1 - c) ** 2 - v])
    distances = np.abs(_sample(law) @ f)
    # As np.quantile, in a fifth of its time: it also looks for the least and the largest.
    place = (distances.size - 1) * (1 - miss)
    below = math.floor(place)
    distances.partition(below)
    low, above = distances[below], distances[below + 1 :]
    return float(low + (above.min() - low) * (place - below)) if above.size else float(low)


@lru_cache(maxsize=8)
def _sample(law: HourglassTriangle) -> Floats:
    """A fixed sample of the law, in records."""
    u, _ = law.sample(SAMPLE, bits=SeededBits(2024))
    return np.asarray(u, dtype=np.float64) / law.whole
