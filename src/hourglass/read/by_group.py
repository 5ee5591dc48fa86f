"""Exact totals by group of numbers in memory, for groups with public keys.

Each row looks up the position of its key in a table of the public keys and is added to the sums
at that position. Rows that do not count (their key is not public, or they lack a value) go to a
position of their own, which is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.keys import Keys, Places
from ..core.totals import HALF, Groups
from .kernel import CHUNK, Array, Part, aligned
from .several import Target, either, quantised

__all__ = ["groups_of_blocks"]

Rows = npt.NDArray[np.intp]

#: The position of rows that do not count: the last one.
_NOWHERE: Final = -1
#: Cells are at most 2^32, so this many of them add up to at most 2^62.
_ROWS: Final = 1 << 30
#: Up to this many groups, the sums of a block are first computed in doubles, which takes less time.
_FEW: Final = 1 << 14


def groups_of_blocks(
    blocks: Iterable[tuple[Keys, Sequence[Part]]], places: Places, targets: Sequence[Target]
) -> Groups:
    """One group for each public key, in order; zero for a key without rows.

    A block has the keys and the columns of at most CHUNK rows. Every target asks for the sum of its
    cells alone.
    """
    sums = _Sums(len(places.keys), len(targets))
    buffers = [aligned(CHUNK) for _ in targets]
    for names, block in blocks:
        at = places.find(names)
        with np.errstate(all="ignore"):  # a warning would reveal a value
            sums.add(at, _cells(at, block, targets, buffers))
    return sums.groups(places.keys)


def _cells(
    at: Rows, block: Sequence[Part], targets: Sequence[Target], buffers: Sequence[Any]
) -> list[Array]:
    """The cells of each column; rows that lack one are moved to where they do not count."""
    found, lost = [], None
    for (numbers, absent), target, space in zip(block, targets, buffers, strict=True):
        column = quantised(numbers, absent, target, space)
        cells = column.cells
        if target.grid.own:
            cells = cells.astype(np.int64) + column.offset
        if target.missing is None:
            lost = either(lost, column.absent)
        elif column.absent is not None:
            cells[column.absent] = target.missing
        found.append(cells)
    if lost is not None:
        at[lost] = _NOWHERE
    return found


class _Sums:
    """The counts and sums of all groups, in 64-bit integers that are emptied before they overflow.

    The last entry is for the rows that do not count.
    """

    def __init__(self, size: int, columns: int) -> None:
        self._rows = 0
        self._count = np.zeros(size + 1, dtype=np.int64)
        self._sums, self._hi, self._lo = np.zeros((3, columns, size + 1), dtype=np.int64)

    def add(self, at: Rows, cells: Sequence[Array]) -> None:
        """Add rows to their groups."""
        if self._rows + len(at) > _ROWS:
            self._empty()
        self._rows += len(at)
        if len(self._count) > _FEW:
            np.add.at(self._count, at, 1)
            for sums, column in zip(self._sums, cells, strict=True):
                np.add.at(sums, at, column.astype(np.int64, copy=False))
            return
        groups = len(self._count) - 1
        place = np.minimum(at.view(np.uint64), np.uint64(groups)).view(np.int64)  # -1 is large
        self._count += np.bincount(place, minlength=groups + 1)
        for sums, column in zip(self._sums, cells, strict=True):
            # CHUNK cells add up to at most 2^50. NaN is only at the last place, which is dropped.
            added = np.bincount(place, column, groups + 1)
            sums[:groups] += added[:groups].astype(np.int64)

    def _empty(self) -> None:
        self._hi += self._sums // HALF
        self._lo += self._sums % HALF
        self._sums[:] = self._rows = 0

    def groups(self, keys: Keys) -> Groups:
        """All groups with their keys."""
        self._empty()
        pairs = zip(self._hi[:, :-1], self._lo[:, :-1], strict=True)
        return Groups.of(keys, self._count[:-1], *(half for pair in pairs for half in pair))
