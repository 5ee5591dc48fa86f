"""Open the data of a question: a table by an engine, or columns in memory.

The engine is chosen by the type of the data, or by the option ``engine=``. Several columns in
memory are a matrix of numbers, or a list of columns of equal length. They have no names, so they
are called "0", "1", ... in order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..core.grid import Bounds
from ..core.totals import Groups
from ..errors import DataError, OptionError, guarded, one_of, shown
from .column import Column
from .column import column as column_of
from .database import SqlSource
from .engines.base import Engine, Source, engines
from .files import FileSet, is_path
from .kept import Kept
from .schema import Field, Schema
from .sql.query import Question

__all__ = [
    "Columns", "columns_in_memory", "columns_of", "file_engines", "is_lone_column", "is_table",
    "lone_column", "open_source", "open_table", "place_of",
]  # fmt: skip


def is_table(data: Any) -> bool:
    """Whether the data is a table rather than a column of numbers."""
    if isinstance(data, list | tuple | set | frozenset | np.ndarray | Column):
        return False  # which no engine claims
    return is_path(data) or isinstance(data, Kept) or any(kind.claims(data) for kind in engines())


def place_of(data: Any) -> str:
    """The location of a table: a path, a database and table, or the type of a frame."""
    if is_path(data):
        return str(data)
    if isinstance(data, SqlSource | Kept):
        return data.place
    return type(data).__qualname__


def lone_column(data: Any) -> Column | None:
    """The column of numbers that the data is, opened; None for a table or several columns."""
    if is_table(data) or columns_in_memory(data) is not None:
        return None
    return column_of(data)


def open_source(data: Any, wanted: tuple[str, ...], engine: str | None) -> Source:
    """Open the data; no row is read.

    ``wanted`` are the names of all columns that the question needs; empty if the data itself is a
    column of numbers. Several columns in memory are named "0", "1", ...
    """
    if isinstance(data, Kept | Column):
        return data
    if not wanted:
        return column_of(data)
    if columns_in_memory(data) is None:
        return open_table(data, wanted, engine)
    if engine is not None:
        raise OptionError(
            f"engine={shown(engine)} needs a table, but data is columns in memory; leave it out"
        )
    return columns_of(data, wanted)


def open_table(data: Any, wanted: tuple[str, ...], engine: str | None = None) -> Source:
    """Open the table with the engine that claims it or that is asked for; no row is read."""
    if engine is not None:
        every = [kind.name for kind in engines()]
        if not isinstance(engine, str) or engine not in every:
            one_of("engine", engine, file_engines() if is_path(data) else every)
    if is_path(data):
        data = FileSet.of(data, remote=engine == "spark")
        data.check_whole()
    for kind in _claiming(data):
        if engine in (None, kind.name):
            return kind.open(data, wanted)
    names = ", ".join(kind.name for kind in _claiming(data))
    if not names:
        given = f"data of type {type(data).__name__} is not a table; "
        if isinstance(data, Mapping):
            raise DataError(f"{given}make it a frame, as in pandas.DataFrame(data)")
        raise DataError(
            f"{given}give a frame, a path, a DuckDB relation, a Spark DataFrame, hg.sql(url, "
            "table), a two-dimensional array or a list of arrays"
        )
    if isinstance(data, FileSet):
        raise OptionError(f"engine={engine!r} does not read files; use one of {names}")
    raise OptionError(f"engine={engine!r} cannot read this table; use {names}")


def _claiming(data: Any) -> Iterator[type[Engine]]:
    """The engines that claim the data, the preferred one first."""
    claimed = False
    for kind in engines():
        if kind.claims(data):
            claimed = True
            yield kind
    if not claimed and hasattr(data, "__arrow_c_stream__"):
        yield engines()[0]


def file_engines() -> list[str]:
    """The names of the engines that read files, the default first."""
    return [kind.name for kind in engines() if kind.claims(FileSet("parquet", ()))]


# --- columns in memory --------------------------------------------------------------------------


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
        with guarded("data: the values cannot be read"):
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
    return Columns(names, {name: column_of(given[name]) for name in wanted if name in given})


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
