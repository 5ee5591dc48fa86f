"""Totals of the data, before and after noise is added, and the wide integers that hold them.

``Totals`` are secret, and their ``repr`` is redacted. ``NoisyTotals`` are safe: everything computed
from them is post-processing.

A sum of cells of 2^32 exceeds 63 bits from 2^31 records on, and the number of records is secret. So
the representation of the totals of many groups must not depend on them: each is stored as
high * 2^32 + low in two 64-bit integers (:class:`Wide`), however small it is. Overflow is excluded
in advance: every array carries a bound that follows from its type and the public factors it was
multiplied by, and if that exceeds 2^95 the result is an array of Python integers instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from .keys import NAMELESS, KeyColumn, Keys, numbers_of

__all__ = [
    "CELLS", "HALF", "LIMIT", "MOST", "MOST_SQUARE", "NOISE", "ROWS", "Groups", "Halves",
    "NoisyColumns", "NoisyCounts", "NoisyTotals", "Secret", "Sum", "Totals", "Wide", "joined",
]  # fmt: skip

#: All values are below this, so that their high halves fit into 64 bits.
LIMIT: Final = 2**95
#: No table has more rows than this.
ROWS: Final = 2**47
#: The largest 64-bit draw of noise (beyond it, samplers return Python integers).
NOISE: Final = 2**62

_DIGITS: Final = 32
_LOW: Final = (1 << _DIGITS) - 1
#: Noisy values are handed out in 64 bits if all are below this: what is added to them or doubled
#: later cannot wrap.
_NARROW: Final = 2**60

Integers = npt.NDArray[np.int64]


class Secret:
    """Depends on the data: its ``repr`` is redacted, and it is never stored."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(secret)"

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} is secret and cannot be pickled or copied")


class Wide(Secret):
    """An array of secret integers from ``-most`` to ``most``.

    It supports addition of 64-bit arrays and integers, and multiplication by integers. No operation
    depends on a value to decide what to do.
    """

    __slots__ = ("_high", "_low", "most")
    __array_ufunc__ = None  # an array on the left of an operator leaves the operation to us

    def __init__(self, high: Integers, low: Integers, most: int) -> None:
        """From both halves, ``low`` from 0 to 2^32 - 1."""
        assert most < LIMIT
        self._high, self._low, self.most = high, low, most

    @classmethod
    def of(cls, values: Integers, most: int = NOISE) -> Wide:
        """From 64-bit integers."""
        return cls(values >> _DIGITS, values & _LOW, most)

    @classmethod
    def _carried(cls, high: Integers, low: Integers, most: int) -> Wide:
        """From both halves, if ``low`` must still be carried into ``high``."""
        return cls(high + (low >> _DIGITS), low & _LOW, most)

    @classmethod
    def of_halves(cls, hi: Integers, lo: Integers, digits: int) -> Wide:
        """hi * 2^digits + lo: a sum as engines return it; ``digits`` is at most 31."""
        high = hi >> (_DIGITS - digits)
        low = (hi & (_LOW >> digits)) << digits
        most = (1 << 63 + digits) + (1 << 63)
        return cls._carried(high + (lo >> _DIGITS), low + (lo & _LOW), most)

    # --- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        """Another of them, an array, or an integer."""
        other = _operand(other)
        if not isinstance(other, Wide) or self.most + other.most >= LIMIT:
            return self.exact() + (other.exact() if isinstance(other, Wide) else other)
        high, low = self._high + other._high, self._low + other._low
        return Wide._carried(high, low, self.most + other.most)

    __radd__ = __add__

    def __neg__(self) -> Wide:
        """The values with their signs changed."""
        return Wide._carried(-self._high, -self._low, self.most)

    def __sub__(self, other: Any) -> Any:
        """Less another of them, an array, or an integer."""
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        """An array or an integer, less these."""
        return -self + other

    def __mul__(self, factor: int) -> Any:
        """Times a public integer."""
        if self.most * abs(factor) >= LIMIT or abs(factor) >= NOISE:
            return self.exact() * factor
        if factor < 0:
            return -self * -factor
        # The products of the low halves need all 64 bits; any overflow in the high half cancels by
        # the end, since the result fits.
        product = self._low.view(np.uint64) * np.uint64(factor & _LOW)
        high = self._high * factor + self._low * (factor >> _DIGITS)
        high += (product >> np.uint64(_DIGITS)).view(np.int64)
        return Wide(high, (product & np.uint64(_LOW)).view(np.int64), self.most * factor)

    __rmul__ = __mul__

    # --- as other arrays --------------------------------------------------------------------

    def exact(self) -> npt.NDArray[np.object_]:
        """As an array of Python integers."""
        high: Any = self._high.astype(object)
        found: npt.NDArray[np.object_] = (high << _DIGITS) + self._low
        return found

    def narrow(self) -> npt.NDArray[Any]:
        """As 64-bit integers if all of them fit, otherwise as Python integers.

        Which of the two it is reveals something about the values, so use it only for noisy ones.
        """
        high, end = self._high, _NARROW >> _DIGITS
        if high.max(initial=0) < end and high.min(initial=0) >= -end:
            return (high << _DIGITS) + self._low
        return self.exact()

    def tolist(self) -> list[int]:
        """As a list of Python integers."""
        found: list[int] = self.exact().tolist()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """As an array of Python integers."""
        return self.exact() if dtype is None else self.exact().astype(dtype)

    def __len__(self) -> int:
        return len(self._high)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    @overload
    def __getitem__(self, rows: int) -> int: ...
    @overload
    def __getitem__(self, rows: Any) -> Any: ...
    def __getitem__(self, rows: Any) -> Any:
        """One value as a Python integer, or some of them."""
        high, low = self._high[rows], self._low[rows]
        if isinstance(high, np.ndarray):
            return Wide(high, low, self.most)
        return (int(high) << _DIGITS) + int(low)


def _operand(other: Any) -> Any:
    """The operand as a wide array, unless Python integers are needed anyway."""
    if isinstance(other, int):
        if abs(other) >= LIMIT:
            return other
        return Wide(np.array([other >> _DIGITS]), np.array([other & _LOW]), abs(other))
    if isinstance(other, np.ndarray) and other.dtype == np.int64:
        return Wide.of(other)
    return other


Rows = npt.NDArray[np.intp]

#: Sums are returned as HALF * hi + lo: neither half can exceed 2^63 below 1e14 rows.
HALF: Final = 65536
#: No record adds more than this to a sum of cells, so that chunks add up exactly in doubles.
MOST: Final = 2**32
#: No record adds more than this to a sum of squares: its high halves stay below 2^63 for 8e9 rows.
MOST_SQUARE: Final = 2**46


# --- totals ---------------------------------------------------------------------------------------


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
class Totals(Secret):
    """The sums that a statistic needs, and the number of records. Secret.

    ``cells`` is the first sum, ``more`` are the others in order. They are Python integers or, for
    groups, :class:`Wide` arrays or NumPy arrays of Python integers, so nothing can overflow.
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


@dataclass(frozen=True, repr=False)
class Halves(Secret):
    """One sum of each group as the engine returns it: HALF * hi + lo, 64-bit integers. Secret."""

    hi: npt.NDArray[np.int64]
    lo: npt.NDArray[np.int64]

    def take(self, rows: Any) -> Halves:
        """The sums of some groups."""
        return Halves(self.hi[rows], self.lo[rows])

    def placed(self, places: Rows, size: int) -> Halves:
        """The sums of ``size`` groups; see :meth:`Groups.placed`."""
        return Halves(_placed(self.hi, places, size), _placed(self.lo, places, size))

    @property
    def only(self) -> int:
        """The sum of the only group, as a Python integer."""
        return HALF * int(self.hi[0]) + int(self.lo[0])

    @property
    def whole(self) -> Wide:
        """The sums."""
        return Wide.of_halves(self.hi, self.lo, HALF.bit_length() - 1)


@dataclass(frozen=True, repr=False)
class Groups(Secret):
    """The result of an engine: the keys, counts and sums of all groups. Secret."""

    keys: Keys
    count: npt.NDArray[np.int64]
    halves: tuple[Halves, ...]

    @classmethod
    def of(cls, keys: Keys, count: Any, *halves: Any) -> Groups:
        """From the columns of the result: the count, and the high and low halves of each sum.

        A sum over no rows is NULL, which becomes 0.
        """
        count, *parts = (_integers(column) for column in (count, *halves))
        return cls(keys, count, tuple(map(Halves, parts[::2], parts[1::2])))

    @property
    def totals(self) -> Totals:
        """The totals of all groups."""
        count = Wide.of(self.count, ROWS)
        cells, *more = [part.whole for part in self.halves] or [0 * count]
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
        cells, *more = [part.only for part in self.halves] or [0]
        return Totals(cells, int(self.count[0]), tuple(more))

    @classmethod
    def of_arrow(cls, table: Any, keys: int) -> Groups:
        """From an Arrow table whose first ``keys`` columns are keys."""
        columns = table.columns
        numbers = (numbers_of(column)[0] for column in columns[keys:])
        names = [KeyColumn.of_arrow(column) for column in columns[:keys]]
        return cls.of(Keys(names), *numbers)

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]], keys: int, sums: int = 1) -> Groups:
        """From the rows of the result, whose first ``keys`` columns are keys."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * (keys + 1 + 2 * sums)
        names = [KeyColumn.of(column) for column in columns[:keys]]
        return cls.of(Keys(names), *columns[keys:])


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
