"""Columns whose names are repeated or differ only in case: the right one is read, or none is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question

#: Each letter is a column; x is the one that is asked for.
LAYOUTS = ["x", "xX", "Xx", "xx", "xyY", "YXyx", "yyx"]
VALUES = {"x": 3, "X": 40, "y": 50, "Y": 60}


def table(layout: str) -> pa.Table:
    """One row; the second x is another value."""
    arrays = []
    for place, name in enumerate(layout):
        again = name in layout[:place]
        arrays.append(pa.array([VALUES[name] + 30 * again], pa.float64()))
    return pa.Table.from_arrays(arrays, names=list(layout))


def refused(layout: str, *, folds: bool, any_name: bool = False) -> bool:
    """Whether the column x of a table is ambiguous, or any other."""
    if any_name and len(set(layout)) < len(layout):
        return True
    return layout.count("x") > 1 or (folds and "X" in layout)


def total(**asked: Any) -> tuple[int, int]:
    """The sum of a column within [0, 100], and the number of rows."""
    found = mean_question(column="x", bounds=(0.0, 100.0), epsilon=1, grid=100, **asked).read()
    return int(found.totals.cells[0]), int(found.count[0])


@pytest.fixture(params=["duckdb", "arrow", "datafusion", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    return str(request.param)


@pytest.mark.slow
@pytest.mark.enumeration
def test_every_pair_of_files(tmp_path: Path, engine: str) -> None:
    """The second file may have names that are not in the first one."""
    ending, name = ("arrow", "duckdb") if engine == "arrow" else ("parquet", engine)
    folds = engine in ("duckdb", "spark")
    for number, layouts in enumerate([*product(LAYOUTS), *product(LAYOUTS, repeat=2)]):
        # PyArrow makes no dataset of such files.
        any_name = engine == "arrow" or (engine == "datafusion" and len(layouts) > 1)
        folder = tmp_path / str(number)
        folder.mkdir()
        for place, layout in enumerate(layouts):
            path = folder / f"{place}.{ending}"
            if engine == "arrow":
                pyarrow.feather.write_feather(table(layout), path, compression="uncompressed")
            else:
                pq.write_table(table(layout), path)
        asked: dict[str, Any] = {"data": str(folder / f"*.{ending}"), "engine": name}
        if any(refused(layout, folds=folds, any_name=any_name) for layout in layouts):
            with pytest.raises(hg.DataError, match=r"rename one|two columns of one name"):
                mean_question(column="x", bounds=(0, 100), epsilon=1, **asked)
        else:
            assert total(**asked) == (3 * len(layouts), len(layouts)), layouts


class Stream:
    """A table of a library that is known only by its Arrow interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def pandas_of(table: pa.Table) -> pd.DataFrame:
    found = pd.DataFrame([[column[0].as_py() for column in table.columns]])
    return found.set_axis(table.column_names, axis=1)


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "dataset": lambda table: pyarrow.dataset.dataset(table),
    "stream": Stream,
    "pandas": pandas_of,
    "polars": lambda table: pl.from_arrow(table),
}


@pytest.mark.enumeration
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames(kind: str, layout: str) -> None:
    if kind == "polars" and len(set(layout)) < len(layout):
        pytest.skip("Polars has no such frame")
    make = FRAMES[kind]
    if refused(layout, folds=False, any_name=kind == "dataset"):
        with pytest.raises(hg.DataError, match=r"has 2 columns of that name; rename one"):
            total(data=make(table(layout)))
    else:
        assert total(data=make(table(layout))) == (3, 1)
    if kind != "dataset" or len(set(layout)) == len(layout):
        assert int(count_question(make(table(layout)), epsilon=1).read().count[0]) == 1


@pytest.mark.parametrize("kind", FRAMES)
def test_two_columns_that_duckdb_cannot_tell_apart(kind: str) -> None:
    whole = pa.table({"x": [3.0], "X": ["a"]})
    with pytest.raises(hg.DataError, match=r"the columns x, X of the table .* only in case"):
        total(data=FRAMES[kind](whole), by="X", delta=1e-6)


#: Tables with names that DuckDB makes up for others: of x and X, the second becomes X_1.
NUMBERED = [
    *product(["x", "X", "x_1", "X_1"], repeat=3),
    ("x", "X", "x_2", "x_1"), ("x_1", "x", "X_1", "x_1_1"), ("x", "x_1", "X", "x_1_1"),
]  # fmt: skip


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """The user's own, which takes longer to make than most queries."""
    return duckdb.connect()


def numbered(place: str, names: tuple[str, ...], folder: Path) -> Any:
    """A table with one row, 10, 20, ..., in a file, in the second of two files, or a relation."""
    if place == "relation":
        columns = (f'CAST({10 * i} AS DOUBLE) AS "{name}"' for i, name in enumerate(names, 1))
        return connection().sql(f"SELECT {', '.join(columns)}")
    row = [pa.array([10.0 * i]) for i in range(1, len(names) + 1)]
    pq.write_table(pa.Table.from_arrays(row, names=list(names)), folder / "b.parquet")
    if place == "file":
        return str(folder / "b.parquet")
    other = pa.Table.from_arrays([part.slice(0, 0) for part in row], names=sorted(names))
    pq.write_table(other, folder / "a.parquet")
    return str(folder / "*.parquet")


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("place", ["file", "files", "relation"])
def test_names_that_duckdb_makes_up(place: str, tmp_path: Path) -> None:
    """Catches: a second column that is renamed to the name of a third, and read in its place."""
    for names in NUMBERED:
        data = numbered(place, names, tmp_path)
        for name in {n for n in names if names.count(n) == 1}:
            asked: dict[str, Any] = {"bounds": (0.0, 100.0), "epsilon": 1, "grid": 100}
            wanted, answers = 10 * (names.index(name) + 1), []
            for column in (name, hg.expression(f'"{name}" + 0')):
                try:
                    found = mean_question(data=data, column=column, **asked).read()
                except hg.DataError:
                    continue
                answers.append(int(found.totals.cells[0]))
            assert answers in ([], [wanted] * 2), (names, name)
            if len({n.casefold() for n in names}) == len(names):
                assert answers, (names, name)


@pytest.mark.parametrize("place", ["file", "files", "relation"])
def test_groups_and_persons_have_no_name_that_duckdb_makes_up(place: str, tmp_path: Path) -> None:
    data = numbered(place, ("x", "X", "x_1"), tmp_path)
    for ask in ({"by": "x_1", "delta": 1e-6}, {"unit": hg.per_person("x_1")}, {"where": "x_1 > 0"}):
        with pytest.raises(hg.DataError, match="may call 'x_1' as well"):
            hg.count(data, epsilon=1, **ask)


@pytest.mark.parametrize("names", [("x", "x_1"), ("x_1", "x"), ("x", "x_1", "x_1_1"), ("y", "x_1")])
def test_a_numbered_name_beside_one_column_is_read(names: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing was renamed: no name but for a number at its end is there twice."""
    table = pa.table({name: [float(place)] * 9 for place, name in enumerate(names)})
    pq.write_table(table, tmp_path / "t.parquet")
    for place, name in enumerate(names):
        found = hg.mean(tmp_path / "t.parquet", name, bounds=(0, 4), epsilon=100)
        assert found.mean == pytest.approx(place, abs=0.5)
