"""Columns as arrays: the keys of groups, one column for each of ``by``, and numbers of Arrow.

There may be many groups, and most of their names are never accessed. So names stay in arrays from
the engine's result to the published answer; tuples of Python values are created on access.

Numbers of Arrow arrays are read from their buffers: PyArrow's own conversion imports pandas
wherever that is installed, which takes longer than a question about a small file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

__all__ = ["NAMELESS", "KeyColumn", "Keys", "numbers_of"]

#: For more texts than this, PyArrow's conversion is faster, although it imports pandas.
_MANY: Final = 20_000

_TYPES: Final = {"halffloat": np.float16, "float": np.float32, "double": np.float64} | {
    f"{sign}int{width}": np.dtype(f"{sign}int{width}")
    for sign in ("", "u")
    for width in (8, 16, 32, 64)
}

Rows = npt.NDArray[np.intp]


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
    masks = [_absent(piece) for piece in pieces]
    absent = masks[0] if len(masks) == 1 else np.concatenate(masks)
    return np.where(absent, numbers.dtype.type(0), numbers), absent


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


def _absent(piece: Any) -> npt.NDArray[np.bool_]:
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
