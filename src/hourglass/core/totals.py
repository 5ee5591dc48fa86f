"""Totals of the data, before and after noise is added.

``Totals`` are secret, and their ``repr`` is redacted. ``NoisyTotals`` are safe: everything computed
from them is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .columns import NAMELESS, KeyColumn, Keys, numbers_of
from .wide import ROWS, Wide

__all__ = [
    "CELLS",
    "HALF",
    "MOST",
    "MOST_SQUARE",
    "Groups",
    "Halves",
    "NoisyColumns",
    "NoisyCounts",
    "NoisyTotals",
    "Sum",
    "Totals",
    "joined",
]

Rows = npt.NDArray[np.intp]

#: Sums are returned as HALF * hi + lo: neither half can exceed 2^63 below 1e14 rows.
HALF: Final = 65536
#: No record adds more than this to a sum of cells, so that chunks add up exactly in doubles.
MOST: Final = 2**32
#: No record adds more than this to a sum of squares: its high halves stay below 2^63 for 8e9 rows.
MOST_SQUARE: Final = 2**46


@dataclass(frozen=True)
class Sum:
    """A sum over the records of a group that a statistic needs.

    It adds up a power of the cell of one ``column`` of the question, counted from 0. With a
    ``side`` it counts the records whose value lies outside the bounds instead: below the lower
    bound (-1) or above the upper one (1). The number of records is part of every question and is
    not declared.
    """

    power: int = 1
    column: int = 0
    side: int = 0


#: What a mean needs: the sum of the cells.
CELLS: Final = (Sum(),)


@dataclass(frozen=True, repr=False)
class Totals:
    """The sums that a statistic needs, and the number of records. Secret.

    ``cells`` is the first sum, ``more`` are the others in order. They are Python integers or, for
    groups, :class:`~hourglass.core.wide.Wide` arrays or NumPy arrays of Python integers, so nothing
    can overflow.
    """

    cells: Any
    count: Any
    more: tuple[Any, ...] = ()

    @property
    def sums(self) -> tuple[Any, ...]:
        """All sums, in the order in which they were asked for."""
        return (self.cells, *self.more)

    def __add__(self, other: Totals) -> Totals:
        more = tuple(a + b for a, b in zip(self.more, other.more, strict=True))
        return Totals(self.cells + other.cells, self.count + other.count, more)

    def __repr__(self) -> str:
        return "Totals(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("totals are secret and cannot be pickled or copied")


@dataclass(frozen=True, repr=False)
class Halves:
    """One sum of each group as the engine returns it: HALF * hi + lo, 64-bit integers. Secret.

    If ``balance`` is a number G and not 0, 2t - G was summed for each record.
    """

    hi: npt.NDArray[np.int64]
    lo: npt.NDArray[np.int64]
    balance: int = 0

    def take(self, rows: Any) -> Halves:
        """The sums of some groups."""
        return Halves(self.hi[rows], self.lo[rows], self.balance)

    def placed(self, places: Rows, size: int) -> Halves:
        """The sums of ``size`` groups; see :meth:`Groups.placed`."""
        return Halves(_placed(self.hi, places, size), _placed(self.lo, places, size), self.balance)

    def only(self, count: int) -> int:
        """The sum of t of the only group, which has so many records, as a Python integer."""
        whole = HALF * int(self.hi[0]) + int(self.lo[0])
        return (whole + self.balance * count) // 2 if self.balance else whole

    def whole(self, count: Wide) -> Any:
        """The sums of t."""
        whole = Wide.of_halves(self.hi, self.lo, HALF.bit_length() - 1)
        return (whole + self.balance * count).halved() if self.balance else whole


@dataclass(frozen=True, repr=False)
class Groups:
    """The result of an engine: the keys, counts and sums of all groups. Secret."""

    keys: Keys
    count: npt.NDArray[np.int64]
    halves: tuple[Halves, ...]

    @classmethod
    def of(cls, keys: Keys, count: Any, *halves: Any, balance: Sequence[int] = ()) -> Groups:
        """From the columns of the result: the count, and the high and low halves of each sum.

        A sum over no rows is NULL, which becomes 0. ``balance`` has a number G for each sum: if it
        is not 0, 2t - G was summed for each record.
        """
        count, *parts = (_integers(column) for column in (count, *halves))
        each = zip(parts[::2], parts[1::2], balance or (0,) * (len(parts) // 2), strict=True)
        return cls(keys, count, tuple(Halves(*sum_) for sum_ in each))

    @property
    def totals(self) -> Totals:
        """The totals of all groups."""
        count = Wide.of(self.count, ROWS)
        cells, *more = [part.whole(count) for part in self.halves] or [0 * count]
        return Totals(cells, count, tuple(more))

    def blocks(self, size: int) -> Iterator[Totals]:
        """The totals of all groups in blocks of ``size``; at least one block."""
        for start in range(0, max(1, len(self.count)), size):
            rows = slice(start, start + size)
            halves = tuple(part.take(rows) for part in self.halves)
            yield Groups(NAMELESS, self.count[rows], halves).totals

    def take(self, rows: Any) -> Groups:
        """Some of the groups."""
        halves = tuple(part.take(rows) for part in self.halves)
        return Groups(self.keys.take(rows), self.count[rows], halves)

    def placed(self, keys: Keys, places: Rows) -> Groups:
        """The groups at the given positions, with zeros at all others.

        Groups whose position is -1 are left out.
        """
        halves = tuple(part.placed(places, len(keys)) for part in self.halves)
        return Groups(keys, _placed(self.count, places, len(keys)), halves)

    @classmethod
    def of_total(cls, totals: Totals) -> Groups:
        """One group without a name."""
        return _OneGroup(totals)

    @property
    def only(self) -> Totals:
        """The totals of the only group, as Python integers."""
        count = int(self.count[0])
        cells, *more = [part.only(count) for part in self.halves] or [0]
        return Totals(cells, count, tuple(more))

    @classmethod
    def of_arrow(cls, table: Any, keys: int, balance: Sequence[int] = ()) -> Groups:
        """From an Arrow table whose first ``keys`` columns are keys."""
        columns = table.columns
        numbers = (numbers_of(column)[0] for column in columns[keys:])
        names = [KeyColumn.of_arrow(column) for column in columns[:keys]]
        return cls.of(Keys(names), *numbers, balance=balance)

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]], keys: int, sums: int = 1) -> Groups:
        """From the rows of the result, whose first ``keys`` columns are keys."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * (keys + 1 + 2 * sums)
        names = [KeyColumn.of(column) for column in columns[:keys]]
        return cls.of(Keys(names), *columns[keys:])

    def __repr__(self) -> str:
        return "Groups(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("groups are secret and cannot be pickled or copied")


class _OneGroup(Groups):
    """One group without a name, as Python integers; its arrays are created on access."""

    def __init__(self, totals: Totals) -> None:
        self.__dict__.update(keys=NAMELESS, _totals=totals)

    @property
    def only(self) -> Totals:
        """The totals."""
        found: Totals = self.__dict__["_totals"]
        return found

    @cached_property
    def count(self) -> npt.NDArray[np.int64]:
        """The number of records."""
        return np.array([self.only.count], dtype=np.int64)

    @cached_property
    def halves(self) -> tuple[Halves, ...]:
        """The sums."""
        parts = (np.array(divmod(part, HALF), dtype=np.int64)[:, None] for part in self.only.sums)
        return tuple(Halves(hi, lo) for hi, lo in parts)


def _placed(values: npt.NDArray[np.int64], places: Rows, size: int) -> npt.NDArray[np.int64]:
    found = np.zeros(size + 1, dtype=np.int64)
    found[places] = values  # -1 is the last entry, which is cut off
    return found[:size]


def _integers(column: Any) -> npt.NDArray[np.int64]:
    """The 64-bit integers of a column, NULL as 0."""
    if isinstance(column, np.ma.MaskedArray):
        column = column.filled(0)
    if isinstance(column, np.ndarray) and column.dtype.kind == "i":
        return column.astype(np.int64, copy=False)
    return np.array([int(value or 0) for value in column], dtype=np.int64)


@dataclass(frozen=True)
class NoisyTotals:
    """The noisy S' and G N' - S', in cells: ``cells / parts`` and ``rest / parts``.

    These are the paper's transformed sums: the distances of the records from the lower bound, and
    from the upper bound. They are integers or, for groups, arrays: of 64 bits if all are small,
    otherwise of Python integers (the choice depends only on noisy numbers). With the spread,
    ``squares`` is the noisy sum of q^2, to which a record adds at most parts * grid / 2. If asked
    for, ``below`` and ``above`` are the noisy numbers of values outside the bounds.
    """

    cells: Any
    rest: Any
    grid: int
    parts: int = 1
    squares: Any = None
    below: Any = None
    above: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.cells, int):
            _narrow(self, "cells", "rest", "squares", "below", "above")

    @property
    def weight(self) -> Any:
        """G N' in the same units: an integer multiple of ``grid`` for the hourglass."""
        return self.cells + self.rest

    @property
    def size(self) -> Fraction:
        """N', the exact noisy number of records; it can be zero or negative."""
        return Fraction(self.weight, self.parts * self.grid)

    @property
    def sizes(self) -> Any:
        """N' of each group, rounded down, to be compared with a threshold."""
        return self.weight // (self.parts * self.grid)

    def take(self, rows: Any) -> NoisyTotals:
        """The noisy totals of some groups, or of one as Python integers."""
        names = ("cells", "rest", "squares", "below", "above")
        taken = {name: part[rows] for name in names if (part := getattr(self, name)) is not None}
        if not isinstance(taken["cells"], np.ndarray):
            taken = {name: int(part) for name, part in taken.items()}
        return replace(self, **taken)


def _narrow(noisy: Any, *names: str) -> None:
    """Replace wide arrays by NumPy arrays; their type depends on noisy values only."""
    for name in names:
        if isinstance(part := getattr(noisy, name), Wide):
            object.__setattr__(noisy, name, part.narrow())


@dataclass(frozen=True)
class NoisyCounts:
    """The noisy number of records, which may be negative; or an array for groups."""

    counts: Any

    def __post_init__(self) -> None:
        _narrow(self, "counts")

    @property
    def sizes(self) -> Any:
        """The counts to be compared with a threshold."""
        return self.counts

    def take(self, rows: Any) -> NoisyCounts:
        """The counts of some groups, or of one as a Python integer."""
        counts = self.counts[rows]
        return NoisyCounts(counts if isinstance(counts, np.ndarray) else int(counts))


@dataclass(frozen=True)
class NoisyColumns:
    """The noisy totals of several columns that share one count."""

    columns: tuple[NoisyTotals, ...]

    @property
    def sizes(self) -> Any:
        """N', the noisy number of records, which all columns share."""
        return self.columns[0].sizes

    def take(self, rows: Any) -> NoisyColumns:
        """The noisy totals of some groups, or of one."""
        return NoisyColumns(tuple(column.take(rows) for column in self.columns))


def joined(parts: Sequence[Any]) -> Any:
    """The noisy totals or counts of all groups, from those of blocks of groups."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, NoisyColumns):
        columns = zip(*(part.columns for part in parts), strict=True)
        return NoisyColumns(tuple(map(joined, columns)))
    each = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name, value in vars(first).items()
        if isinstance(value, np.ndarray)
    }
    return replace(first, **each)
