"""Synthetic data: i.i.d. values in [0, 1] of a given mean, drawn from the same bits as the noise.

The values are uniform on the widest interval around the mean that lies in [0, 1]. Noise is added
only to the totals, so the shape of the law hardly matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.limits import DEFAULT_GRID, Bounds, Grid
from ..core.totals import Totals
from ..noise.bits import Bits

__all__ = ["UNIT", "Data", "data_set", "data_sets", "grid_data_set"]

#: [0, 1] on the grid of real-valued columns.
UNIT = Grid(Bounds(0, 1), DEFAULT_GRID)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """The totals of one data set, or of many, and its own mean as a share of the range."""

    totals: Totals
    mean: Any


def data_set(mean: float, records: int, bits: Bits, grid: Grid = UNIT) -> Data:
    """One data set of real values."""
    values = _values(mean, records, bits)
    cells = _nearest(values, grid)
    return Data(Totals(int(cells.sum()), records), float(values.mean()))


def data_sets(mean: float, records: int, runs: int, bits: Bits) -> Data:
    """A fresh data set for every run."""
    values = _values(mean, runs * records, bits).reshape(runs, records)
    cells = _nearest(values, UNIT).sum(axis=1)
    counts = np.full(runs, records)
    return Data(Totals(cells.astype(object), counts.astype(object)), values.mean(axis=1))


def grid_data_set(mean: float, records: int, bits: Bits, grid: Grid) -> Data:
    """One data set on the grid: each value is rounded up or down at random."""
    values = _values(mean, records, bits) * grid.cells
    cells = np.floor(values + _uniform(records, bits)).astype(np.int64)
    total = int(cells.sum())
    return Data(Totals(total, records), total / (grid.cells * records))


def _values(mean: float, size: int, bits: Bits) -> Floats:
    reach = min(mean, 1.0 - mean)
    return np.clip(mean + reach * (2.0 * _uniform(size, bits) - 1.0), 0.0, 1.0)


def _uniform(size: int, bits: Bits) -> Floats:
    """Doubles in [0, 1) from the first 53 digits of a word."""
    if bits.width != 64:
        raise ValueError("synthetic data needs words of 64 bits")
    return (bits.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _nearest(values: Floats, grid: Grid) -> npt.NDArray[np.int64]:
    return np.rint(values * grid.cells).astype(np.int64)
