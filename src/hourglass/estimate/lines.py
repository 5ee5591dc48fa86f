"""Tables of the upper tail of the noise along a line, for one answer or several together.

An interval needs P(s x - n y >= r) at hundreds of r, where x is the error of the sum in widths of
the range and y that of the count. :class:`Tail` holds this probability at evenly spaced r; each
value is an upper bound for all r up to the next. All numbers here are rounded up.

Several answers have independent noises. Their sum is the same law convolved with itself: each noise
is rounded up to the grid of its table, and the convolution is a power of the Fourier transform. Its
rounding errors and the omitted far tail are below :data:`SLACK`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..mechanisms.base import MeanMechanism
from ..mechanisms.count import LaplaceCount
from ..mechanisms.tails import SLACK, Line, above

__all__ = [
    "COUNT", "RESOLVED", "Floats", "Tail", "count_reach", "reach_of", "sums_reach", "tabled",
    "tail",
]  # fmt: skip

Floats = npt.NDArray[np.float64]
Noise = MeanMechanism | LaplaceCount

#: The error of the count alone.
COUNT: Final = Line(0.0, 1.0)
#: The points of a table per standard deviation of the noise, and the most points of a table.
PLACES: Final = 24
MOST_PLACES: Final = 2**15
#: This density extends to NEAR deviations on either side; OUTER more points cover the rest.
NEAR: Final = 5.0
OUTER: Final = 48
#: Points are shifted by this fraction of a step, so that a value at a whole number of steps is not
#: rounded up to the next.
PAST: Final = 1e-7
#: Pivots are tabulated for multiples of 2^-FINE.
FINE: Final = 8
#: Beyond W with W^2 = 2 L (variance + W scale) the mass is below exp(-L) (Bernstein).
LEFT: Final = 22.0
#: The smallest probability that every table reaches, for each answer that is added up.
RESOLVED: Final = 10 * SLACK


@dataclass(frozen=True, eq=False)
class Tail:
    """At least P(Z >= r), for every r: ``values[i]`` from ``places[i]`` on."""

    places: Floats
    values: Floats

    def __call__(self, r: Any) -> Any:
        """At each r; 1 before the table begins, its last value after its end."""
        return self._from_one[self.places.searchsorted(r - 1e-12 * np.abs(r), side="right")]

    @cached_property
    def _from_one(self) -> Floats:
        return np.append(1.0, self.values)

    def reach(self, miss: float) -> float:
        """A value that Z exceeds with a probability of at most ``miss``."""
        found = np.nonzero(self.values <= miss)[0]
        return float(self.places[found[0]]) if len(found) else math.inf


def tabled(alpha: float) -> float:
    """The nearest alpha in [0, 1] for which the pivot x - alpha y is tabulated."""
    return min(max(round(alpha * 2**FINE), 0), 2**FINE) / 2**FINE


@lru_cache(maxsize=512)
def tail(mechanism: Noise, line: Line, copies: int = 1) -> Tail:
    """The upper tail of a line of the noise, or of the sum of ``copies`` independent copies."""
    deviation = max(_deviation(mechanism, line), 1e-12)
    reach = _reach(mechanism, line, deviation)
    each = PLACES * max(1.0, math.sqrt(copies) / 2)
    step = max(deviation / each, 2 * reach / MOST_PLACES)
    step = 1 / math.ceil(1 / step) if step < 1 else step  # whole records stay where they are
    half, near = math.ceil(reach / step), math.ceil(min(NEAR * deviation, reach) / step)
    side = np.unique(np.append(np.arange(near), np.linspace(near, half, OUTER).astype(np.int64)))
    places = step * (np.concatenate([-side[:0:-1], side]) + PAST)
    even = step * (np.arange(-half, half + 1, dtype=np.float64) + PAST)
    if copies > 1 and getattr(mechanism.tails, "closed_form", False):  # no place need be left out
        return _summed(Tail(even, above(mechanism.tails, line, even)), deviation, copies)
    one = Tail(places, np.minimum.accumulate(above(mechanism.tails, line, places)))
    return one if copies == 1 else _summed(Tail(even, one(even)), deviation, copies)


@lru_cache(maxsize=512)
def count_reach(mechanism: Noise, miss: float, copies: int = 1) -> float:
    """The error of the count is at least this with a probability of at most ``miss``."""
    if not mechanism.tails.miss(COUNT, COUNT, 0.5):  # the number of records is public
        return 0.0
    return reach_of(mechanism, COUNT, miss / 2, copies)


def reach_of(mechanism: Noise, line: Line, miss: float, copies: int = 1) -> float:
    """The line, or a sum of copies, is at least this with a probability of at most ``miss``.

    A table of many copies does not resolve small probabilities. There Cantelli's inequality is
    used, P(Z >= r) <= v / (v + r^2) with v the variance: wider, but valid for every ``miss``.
    """
    found = tail(mechanism, line, copies).reach(miss)
    if math.isfinite(found):
        return found
    return 1.000001 * _deviation(mechanism, line) * math.sqrt(copies * (1 - miss) / miss)


def sums_reach(
    mechanism: MeanMechanism, noisy: Sequence[NoisyTotals], miss: float, copies: int
) -> Fraction:
    """How far noisy sums, added or subtracted, may be from the true figure, in units of the data.

    The error of one sum is the width of the range times the error of the cells plus the lower bound
    times that of the count. The noise is symmetric, so the law is the same for both signs.
    ``copies`` is the number of independent noises in ``noisy``.
    """
    grid = mechanism.grid
    lower, width = Fraction(grid.bounds.lower), grid.bounds.width
    largest = max(abs(lower), abs(lower + width))
    line = Line(width / largest, -lower / largest)
    reach = largest * Fraction(reach_of(mechanism, line, miss / 2, copies))
    if grid.slack:  # rounding moved each record by at most the slack
        more = Fraction(count_reach(mechanism, miss / 50, copies))
        reach += grid.slack * max(1, math.ceil(sum(each.size for each in noisy) + more))
    return reach


def _deviation(mechanism: Noise, line: Line) -> float:
    moments = mechanism.moments
    x, rest, both = (to_double(m) for m in (moments.cells, moments.rest, moments.both))
    s, n = float(line.sum), float(line.count)
    return math.sqrt(max(0.0, s * s * x + n * n * (x + rest + 2 * both) - 2 * s * n * (x + both)))


def _reach(mechanism: Noise, line: Line, deviation: float) -> float:
    """The point beyond which the mass is below the slack."""
    tried = deviation * 4.0 * 1.25 ** np.arange(40, dtype=np.float64)
    found = np.nonzero(above(mechanism.tails, line, tried) <= 8 * SLACK)[0]
    return float(tried[found[0]]) if len(found) else float(tried[-1])


def _summed(one: Tail, deviation: float, copies: int) -> Tail:
    """Rounds each copy up to the end of its step; the transform is long enough not to wrap."""
    half, step = len(one.places) // 2, float(one.places[-1] - one.places[-2])
    mass = one.values - np.append(one.values[1:], one.values[-1])
    mass[0] += 1.0 - one.values[0]
    lost = copies * (float(one.values[-1]) + 1e-12)
    first = 1 - half  # the place of the first mass, in steps
    centre = float(mass @ np.arange(first, first + len(mass)))
    scale = 1.25 * half
    wide = scale + math.sqrt(scale**2 + 2 * LEFT * copies * (deviation / step) ** 2)
    wide += copies * (1 + abs(centre))
    size = 1 << math.ceil(math.log2(2 * wide + 2))
    circle = np.zeros(size)
    np.add.at(circle, (first + np.arange(len(mass))) % size, mass)
    power = np.roll(np.fft.irfft(np.fft.rfft(circle) ** copies, size), size // 2)
    values = np.cumsum(power[::-1])[::-1] + lost + SLACK
    values = np.clip(np.maximum.accumulate(values[::-1])[::-1], 0.0, 1.0)
    places = np.arange(-(size // 2), size - size // 2, dtype=np.float64)
    return Tail(step * (places + copies * PAST), values)  # each copy was rounded up by that much
