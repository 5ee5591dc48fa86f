"""Quantiles of the noise ("reaches"), from which intervals are computed.

A reach is a distance that a combination of the noise exceeds with a probability of at most a given
``miss``. It is found by doubling and bisection, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..mechanisms.base import MeanMechanism
from ..mechanisms.tails import Line, misses

__all__ = [
    "CELLS", "Reaches", "count_reach", "least_count", "reaches_of", "rung_below", "sum_reach",
]  # fmt: skip

Places = npt.NDArray[np.int64]
Enough = Callable[[Places, Places], npt.NDArray[np.bool_]]

#: The number of cells that the range of alpha is divided into, each with its own reach.
CELLS: Final = 1024
#: Reaches are rounded up to powers of 2^(1/RUNGS), in steps of 0.07 %.
RUNGS: Final = 1024
#: No reach is below 2^FLOOR.
FLOOR: Final = -60
#: If all reaches are computed, those of every so many cells come first.
_APART: Final = 32
#: About how many tails are computed for that.
_ROWS: Final = 6 * CELLS


class Reaches:
    """How far from zero S' - alpha G N' must lie, in records, to exclude a cell of alphas.

    The values are powers of 2^(1/RUNGS), so that they do not depend on the order in which they are
    computed.
    """

    def __init__(self, mechanism: MeanMechanism, miss: float) -> None:
        self.tails, self.miss = mechanism.tails, miss
        spread = math.sqrt(to_double(mechanism.moments.cells))
        self._known: dict[int, int] = {}
        self._start, self._step = round(RUNGS * math.log2(2.0 * spread)), RUNGS // 8
        self._tried, self._most_tried = 0, _ROWS * getattr(self.tails, "row_share", 1.0)

    @property
    def worthwhile(self) -> bool:
        """Whether all reaches would have taken less time than those that were computed so far."""
        return "all" in self.__dict__ or self._tried > self._most_tried

    def excluded(self, first: int, last: int, reach: float) -> bool:
        """Whether all alphas of the cells first..last-1 are excluded at that distance from zero."""
        self._tried += 1
        low, high = Line(1.0, first / CELLS), Line(1.0, last / CELLS)
        return reach == math.inf or self.tails.miss(low, high, reach) <= self.miss

    def __getitem__(self, place: int) -> float:
        if place not in self._known:
            enough = partial(self.excluded, place, place + 1)
            rung = _least_rung(enough, RUNGS, self._start, self._step)
            self._known[place] = self._start = rung  # those of neighbouring cells are close
            self._step = 8
        return _rung(self._known[place], RUNGS)

    @cached_property
    def all(self) -> npt.NDArray[np.float64]:
        """The reaches of all cells, in the order of alpha.

        Those of some cells first; between them, the others are close to a straight line.
        """
        some = np.append(np.arange(0, CELLS, _APART), CELLS - 1)
        rungs = _least_rungs(self._enough, some, np.full(len(some), self._start), self._step)
        places = np.arange(CELLS)
        between = np.round(np.interp(places, some, rungs)).astype(np.int64)
        return _at(_least_rungs(self._enough, places, between, 2))

    def _enough(self, places: Places, rungs: Places) -> npt.NDArray[np.bool_]:
        """Whether each of the cells is excluded at its rung."""
        reaches = _at(rungs)
        found: npt.NDArray[np.bool_] = reaches == math.inf
        at, near = places[~found], reaches[~found]
        found[~found] = misses(self.tails, at / CELLS, (at + 1) / CELLS, near) <= self.miss
        return found


def reaches_of(mechanism: MeanMechanism, miss: float) -> Reaches:
    """The reaches of a mechanism, cached for the next interval."""
    return _reaches_of(mechanism.alike, miss)


@lru_cache(maxsize=64)
def _reaches_of(mechanism: MeanMechanism, miss: float) -> Reaches:
    return Reaches(mechanism, miss)


def sum_reach(mechanism: MeanMechanism, miss: float) -> Fraction:
    """The reach of the sum, in cells.

    The combination is in units of the largest value, so that it also works for a narrow range far
    from zero, whose coefficients in cells would exceed doubles.
    """
    grid = mechanism.grid
    lower, width, step = Fraction(grid.bounds.lower), grid.bounds.width, grid.step
    largest = max(abs(lower), abs(lower + width))
    line = Line(width / largest, -lower / largest)
    beyond = max(0, math.ceil(largest / step).bit_length() - 900)
    cell = float(2**beyond * step / largest)
    return _sum_reach(mechanism.alike, line, miss, cell, beyond)


@lru_cache(maxsize=256)
def _sum_reach(
    mechanism: MeanMechanism, line: Line, miss: float, cell: float, beyond: int
) -> Fraction:
    found = _least_reach(partial(_enough, mechanism, line, miss, cell), FLOOR - beyond)
    return Fraction(found) * Fraction(2) ** beyond


def count_reach(mechanism: MeanMechanism, miss: float) -> float:
    """The reach of the count, in records."""
    return _count_reach(mechanism.alike, miss)


@lru_cache(maxsize=256)
def _count_reach(mechanism: MeanMechanism, miss: float) -> float:
    return _least_reach(partial(_enough, mechanism, Line(0.0, 1.0), miss, 1.0))


def least_count(mechanism: MeanMechanism, noisy: NoisyTotals, confidence: float) -> Any:
    """The lower end of the count's interval, for one answer or for many at once."""
    reach = Fraction(count_reach(mechanism, 1.0 - confidence))
    if not isinstance(noisy.cells, np.ndarray):
        return max(0, math.floor(noisy.size - reach) + 1)
    sizes = noisy.weight.astype(np.float64) / (noisy.parts * noisy.grid)
    return np.maximum(0.0, np.floor(sizes - float(reach)) + 1)


def _enough(mechanism: MeanMechanism, line: Line, miss: float, unit: float, reach: float) -> bool:
    """Whether the combination exceeds ``reach`` units with a probability of at most ``miss``."""
    return mechanism.tails.miss(line, line, reach * unit) <= miss


def _least_reach(enough: Callable[[float], bool], floor: int = FLOOR) -> float:
    """The least sufficient reach, rounded up, to a relative precision of 2^-30."""
    return _rung(_least_rung(enough, 2**30, 0, 2**30, floor), 2**30)


def rung_below(reach: float) -> float:
    """The rung just below a distance."""
    return _rung(math.floor(RUNGS * math.log2(reach)) - 1, RUNGS)


def _at(rungs: Places) -> npt.NDArray[np.float64]:
    """The values of many rungs."""
    return np.array([_rung(number, RUNGS) for number in rungs.tolist()])


def _rung(number: int, rungs: int) -> float:
    return float(2.0 ** (number / rungs)) if number < 1024 * rungs else math.inf


def _least_rung(
    enough: Callable[[float], bool], rungs: int, start: int, step: int, floor: int = FLOOR
) -> int:
    """The least number for which 2^(number/rungs) is sufficient, by doubling and bisection."""
    low = high = start
    if enough(_rung(start, rungs)):
        while high == low or enough(_rung(low, rungs)):
            high, low, step = low, low - step, 2 * step
            if low <= floor * rungs:  # practically zero
                low = floor * rungs
                break
    else:
        while high == low or not enough(_rung(high, rungs)):
            low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(_rung(middle, rungs)) else (middle, high)
    return high


def _least_rungs(enough: Enough, places: Places, starts: Places, step: int) -> Places:
    """The least rung that is sufficient for each place: the same search for all of them at once."""
    near, falling = starts.copy(), enough(places, starts)
    low, high = starts.copy(), starts.copy()
    left = np.arange(len(places))
    while len(left):
        # One step down from a rung that is sufficient, one step up from one that is not.
        fall, here = falling[left], near[left]
        there = np.maximum(here + np.where(fall, -step, step), FLOOR * RUNGS)
        low[left], high[left] = np.where(fall, there, here), np.where(fall, here, there)
        going = (enough(places[left], there) == fall) & (there > FLOOR * RUNGS)
        near[left] = there
        left, step = left[going], 2 * step
    while len(left := np.flatnonzero(high - low > 1)):
        middle = (low[left] + high[left]) // 2
        passed = enough(places[left], middle)
        high[left[passed]], low[left[~passed]] = middle[passed], middle[~passed]
    return high
