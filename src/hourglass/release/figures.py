"""The figures of an answer from its noisy totals, for one row and for many.

A function here takes the totals of one row (integers) and gives one number, or those of many
rows (arrays) and gives an array. One row, and each of up to EXACT_ROWS, is computed from exact
integers and rounded once; more rows than that are computed in doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.totals import NoisyTotals
from ..estimate import point
from ..estimate.accuracy import error_at, errors_at
from ..estimate.interval import mean_ends
from ..estimate.posterior import posterior_shares
from ..mechanisms.base import Algorithm

__all__ = ["EXACT_ROWS", "counts", "ends", "errors", "means", "row", "sums"]

#: Up to this many rows are computed from exact integers.
EXACT_ROWS: Final = 10_000

Floats = npt.NDArray[np.float64]


def means(algorithm: Algorithm, noisy: NoisyTotals, estimator: str) -> Any:
    """The mean, by this estimator."""
    grid = algorithm.grid
    if estimator not in point.BAYESIAN:
        return _each(
            noisy,
            lambda one: point.mean(one, grid, estimator),
            lambda: point.means(noisy, grid, estimator),
        )
    shares = posterior_shares(noisy, algorithm.law, estimator)  # type: ignore[attr-defined]
    if len(shares) > EXACT_ROWS:
        return grid.lower * (1.0 - shares) + grid.upper * shares
    lower, width = Fraction(grid.bounds.lower), grid.bounds.width
    values = [float(lower + width * Fraction(share)) for share in shares.tolist()]
    return values[0] if _is_one(noisy) else np.array(values, dtype=np.float64)


def sums(algorithm: Algorithm, noisy: NoisyTotals) -> Any:
    """The sum."""
    grid = algorithm.grid
    return _each(noisy, lambda one: point.sum_(one, grid), lambda: point.sums(noisy, grid))


def counts(noisy: NoisyTotals) -> Any:
    """The count."""
    return point.count(noisy) if _is_one(noisy) else point.counts(noisy)


def errors(algorithm: Algorithm, noisy: NoisyTotals, mean: Any) -> Any:
    """The expected error of the mean."""
    if _is_one(noisy):
        return error_at(algorithm, float(noisy.size), mean)
    sizes = np.asarray(noisy.weight, dtype=np.float64) / (noisy.parts * noisy.grid)
    return errors_at(algorithm, sizes, mean)


def ends(
    algorithm: Algorithm, noisy: NoisyTotals, mean: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """The intervals of the means of many rows; each holds its mean."""
    exact = len(noisy.cells) <= EXACT_ROWS
    low, high = mean_ends(algorithm, noisy, confidence, exact=exact)
    return np.minimum(low, mean), np.maximum(high, mean)


def row(noisy: NoisyTotals, place: int) -> NoisyTotals:
    """The totals of one of many rows, in Python's integers."""
    return NoisyTotals(int(noisy.cells[place]), int(noisy.rest[place]), noisy.grid, noisy.parts)


def _is_one(noisy: NoisyTotals) -> bool:
    return not isinstance(noisy.cells, np.ndarray)


def _rows(noisy: NoisyTotals) -> Iterator[NoisyTotals]:
    return (row(noisy, place) for place in range(len(noisy.cells)))


def _each(
    noisy: NoisyTotals, one: Callable[[NoisyTotals], float], many: Callable[[], Floats]
) -> float | Floats:
    if _is_one(noisy):
        return one(noisy)
    if len(noisy.cells) <= EXACT_ROWS:
        return np.fromiter(map(one, _rows(noisy)), np.float64, len(noisy.cells))
    return many()
