"""Exact totals of numbers in memory: clamp, quantise, sum, in chunks.

Quantising is bit-identical to the rule of :mod:`hourglass.core.limits`. A chunk of 2^18 cells sums
to at most 2^50, which a double represents exactly, so the fast float sum is exact; chunks are added
as Python integers. Memory use is one chunk-sized buffer per column and thread, whatever the number
of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.limits import Grid
from ..core.totals import CELLS, Sum, Totals
from .sides import filled, powers_of, side_names, sides_of
from .threads import HEAD_START, in_threads, threads_for

__all__ = [
    "CHUNK", "Array", "Chunk", "Part", "Sums", "aligned", "integer_cells", "power_sums",
    "real_cells", "slices", "total_of_array", "total_of_chunks", "whole_sums",
]  # fmt: skip

Array = npt.NDArray[Any]
#: Numbers, and how many further rows had no value.
Chunk = tuple[Array, int]
#: A number for every row, and a mask of missing rows in addition to NaN; None if there are none.
Part = tuple[Array, Array | None]
Sums = tuple[Sum, ...]

#: The most rows per chunk, or per block of several columns. Several threads use chunks of this
#: size, two megabytes of doubles: with smaller ones they wait for the GIL more often.
CHUNK: Final = 1 << 18
#: Rows per chunk in one thread: half a megabyte, which stays in the cache from the clamp to the sum
#: and takes up to a fifth less time than a whole CHUNK.
_ALONE: Final = 1 << 16
_FEW: Final = 1 << 12


def total_of_array(
    values: Array,
    grid: Grid,
    missing: int | None = None,
    *,
    sums: Sums = CELLS,
    threads: int | None = None,
) -> Totals:
    """The totals of a one-dimensional numeric array."""
    rows = len(values)
    threads = threads_for(rows) if threads is None else threads
    size = min(CHUNK if threads > 1 else _ALONE, rows)
    if rows == size:
        return _total(((values, 0),), grid, missing, sums, size)

    def total(start: int, stop: int) -> Totals:
        return _total(slices(values[start:stop], size), grid, missing, sums, size)

    if threads == 1:
        return total(0, rows)
    parts = in_threads(total, rows, threads, HEAD_START)
    return sum(parts, Totals(0, 0, (0,) * (len(sums) - 1)))


def total_of_chunks(
    chunks: Iterable[Chunk], grid: Grid, missing: int | None = None, sums: Sums = CELLS
) -> Totals:
    """The totals of chunks of at most CHUNK rows each, consumed once.

    A row without a value, or with NaN, is left out or counts as the cell ``missing``.
    """
    return _total(chunks, grid, missing, sums, CHUNK)


def _total(
    chunks: Iterable[Chunk], grid: Grid, missing: int | None, sums: Sums, longest: int
) -> Totals:
    add = _add_integers if grid.own else _add_reals
    powers, sides = powers_of(sums), side_names(sums)
    found, count, absent, buffer = [0] * len(sums), 0, 0, aligned(longest)
    for chunk, chunk_absent in chunks:
        # A warning about underflow or a signalling NaN would reveal a value.
        with np.errstate(all="ignore"):
            parts, chunk_count = add(chunk, grid, powers, buffer)
            parts += sides_of(chunk, grid, sides)
        found = [a + b for a, b in zip(found, parts, strict=True)]
        count += chunk_count
        absent += chunk_absent + len(chunk) - chunk_count
    if missing is not None:
        found = filled(found, powers, missing, absent)
        count += absent
    return Totals(found[0], count, tuple(found[1:]))


def aligned(size: int) -> npt.NDArray[np.float64]:
    """A buffer of doubles; aligned to a cache line if large, which is up to a tenth faster."""
    if size <= _FEW:
        return np.empty(size, dtype=np.float64)
    room = np.empty(size + 8, dtype=np.float64)
    start = -room.ctypes.data % 64 // 8
    return room[start : start + size]


def slices(values: Array, size: int = _ALONE) -> Iterator[Chunk]:
    """An array in chunks of ``size`` rows."""
    return ((values[start : start + size], 0) for start in range(0, len(values), size))


def _add_reals(
    chunk: Array, grid: Grid, powers: Sequence[int], space: npt.NDArray[np.float64]
) -> tuple[list[int], int]:
    """Sums of powers of the cells of reals; NaN is left out."""
    buffer = real_cells(chunk, grid, space)
    found = power_sums(buffer, powers)
    if math.isnan(found[0]):
        buffer = buffer[buffer == buffer]
        found = power_sums(buffer, powers)
    return [int(part) for part in found], len(buffer)


def real_cells(chunk: Array, grid: Grid, space: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The integer nearest to (clamp(x) - lower) * s; NaN stays NaN."""
    buffer = space[: len(chunk)]
    if chunk.dtype != np.float64:
        # A long double beyond the range of doubles becomes inf.
        np.copyto(buffer, chunk, casting="unsafe")
        chunk = buffer
    chunk.clip(grid.lower, grid.upper, out=buffer)
    lower = grid.lower
    if grid.shrink != 1.0:
        buffer *= grid.shrink
        lower *= grid.shrink
    if lower != 0.0:
        buffer -= lower
    if grid.scale != 1.0:
        buffer *= grid.scale
    return np.rint(buffer, out=buffer)


def power_sums(cells: npt.NDArray[np.float64], powers: Sequence[int]) -> list[Any]:
    """Sums of cells up to 2^32, and of powers up to 2^46; NaN if any cell is NaN.

    The sum of cells is exact in doubles. For many, einsum takes less time; for few, reduce.
    """
    total = float(np.einsum("i->", cells) if len(cells) > _FEW else np.add.reduce(cells))
    if math.isnan(total):
        return [total] * len(powers)
    return [
        total if power == 1 else _exact_sum((cells**power).astype(np.uint64)) for power in powers
    ]


def _exact_sum(whole: npt.NDArray[np.uint64]) -> int:
    """The sum of integers below 2^63; high and low halves are added separately."""
    high, low = whole >> np.uint64(32), whole & np.uint64(2**32 - 1)
    return (int(high.sum()) << 32) + int(low.sum())


def _add_integers(
    chunk: Array, grid: Grid, powers: Sequence[int], space: npt.NDArray[np.float64]
) -> tuple[list[int], int]:
    """Sums of powers of the cells of integers on their own grid."""
    cells, offset = integer_cells(chunk, grid, space)
    return whole_sums(cells, offset, powers, len(chunk)), len(chunk)


def integer_cells(chunk: Array, grid: Grid, space: npt.NDArray[np.float64]) -> tuple[Array, int]:
    """clamp(x) - lower as unsigned integers, and an offset to add to each of them.

    Nothing is rounded, whatever the width of the type.
    """
    lower, upper = int(grid.bounds.lower), int(grid.bounds.upper)
    if chunk.dtype == np.bool_:
        chunk = chunk.view(np.uint8)
    if not chunk.dtype.isnative:
        chunk = chunk.astype(chunk.dtype.newbyteorder("="))
    dtype, size = chunk.dtype, len(chunk)
    info = np.iinfo(dtype)
    # The bounds cut to the range of the type; beyond it all values are on one side.
    low, high = (min(max(end, int(info.min)), int(info.max)) for end in (lower, upper))
    buffer = space.view(dtype)[:size]
    np.clip(chunk, dtype.type(low), dtype.type(high), out=buffer)
    # Both lie in [low, high], at most 2^32 apart: read unsigned, the wrapped difference is
    # the difference.
    np.subtract(buffer, dtype.type(low), out=buffer)
    return buffer.view(f"u{dtype.itemsize}"), min(max(low, lower), upper) - lower


def whole_sums(cells: Array, offset: int, powers: Sequence[int], size: int) -> list[int]:
    """Sums of powers of ``cells + offset`` over ``size`` records.

    The other entries of ``cells`` are 0 and do not count.
    """
    found = []
    for power in powers:
        if power == 1:
            found.append(int(cells.sum(dtype=np.uint64)) + offset * size)
        else:
            whole = (cells.astype(np.uint64) + np.uint64(offset)) ** np.uint64(power)
            found.append(_exact_sum(whole) - offset**power * (len(cells) - size))
    return found
