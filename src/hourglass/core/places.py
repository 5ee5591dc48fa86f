"""Where keys stand in a list of public keys: found for all groups of an answer at once.

What is built, and how, follows from the public keys alone. A column of integers is looked up in a
table where they lie close together, else by sorting; all other values in a dictionary. Of several
columns, what is known of the first ones is one integer, which is looked up with the next one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .key_columns import KeyColumn, Keys

__all__ = ["Places"]

Rows = npt.NDArray[np.intp]

#: Integers are looked up in a table if it has at most so many entries for each of them.
_ENTRIES: Final = 4
#: The place of what is not among the public keys.
_NOWHERE: Final = -1


class Places:
    """Public keys, and where each of them stands; a key that is there twice, at its first place."""

    def __init__(self, keys: Keys) -> None:
        """Of keys with one column or more."""
        self._size = len(keys)
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
        """The places of all keys, in order, without those of copies."""
        places: Rows = (self._pairs or self._columns)[-1].distinct
        return places

    def find(self, keys: Keys) -> Rows:
        """For each key its place among the public ones, or -1 where it is none of them."""
        found, *rest = self._each(keys)
        for lookup, place in zip(self._pairs, rest, strict=True):
            found = lookup.find(self._paired(found, place))
        return found

    def _each(self, keys: Keys) -> list[Rows]:
        """For each column the place of the first public key that has the same value there."""
        pairs = zip(self._columns, keys.columns, strict=True)
        return [lookup.find(column) for lookup, column in pairs]

    def _paired(self, first: Rows, second: Rows) -> KeyColumn:
        """Two places as one integer; -1 if either is nowhere."""
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
    """The first place of each integer, by a table or by sorting; that of NULL is kept apart."""

    def __init__(self, column: KeyColumn) -> None:
        self._column = column
        null, here = np.flatnonzero(column.nulls), np.flatnonzero(~column.nulls)
        self._null = int(null[0]) if len(null) else _NOWHERE
        values = column.values[here]
        self._low = int(values.min()) if len(values) else 0
        self._span = int(values.max()) - self._low + 1 if len(values) else 0
        self._near = self._span <= _ENTRIES * len(values)
        if self._near:
            self._places = np.full(self._span + 1, _NOWHERE, dtype=np.intp)
            self._places[values[::-1] - self._low] = here[::-1]  # of copies, the first stays
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
        if not column.whole:  # integers of more than 64 bits among them, or decimals
            return _Values(self._column).find(column)
        found = (self._in_table if self._near else self._in_order)(column.values)
        if column.absent is not None:
            found[column.absent] = self._null
        return found

    def _in_table(self, values: npt.NDArray[np.int64]) -> Rows:
        """By the table, whose last entry is for all that lie outside it."""
        outside = np.uint64(self._span)
        offsets = np.minimum((values - self._low).view(np.uint64), outside)  # negative is large
        return self._places[offsets.view(np.int64)]

    def _in_order(self, values: npt.NDArray[np.int64]) -> Rows:
        """By sorting, so that what is searched one after the other lies close together."""
        order = np.argsort(values)
        values = values[order]
        at = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        found = np.empty(len(values), dtype=np.intp)
        found[order] = np.where(self._sorted[at] == values, self._places[at], _NOWHERE)
        return found
