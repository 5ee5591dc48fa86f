"""How many numbers in memory fall into each bucket of a :class:`~hourglass.core.limits.Scale`.

The first 16 bits of a double (its sign, its exponent and four more) say in which of 65,536 cells it
lies. If no cell contains more than one candidate, a table has the bucket below the candidate of
each cell, and comparing the number with the candidate decides the rest, in the same steps for every
number. For a scale with several candidates in a cell, the numbers are sorted instead.

An integer lies in the cell of the double nearest to it; the integer itself is compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.limits import Scale, doubles_around

__all__ = ["buckets_of", "histogram_of_chunks"]

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

#: The bits of a double that do not choose its cell.
_REST: Final = np.uint64(48)
#: Rows at a time, so that what is computed for them stays in the cache.
_BLOCK: Final = 1 << 15


def histogram_of_chunks(scale: Scale, chunks: Iterable[tuple[Array, int]]) -> npt.NDArray[np.int64]:
    """How many records of arrays of numbers fall into each bucket; NaN is left out."""
    found = np.zeros(2 * len(scale.candidates) + 1, dtype=np.int64)
    for chunk, _ in chunks:
        # A warning about overflow or a signalling NaN would reveal a value.
        with np.errstate(all="ignore"):
            numbers = _plain(chunk)
            cells = _cells(scale, numbers.dtype)
            if cells is None:
                found += _sorted(numbers, _thresholds(scale, numbers.dtype))
                continue
            for start in range(0, len(numbers), _BLOCK):
                found += _counted(numbers[start : start + _BLOCK], cells, len(found))
    return found


def buckets_of(scale: Scale, chunk: Array) -> npt.NDArray[np.int64]:
    """The bucket of each number of an array without NaN."""
    with np.errstate(all="ignore"):
        numbers = _plain(chunk)
        if (cells := _cells(scale, numbers.dtype)) is None:
            return _searched(numbers, _thresholds(scale, numbers.dtype))
        found = _placed(numbers, cells)
        if numbers.dtype.kind == "f":
            found[numbers == -math.inf] = 0
            found[numbers == math.inf] = 2 * len(scale.candidates)
        return found


def _plain(chunk: Array) -> Array:
    """Doubles, or integers in the machine's byte order."""
    if chunk.dtype.kind == "f":
        return chunk.astype(np.float64, copy=False)
    return chunk.astype(chunk.dtype.newbyteorder("="), copy=False)


@dataclass(frozen=True)
class _Thresholds:
    """The candidates in an array's own type: x < c is x < up, x > c is x > down.

    ``past`` marks the candidates above every value of the type, ``short`` those below every value.
    """

    down: Array
    up: Array
    short: npt.NDArray[np.bool_]
    past: npt.NDArray[np.bool_]


@lru_cache(maxsize=16)
def _thresholds(scale: Scale, dtype: np.dtype[Any]) -> _Thresholds:
    if dtype.kind == "f":
        pairs = [doubles_around(c) for c in scale.candidates]
        short = past = np.zeros(len(pairs), dtype=np.bool_)
    else:
        pairs = [(math.floor(c), math.ceil(c)) for c in scale.candidates]
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        short = np.array([down < low for down, _ in pairs])
        past = np.array([up > high for _, up in pairs])
        pairs = [(min(max(d, low), high), min(max(u, low), high)) for d, u in pairs]
    downs, ups = (np.array(side, dtype=dtype) for side in zip(*pairs, strict=True))
    return _Thresholds(downs, ups, short, past)


# --- by cells -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """For each cell, the bucket below its candidate, and what a number is compared with.

    A number belongs one bucket further if it is above ``before``, the last number below the
    candidate, and another one if it is above ``down``, the last at or below it. Without a candidate
    these are the largest of all numbers. Infinities and NaN have a bucket of their own, the last.
    """

    base: npt.NDArray[np.int64]
    before: Array
    down: Array


def _placed(numbers: Array, cells: _Cells) -> npt.NDArray[np.int64]:
    """The bucket of each number; of infinities and NaN, the one after the last."""
    doubles = numbers.astype(np.float64, copy=False)
    cell = (doubles.view(np.uint64) >> _REST).view(np.int64)
    bucket = cells.base.take(cell)
    bucket += numbers > cells.before.take(cell)
    bucket += numbers > cells.down.take(cell)
    return bucket


def _counted(numbers: Array, cells: _Cells, size: int) -> npt.NDArray[np.int64]:
    found = np.bincount(_placed(numbers, cells), minlength=size + 1)[:size]
    if numbers.dtype.kind == "f":
        found[0] += np.count_nonzero(numbers == -math.inf)
        found[-1] += np.count_nonzero(numbers == math.inf)
    return found


@lru_cache(maxsize=16)
def _cells(scale: Scale, dtype: np.dtype[Any]) -> _Cells | None:
    """The cells for numbers of this type; None if one has several candidates."""
    cut = _thresholds(scale, dtype)
    below, kept = 2 * int(cut.short.sum()), ~cut.short & ~cut.past
    down, up = cut.down[kept], cut.up[kept]
    lows, highs = _ends()
    if dtype.kind == "f":
        before, never = np.nextafter(up, -math.inf), math.inf
    else:
        before, never = up - up.dtype.type(1), np.iinfo(dtype).max
        # As doubles, a number and a candidate may each be rounded into the next cell.
        lows, highs = np.nextafter(lows, -math.inf), np.nextafter(highs, math.inf)
    # The buckets of all numbers in a cell lie between these two.
    rounded = down.astype(np.float64), up.astype(np.float64)
    first, last = (
        np.searchsorted(rounded[0], ends, "left") + np.searchsorted(rounded[1], ends, "right")
        for ends in (lows, highs)
    )
    candidate, open_ = first // 2, last > first
    if (last > 2 * candidate + 2)[open_].any():
        return None
    base = np.where(open_, 2 * candidate, first) + below
    base[~(np.abs(lows) < math.inf) | ~(np.abs(highs) < math.inf)] = 2 * len(scale.candidates) + 1
    sides = []
    for side in (before, down):
        table = np.full(len(base), never, dtype=dtype)
        table[open_] = side[candidate[open_]]
        sides.append(table)
    if dtype.kind != "f" and len(up) and up[0] == np.iinfo(dtype).min:
        least = open_ & (candidate == 0)  # no number is before that candidate: all have passed it
        base[least] += 1
        sides[0][least] = never
    return _Cells(base.astype(np.int64), *sides)


def _ends() -> tuple[Doubles, Doubles]:
    """The first and the last number of each cell; NaN, or infinite, where it has no numbers."""
    first = np.arange(1 << 15, dtype=np.uint64) << _REST
    near, far = (bits.view(np.float64) for bits in (first, first | (1 << _REST) - np.uint64(1)))
    return np.concatenate([near, -far]), np.concatenate([far, -near])


# --- by sorting ---------------------------------------------------------------------------------


def _sorted(numbers: Array, cut: _Thresholds) -> npt.NDArray[np.int64]:
    part = np.sort(numbers[~np.isnan(numbers)] if numbers.dtype.kind == "f" else numbers)
    below = np.where(cut.past, len(part), np.searchsorted(part, cut.up, side="left"))
    within = np.where(cut.short, 0, np.searchsorted(part, cut.down, side="right"))
    # Strictly below c_0, up to c_0, strictly below c_1, ...: each bucket is a difference.
    cumulated = np.stack([below, within], axis=1).ravel()
    return np.diff(cumulated, prepend=0, append=len(part))


def _searched(numbers: Array, cut: _Thresholds) -> npt.NDArray[np.int64]:
    """How many thresholds lie at or below each number."""
    kept = ~cut.short & ~cut.past
    reached = np.searchsorted(cut.up[kept], numbers, side="right")
    passed = np.searchsorted(cut.down[kept], numbers, side="left")
    return 2 * int(cut.short.sum()) + reached + passed
