"""Rows in memory, to be counted without reading their values: a list, an array, an iterator.

Each element of a list is a row, whatever it is: if a list of arrays were a list of columns, the
type of one element would decide how all others are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Any

from ..core.totals import Groups, Totals
from ..errors import DataError
from .column import InMemory, arrow_later
from .open import is_lone_column, is_table, open_table
from .source import Schema, Source, guarded
from .sql.query import Question

__all__ = ["Rows", "open_rows"]


@dataclass(frozen=True)
class Rows(InMemory):
    """Data in memory whose elements are rows; nothing is read before the charge.

    Arrow data of another library is loaded to count it.
    """

    data: Any = field(repr=False)
    load: Callable[[], Any] | None = None

    def schema(self) -> Schema:
        """An empty schema, since there are no named columns."""
        return Schema(())

    def run(self, sql: str | None, query: Question) -> Groups:
        """The number of rows; an iterator is consumed."""
        with guarded("data: the rows cannot be counted"):
            return Groups.of_total(Totals(0, self._count()))

    def _count(self) -> int:
        found = self.data if self.load is None else self.load()
        if isinstance(found, Sized):
            return len(found)
        return sum(1 if self.load is None else len(batch) for batch in found)


def open_rows(data: Any, wanted: tuple[str, ...], engine: str | None) -> Source:
    """Open the data to count its rows; no row is read.

    ``wanted`` are the columns of a table that name groups and persons.
    """
    if is_table(data) or wanted or engine is not None:
        return open_table(data, wanted, engine)
    no_rows = isinstance(data, str | bytes | bytearray | memoryview | Mapping)
    no_rows |= _library(data) in ("pandas", "polars") and not is_lone_column(data)  # its groups
    if not no_rows and getattr(data, "shape", None) != ():
        if isinstance(data, Iterable):
            return Rows(data)
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return Rows(data, arrow_later(data)[1])
    raise DataError(
        f"data of type {type(data).__name__} has no rows; give a table, a list, an array or "
        "an iterator"
    )


def _library(data: Any) -> str:
    return type(data).__module__.split(".")[0]
