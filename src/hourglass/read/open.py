"""Choose the engine for a table: by the type of the data, or by the option ``engine=``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import DataError, OptionError, one_of, shown
from .column import Column
from .column import column as column_of
from .columns import columns_in_memory, columns_of
from .database import SqlSource
from .engines.base import Engine, Source, engines
from .files import FileSet, is_path
from .kept import Kept

__all__ = [
    "columns_in_memory", "file_engines", "is_table", "lone_column", "open_source", "open_table",
    "place_of",
]  # fmt: skip


def is_table(data: Any) -> bool:
    """Whether the data is a table rather than a column of numbers."""
    if isinstance(data, list | tuple | set | frozenset | np.ndarray):
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
        raise DataError(
            f"data of type {type(data).__name__} is not a table; give a frame, a path, a DuckDB "
            "relation, a Spark DataFrame, hg.sql(url, table), a two-dimensional array or a "
            "list of arrays"
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
