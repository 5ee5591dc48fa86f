"""Paths with several columns, from rows of plain values to one answer."""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any, Final

import numpy as np

from ..ask.run import mean
from ..core.limits import Unit
from ..core.totals import NoisyColumns, Totals
from ..mechanisms.columns import HourglassColumns
from ..noise.bits import SECURE, Bits
from ..read.database import sql
from ..release.columns import Columns
from ..release.release import Release
from .empirical import Array, Sampler
from .greybox import Path

__all__ = [
    "NAMES",
    "answer_of",
    "array_paths",
    "complete",
    "frame_of",
    "grouped_columns_path",
    "path_of_sums",
    "person_columns_path",
    "row_neighbours",
    "row_paths",
    "sampler_of_columns",
]

#: The two columns asked for.
NAMES: Final = ("x", "y")
#: A value of each column.
Row = tuple[float, ...]
Convert = Callable[[Sequence[Row]], Any]


def row_neighbours(lower: float, upper: float) -> Iterator[tuple[str, list[Row], list[Row]]]:
    """Pairs that differ by one row of two columns: corners of the box, and special values."""
    middle, missing = lower + (upper - lower) / 2, math.nan
    some = [lower + (upper - lower) * (i % 31) / 30 for i in range(60)]
    many: list[Row] = [
        (missing if i % 7 == 3 else x, missing if i % 5 == 2 else y)
        for i, (x, y) in enumerate(zip(some, reversed(some), strict=True))
    ]
    bases: dict[str, list[Row]] = {"no rows": [], "many rows, some with missing values": many}
    added = {
        "both at the lower bound": (lower, lower),
        "both at the upper bound": (upper, upper),
        "one at the lower bound, one at the upper": (lower, upper),
        "one at the upper bound, one at the lower": (upper, lower),
        "one just above the upper bound": (middle, math.nextafter(upper, math.inf)),
        "far above and far below": (1e300, -1e300),
        "infinity in one": (math.inf, middle),
        "minus infinity in the other": (upper, -math.inf),
        "the first missing": (missing, upper),
        "the second missing": (upper, missing),
        "one missing, one infinite": (missing, math.inf),
        "both missing": (missing, missing),
    }
    for base, rows in bases.items():
        for name, row in added.items():
            yield f"{base}, and {name}", rows, [*rows, row]


def complete(row: Sequence[Any]) -> int:
    """The number of records of a row: one, or none if a value is missing."""
    return 0 if any(value != value for value in row) else 1


# --- public functions ----------------------------------------------------------------------------


def array_paths(epsilon: Fraction, bounds: tuple[float, float], grid: int | None) -> list[Path]:
    """Two columns in memory: one array of both, and an array of each."""
    kinds: dict[str, Convert] = {
        "NumPy array of two columns": _array,
        "list of two arrays": lambda rows: list(_array(rows).T),
    }
    question = {"bounds": bounds, "epsilon": epsilon, "grid": grid}
    return [_path(name, convert, None, question) for name, convert in kinds.items()]


def row_paths(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, folder: Folder
) -> list[Path]:
    """Two columns of a table: in files of each kind, in frames and in a database."""
    kinds: dict[str, Convert] = {
        "CSV file": lambda rows: _csv(rows, folder),
        "JSON lines": lambda rows: _json_lines(rows, folder),
        "SQLite": lambda rows: _sqlite(rows, folder),
    }
    if importlib.util.find_spec("pandas"):
        kinds["pandas frame"] = lambda rows: frame_of(rows).to_pandas()
    if importlib.util.find_spec("pyarrow"):
        kinds["Parquet file"] = lambda rows: _parquet(rows, folder)
    question = {"bounds": bounds, "epsilon": epsilon, "grid": grid}
    return [
        _path(f"{name}, two columns", convert, NAMES, question) for name, convert in kinds.items()
    ]


def _path(
    name: str, convert: Convert, columns: Sequence[str] | None, question: Mapping[str, Any]
) -> Path:
    asked = None if columns is None else list(columns)

    def run(rows: Sequence[Row], bits: Bits) -> Mapping[str, Any]:
        found: Any = mean(convert(rows), asked, bits=bits, **question)
        return dict(found.to_dict())

    return Path(name, run, counted=complete)


def grouped_columns_path(
    convert: Callable[[Sequence[Any]], Any], touched: str, **question: Any
) -> Path:
    """Rows (group, x, y) as a table with columns g, x and y; the names of the groups are public."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        found = mean(convert(rows), list(NAMES), by="g", bits=bits, **question)
        return {"groups": {key: columns.to_dict() for key, columns in found.items()}}

    return Path(f"two columns by group, a row of {touched!r}", run, touched=touched)


def person_columns_path(
    epsilon: Fraction, bounds: tuple[float, float], folder: Folder, unit: Unit
) -> Path:
    """Rows (person, x, y) of a CSV file; ``unit`` says what is hidden."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        file = _written(folder / "persons.csv", ("id", *NAMES), rows)
        found = mean(file, list(NAMES), bounds=bounds, epsilon=epsilon, unit=unit, bits=bits)
        return found.to_dict()

    return Path(f"persons with two columns ({unit})", run, records=unit.records)


# --- internal parts, for the empirical audit and for mutants -----------------------------------


def sampler_of_columns(mechanism: HourglassColumns, *, bits: Bits = SECURE) -> Sampler:
    """Many releases at once of totals (S_1, ..., S_d, N): the noisy sums and the noisy count."""

    def sampler(data: Any, size: int) -> list[Array]:
        *sums, count = data
        noisy = mechanism.noise(Totals(sums[0], count, tuple(sums[1:])), bits=bits, size=size)
        return [*(column.cells for column in noisy.columns), noisy.columns[0].weight]

    return sampler


def path_of_sums(
    name: str, mechanism: HourglassColumns, totals: Callable[[Sequence[Any]], Totals]
) -> Path:
    """A path for mutants, which aggregates in its own way and adds noise as releases do."""

    def run(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        return answer_of(mechanism, mechanism.noise(totals(rows), bits=bits))

    return Path(name, run, counted=complete)


def answer_of(mechanism: HourglassColumns, noisy: NoisyColumns) -> Mapping[str, Any]:
    """The answer to noisy totals, as plain values."""
    parts = {}
    for i, (name, column) in enumerate(zip(NAMES, noisy.columns, strict=True)):
        law: Any = mechanism.column(i)
        parts[name] = Release.of(law, column, estimator="projected", private=False)
    return Columns(parts).to_dict()


# --- tables ---------------------------------------------------------------------------------


def _array(rows: Sequence[Row]) -> Array:
    return np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))


def frame_of(rows: Sequence[Row]) -> Any:
    """An Arrow table of the rows."""
    import pyarrow

    columns = zip(NAMES, _array(rows).T, strict=True)
    return pyarrow.table({name: pyarrow.array(values.copy()) for name, values in columns})


def _parquet(rows: Sequence[Row], folder: Folder) -> Folder:
    import pyarrow.parquet

    file = folder / "rows.parquet"
    pyarrow.parquet.write_table(frame_of(rows), file)
    return file


def _csv(rows: Sequence[Row], folder: Folder) -> Folder:
    return _written(folder / "rows.csv", NAMES, rows)


def _written(file: Folder, head: Sequence[str], rows: Sequence[Any]) -> Folder:
    with file.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text).writerows([head, *rows])
    return file


def _json_lines(rows: Sequence[Row], folder: Folder) -> Folder:
    file = folder / "rows.jsonl"
    lines = (
        json.dumps({n: v if math.isfinite(v) else str(v) for n, v in zip(NAMES, row, strict=True)})
        for row in rows
    )
    file.write_text("".join(f"{line}\n" for line in lines) or '{"x": null, "y": null}\n')
    return file


def _sqlite(rows: Sequence[Row], folder: Folder) -> Any:
    import sqlite3
    from contextlib import closing

    file = folder / "rows.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (x REAL, y REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
    return sql(f"sqlite:///{file}", "t")
