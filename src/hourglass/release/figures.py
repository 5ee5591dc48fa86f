"""What an answer states about its rows besides the figures of ``estimate/point.py``.

A function here takes the noisy totals of one row (integers) or those of many (arrays).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..estimate import point
from ..estimate.accuracy import error_at
from ..estimate.interval import mean_ends
from ..mechanisms.base import MeanMechanism

__all__ = ["ends", "errors", "row"]

Floats = npt.NDArray[np.float64]


def errors(algorithm: MeanMechanism, noisy: NoisyTotals, mean: Any) -> Any:
    """The expected error of the mean."""
    if not isinstance(noisy.cells, np.ndarray):
        return error_at(algorithm, to_double(noisy.size), mean)
    sizes = np.asarray(noisy.weight, dtype=np.float64) / (noisy.parts * noisy.grid)
    return error_at(algorithm, sizes, mean)


def ends(
    algorithm: MeanMechanism, noisy: NoisyTotals, mean: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """The intervals of the means of many rows; each holds its mean."""
    exact = len(noisy.cells) <= point.EXACT
    low, high = mean_ends(algorithm, noisy, confidence, exact=exact)
    return np.minimum(low, mean), np.maximum(high, mean)


def row(noisy: NoisyTotals, place: int) -> NoisyTotals:
    """The totals of one of many rows, in Python's integers."""
    return NoisyTotals(int(noisy.cells[place]), int(noisy.rest[place]), noisy.grid, noisy.parts)
