"""The paths that the audit runs, from plain values to a release."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Callable, Mapping, Sequence
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
    "grouped_path",
    "memory_paths",
    "path_of_totals",
    "person_path",
    "present",
    "sampler_of",
    "table_paths",
    "tables",
]


def sampler_of(algorithm: MeanMechanism, *, bits: Bits = SECURE) -> Sampler:
    """Many releases at once of totals (S, N): the noisy S and G N, from which all else follows."""

    def sampler(data: Any, size: int) -> list[Array]:
        noisy = algorithm.noise(Totals(*data), bits=bits, size=size)
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


def memory_paths(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, algorithm: str = "hourglass"
) -> list[Path]:
    """Each kind of column in memory whose library is installed."""

    kinds: dict[str, Callable[[Sequence[Any]], Any]] = {
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
    return [_path(name, convert, None, question) for name, convert in kinds.items()]


def _path(
    name: str,
    convert: Callable[[Sequence[Any]], Any],
    column: str | None,
    question: Mapping[str, Any],
) -> Path:
    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        found: Release = mean(convert(values), column, bits=bits, **question)
        return found.to_dict()

    return Path(f"{name} ({question['algorithm']})", run, counted=present)


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
    return [_path(name, convert, "x", question) for name, convert in tables(folder).items()]


def tables(folder: Folder) -> dict[str, Callable[[Sequence[Any]], Any]]:
    """How to make each kind of table from values, which are its column x."""
    kinds: dict[str, Callable[[Sequence[Any]], Any]] = {
        "CSV file": lambda values: _csv(values, folder),
        "JSON lines": lambda values: _json_lines(values, folder),
        "SQLite": lambda values: _sqlite(values, folder),
        "DuckDB relation": _relation,
    }
    if importlib.util.find_spec("pandas"):
        kinds["pandas frame"] = lambda values: _pandas(values).to_frame("x")
    if importlib.util.find_spec("polars"):
        kinds["Polars frame"] = lambda values: _polars(values).to_frame("x")
    if importlib.util.find_spec("pyarrow"):
        kinds["Arrow table"] = _arrow_table
        kinds["Parquet file"] = lambda values: _parquet(values, folder)
    return kinds


def person_path(epsilon: Fraction, bounds: tuple[float, float], folder: Folder, unit: Unit) -> Path:
    """Rows (person, value) of a CSV file; ``unit`` says what is hidden."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        file = folder / "persons.csv"
        file.write_text("id,x\n" + "".join(f"{who},{value}\n" for who, value in rows))
        found = mean(file, "x", bounds=bounds, epsilon=epsilon, unit=unit, bits=bits)
        return found.to_dict()

    return Path(f"persons in a CSV file ({unit})", run, records=unit.records)


def grouped_path(
    name: str,
    convert: Callable[[Sequence[Any]], Any],
    touched: str,
    *,
    epsilon: Fraction,
    bounds: tuple[float, float],
    keys: Sequence[str],
) -> Path:
    """Rows (group, value) as a table with columns g and x; the names of the groups are public."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        table = convert(rows)
        found = mean(table, "x", bounds=bounds, epsilon=epsilon, by="g", keys=keys, bits=bits)
        return {"groups": {key: release.to_dict() for key, release in found.items()}}

    return Path(f"{name} by group, a row of {touched!r}", run, touched=touched)


def _csv(values: Sequence[Any], folder: Folder) -> Any:
    file = folder / "values.csv"
    file.write_text("x\n" + "".join(f"{value}\n" for value in values))
    return file


def _json_lines(values: Sequence[Any], folder: Folder) -> Any:
    file = folder / "values.jsonl"
    lines = (
        f'{{"x": {value if math.isfinite(value) else json.dumps(str(value))}}}\n'
        for value in values
    )
    file.write_text("".join(lines) or '{"x": null}\n')
    return file


def _sqlite(values: Sequence[Any], folder: Folder) -> Any:
    import sqlite3
    from contextlib import closing

    file = folder / "values.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (x REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
        connection.commit()
    return sql(f"sqlite:///{file}", "t")


def _relation(values: Sequence[Any]) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x DOUBLE)")
    connection.execute("INSERT INTO t SELECT unnest(CAST(? AS DOUBLE[]))", [list(values)])
    return connection.table("t")


def _arrow_table(values: Sequence[Any]) -> Any:
    import pyarrow

    return pyarrow.table({"x": _arrow(values)})


def _parquet(values: Sequence[Any], folder: Folder) -> Any:
    import pyarrow.parquet

    file = folder / "values.parquet"
    pyarrow.parquet.write_table(_arrow_table(values), file)
    return file
