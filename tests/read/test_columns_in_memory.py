"""Several columns in memory: matrices and lists of columns, through the array kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.limits import Bounds, Grid, Scale
from hourglass.core.totals import Sum
from hourglass.read import kernel, several
from hourglass.read.column import Column
from hourglass.read.open import columns_in_memory, open_source
from hourglass.read.source import Field
from hourglass.read.sql.histogram import Histogram
from hourglass.read.sql.query import Query, Value
from tests.read.corpus import cell_of, reference_of_columns
from tests.read.test_columns import Asked, query_of

NAN = math.nan


def totals(data: Any, asked: Sequence[Asked], sums: tuple[Sum, ...] = ()) -> Any:
    source = open_source(data, tuple(one[0] for one in asked), None)
    query = query_of(source, asked, sums=sums)
    assert source.sql(query, Bounds(0, 1)) is None
    found = source.run(None, query).only
    assert all(type(part) is int for part in (*found.sums, found.count))
    return found.sums, found.count


def expected(columns: Sequence[Sequence[Any]], values: Sequence[Value], **more: Any) -> Any:
    rows = [(row, "all", None) for row in zip(*columns, strict=True)]
    found = reference_of_columns(
        rows, [v.grid for v in values], missing=[v.missing for v in values], **more
    )
    return found.get("all", ((0,) * len(more.get("powers") or values), 0))


# --- what is several columns ----------------------------------------------------------------------

ONE = np.arange(3.0)
SEVERAL: dict[str, tuple[Any, int]] = {
    "matrix": (np.zeros((4, 3)), 3),
    "one column of a matrix": (np.zeros((4, 1)), 1),
    "no columns": (np.zeros((4, 0)), 0),
    "no rows": (np.zeros((0, 2)), 2),
    "np.matrix": (np.zeros((4, 2)).view(np.matrix), 2),
    "masked": (np.ma.zeros((4, 2)), 2),
    "objects": (np.zeros((4, 2), dtype=object), 2),
    "list of arrays": ([ONE, ONE], 2),
    "tuple of mixed columns": ((ONE, pd.Series(ONE), pl.Series(ONE), pa.array(ONE)), 4),
    "chunked, index, extension array": (
        [pa.chunked_array([ONE]), pd.Index(ONE), pd.array([1, 2, None])],
        3,
    ),
}
NOT_SEVERAL: list[Any] = [
    ONE, np.zeros((2, 2, 2)), np.array(1.0), [1.0, 2.0], [[1.0], [2.0]], [ONE], [], (), [ONE, 1.0],
    [ONE, np.zeros((3, 1))], iter([ONE, ONE]), pd.DataFrame({"0": ONE}), pd.Series(ONE), "0",
    {"0": ONE, "1": ONE}, pa.table({"0": ONE}), [ONE, None], [ONE, [1.0, 2.0, 3.0]],
]  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_columns_are_numbered(name: str) -> None:
    data, columns = SEVERAL[name]
    assert columns_in_memory(data) == tuple("0123"[:columns])


@pytest.mark.parametrize("data", NOT_SEVERAL, ids=range(len(NOT_SEVERAL)))
def test_anything_else_is_not_several_columns(data: Any) -> None:
    assert columns_in_memory(data) is None


def test_no_value_is_looked_at() -> None:
    class Silent(np.ndarray):
        def __getitem__(self, _: Any) -> Any:
            raise AssertionError("looked at")

    assert columns_in_memory(np.zeros((3, 2)).view(Silent)) == ("0", "1")
    assert columns_in_memory([ONE.view(Silent), ONE]) == ("0", "1")


def test_the_schema_has_the_wanted_columns() -> None:
    data = [np.array([1, 2]), np.array([True, False]), np.array(["a", "b"]), np.zeros(2)]
    fields = {f.name: f.kind for f in open_source(data, ("0", "1", "3"), None).schema().fields}
    assert fields == {"0": "integer", "1": "boolean", "2": "other", "3": "real"}
    with pytest.raises(hg.DataError, match="no such column"):
        open_source(data, ("7",), None).schema().field("7", "column")
    with pytest.raises(hg.DataError, match="cannot be averaged"):
        open_source(data, ("2",), None)


def test_columns_of_different_lengths_are_refused_before_a_value_is_read() -> None:
    for long in (np.arange(4711.0), pd.Series(np.arange(4711.0)), pa.array(np.arange(4711.0))):
        with pytest.raises(hg.DataError, match="differ in length") as caught:
            open_source([ONE, long], ("0",), None)
        assert "4711" not in str(caught.value)


def test_engines_groups_and_persons_are_for_tables() -> None:
    matrix = np.zeros((3, 2), dtype=int)
    with pytest.raises(hg.OptionError, match="engine='duckdb' needs a table"):
        open_source(matrix, ("0", "1"), "duckdb")
    source = open_source(matrix, ("0", "1"), None)
    values = (Value(Field("0", "integer"), Grid(Bounds(0, 1), 1, True)),)
    for query in (
        Query(values, (Field("1", "integer"),)),
        Query(values, unit=hg.per_person("1"), person=Field("1", "integer")),
    ):
        with pytest.raises(hg.OptionError, match="needs a table"):
            source.sql(query, Bounds(0, 1))


def test_one_column_of_several_is_read_as_itself() -> None:
    matrix = np.array([[1.0, NAN], [2.0, 5.0], [NAN, 7.0]])
    assert totals(matrix, [("1", Bounds(0, 10), 10, None)]) == ((12,), 2)
    source = open_source(matrix, ("0",), None)
    query = Histogram(Field("0", "real"), Scale.of([0, 1, 4], integers=False))
    assert source.sql(query, Bounds(0, 1)) is None
    assert query.counts(source.run(None, query)) is not None


# --- kinds of columns -----------------------------------------------------------------------------

#: The same five numbers and a missing one, as every kind of column that has integers of its own.
NUMBERS = [3, 0, 7, 10, 4, None]
KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "float64": lambda c: np.array([NAN if x is None else x for x in c]),
    "float16": lambda c: np.array([NAN if x is None else x for x in c], dtype=np.float16),
    "long double": lambda c: np.array([NAN if x is None else x for x in c], dtype=np.longdouble),
    "strided": lambda c: np.array([NAN if x is None else x for x in c]).repeat(2)[::2],
    "masked float": lambda c: _masked(c, np.float64),
    "masked int8": lambda c: _masked(c, np.int8),
    "masked uint64": lambda c: _masked(c, np.uint64),
    "masked big-endian": lambda c: _masked(c, ">i4"),
    "masked objects": lambda c: _masked(c, object),
    "objects": lambda c: np.array([*c, 1][:-1], dtype=object),
    "pandas Int64": lambda c: pd.Series(c, dtype="Int64"),
    "pandas UInt8": lambda c: pd.array(c, dtype="UInt8"),
    "pandas Float64": lambda c: pd.Series(c, dtype="Float64"),
    "pandas float": lambda c: pd.Series([NAN if x is None else x for x in c]),
    "pandas objects": lambda c: pd.Series(c, dtype=object),
    "pandas arrow": lambda c: pd.Series(c, dtype="int64[pyarrow]"),
    "pandas index": lambda c: pd.Index([NAN if x is None else x for x in c]),
    "polars": lambda c: pl.Series(c, dtype=pl.Int64),
    "polars float": lambda c: pl.Series([None if x is None else float(x) for x in c]),
    "polars decimal": lambda c: pl.Series([None if x is None else Decimal(x) for x in c]),
    "arrow": lambda c: pa.array(c, pa.int16()),
    "arrow unsigned": lambda c: pa.array(c, pa.uint64()),
    "arrow float": lambda c: pa.array(c, pa.float32()),
    "arrow chunks": lambda c: pa.chunked_array([c[:2], [], c[2:]], pa.int64()),
    "arrow dictionary": lambda c: pa.array(c, pa.int64()).dictionary_encode(),
    "arrow dictionaries": lambda c: pa.chunked_array(
        [pa.array(c[:2], pa.int64()).dictionary_encode(), pa.array(c[2:]).dictionary_encode()]
    ),
    "arrow decimal": lambda c: pa.array([None if x is None else Decimal(x) for x in c]),
}


def _masked(column: list[Any], dtype: Any) -> Any:
    """Under the mask lies a number that must not count."""
    data = np.array([9 if x is None else x for x in column], dtype=dtype)
    return np.ma.masked_array(data, mask=[x is None for x in column])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("fill", [None, 6])
def test_every_kind_beside_a_column_that_misses_another_row(name: str, fill: Any) -> None:
    other = np.array([NAN, 1.0, 2.0, 3.0, 4.0, 5.0])
    data = [KINDS[name](NUMBERS), other]
    asked: list[Asked] = [("0", Bounds(0, 10), 10, fill), ("1", Bounds(0.0, 8.0), 8, None)]
    last = 0 if fill is None else 1
    assert totals(data, asked) == ((21 + 6 * last, 10 + 5 * last), 4 + last)
    assert totals(data[::-1], [("1", *asked[0][1:]), ("0", *asked[1][1:])]) == totals(data, asked)
    squares = (Sum(2, 0), Sum(1, 1), Sum(1, 0))
    assert totals(data, asked, squares) == (
        (0 + 49 + 100 + 16 + 36 * last, 10 + 5 * last, 21 + 6 * last),
        4 + last,
    )


def test_booleans() -> None:
    yes = [True, False, None, True]
    other = np.array([1, 2, 3, 4])
    for column in (
        pd.Series(yes, dtype="boolean"),
        pl.Series(yes),
        pa.array(yes),
        np.ma.masked_array([True, False, True, True], mask=[False, False, True, False]),
    ):
        asked: list[Asked] = [("0", Bounds(0, 1), None, None), ("1", Bounds(0, 5), None, None)]
        assert totals([column, other], asked) == ((2, 7), 3)
    assert totals([np.array([True, False]), np.array([5, 1])], asked) == ((1, 6), 2)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", ">f8", "b1", "O"])
def test_matrices(order: Any, dtype: str) -> None:
    matrix = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]]).astype(dtype, order=order)
    asked: list[Asked] = [(name, Bounds(0, 1), 1, None) for name in ("2", "0", "1")]
    assert totals(matrix, asked) == ((3, 3, 1), 4)
    assert totals(matrix.view(np.matrix), asked) == ((3, 3, 1), 4)
    mask = np.zeros((4, 3), dtype=bool)
    mask[0, 1] = True
    assert totals(np.ma.masked_array(matrix, mask), asked) == ((2, 2, 1), 3)


def test_no_rows() -> None:
    asked: list[Asked] = [(name, Bounds(0, 1), 1, None) for name in ("0", "1")]
    empty: list[Any] = [
        np.zeros((0, 2)),
        [np.zeros(0), pa.array([], pa.int64())],
        [pa.chunked_array([], pa.float64()), pl.Series([], dtype=pl.Int8)],
        [np.array([], dtype=object), pd.Series([], dtype="Int64")],
    ]
    for data in empty:
        assert totals(data, asked) == ((0, 0), 0)
    assert totals(np.full((3, 2), NAN), asked) == ((0, 0), 0)


# --- the kernel against the plain rule ------------------------------------------------------------

REALS = st.one_of(st.floats(width=64), st.floats(-2, 3), st.sampled_from([NAN, -1.5, 2.25, -0.0]))
INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u2"]


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[Any, list[Any], Value]:
    """A column of an array, the same as plain values with None for what is missing, its target."""
    if draw(st.booleans()):
        values: list[Any] = draw(st.lists(REALS, min_size=rows, max_size=rows))
        data = np.array(values, dtype=np.float64)
        grid = Grid(Bounds(-1.5, 2.25), draw(st.sampled_from([1, 7, 2**16, 2**32])))
        field = Field("", "real")
    else:
        dtype = draw(st.sampled_from(INTEGERS))
        info = np.iinfo(dtype)
        least, most = int(info.min), int(info.max)
        lower = draw(st.integers(least, most) | st.integers(-(2**66), 2**66))
        near = min(max(lower - 3, least), most)  # many of them lie about the lower bound
        elements = st.integers(least, most) | st.integers(near, min(near + 40, most))
        values = draw(st.lists(elements, min_size=rows, max_size=rows))
        data = np.array(values, dtype=dtype)
        upper = lower + draw(st.integers(1, 2**32))
        grid, field = Grid(Bounds(lower, upper), upper - lower, True), Field("", "integer")
    absent = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    masked = draw(st.booleans())
    plain = [None if masked and gone else v for v, gone in zip(values, absent, strict=True)]
    missing = draw(st.none() | st.integers(0, grid.cells))
    return (
        (np.ma.masked_array(data, absent) if masked else data),
        plain,
        Value(field, grid, missing),
    )


@st.composite
def tables(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(0, 12))
    found = [draw(columns(rows)) for _ in range(draw(st.integers(2, 4)))]
    data, plain, values = zip(*found, strict=True)
    named = tuple(
        Value(Field(str(i), v.field.kind), v.grid, v.missing) for i, v in enumerate(values)
    )
    small = [i for i, v in enumerate(named) if v.grid.cells <= 2**16]
    sums = [Sum(column=i) for i in range(len(named))] + [Sum(2, i) for i in small]
    return list(data), list(plain), Query(named, sums=tuple(draw(st.permutations(sums))))


def found_of(data: Any, query: Query) -> Any:
    source = open_source(data, tuple(v.field.name for v in query.values), None)
    found = source.run(source.sql(query, Bounds(0, 1)), query).only
    return found.sums, found.count


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=150)
@given(tables())
def test_the_kernel_follows_the_rule_row_by_row(made: Any) -> None:
    data, plain, query = made
    powers = [(each.column, each.power) for each in query.sums]
    assert found_of(data, query) == expected(plain, query.values, powers=powers)


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=100)
@given(tables(), st.data())
def test_a_row_moves_the_totals_by_its_cells_and_one_or_by_nothing(made: Any, more: Any) -> None:
    data, plain, query = made
    rows = len(plain[0])
    if not rows:
        return
    place = more.draw(st.integers(0, rows - 1))
    without = [
        np.ma.masked_array(np.delete(np.asarray(c), place), np.delete(c.mask, place))
        if isinstance(c, np.ma.MaskedArray)
        else np.delete(c, place)
        for c in data
    ]
    (after, records), (before, others) = found_of(data, query), found_of(without, query)
    cells = [
        v.missing if (cell := cell_of(column[place], v.grid)) is None else cell
        for column, v in zip(plain, query.values, strict=True)
    ]
    complete = None not in cells
    moved = [a - b for a, b in zip(after, before, strict=True)]
    assert records - others == complete
    assert moved == [cells[each.column] ** each.power if complete else 0 for each in query.sums]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 1, kernel.CHUNK - 1, kernel.CHUNK, 2 * kernel.CHUNK + 7])
def test_chunks_and_threads_change_nothing(threads: int, rows: int) -> None:
    dice = np.random.default_rng(rows)
    reals = dice.uniform(-2, 3, rows)
    reals[dice.random(rows) < 0.01] = NAN
    whole = dice.integers(-(2**40), 2**40, rows)
    absent = dice.random(rows) < 0.3
    targets = [
        several.Target(Grid(Bounds(-1.5, 2.25), 2**32), None, (Sum(), Sum(side=-1), Sum(side=1))),
        several.Target(
            Grid(Bounds(-(2**15), 2**15), 2**16, True), 5, (Sum(2), Sum(1), Sum(side=1))
        ),
    ]
    columns = [
        Column("real", part=lambda start, stop: (reals[start:stop], None), rows=rows),
        Column("integer", part=lambda start, stop: (whole[start:stop], absent[start:stop])),
    ]
    sums, count = several.totals_of_columns(columns, targets, threads)
    kept = ~np.isnan(reals)
    cells = np.rint((np.clip(reals, -1.5, 2.25)[kept] + 1.5) * (2**32 / 3.75))
    other = np.where(absent, 5, np.clip(whole, -(2**15), 2**15) + 2**15)[kept]
    assert count == int(kept.sum())
    assert sums[0] == [sum(map(int, cells)), int((reals < -1.5).sum()), int((reals > 2.25).sum())]
    above = int(((whole > 2**15) & ~absent & kept).sum())
    assert sums[1] == [int((other**2).sum()), int(other.sum()), above]


def test_sums_past_int64_do_not_wrap() -> None:
    ones, grid = np.ones(kernel.CHUNK), Grid.choose(Bounds(0.0, 1.0))
    own = Grid(Bounds(0, 2**32), 2**32, True)
    block = [(ones, None), (np.full(kernel.CHUNK, 2**40), None)]
    targets = [several.Target(grid, None, (Sum(),)), several.Target(own, None, (Sum(),))]
    sums, count = several.totals_of_blocks([block] * 64, targets)
    assert sums == [[64 * kernel.CHUNK * 2**32]] * 2
    assert count == 64 * kernel.CHUNK
    assert Fraction(sums[0][0], count) == 2**32


@pytest.mark.parametrize("missing", [None, 3])
def test_a_missing_value_is_missing_also_if_no_cells_are_added(missing: int | None) -> None:
    """A question that only counts records, or those outside the bounds: NaN is still missing."""
    numbers = np.array([1.0, np.nan, 20.0, -4.0, np.nan])

    class Whole:
        rows = len(numbers)

        def between(self, start: int, stop: int) -> Any:
            return numbers[start:stop], None

    grid = Grid(Bounds(0.0, 10.0), 100)
    for sums in ((), (Sum(side=-1), Sum(side=1))):
        target = several.Target(grid, missing, sums)
        found, count = several.totals_of_columns([Whole()], [target], 1)
        assert found == ([[1, 1]] if sums else [[]])
        assert count == (3 if missing is None else 5)
