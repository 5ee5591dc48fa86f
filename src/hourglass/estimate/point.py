"""From noisy totals to a mean, a sum and a count, and how far each may be off.

All of it is post-processing without privacy cost. Integers become floats here. Each function takes
the noisy totals of one answer, or of many as arrays. Up to :data:`EXACT` answers are computed from
exact integers and rounded once at the end, so that equal noisy totals give equal bytes; more are
computed in doubles.

Expected errors are in closed form, to leading order in one over the number of records. A reach is a
quantile of the noise, from which intervals are computed: the distance that a combination of the
noise exceeds with a probability of at most a given ``miss``. It is found by doubling and bisection,
and rounded up.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from ..core.exact import ratio_to_double, to_double
from ..core.limits import Grid
from ..core.totals import NoisyTotals
from ..errors import OptionError, not_one_of, shown
from ..mechanisms.base import MeanMechanism, find, names_with
from ..mechanisms.tails import Line, misses
from .posterior import posterior_shares

__all__ = [
    "BAYESIAN", "CELLS", "ESTIMATORS", "EXACT", "Reaches", "check_estimator", "count",
    "count_reach", "each", "exact_sum", "least_count", "mean", "position", "reaches_of",
    "rung_below", "share", "sum_", "sum_reach",
]  # fmt: skip

Floats = npt.NDArray[np.float64]

#: How a mean is estimated from noisy totals; the first is the default.
ESTIMATORS: Final = ("projected", "ratio", "posterior", "jeffreys")
#: Those that are means of a posterior (posterior.py).
BAYESIAN: Final = ("posterior", "jeffreys")
#: Up to this many answers are computed from exact integers.
EXACT: Final = 10_000
#: More than that are computed in doubles, this many at a time.
_BLOCK: Final = 1 << 14


def check_estimator(estimator: str, algorithm: str, statistic: str = "mean") -> None:
    """Check that the estimator works with this algorithm."""
    if not isinstance(estimator, str) or estimator not in ESTIMATORS:
        raise not_one_of("estimator", estimator, ESTIMATORS)
    if estimator in BAYESIAN and statistic != "mean":
        raise OptionError(
            f"estimator={estimator!r} works only for the mean of one column without spread; "
            "use 'projected' or 'ratio'"
        )
    if estimator in BAYESIAN and not find(algorithm).posterior:
        raise OptionError(
            f"estimator={estimator!r} works only with {names_with('posterior')}; with "
            f"algorithm={algorithm!r} use 'projected' or 'ratio'"
        )


def each(noisy: NoisyTotals) -> Iterator[NoisyTotals]:
    """Many noisy totals one by one, as Python integers."""
    for place in range(len(noisy.cells)):
        yield noisy.take(place)


def share(noisy: NoisyTotals, estimator: str = "projected") -> Any:
    """The mean as a share of the range: an exact fraction, or for many an array of doubles.

    ``projected``: both transformed sums are raised to zero first, so the result lies in
    [0, 1] by itself. Equals the paper's clipped ratio wherever N' > 0, and is defined
    everywhere: the middle where both are zero.
    ``ratio``: the paper's S'/(G N') clipped to [0, 1]; the middle where N' = 0.
    """
    cells, rest = noisy.cells, noisy.rest
    if isinstance(cells, np.ndarray):
        return _shares(cells.astype(np.float64), rest.astype(np.float64), estimator)
    return Fraction(*_share(noisy, estimator))


def _share(noisy: NoisyTotals, estimator: str) -> tuple[int, int]:
    """The share of one answer, as a numerator and a denominator that may have common factors."""
    cells, rest = noisy.cells, noisy.rest
    if estimator == "projected":
        cells, rest = max(cells, 0), max(rest, 0)
    weight = cells + rest
    if weight == 0:
        return 1, 2
    if weight < 0:
        cells, weight = -cells, -weight
    return min(max(cells, 0), weight), weight


def _shares(cells: Any, rest: Any, estimator: str) -> npt.NDArray[np.float64]:
    if estimator == "projected":
        cells, rest = np.maximum(cells, 0.0), np.maximum(rest, 0.0)
    weight = cells + rest
    ratio = np.divide(cells, weight, out=np.full_like(weight, 0.5), where=weight != 0.0)
    shares: npt.NDArray[np.float64] = np.clip(ratio, 0.0, 1.0)
    return shares


def mean(noisy: NoisyTotals, mechanism: MeanMechanism, estimator: str = "projected") -> Any:
    """The mean in the units of the data."""
    grid, many = mechanism.grid, isinstance(noisy.cells, np.ndarray)
    if estimator in BAYESIAN:
        shares = posterior_shares(noisy, mechanism.law, estimator)  # type: ignore[attr-defined]
        if len(shares) > EXACT:
            return _within(shares, grid)
        ratios = [part.as_integer_ratio() for part in shares.tolist()]
    elif many and len(noisy.cells) > EXACT:
        return np.concatenate([_within(share(part, estimator), grid) for part in _blocks(noisy)])
    else:
        ratios = [_share(one, estimator) for one in (each(noisy) if many else [noisy])]
    lower, width, unit = grid.ends
    means = [(lower * whole + width * part) / (unit * whole) for part, whole in ratios]
    return np.array(means, dtype=np.float64) if many else means[0]


def _blocks(noisy: NoisyTotals) -> Iterator[NoisyTotals]:
    """Many noisy totals in blocks that stay in the cache."""
    for start in range(0, len(noisy.cells), _BLOCK):
        yield noisy.take(slice(start, start + _BLOCK))


def _within(shares: npt.NDArray[np.float64], grid: Grid) -> npt.NDArray[np.float64]:
    """Shares of the range in the units of the data."""
    values = grid.lower * (1.0 - shares) + grid.upper * shares
    return np.clip(values, grid.lower, grid.upper)


def sum_(noisy: NoisyTotals, grid: Grid) -> Any:
    """lower N' + step S', which is unbiased and therefore not clipped, except to finite doubles."""
    if not isinstance(noisy.cells, np.ndarray):
        low, width, unit = grid.ends
        above = low * noisy.weight + width * noisy.cells
        return ratio_to_double(above, unit * noisy.parts * noisy.grid)
    if len(noisy.cells) <= EXACT:
        sums = (sum_(one, grid) for one in each(noisy))
        return np.fromiter(sums, np.float64, len(noisy.cells))
    # Near the largest double, a power of two keeps both products, which may cancel, finite.
    power = Fraction(1, 2**100 if max(map(abs, grid.bounds)) > 2**900 else 1)
    lower, step = float(power * Fraction(grid.bounds.lower)), float(power * grid.step)
    size = noisy.weight.astype(np.float64) / (noisy.parts * noisy.grid)
    most = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        totals = (lower * size + step * noisy.cells.astype(np.float64) / noisy.parts) / float(power)
    return np.clip(totals, -most, most)


def exact_sum(noisy: NoisyTotals, grid: Grid) -> Fraction:
    """The sum of one answer before it is rounded to a double."""
    return Fraction(grid.bounds.lower) * noisy.size + grid.step * Fraction(noisy.cells, noisy.parts)


def count(noisy: NoisyTotals) -> Any:
    """N' rounded to the nearest integer, ties to even, and raised to zero if negative."""
    unit = noisy.parts * noisy.grid
    whole, rest = noisy.weight // unit, noisy.weight % unit
    rounded = whole + ((2 * rest > unit) | ((2 * rest == unit) & (whole % 2 == 1)))
    if isinstance(noisy.weight, np.ndarray):
        return np.maximum(np.asarray(rounded, dtype=np.int64), 0)
    return max(0, int(rounded))


# --- expected errors ------------------------------------------------------------------------------


@overload
def error_at(mechanism: MeanMechanism, records: float, mean: float | None = None) -> float: ...


@overload
def error_at(mechanism: MeanMechanism, records: Floats, mean: Floats) -> Floats: ...


def error_at(mechanism: MeanMechanism, records: Any, mean: Any = None) -> Any:
    """:func:`.accuracy.expected_error` of a mechanism; with arrays, for many groups at once."""
    width = to_double(mechanism.grid.bounds.width)
    with np.errstate(over="ignore"):  # the width is less
        most = width * np.sqrt(leading_of(mechanism, mean))
    if isinstance(records, np.ndarray):
        errors = np.full_like(records, width)
        np.divide(most, records, out=errors, where=records > 0)
        return np.minimum(errors, width)
    return min(width, float(most) / records) if records > 0 else width


def sum_error(mechanism: MeanMechanism) -> float:
    """The root mean squared error of a sum: that of u X + l Y, for any number of records.

    X and Y are the errors of the two transformed sums, in records.
    """
    moments = mechanism.moments
    V1, V2, C = (to_double(moment) for moment in (moments.cells, moments.rest, moments.both))
    lower, upper = (float(end) for end in mechanism.grid.bounds)
    most = max(abs(lower), abs(upper))
    low, high = lower / most, upper / most
    error = most * math.sqrt(max(0.0, high**2 * V1 + low**2 * V2 + 2 * high * low * C))
    return min(error, sys.float_info.max)  # an answer is stored as JSON, which has no infinity


def leading_of(mechanism: MeanMechanism, mean: Any) -> Any:
    """(1-a)^2 V1 + a^2 V2 - 2a(1-a) C; over all a in [0, 1] a convex parabola or a line."""
    moments = mechanism.moments
    V1, V2, C = (to_double(moment) for moment in (moments.cells, moments.rest, moments.both))
    if mean is None:
        return max(V1, V2)
    a = position(mechanism.grid, mean)
    with np.errstate(over="ignore"):
        return (1 - a) ** 2 * V1 + a**2 * V2 - 2 * a * (1 - a) * C


def position(grid: Grid, mean: Any) -> Any:
    """The position of a mean between the bounds, from 0 to 1; for an array, in doubles."""
    lower, upper = grid.bounds
    if isinstance(mean, np.ndarray):
        shrink = grid.shrink
        width = float(grid.bounds.width * Fraction(shrink))
        return np.clip(mean * shrink / width - grid.lower * shrink / width, 0.0, 1.0)
    if not float(lower) <= mean <= float(upper):
        raise OptionError(f"mean={shown(mean)} is outside the bounds ({lower}, {upper})")
    # A bound beyond 2^53 can differ slightly from its double, to which the mean was rounded.
    return min(max(float((Fraction(mean) - Fraction(lower)) / grid.bounds.width), 0.0), 1.0)


# --- reaches --------------------------------------------------------------------------------------

Places = npt.NDArray[np.int64]
Enough = Callable[[Places, Places], npt.NDArray[np.bool_]]

#: The number of cells that the range of alpha is divided into, each with its own reach.
CELLS: Final = 1024
#: Reaches are rounded up to powers of 2^(1/RUNGS), in steps of 0.07 %.
RUNGS: Final = 1024
#: No reach is below 2^FLOOR.
FLOOR: Final = -60
#: If all reaches are computed, those of cells this far apart come first.
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
