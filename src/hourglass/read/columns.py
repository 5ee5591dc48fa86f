"""Several columns in memory: a matrix of numbers, or a list of columns of equal length.

The columns have no names, so they are called "0", "1", ... in order.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.grid import Bounds
from ..core.totals import Groups
from ..errors import DataError, OptionError
from .column import Column, column
from .schema import Field, Schema
from .sql.query import Question

__all__ = ["Columns", "columns_in_memory", "columns_of", "is_lone_column"]


@dataclass(frozen=True)
class Columns:
    """The columns that a question needs; ``names`` are all columns of the data."""

    names: tuple[str, ...]
    columns: Mapping[str, Column]

    name: ClassVar[str] = "memory"
    parse: ClassVar[str | None] = None
    parses: ClassVar[bool] = False

    def schema(self) -> Schema:
        """A field for each column; the type of a column that is not needed is not determined."""
        fields = (
            Field(name, self.columns[name].kind)
            if name in self.columns
            else Field(name, "other", "unread")
            for name in self.names
        )
        return Schema(tuple(fields))

    def sql(self, query: Question, bounds: Bounds) -> None:
        """None, since no SQL runs; groups and persons need a table."""
        for option, asked in (("by", query.by), ("unit", getattr(query, "person", None))):
            if asked and not hasattr(query, "scale"):
                raise OptionError(
                    f"{option}= needs a table, but data is columns in memory; give a frame instead"
                )

    def run(self, sql: str | None, query: Question) -> Groups:
        """The totals that the query asks for; reads the values, once."""
        return query.of_columns(self.columns)


def columns_in_memory(data: Any) -> tuple[str, ...] | None:
    """The names of several columns in memory; None if the data is something else.

    Only types and shapes are inspected.
    """
    if isinstance(data, np.ndarray):
        return _numbered(data.shape[1]) if data.ndim == 2 else None
    if isinstance(data, list | tuple) and len(data) > 1 and all(map(is_lone_column, data)):
        return _numbered(len(data))
    return None


def columns_of(data: Any, wanted: tuple[str, ...]) -> Columns:
    """Open several columns in memory; no value is read."""
    names = columns_in_memory(data)
    assert names is not None
    if isinstance(data, np.ndarray):
        plain = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
        given = {name: plain[:, place] for place, name in enumerate(names)}
    else:
        given = dict(zip(names, data, strict=True))
        if len(set(map(len, data))) > 1:
            raise DataError(
                "data: the columns differ in length, but a row needs one value from each of them; "
                "give columns of equal length, with NaN or None where a value is missing"
            )
    return Columns(names, {name: column(given[name]) for name in wanted if name in given})


def _numbered(columns: int) -> tuple[str, ...]:
    return tuple(map(str, range(columns)))


def is_lone_column(data: Any) -> bool:
    """Whether the data is a one-dimensional column that is in memory as a whole."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1
    pandas, polars, pyarrow = map(sys.modules.get, ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(
        data, pandas.Series | pandas.Index | pandas.api.extensions.ExtensionArray
    ):
        return True
    if polars is not None and isinstance(data, polars.Series):
        return True
    return pyarrow is not None and isinstance(data, pyarrow.Array | pyarrow.ChunkedArray)
