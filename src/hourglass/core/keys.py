"""Public keys: how they are declared, as values of their columns, and their positions.

Public values, which are names of groups or candidates for bounds, appear in the answer. Lists are
accepted without a declaration; a Series, an array or a frame may be a column of the private data,
so it has to be declared.

The positions of keys are looked up for all groups of a result at once. The lookup structure depends
only on the public keys. Integers are looked up in a table if they are dense, otherwise by sorting;
all other values in a dictionary. With several columns, the position for the first ones is one
integer, which is looked up together with the next column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import OptionError
from .columns import KeyColumn, Keys

__all__ = ["LONGEST", "Places", "Public", "is_column", "key_column", "key_value", "public"]

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
    if hasattr(value, "item"):
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
        form = ", numbers too: in quotes, exactly as they are written in the column"
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
        self._columns = [_lookup(column) for column in keys.columns]
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


def _lookup(column: KeyColumn) -> Any:
    return _Integers(column) if column.whole else _Values(column)


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
