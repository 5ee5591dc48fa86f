"""Which engine a table is asked through: by what it is, or by what the request names."""

from __future__ import annotations

import sys
from typing import Any, Final

from ..core.shown import one_of
from ..errors import DataError, OptionError
from .column import column as column_of
from .database import SqlSource
from .engines.base import Source
from .files import FileSet, is_path
from .frames import frame_of

__all__ = ["ENGINES", "FILE_ENGINES", "is_table", "open_source", "open_table", "place_of"]

#: The engines offered: each passes the conformance corpus of the tests.
ENGINES: Final = ("duckdb", "postgres", "spark", "sqlite", "datafusion")
FILE_ENGINES: Final = ("duckdb", "spark", "datafusion")


def is_table(data: Any) -> bool:
    """Whether the data is a table rather than a column of numbers."""
    if is_path(data) or isinstance(data, SqlSource) or _is_relation(data) or _is_spark(data):
        return True
    kinds = {"pandas": ("DataFrame",), "polars": ("DataFrame", "LazyFrame")}
    kinds["pyarrow"] = ("Table", "RecordBatch", "RecordBatchReader")
    return any(
        isinstance(data, getattr(sys.modules[library], name))
        for library, names in kinds.items()
        if library in sys.modules
        for name in names
    )


def place_of(data: Any) -> str:
    """Where a table is: a path or a database by its name, a frame by its kind."""
    if is_path(data):
        return str(data)
    if isinstance(data, SqlSource):
        return data.place
    return type(data).__qualname__


def open_source(data: Any, wanted: tuple[str, ...], engine: str | None) -> Source:
    """What answers for the data; no row is read.

    ``wanted`` are the names of all columns that the question needs: none where the data is a
    column of numbers itself.
    """
    return open_table(data, wanted, engine) if wanted else column_of(data)


def open_table(data: Any, wanted: tuple[str, ...], engine: str | None = None) -> Source:
    """The engine that will answer for this table; no row is looked at."""
    if engine is not None:
        one_of("engine", engine, ENGINES)
    if is_path(data):
        files = FileSet.of(data, remote=engine == "spark")
        files.check_whole()
        return _file_engine(files, wanted, engine or "duckdb")
    if isinstance(data, SqlSource):
        found: Source = _database_engine(data)
    elif _is_spark(data):
        from .engines.spark import of_dataframe

        found = of_dataframe(data)
    elif _is_relation(data):
        from .engines.duckdb import of_relation

        found = of_relation(data)
    elif frame := frame_of(data, wanted):
        from .engines.duckdb import of_frame

        found = of_frame(frame)
    else:
        raise DataError(
            f"data of type {type(data).__name__} is no table; give a frame, a path, a DuckDB "
            "relation, a Spark DataFrame or hg.sql(url, table)"
        )
    if engine is not None and engine != found.name:
        raise OptionError(f"engine={engine!r}: this table is asked through {found.name}")
    return found


def _file_engine(files: FileSet, wanted: tuple[str, ...], engine: str) -> Source:
    if engine not in FILE_ENGINES:
        raise OptionError(f"engine={engine!r} reads no files; {', '.join(FILE_ENGINES)} do")
    if engine == "spark":
        from .engines import spark_files

        return spark_files.of_files(files, wanted)
    if engine == "datafusion":
        from .engines import datafusion

        return datafusion.of_files(files, wanted)
    from .engines import duckdb_files

    return duckdb_files.of_files(files, wanted)


def _database_engine(source: SqlSource) -> Source:
    if source.scheme == "sqlite":
        from .engines.sqlite import SQLite

        return SQLite(source)
    from .engines.postgres import Postgres

    return Postgres(source)


def _is_relation(data: Any) -> bool:
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


def _is_spark(data: Any) -> bool:
    return any(
        cls.__module__.startswith("pyspark.sql") and cls.__name__ == "DataFrame"
        for cls in type(data).__mro__
    )
