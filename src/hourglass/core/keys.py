"""The keys of groups as columns, and public keys: how they are declared, read and looked up.

There may be many groups, and most of their names are never accessed. So names stay in arrays, one
for each column of ``by``, from the engine's result to the published answer; tuples of Python values
are created on access. Numbers of Arrow arrays are read from their buffers: PyArrow's own conversion
imports pandas wherever that is installed, which takes longer than a question about a small file.

Public values, which are names of groups or candidates for bounds, appear in the answer. Lists are
accepted without a declaration; a Series, an array or a frame may be a column of the private data,
so it has to be declared.

The positions of public keys are looked up for all groups of a result at once. The lookup structure
depends only on the public keys. Integers are looked up in a table if they are dense, otherwise by
sorting; all other values in a dictionary. With several columns, the position for the first ones is
one integer, which is looked up together with the next column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from types import NoneType
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from ..errors import OptionError

__all__ = [
    "LONGEST", "NAMELESS", "KeyColumn", "Keys", "Places", "Public", "is_column", "key_column",
    "key_value", "numbers_of", "present", "public",
]  # fmt: skip

#: For more texts than this, PyArrow's conversion is faster, although it imports pandas.
_MANY: Final = 20_000

_TYPES: Final = {"halffloat": np.float16, "float": np.float32, "double": np.float64} | {
    f"{sign}int{width}": np.dtype(f"{sign}int{width}")
    for sign in ("", "u")
    for width in (8, 16, 32, 64)
}


@dataclass(frozen=True, eq=False, repr=False)
class KeyColumn:
    """One value for each group.

    ``values`` are 64-bit integers or plain Python values with None for NULL. For integers,
    ``absent`` marks NULL; it is None if there can be none.
    """

    values: npt.NDArray[Any]
    absent: npt.NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, values: Sequence[Any] | npt.NDArray[Any]) -> KeyColumn:
        """From plain values, or from an array."""
        if isinstance(values, np.ndarray):
            if values.dtype.kind in "iu" and values.dtype != np.uint64:
                return cls(values.astype(np.int64, copy=False))
            values = values.tolist()
        if set(map(type, values)) <= {int, NoneType}:
            absent = np.fromiter((v is None for v in values), np.bool_, len(values))
            try:
                return cls(np.array([v or 0 for v in values], dtype=np.int64), absent)
            except OverflowError:
                pass
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return cls(found)

    @classmethod
    def of_arrow(cls, column: Any) -> KeyColumn:
        """From a column of an Arrow table."""
        kind = str(column.type)
        if kind.lstrip("u").startswith("int") and kind != "uint64":
            values, absent = numbers_of(column)
            return cls(values.astype(np.int64, copy=False), absent)
        if kind in ("string", "large_string"):
            return cls(_texts(column))
        return cls.of(column.to_pylist())

    @property
    def whole(self) -> bool:
        """Whether the values are 64-bit integers."""
        return self.values.dtype != object

    @property
    def nulls(self) -> npt.NDArray[np.bool_]:
        """Where NULL is."""
        if not self.whole:
            return np.array(np.equal(self.values, None), dtype=np.bool_)  # type: ignore[call-overload]
        return np.zeros(len(self.values), np.bool_) if self.absent is None else self.absent

    def tolist(self) -> list[Any]:
        """As plain values, None for NULL."""
        found: list[Any] = self.values.tolist()
        if self.absent is not None:
            for row in np.flatnonzero(self.absent):
                found[row] = None
        return found

    def take(self, rows: Any) -> KeyColumn:
        """The values of some rows."""
        return KeyColumn(self.values[rows], None if self.absent is None else self.absent[rows])

    def order(self) -> Rows:
        """A stable order of the rows by their values, NULL last."""
        if self.whole:
            return np.lexsort((self.values, self.nulls))
        last = self.nulls
        first = sorted(np.flatnonzero(~last).tolist(), key=self.values.__getitem__)
        return np.array([*first, *np.flatnonzero(last).tolist()], dtype=np.intp)


class Keys(Sequence[tuple[Any, ...]]):
    """The keys of all groups: a sequence of tuples, stored as columns; equal to a tuple of them."""

    def __init__(self, columns: Sequence[KeyColumn], size: int | None = None) -> None:
        """Without columns there is one unnamed group, unless ``size`` is given."""
        self.columns = tuple(columns)
        self._size = size if size is not None else len(columns[0].values) if columns else 1

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]], columns: int) -> Keys:
        """From tuples of plain values."""
        if isinstance(rows, Keys):
            return rows
        parts = zip(*rows, strict=True) if rows else [()] * columns
        return cls([KeyColumn.of(part) for part in parts], len(rows))

    def lists(self) -> tuple[list[Any], ...]:
        """The columns as lists of plain values."""
        return tuple(column.tolist() for column in self.columns)

    def take(self, rows: Any) -> Keys:
        """Those of some groups."""
        size = None if self.columns else len(np.empty(self._size)[rows])
        return Keys([column.take(rows) for column in self.columns], size)

    def order(self) -> Rows:
        """The groups in the order of their keys, never in the order of the data."""
        rows = np.arange(self._size)
        for column in reversed(self.columns):
            rows = rows[column.take(rows).order()]
        return rows

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, row: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, row: slice) -> Keys: ...
    def __getitem__(self, row: int | slice) -> tuple[Any, ...] | Keys:
        """The key of one group, or those of some."""
        if isinstance(row, slice):
            return self.take(row)
        if not -self._size <= row < self._size:
            raise IndexError(f"there are {self._size} groups; {row} is out of range")
        row %= self._size
        return next(iter(self.take(slice(row, row + 1))))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.columns:
            return iter([()] * self._size)
        return zip(*self.lists(), strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Keys({self._size})"


#: One group without a name.
NAMELESS: Final = Keys([])


# --- from Arrow ---------------------------------------------------------------------------------


def _texts(column: Any) -> npt.NDArray[Any]:
    """Text as an array of objects, None for NULL."""
    if len(column) > _MANY:
        found: npt.NDArray[Any] = column.to_numpy()
        return found
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found


def numbers_of(values: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers or booleans of an array, 0 in place of NULL, and where NULL is.

    Takes an Array or a ChunkedArray; None instead of a mask if there is no NULL.
    """
    pieces = [values] if not hasattr(values, "chunks") else values.chunks
    found = [_numbers(piece) for piece in pieces]
    numbers = found[0] if len(found) == 1 else np.concatenate([_empty(values.type), *found])
    if not values.null_count:
        return numbers, None
    masks = [_nulls_of(piece) for piece in pieces]
    absent = masks[0] if len(masks) == 1 else np.concatenate(masks)
    return np.where(absent, numbers.dtype.type(0), numbers), absent


def present(
    numbers: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[Any], int]:
    """The numbers that are not missing, and how many are."""
    return (numbers, 0) if absent is None else (numbers[~absent], int(absent.sum()))


def _empty(kind: Any) -> npt.NDArray[Any]:
    return np.empty(0, dtype=np.bool_ if str(kind) == "bool" else _TYPES[str(kind)])


def _numbers(piece: Any) -> npt.NDArray[Any]:
    """What the buffer holds, which is arbitrary at NULL."""
    if not len(piece):
        return _empty(piece.type)
    _, buffer = piece.buffers()
    if str(piece.type) == "bool":
        return _bits(buffer, piece.offset, len(piece))
    dtype = np.dtype(_TYPES[str(piece.type)])
    return np.frombuffer(buffer, dtype, len(piece), piece.offset * dtype.itemsize)


def _nulls_of(piece: Any) -> npt.NDArray[np.bool_]:
    valid = piece.buffers()[0]
    if valid is None or not len(piece):
        return np.zeros(len(piece), dtype=np.bool_)
    return ~_bits(valid, piece.offset, len(piece))


def _bits(buffer: Any, start: int, size: int) -> npt.NDArray[np.bool_]:
    """A range of a bitmap."""
    first, skipped = divmod(start, 8)
    packed = np.frombuffer(buffer, np.uint8, -(-(skipped + size) // 8), first)
    bits = np.unpackbits(packed, count=skipped + size, bitorder="little")
    return bits[skipped:].view(np.bool_)


Rows = npt.NDArray[np.intp]

#: Attributes that arrays, Series, Arrow columns and iterators over arrays have, and lists do not.
_MARKS: Final = ("dtype", "coords", "__arrow_c_array__", "__arrow_c_stream__")
#: The longest name of a group or a person, in bytes of UTF-8; a longer text is treated as NULL.
LONGEST: Final = 4096
#: The longest integer, in bits; Python refuses to print one that is much longer.
LONGEST_INTEGER: Final = 4096
#: Integers are looked up in a table if it has at most this many entries per integer.
_ENTRIES: Final = 4
#: The position of a key that is not public.
_NOWHERE: Final = -1


# --- public keys ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Public:
    """Values that are declared public; see :func:`public`."""

    values: Any


def public(values: Any) -> Public:
    """Declare that values are public, for ``keys=`` and ``scale=``.

    Using a frame, a Series, an array or a file of the private data itself would publish its
    content, so these are accepted only if they are wrapped in this. Use it for values from a public
    source, such as a list of all countries, and never for a column of the private data.
    """
    return values if isinstance(values, Public) else Public(values)


def is_column(values: Any) -> bool:
    """Whether values have a type that columns of data have."""
    return any(hasattr(values, mark) for mark in _MARKS)


# --- values -------------------------------------------------------------------------------------


def key_column(
    values: Sequence[Any] | npt.NDArray[Any], kind: str, column: str, *, written: bool = True
) -> KeyColumn:
    """One part of all public keys, as values of a column of this kind.

    ``written`` is for the text of a file that declares no types, where a whole number is looked up
    as it is written.

    Integers for a column of integers and strings for a column of text are checked all at once;
    other values are converted one by one.
    """
    if isinstance(values, range) and abs(values.start) < 2**62 > abs(values.stop):
        values = np.arange(values.start, values.stop, values.step)
    if isinstance(values, np.ndarray):
        if kind == "integer" and values.dtype.kind in "iu":
            return KeyColumn.of(values)
        values = values.tolist()
    types = set(map(type, values))
    if kind == "text" and types == {str} and _short(values):
        return KeyColumn.of(values)
    if kind == "integer" and types == {int}:
        found = KeyColumn.of(values)
        if found.whole or max(map(int.bit_length, values)) <= LONGEST_INTEGER:
            return found
    return KeyColumn.of(
        [key_value(v, kind, column, place, written=written) for place, v in enumerate(values)]
    )


def _short(texts: Any) -> bool:
    """Whether all strings are valid, and short enough whatever their characters are."""
    try:
        "".join(texts).encode()
    except ValueError:
        return False
    return max(map(len, texts)) <= LONGEST // 4


def key_value(value: Any, kind: str, column: str, place: int = 0, *, written: bool = True) -> Any:
    """One part of a public key as a value of a column of this kind; None is NULL."""
    if isinstance(value, np.generic):  # a Series or an array of one element is no name
        value = value.item()
    if _absent(value):
        return None
    number = kind == "text" and not isinstance(value, str)
    found = None if number and not written else _CONVERT[kind](value)
    if found is None:
        raise OptionError(f"keys[{place}] is {_unfit(value, kind, column)}")
    return found


_HELD: Final = {
    "text": "text", "integer": "whole numbers", "boolean": "booleans", "date": "dates"
}  # fmt: skip


def _unfit(value: Any, kind: str, column: str) -> str:
    """What is wrong with a key, and the remedy; the key itself may be a cell and is not shown."""
    if kind == "text" and isinstance(value, str):
        return f"not usable text for column {column!r}; give text of up to {LONGEST} bytes of UTF-8"
    what = "text" if isinstance(value, str) else f"a value of type {type(value).__name__}"
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        what = f"a number of more than {LONGEST_INTEGER} bits"
    form = {"boolean": ": True or False", "date": " such as 2026-01-31"}.get(kind, "")
    if kind == "text":
        form = " in quotes, even for numbers, exactly as it is written in the column"
    return f"{what}, but column {column!r} holds {_HELD[kind]}; give {_HELD[kind]}{form}"


def _absent(value: Any) -> bool:
    """Whether a value is None or a frame's missing value: NaN, NA, NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if not isinstance(value, str | int):
        return None
    try:
        return str(value) if len(str(value).encode()) <= LONGEST else None
    except ValueError:  # a lone surrogate, or an integer of thousands of digits
        return None


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas turns integers with a missing value into floats
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value.bit_length() <= LONGEST_INTEGER else None


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _date(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if type(value) is date else None


_CONVERT = {"text": _text, "integer": _integer, "boolean": _boolean, "date": _date}


# --- positions ----------------------------------------------------------------------------------


class Places:
    """Public keys and their positions; a duplicate has the position of its first occurrence."""

    def __init__(self, keys: Keys) -> None:
        """For keys with one or more columns."""
        self.keys, self._size = keys, len(keys)
        self._columns: list[Any] = [
            _Integers(column) if column.whole else _Values(column) for column in keys.columns
        ]
        self._pairs: list[_Integers] = []
        if len(self._columns) > 1:
            first, *rest = self._each(keys)
            for place in rest:
                pairs = self._paired(first, place)
                self._pairs.append(_Integers(pairs))
                first = self._pairs[-1].find(pairs)

    @property
    def distinct(self) -> Rows:
        """The positions of all keys, in order, without duplicates."""
        places: Rows = (self._pairs or self._columns)[-1].distinct
        return places

    @property
    def direct(self) -> bool:
        """Whether a key is one integer that is looked up in a table."""
        (first, *rest) = self._columns
        return not rest and isinstance(first, _Integers) and first.near

    def find(self, keys: Keys) -> Rows:
        """For each key its position among the public ones, or -1."""
        found, *rest = self._each(keys)
        for lookup, place in zip(self._pairs, rest, strict=True):
            found = lookup.find(self._paired(found, place))
        return found

    def _each(self, keys: Keys) -> list[Rows]:
        """For each column, the position of the first public key with the same value."""
        pairs = zip(self._columns, keys.columns, strict=True)
        return [lookup.find(column) for lookup, column in pairs]

    def _paired(self, first: Rows, second: Rows) -> KeyColumn:
        """Two positions as one integer; -1 if either is -1."""
        pairs = first.astype(np.int64) * self._size + second
        pairs[(first < 0) | (second < 0)] = _NOWHERE
        return KeyColumn(pairs)


class _Values:
    """The first place of each value, by a dictionary."""

    def __init__(self, column: KeyColumn) -> None:
        last = len(column.values) - 1
        self._places = dict(zip(column.tolist()[::-1], range(last, -1, -1), strict=True))

    @property
    def distinct(self) -> Rows:
        """The first places of all values."""
        return np.sort(np.fromiter(self._places.values(), np.intp, len(self._places)))

    def find(self, column: KeyColumn) -> Rows:
        """The place of each value, or -1."""
        values = column.tolist()
        found = map(self._places.get, values, [_NOWHERE] * len(values))
        return np.fromiter(found, np.intp, len(values))


class _Integers:
    """The first position of each integer, by a table or by sorting; NULL is handled separately."""

    def __init__(self, column: KeyColumn) -> None:
        self._column = column
        self._null, values, here = _NOWHERE, column.values, np.arange(len(column.values))
        if column.absent is not None and column.absent.any():
            self._null = int(np.argmax(column.absent))
            here = np.flatnonzero(~column.absent)
            values = values[here]
        self._low = int(values.min()) if len(values) else 0
        self._span = int(values.max()) - self._low + 1 if len(values) else 0
        self.near = self._span <= _ENTRIES * len(values)
        if self.near:
            self._places = np.full(self._span + 1, _NOWHERE, dtype=np.intp)
            self._places[values[::-1] - self._low] = here[::-1]  # of duplicates, the first is kept
        else:
            self._sorted, first = np.unique(values, return_index=True)
            self._places = here[first]

    @property
    def distinct(self) -> Rows:
        """The first places of all integers, and that of NULL."""
        found = np.zeros(len(self._column.values) + 1, dtype=np.bool_)
        found[self._places] = found[self._null] = True
        return np.flatnonzero(found[:-1])

    def find(self, column: KeyColumn) -> Rows:
        """The place of each integer, or -1."""
        if not column.whole:  # includes integers of more than 64 bits, or decimals
            return _Values(self._column).find(column)
        found = (self._in_table if self.near else self._in_order)(column.values)
        if column.absent is not None:
            found[column.absent] = self._null
        return found

    def _in_table(self, values: npt.NDArray[np.int64]) -> Rows:
        """By the table, whose last entry is for everything outside it."""
        outside = np.uint64(self._span)
        offsets = np.minimum((values - self._low).view(np.uint64), outside)  # negative is large
        return self._places[offsets.view(np.int64)]

    def _in_order(self, values: npt.NDArray[np.int64]) -> Rows:
        """By sorting, so that consecutive searches are close together."""
        order = np.argsort(values)
        values = values[order]
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        found = np.empty(len(values), dtype=np.intp)
        found[order] = np.where(self._sorted[at] == values, self._places[at], _NOWHERE)
        return found
