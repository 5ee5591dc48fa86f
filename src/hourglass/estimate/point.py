"""From noisy totals to a mean, a sum and a count: post-processing, free of privacy cost.

Floats go out here. One answer is computed from exact integers and rounded once at the end,
so that equal noisy totals give equal bytes; many answers at once are computed in doubles.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.grid import Grid
from ..core.totals import NoisyTotals
from ..errors import OptionError

__all__ = ["BAYESIAN", "ESTIMATORS", "check_estimator", "counts", "mean", "means", "sum_", "sums"]

#: How a mean is read off noisy totals; the first is the default.
ESTIMATORS: Final = ("projected", "ratio", "posterior", "jeffreys")
#: Those that are means of a posterior (posterior.py).
BAYESIAN: Final = ("posterior", "jeffreys")


def check_estimator(estimator: str, algorithm: str) -> str:
    """The estimator's name if it is offered for this algorithm."""
    if estimator not in ESTIMATORS:
        raise OptionError(f"estimator={estimator!r} is not one of {', '.join(ESTIMATORS)}")
    if estimator in BAYESIAN and algorithm != "hourglass":
        raise OptionError(
            f"estimator={estimator!r} is a posterior under hourglass noise; with "
            f"algorithm={algorithm!r} use 'projected' or 'ratio'"
        )
    return estimator


def share(noisy: NoisyTotals, estimator: str) -> Fraction:
    """The mean as a fraction of the range, exactly.

    ``projected``: both transformed sums are raised to zero first, so the result lies in
    [0, 1] by itself. Equals the paper's clipped ratio wherever N' > 0, and is defined
    everywhere: the middle where both are zero.
    ``ratio``: the paper's S'/(G N') clipped to [0, 1]; the middle where N' = 0.
    """
    cells, rest = noisy.cells, noisy.rest
    if estimator == "projected":
        cells, rest = max(cells, 0), max(rest, 0)
    if cells + rest == 0:
        return Fraction(1, 2)
    return min(max(Fraction(cells, cells + rest), Fraction(0)), Fraction(1))


def mean(noisy: NoisyTotals, grid: Grid, estimator: str = "projected") -> float:
    """The mean in the units of the data, rounded once."""
    lower, width = Fraction(grid.bounds.lower), grid.bounds.width
    return float(lower + width * share(noisy, estimator))


def sum_(noisy: NoisyTotals, grid: Grid) -> float:
    """lower N' + step S', rounded once: unbiased, and so not clipped."""
    cells = Fraction(noisy.cells, noisy.parts)
    return to_double(Fraction(grid.bounds.lower) * noisy.size + grid.step * cells)


def count(noisy: NoisyTotals) -> int:
    """N' to the nearest integer, raised to zero."""
    return max(0, round(noisy.size))


def shares(noisy: NoisyTotals, estimator: str = "projected") -> npt.NDArray[np.float64]:
    """:func:`share` for many at once, in doubles."""
    cells, rest = (np.asarray(part, dtype=np.float64) for part in (noisy.cells, noisy.rest))
    if estimator == "projected":
        cells, rest = np.maximum(cells, 0.0), np.maximum(rest, 0.0)
    weight = cells + rest
    empty = weight == 0.0
    ratio = np.divide(cells, weight, out=np.full_like(weight, 0.5), where=~empty)
    return np.clip(ratio, 0.0, 1.0)


def means(noisy: NoisyTotals, grid: Grid, estimator: str = "projected") -> npt.NDArray[np.float64]:
    """The means of many, in the units of the data."""
    part = shares(noisy, estimator)
    values = grid.lower * (1.0 - part) + grid.upper * part
    return np.clip(values, grid.lower, grid.upper)


def sums(noisy: NoisyTotals, grid: Grid) -> npt.NDArray[np.float64]:
    """The sums of many, in the units of the data."""
    cells, weight = (np.asarray(part, dtype=np.float64) for part in (noisy.cells, noisy.weight))
    size = weight / (noisy.parts * noisy.grid)
    most = np.finfo(np.float64).max
    with np.errstate(over="ignore"):  # past the largest double, the largest
        totals = grid.lower * size + float(grid.step) * cells / noisy.parts
    return np.clip(totals, -most, most)


def counts(noisy: NoisyTotals) -> npt.NDArray[np.int64]:
    """The counts of many: N' to the nearest integer, raised to zero."""
    unit = noisy.parts * noisy.grid
    rounded: Any = (2 * noisy.weight + unit) // (2 * unit)
    return np.maximum(np.asarray(rounded, dtype=np.int64), 0)
