"""Count the values outside the bounds, on either side, for data in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.limits import Grid
from ..core.totals import Sum

__all__ = ["filled", "powers_of", "side_names", "sides_of"]

Array = npt.NDArray[Any]


def sides_of(
    numbers: Array, grid: Grid, sides: Sequence[int], out: Array | None = None
) -> list[int]:
    """How many lie below the lower bound (side -1) or above the upper one (1); NaN is neither.

    Rows in ``out`` are left out. A value is compared in the type in which it is quantised: as an
    integer on its own grid, otherwise as a double.
    """
    if not sides:
        return []
    beyond = _integers_beyond if grid.own else _reals_beyond
    found = []
    for side in sides:
        there = beyond(numbers, grid, side)
        if out is not None:
            there = there & ~out
        found.append(int(np.count_nonzero(there)))
    return found


def _reals_beyond(numbers: Array, grid: Grid, side: int) -> Array:
    doubles = numbers if numbers.dtype == np.float64 else numbers.astype(np.float64)
    found: Array = doubles < grid.lower if side < 0 else doubles > grid.upper
    return found


def _integers_beyond(numbers: Array, grid: Grid, side: int) -> Array:
    """Compare with a bound within the type's range; beyond it all values are on one side."""
    whole = numbers.view(np.uint8) if numbers.dtype == np.bool_ else numbers
    info, end = np.iinfo(whole.dtype), int(grid.bounds.lower if side < 0 else grid.bounds.upper)
    if not info.min <= end <= info.max:
        return np.full(len(whole), (end > info.max) == (side < 0))
    return whole < end if side < 0 else whole > end


def powers_of(sums: Sequence[Sum]) -> list[int]:
    """The powers of cells that are summed."""
    return [each.power for each in sums if not each.side]


def side_names(sums: Sequence[Sum]) -> list[int]:
    """The sides that are counted; the sums of cells come before them."""
    return [each.side for each in sums if each.side]


def filled(sums: list[int], powers: Sequence[int], missing: int, absent: int) -> list[int]:
    """Add records of the cell ``missing``, which lies within the bounds."""
    fills = [missing**power * absent for power in powers] + [0] * (len(sums) - len(powers))
    return [int(part) + fill for part, fill in zip(sums, fills, strict=True)]
