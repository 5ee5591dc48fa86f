"""Rows in memory, to be counted without reading their values: a list, an array, an iterator.

Each element of a list is a row, whatever it is: if a list of arrays were a list of columns, the
type of one element would decide how all others are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..core.grid import Bounds
from ..core.totals import Groups, Totals
from ..errors import DataError, guarded
from .column import column
from .engines.base import Source
from .open import is_table, open_table
from .schema import Schema
from .sql.query import Question

__all__ = ["Rows", "open_rows"]


@dataclass(frozen=True)
class Rows:
    """Data in memory whose elements are rows; nothing is read before the charge."""

    data: Any = field(repr=False)

    name: ClassVar[str] = "memory"
    parse: ClassVar[str | None] = None
    parses: ClassVar[bool] = False

    def schema(self) -> Schema:
        """An empty schema, since there are no named columns."""
        return Schema(())

    def sql(self, query: Question, bounds: Bounds) -> None:
        """No SQL runs."""

    def run(self, sql: str | None, query: Question) -> Groups:
        """The number of rows; an iterator is consumed."""
        with guarded("data: the rows cannot be counted"):
            return Groups.of_total(Totals(0, self._count()))

    def _count(self) -> int:
        if isinstance(self.data, Sized):
            return len(self.data)
        if isinstance(self.data, Iterable):
            return sum(1 for _ in self.data)
        return sum(len(numbers) + absent for numbers, absent in column(self.data).each_chunk())


def open_rows(data: Any, wanted: tuple[str, ...], engine: str | None) -> Source:
    """Open the data to count its rows; no row is read.

    ``wanted`` are the columns of a table that name groups and persons.
    """
    if is_table(data) or wanted or engine is not None:
        return open_table(data, wanted, engine)
    no_rows = isinstance(data, str | bytes | bytearray | memoryview | dict)
    arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if no_rows or getattr(data, "shape", None) == () or not (isinstance(data, Iterable) or arrow):
        raise DataError(
            f"data of type {type(data).__name__} has no rows; give a table, a list, an array or "
            "an iterator"
        )
    return Rows(data)
