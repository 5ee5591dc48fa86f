"""Paths with several columns, from rows of plain values to one answer."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any, Final

import numpy as np

from ..core.totals import NoisyColumns, Totals
from ..mechanisms.columns import HourglassColumns
from ..noise.bits import SECURE, Bits
from ..release.columns import Columns
from ..release.release import Release
from .empirical import Array, Sampler
from .greybox import Path
from .paths import (
    Convert,
    arrow_table,
    json_lines,
    mean_path,
    parquet_file,
    sqlite_table,
    written,
)

__all__ = [
    "NAMES",
    "answer_of",
    "array_paths",
    "complete",
    "path_of_sums",
    "row_neighbours",
    "row_paths",
    "sampler_of_columns",
]

#: The two columns asked for.
NAMES: Final = ("x", "y")
#: A value of each column.
Row = tuple[float, ...]


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
    return [mean_path(name, convert, None, question, complete) for name, convert in kinds.items()]


def row_paths(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, folder: Folder
) -> list[Path]:
    """Two columns of a table: in files of each kind, in frames and in a database."""
    kinds: dict[str, Convert] = {
        "CSV file": lambda rows: written(folder / "rows.csv", NAMES, rows),
        "JSON lines": lambda rows: json_lines(folder / "rows.jsonl", NAMES, rows),
        "SQLite": lambda rows: sqlite_table(folder / "rows.db", "x REAL, y REAL", "?, ?", rows),
    }
    if importlib.util.find_spec("pandas"):
        kinds["pandas frame"] = lambda rows: arrow_table(NAMES, rows).to_pandas()
    if importlib.util.find_spec("pyarrow"):
        kinds["Parquet file"] = lambda rows: parquet_file(
            folder / "rows.parquet", arrow_table(NAMES, rows)
        )
    question = {"bounds": bounds, "epsilon": epsilon, "grid": grid}
    return [
        mean_path(f"{name}, two columns", convert, list(NAMES), question, complete)
        for name, convert in kinds.items()
    ]


def _array(rows: Sequence[Row]) -> Array:
    return np.array(rows, dtype=np.float64).reshape(-1, len(NAMES))


# --- internal parts, for the empirical audit and for mutants -----------------------------------


def sampler_of_columns(mechanism: HourglassColumns) -> Sampler:
    """Many releases at once of totals (S_1, ..., S_d, N): the noisy sums and the noisy count."""

    def sampler(data: Any, size: int) -> list[Array]:
        *sums, count = data
        noisy = mechanism.noise(Totals(sums[0], count, tuple(sums[1:])), bits=SECURE, size=size)
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
