"""Look up the positions of keys in a list of public keys, for all groups of a result at once.

The lookup structure depends only on the public keys. Integers are looked up in a table if they are
dense, otherwise by sorting; all other values in a dictionary. With several columns, the position
for the first ones is one integer, which is looked up together with the next column.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .key_columns import KeyColumn, Keys

__all__ = ["Places"]

Rows = npt.NDArray[np.intp]

#: Integers are looked up in a table if it has at most this many entries per integer.
_ENTRIES: Final = 4
#: The position of a key that is not public.
_NOWHERE: Final = -1


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
