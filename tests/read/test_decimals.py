"""Decimals are rounded once, to the nearest double, wherever they are.

Arrow and Parquet files may hold decimals of more digits than their type declares: no cell may make
a question fail.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question

TYPES = [(9, 2), (16, 4), (18, 2), (20, 2), (38, 0), (38, 38)]
PLACES = ["arrow", "polars", "feather", "dictionary", "plain"]


def decimals(raw: list[int | None], precision: int, scale: int) -> pa.Array:
    """An array with these raw integers, which nobody checks."""
    data = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in raw)
    bits = sum(1 << i for i, value in enumerate(raw) if value is not None)
    valid = bits.to_bytes(-(-len(raw) // 8), "little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(raw), buffers)


def poisons(precision: int) -> list[int]:
    beyond = [10**precision, -(10**precision), 10**38, 2**127 - 1, -(2**127)]
    return [raw for raw in dict.fromkeys(beyond) if -(2**127) <= raw < 2**127]


def placed(where: str, column: pa.Array, folder: Path) -> Any:
    table = pa.table({"x": column, "g": ["a"] * len(column), "y": [1.0] * len(column)})
    if where == "arrow":
        return table
    if where == "polars":
        return pl.from_arrow(table)
    if where == "feather":
        feather.write_feather(table, folder / "t.feather")
        return folder / "t.feather"
    pq.write_table(table, folder / "t.parquet", use_dictionary=where == "dictionary")
    return folder / "t.parquet"


def total(question: Any) -> tuple[int, int]:
    """The cells and the count of a question without groups."""
    found = question.read().totals
    ((cells, count),) = zip(found.cells, found.count, strict=True)
    return cells, count


def forms(column: pa.Array, folder: Path) -> dict[str, dict[str, Any]]:
    """The column in memory, and in tables."""
    series = column.to_pandas(types_mapper=pd.ArrowDtype)
    alone = {
        "array": column,
        "chunks": pa.chunked_array([column[:9], column[9:]]),
        "pandas": series,
    }
    alone |= {"polars": pl.Series(column), "list": column.to_pylist(), "objects": np.array(column)}
    found: dict[str, dict[str, Any]] = {name: {"data": data} for name, data in alone.items()}
    for where in PLACES:
        found[f"{where} table"] = {"data": placed(where, column, folder), "column": "x"}
    return found | {"datafusion": found["plain table"] | {"engine": "datafusion"}}


@pytest.mark.property
@pytest.mark.engine("datafusion")
@pytest.mark.parametrize(("precision", "scale"), [*TYPES, (9, 3), (15, 15), (18, 4), (20, 13)])
def test_decimals_are_rounded_once(precision: int, scale: int, tmp_path: Path) -> None:
    """Of candidates that are the nearest doubles, each decimal is equal to its own.

    On DataFusion, where a query of many candidates takes long to write, with a third of them; with
    all where doubles cease to hold every decimal, and one of two hundred is rounded twice.
    """
    dice, most = random.Random(precision), 10**precision - 1
    raw = [dice.randint(-most, most) // 10 ** dice.randrange(precision) for _ in range(200)]
    numbers = [Fraction(value, 10**scale) for value in [most, -most, 0, *raw]]
    scale_ = sorted({float(number) for number in numbers})
    below = tuple(sum(float(number) < c for number in numbers) for c in scale_)
    column = decimals([None, most, -most, 0, *raw], precision, scale)
    wrong = []
    for name, form in forms(column, tmp_path).items():
        every = 3 if name == "datafusion" and precision not in (16, 18) else 1
        found = bounds_question(**form, epsilon=1, scale=scale_[::every]).read().below
        if found != below[::every]:
            wrong.append(name)
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize(("precision", "scale"), TYPES)
def test_a_decimal_of_too_many_digits(
    where: str, precision: int, scale: int, tmp_path: Path
) -> None:
    """Catches a cast of the cell as it is, and one within CASE, which DuckDB does not heed."""
    one, bad = 10**scale, poisons(precision)
    bounds = (0, 8) if precision > scale else (0.0, 0.9)
    plain: list[int | None] = [one // 2, None, one // 4]
    data = placed(where, decimals([*plain, *bad, *plain * 3], precision, scale), tmp_path)
    for engine in [None, "datafusion"] if where in ("dictionary", "plain") else [None]:
        ask: dict[str, Any] = {"bounds": bounds, "engine": engine}
        question = mean_question(data, "x", epsilon=1, **ask)
        grid = question.mechanism.grid
        expected = sum(grid.cell(value / one) for value in [one // 2, one // 4] * 4)
        expected += grid.cells * sum(raw > 0 for raw in bad)
        cells, count = total(question)
        assert count == 8 + len(bad)
        # Narrow types, and Parquet files, keep only the low bytes of such a cell.
        kept = precision == 38 or (precision > 18 and where not in ("dictionary", "plain"))
        assert cells == expected or not kept
        hg.mean(data, "x", epsilon=1, by="g", keys=["a", "b"], **ask)
        hg.mean(data, ["x", "y"], epsilon=1, by="g", keys=["a"], **ask | {"bounds": (0, 0.9)})
        hg.mean(data, "y", bounds=(0, 1), epsilon=1, where="x < 0.5", engine=engine)
        # A query of all candidates takes long to write for DataFusion.
        every = engine is None or (precision, where) == (20, "plain")
        hg.find_bounds(data, "x", epsilon=1, engine=engine, scale=None if every else (0, 1, 9))


@pytest.mark.parametrize("engine", [None, "datafusion"])
def test_decimals_of_different_files_are_not_converted(engine: str | None, tmp_path: Path) -> None:
    for one, two in permutations([(9, 2), (11, 4), (38, 10)], 2):
        for place, size in enumerate((one, two)):
            pq.write_table(pa.table({"x": decimals([1], *size)}), tmp_path / f"{place}.parquet")
        with pytest.raises(hg.DataError, match="no type holds both"):
            hg.mean(str(tmp_path / "*.parquet"), "x", bounds=(0, 1), epsilon=1, engine=engine)


def test_spark_is_not_given_a_file_on_which_it_could_fail(
    spark_session: Any, tmp_path: Path
) -> None:
    for precision in (18, 19, 38):
        pq.write_table(pa.table({"x": decimals([100, 200], precision, 2)}), tmp_path / "t.parquet")
        ask: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "engine": "spark"}
        if precision == 18:
            hg.mean(tmp_path / "t.parquet", "x", **ask)
            continue
        with pytest.raises(hg.DataError, match="store doubles"):
            hg.mean(tmp_path / "t.parquet", "x", **ask)


def test_unsigned_integers_on_spark_are_integers(spark_session: Any, tmp_path: Path) -> None:
    """As the value, a key, a person and in a filter: the same answers as on DuckDB."""
    values = [0, 3, 3, 2**63 + 1, 2**64 - 1, None]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"u": pa.array(values, pa.uint64()), "x": [1.0] * 6}), path)
    ask: dict[str, Any] = {"bounds": (0, 2), "epsilon": 100}
    person = hg.per_person("u")
    found = []
    for engine in ("duckdb", "spark"):
        ours: list[Any] = []
        for bounds in ((0, 100), (2**63, 2**63 + 4)):
            question = mean_question(path, "u", bounds=bounds, epsilon=1, engine=engine)
            ours.append((question.mechanism.grid, total(question)))
        keys = [0, 3, 7, 2**63 + 1, 2**64 - 1]
        groups = hg.mean(path, "x", by="u", keys=keys, engine=engine, **ask)
        ours.append((list(groups), groups.counts.tolist()))
        ours.append(hg.mean(path, "x", unit=person, engine=engine, **ask).count)
        ours.append(hg.mean(path, "x", where="u > 3", engine=engine, **ask).count)
        ours.append(bounds_question(path, "u", epsilon=1, engine=engine).read())
        found.append(ours)
    assert found[0] == found[1]
    assert found[0][2] == ([0, 3, 7, 2**63 + 1, 2**64 - 1], [1, 2, 0, 1, 1])
