"""From noisy totals to a mean, a sum and a count: post-processing without privacy cost.

Integers become floats here. Each function takes the noisy totals of one answer, or of many as
arrays. Up to :data:`EXACT` answers are computed from exact integers and rounded once at the end, so
that equal noisy totals give equal bytes; more are computed in doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import ratio_to_double
from ..core.grid import Grid
from ..core.totals import NoisyTotals
from ..errors import OptionError, one_of
from ..mechanisms.base import MeanMechanism, find, names_with
from .posterior import posterior_shares

__all__ = [
    "BAYESIAN",
    "ESTIMATORS",
    "EXACT",
    "check_estimator",
    "count",
    "each",
    "exact_sum",
    "mean",
    "share",
    "sum_",
]

#: How a mean is estimated from noisy totals; the first is the default.
ESTIMATORS: Final = ("projected", "ratio", "posterior", "jeffreys")
#: Those that are means of a posterior (posterior.py).
BAYESIAN: Final = ("posterior", "jeffreys")
#: Up to this many answers are computed from exact integers.
EXACT: Final = 10_000
#: More than that are computed in doubles, this many at a time.
_BLOCK: Final = 1 << 14


def check_estimator(estimator: str, algorithm: str, statistic: str = "mean") -> str:
    """Check that the estimator works with this algorithm."""
    one_of("estimator", estimator, ESTIMATORS)
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
    return estimator


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
