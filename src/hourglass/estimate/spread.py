"""The variance and the standard deviation of the records, from noisy totals with squares.

With c the estimated mean, in parts of the range, the sum of (x - c)^2 over the records is a
combination of the three noisy totals. Divided by N' it estimates the variance; the noise in c
itself matters only to second order. The variance of values in [0, 1] with mean c is at most c (1 -
c), which the estimate is clipped to.

**Interval.** sum (x - c)^2 - v N, which is zero at the records' variance v, is observed with the
noise f(v) U, f(v) = (c^2 - v, -c (1-c) - v, (1-c)^2 - v). The interval consists of those v for
which the observed value does not exceed the quantile of |f(v) U|. Since c replaces the mean, this
is approximate: exact to leading order in one over the number of records. The quantiles come from a
fixed sample of the law, the same for every release; they use no data and nothing secret.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
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
#: The number of variances tried, with equally spaced roots; it determines the precision of the
#: ends.
_TRIED: Final = 16385
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
    return min(max(_around(noisy, c) / noisy.size, Fraction(0)), most)


def _around(noisy: NoisyTotals, c: Fraction) -> Fraction:
    """The noisy sum of (x - c)^2, in squared widths."""
    u0, u1, u2 = _three(noisy)
    whole = noisy.parts * noisy.grid // 2
    return Fraction(u0 * c * c - u1 * c * (1 - c) + u2 * (1 - c) ** 2) / whole


def _three(noisy: NoisyTotals) -> tuple[Any, Any, Any]:
    """The noisy totals of (G-q)^2, 2q(G-q) and q^2."""
    u1 = noisy.cells - 2 * noisy.squares
    return (noisy.rest - u1) // 2, u1, noisy.squares


def spread_ends(mechanism: HourglassSpread, noisy: NoisyTotals, miss: float) -> tuple[float, float]:
    """The least and the largest variance that are kept, in the units of the data."""
    c, size = float(share(noisy)), to_double(noisy.size)
    around = to_double(_around(noisy, share(noisy)))
    places = np.linspace(0.0, MOST, _PLACES)
    quantiles = [_quantile(mechanism.law, c, float(v), miss) for v in places]
    tried = np.linspace(0.0, math.sqrt(MOST), _TRIED) ** 2
    kept = np.abs(around - tried * size) <= np.interp(tried, places, quantiles)
    if not kept.any():
        if not 0.0 <= around <= MOST * size:
            return _values(mechanism.grid, 0.0, MOST)
        # The interval lies around the root of a line, between two of the variances tried.
        above = int(np.searchsorted(tried, around / size)) if size > 0 else 0
        kept[[max(0, above - 1), above]] = True
    # The last excluded variance on either side, since those up to the first one kept may not be.
    first, last = int(np.argmax(kept)), _TRIED - 1 - int(np.argmax(kept[::-1]))
    low, high = tried[max(0, first - 1)], tried[min(_TRIED - 1, last + 1)]
    return _values(mechanism.grid, float(low), float(high))


def _values(grid: Grid, low: float, high: float) -> tuple[float, float]:
    """Widen the ends by the rounding to the grid, the most that a standard deviation changes."""
    width, slack = to_double(grid.bounds.width), to_double(grid.slack)
    least = max(0.0, math.sqrt(low) * width - slack)
    largest = min(width / 2, math.sqrt(high) * width + slack)
    return least**2, largest**2


@lru_cache(maxsize=256)
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
