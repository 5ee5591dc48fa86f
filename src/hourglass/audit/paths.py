"""The paths that the audit runs, from plain values to a release."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any

import numpy as np

from ..ask.run import mean
from ..core.limits import Unit
from ..core.totals import Totals
from ..mechanisms.base import MeanMechanism
from ..noise.bits import SECURE, Bits
from ..read.database import sql
from ..release.release import Release
from .empirical import Array, Sampler
from .greybox import Path

__all__ = [
    "Convert",
    "arrow_table",
    "grouped_path",
    "json_lines",
    "mean_path",
    "memory_paths",
    "parquet_file",
    "path_of_totals",
    "person_path",
    "present",
    "sampler_of",
    "sqlite_table",
    "table_paths",
    "tables",
    "written",
]

#: Turns plain values, or rows of them, into data that can be asked about.
Convert = Callable[[Sequence[Any]], Any]


def sampler_of(algorithm: MeanMechanism) -> Sampler:
    """Many releases at once of totals (S, N): the noisy S and G N, from which all else follows."""

    def sampler(data: Any, size: int) -> list[Array]:
        noisy = algorithm.noise(Totals(*data), bits=SECURE, size=size)
        return [noisy.cells, noisy.weight]

    return sampler


def path_of_totals(
    name: str, algorithm: MeanMechanism, totals: Callable[[Sequence[Any]], Totals]
) -> Path:
    """A path for mutants, which aggregates in its own way and adds noise as releases do."""

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        noisy = algorithm.noise(totals(values), bits=bits)
        return Release.of(algorithm, noisy, estimator="projected", private=False).to_dict()

    return Path(name, run)


def mean_path(
    name: str,
    convert: Convert,
    column: Any,
    question: Mapping[str, Any],
    counted: Callable[[Any], int],
    sided: Callable[[Any], tuple[int, int]] | None = None,
) -> Path:
    """``hourglass.mean`` of one kind of data."""

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        found: Any = mean(convert(values), column, bits=bits, **question)
        answer: Mapping[str, Any] = found.to_dict()
        return answer

    return Path(name, run, counted=counted, sided=sided)


def memory_paths(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, algorithm: str = "hourglass"
) -> list[Path]:
    """Each kind of column in memory whose library is installed."""
    kinds: dict[str, Convert] = {
        "list": list,
        "iterator": iter,
        "NumPy array": lambda values: np.array(values, dtype=np.float64),
        "NumPy masked array": _masked,
    }
    for library, name, convert in (
        ("pandas", "pandas Series", _pandas),
        ("polars", "Polars Series", _polars),
        ("pyarrow", "Arrow array", _arrow),
    ):
        if importlib.util.find_spec(library):
            kinds[name] = convert
    question = {"bounds": bounds, "epsilon": epsilon, "grid": grid, "algorithm": algorithm}
    return [
        mean_path(f"{name} ({algorithm})", convert, None, question, present)
        for name, convert in kinds.items()
    ]


def present(value: float) -> int:
    """The number of records of a value: one, or none if it is missing."""
    return int(value == value)


def _masked(values: Sequence[Any]) -> Any:
    array = np.array(values, dtype=np.float64)
    return np.ma.masked_array(array, mask=np.isnan(array))


def _pandas(values: Sequence[Any]) -> Any:
    import pandas

    return pandas.Series(list(values), dtype="float64")


def _polars(values: Sequence[Any]) -> Any:
    import polars

    return polars.Series(list(values), dtype=polars.Float64)


def _arrow(values: Sequence[Any]) -> Any:
    import pyarrow

    return pyarrow.array(list(values), type=pyarrow.float64())


# --- tables -------------------------------------------------------------------------------


def table_paths(
    epsilon: Fraction,
    bounds: tuple[float, float],
    grid: int | None,
    folder: Folder,
    algorithm: str = "hourglass",
) -> list[Path]:
    """Each kind of table that can be made here: files, frames, a relation, a database."""
    question = {"bounds": bounds, "epsilon": epsilon, "grid": grid, "algorithm": algorithm}
    return [
        mean_path(f"{name} ({algorithm})", convert, "x", question, present)
        for name, convert in tables(folder).items()
    ]


def tables(folder: Folder) -> dict[str, Convert]:
    """How to make each kind of table from values, which are its column x."""
    kinds: dict[str, Convert] = {
        "CSV file": lambda values: written(folder / "values.csv", ("x",), _rows(values)),
        "JSON lines": lambda values: json_lines(folder / "values.jsonl", ("x",), _rows(values)),
        "SQLite": lambda values: sqlite_table(folder / "values.db", "x REAL", "?", _rows(values)),
        "DuckDB relation": _relation,
    }
    if importlib.util.find_spec("pandas"):
        kinds["pandas frame"] = lambda values: _pandas(values).to_frame("x")
    if importlib.util.find_spec("polars"):
        kinds["Polars frame"] = lambda values: _polars(values).to_frame("x")
    if importlib.util.find_spec("pyarrow"):
        kinds["Arrow table"] = lambda values: arrow_table(("x",), _rows(values))
        kinds["Parquet file"] = lambda values: parquet_file(
            folder / "values.parquet", arrow_table(("x",), _rows(values))
        )
    return kinds


def person_path(
    name: str, epsilon: Fraction, folder: Folder, unit: Unit, columns: Sequence[str]
) -> Path:
    """Rows (person, value, ...) of a CSV file; ``unit`` says what is hidden."""
    asked: Any = columns[0] if len(columns) == 1 else list(columns)

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        file = written(folder / "persons.csv", ("id", *columns), rows)
        ask: dict[str, Any] = {"bounds": (0.0, 10.0), "epsilon": epsilon, "unit": unit}
        answer: Mapping[str, Any] = mean(file, asked, bits=bits, **ask).to_dict()
        return answer

    return Path(f"persons {name} ({unit})", run, records=unit.records)


def grouped_path(name: str, convert: Convert, column: Any, touched: str, **question: Any) -> Path:
    """Rows (group, value, ...) as a table with a column g; the names of the groups are public."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        found = mean(convert(rows), column, by="g", bits=bits, **question)
        return {"groups": {key: release.to_dict() for key, release in found.items()}}

    return Path(f"{name} by group, a row of {touched!r}", run, touched=touched)


def _rows(values: Sequence[Any]) -> list[tuple[Any]]:
    return [(value,) for value in values]


def written(file: Folder, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Folder:
    """A CSV file with a header."""
    with file.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text).writerows([names, *rows])
    return file


def json_lines(file: Folder, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Folder:
    """A file of JSON lines; without rows, of one whose values are all missing."""
    plain = [[v if math.isfinite(v) else str(v) for v in row] for row in rows]
    objects = [dict(zip(names, row, strict=True)) for row in plain or [[None] * len(names)]]
    file.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return file


def sqlite_table(file: Folder, columns: str, values: str, rows: Sequence[Sequence[Any]]) -> Any:
    """The table t of a file, with these columns; ``values`` are the marks that stand for a row."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.executemany(f"INSERT INTO t VALUES ({values})", rows)
        connection.commit()
    return sql(f"sqlite:///{file}", "t")


def _relation(values: Sequence[Any]) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x DOUBLE)")
    connection.execute("INSERT INTO t SELECT unnest(CAST(? AS DOUBLE[]))", [list(values)])
    return connection.table("t")


def arrow_table(names: Sequence[str], rows: Sequence[Sequence[float]]) -> Any:
    """An Arrow table of rows of numbers."""
    import pyarrow

    columns = np.array(rows, dtype=np.float64).reshape(-1, len(names)).T
    arrays = [pyarrow.array(column.copy()) for column in columns]
    return pyarrow.table(arrays, names=list(names))


def parquet_file(file: Folder, table: Any) -> Folder:
    """An Arrow table as a file."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, file)
    return file
