"""Every kind of column, its exact totals, and how missing values are treated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.read import kernel
from hourglass.read.column import column
from tests.tools import grid_of, totals_of

NUMBERS = [3, 0, 7, 10, 4]


def numbers_then_nothing() -> Iterator[int]:
    yield from NUMBERS


WHOLE = {
    "int64": np.array(NUMBERS),
    "int8": np.array(NUMBERS, dtype=np.int8),
    "uint64": np.array(NUMBERS, dtype=np.uint64),
    "big-endian": np.array(NUMBERS, dtype=">i4"),
    "masked": np.ma.masked_array(np.array([*NUMBERS, 99]), mask=[False] * 5 + [True]),
    "pandas": pd.Series(NUMBERS),
    "pandas index": pd.Index(NUMBERS),
    "pandas Int64": pd.Series([*NUMBERS, None], dtype="Int64"),
    "pandas arrow": pd.Series([*NUMBERS, None], dtype="int64[pyarrow]"),
    "polars": pl.Series([*NUMBERS, None]),
    "arrow": pa.array([*NUMBERS, None]),
    "arrow chunks": pa.chunked_array([NUMBERS[:2], [None], NUMBERS[2:]]),
    "arrow dictionary": pa.array([*NUMBERS, None]).dictionary_encode(),
}
REAL = {
    "float64": np.array([*NUMBERS, np.nan]),
    "float16": np.array(NUMBERS, dtype=np.float16),
    "float32": np.array([*NUMBERS, np.nan], dtype=np.float32),
    "long double": np.array([*NUMBERS, np.nan], dtype=np.longdouble),
    "strided": np.array([*NUMBERS, np.nan]).repeat(2)[::2],
    "masked float": np.ma.masked_array(np.array([*NUMBERS, 99.0]), mask=[False] * 5 + [True]),
    "objects": np.array([*NUMBERS, None], dtype=object),
    "masked objects": np.ma.masked_array(
        np.array([*NUMBERS, "x"], dtype=object), mask=[False] * 5 + [True]
    ),
    "list": NUMBERS,
    "tuple": tuple(NUMBERS),
    "range": [*range(0), *NUMBERS],
    "generator": numbers_then_nothing,
    "with None": [*NUMBERS, None],
    "with NaN": [*NUMBERS, math.nan],
    "with pandas NA": [*NUMBERS, pd.NA, pd.NaT],
    "decimals": [*map(Decimal, NUMBERS), Decimal("NaN"), Decimal("sNaN")],
    "fractions": [*map(Fraction, NUMBERS)],
    "numpy scalars": [np.int8(3), np.float32(0), np.uint64(7), np.float64(10), np.int64(4)],
    "pandas float": pd.Series([*NUMBERS, np.nan]),
    "pandas Float64": pd.Series([*NUMBERS, None], dtype="Float64"),
    "pandas objects": pd.Series([*NUMBERS, None], dtype=object),
    "polars float": pl.Series([*map(float, NUMBERS), None, math.nan]),
    "polars decimal": pl.Series([*map(Decimal, NUMBERS), None]),
    "polars int128": pl.Series([*NUMBERS, None], dtype=pl.Int128),
    "arrow float16": pa.array([*np.array(NUMBERS, dtype=np.float16), None], type=pa.float16()),
    "arrow decimal": pa.array([*map(Decimal, NUMBERS), None]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_integers_keep_their_own_grid(name: str) -> None:
    source = column(WHOLE[name])
    grid = grid_of(source, Bounds(0, 10))
    assert (grid.cells, grid.own) == (10, True)
    totals = totals_of(source, grid)
    assert (totals.cells, totals.count) == (24, 5)


@pytest.mark.parametrize("name", REAL)
def test_reals_get_the_fine_grid(name: str) -> None:
    values = REAL[name]
    source = column(values() if callable(values) else values)
    grid = grid_of(source, Bounds(0, 10))
    assert (grid.cells, grid.own) == (2**32, False)
    totals = totals_of(source, grid)
    assert totals.count == 5
    assert totals.cells == sum(int(Fraction(x * 2**32, 10) + Fraction(1, 2)) for x in NUMBERS)


@pytest.mark.parametrize(
    "values",
    [
        np.array([True, False, True]),
        pd.Series([True, False, True, None], dtype="boolean"),
        pl.Series([True, False, True, None]),
        pa.array([True, False, True, None]),
    ],
    ids=["numpy", "pandas", "polars", "arrow"],
)
def test_booleans(values: Any) -> None:
    source = column(values)
    grid = grid_of(source, Bounds(0, 1))
    totals = totals_of(source, grid)
    assert (grid.cells, totals.cells, totals.count) == (1, 2, 3)


@pytest.mark.parametrize("name", ["masked", "pandas Int64", "polars", "arrow dictionary"])
def test_missing_values_may_count_as_a_value(name: str) -> None:
    source = column(WHOLE[name])
    totals = totals_of(source, grid_of(source, Bounds(0, 10)), missing=9)
    assert (totals.cells, totals.count) == (33, 6)


@pytest.mark.parametrize("values", [[1.0, None, math.nan], np.array([1.0, np.nan, np.nan])])
def test_missing_reals_may_count_as_a_value(values: Any) -> None:
    source = column(values)
    totals = totals_of(source, Grid(Bounds(0.0, 4.0), 4), missing=3)
    assert (totals.cells, totals.count) == (7, 3)


def test_infinities_are_clamped_and_odd_doubles_are_fine() -> None:
    grid = Grid(Bounds(-1.0, 1.0), 2)
    values = np.array([np.inf, -np.inf, -0.0, 5e-324, -5e-324, 1e308])
    totals = totals_of(column(values), grid)
    assert (totals.cells, totals.count) == (2 + 0 + 1 + 1 + 1 + 2, 6)


def test_the_widest_bounds() -> None:
    grid = Grid.choose(Bounds(-1.7e308, 1.7e308))
    assert grid.shrink == 0.5
    values = [-1.7e308, -0.85e308, 0.0, 0.85e308, 1.7e308, -np.inf, np.inf]
    for value, share in zip(values, [0, 1, 2, 3, 4, 0, 4], strict=True):
        assert totals_of(column([value]), grid).cells == share * 2**30
        assert grid.cell(value) == share * 2**30


@pytest.mark.parametrize("big", [2**53 + 1, 2**63, 2**64 + 3, 10**400, -(10**400)])
def test_integers_of_any_size_in_a_list(big: int) -> None:
    totals = totals_of(column([big]), Grid(Bounds(0, 1), 1))
    assert (totals.cells, totals.count) == (int(big > 0), 1)


def test_integers_past_the_doubles_are_exact_on_their_own_grid() -> None:
    base = 2**63 - 10
    values = np.array([base + 3, base + 4, 0, 2**63 - 1])
    source = column(values)
    grid = grid_of(source, Bounds(base, base + 5))
    assert grid.own
    assert totals_of(source, grid).cells == 3 + 4 + 0 + 5
    unsigned = column(np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64))
    assert totals_of(unsigned, grid_of(unsigned, Bounds(2**64 - 4, 2**64 - 1))).cells == 3 + 1


@pytest.mark.parametrize(
    ("bounds", "cells"), [((300, 400), 0), ((-10, -5), 15), ((-3, 300), 265), ((100, 101), 1)]
)
def test_bounds_beyond_the_type(bounds: tuple[int, int], cells: int) -> None:
    source = column(np.array([0, 255, 1], dtype=np.uint8))
    assert totals_of(source, grid_of(source, Bounds(*bounds))).cells == cells


def test_signed_type_with_its_whole_range() -> None:
    source = column(np.array([-128, 127], dtype=np.int8))
    assert totals_of(source, grid_of(source, Bounds(-128, 127))).cells == 255


@pytest.mark.parametrize(
    "values", [[], np.zeros(0), pd.Series([], dtype=float), pl.Series([], dtype=pl.Null)]
)
def test_empty(values: Any) -> None:
    release = hg.mean(values, bounds=(0, 1), epsilon=1)
    assert 0 <= release.mean <= 1


def test_all_null() -> None:
    for values in ([None] * 3, pa.nulls(3), pl.Series([None] * 3), np.full(3, np.nan)):
        totals = totals_of(column(values), Grid(Bounds(0.0, 1.0), 8))
        assert (totals.cells, totals.count) == (0, 0)


@pytest.mark.slow
def test_a_generator_is_consumed_once_and_in_chunks() -> None:
    longest = 0
    alive = 0

    class Counted(float):
        def __new__(cls, value: float) -> Counted:
            nonlocal alive, longest
            alive += 1
            longest = max(longest, alive)
            return super().__new__(cls, value)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    n = 2 * kernel.CHUNK + 500
    totals = totals_of(column(Counted(1.0) for _ in range(n)), Grid(Bounds(0.0, 1.0), 4))
    assert (totals.cells, totals.count) == (4 * n, n)
    assert longest <= 2 * kernel.CHUNK + 1


class FromCapsule:
    """Supports only the Arrow interface."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.array.__arrow_c_array__(requested_schema)


class FromStream(FromCapsule):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.chunked_array([self.array]).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", [FromCapsule, FromStream])
def test_anything_with_an_arrow_interface(kind: type[FromCapsule]) -> None:
    source = column(kind(pa.array([1, 2, None])))
    totals = totals_of(source, grid_of(source, Bounds(0, 3)))
    assert (totals.cells, totals.count) == (3, 2)
    with pytest.raises(hg.DataError):
        column(kind(pa.array(["canary"])))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads: int) -> None:
    values = np.arange(200_001, dtype=np.float64) % 97
    values[::1000] = np.nan
    grid = Grid(Bounds(0.0, 96.0), 96)
    totals = kernel.total_of_array(values, grid, 5, threads=threads)
    present = values[~np.isnan(values)]
    assert totals.count == len(values)
    assert totals.cells == int(present.sum()) + 5 * (len(values) - len(present))


def test_sums_past_int64_do_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^31 records at the top of the fine grid sum to 2^63: chunks are added as integers."""
    chunk = np.ones(kernel.CHUNK)
    repeats = 2**31 // kernel.CHUNK + 1
    totals = kernel.total_of_chunks(((chunk, 0) for _ in range(64)), Grid.choose(Bounds(0.0, 1.0)))
    assert totals.cells == 64 * kernel.CHUNK * 2**32
    one = kernel.total_of_chunks([(chunk, 0)], Grid.choose(Bounds(0.0, 1.0)))
    assert one.cells * repeats > 2**63
    assert isinstance(one.cells, int)


def test_totals_keep_their_secret() -> None:
    totals = totals_of(column([0.25, 0.5]), Grid(Bounds(0.0, 1.0), 4))
    assert repr(totals) == str(totals) == "Totals(secret)"
    import copy
    import pickle

    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(totals)
    with pytest.raises(TypeError, match="secret"):
        copy.copy(totals)


# --- objects of one's own -------------------------------------------------------------------


class Failing(int):
    def __float__(self) -> float:
        raise RuntimeError("a canary of 7d20")


class Shy:
    """An object whose class cannot be determined."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("a canary of 7d20")


class Loud(Decimal):
    def __float__(self) -> float:
        raise OverflowError

    def __gt__(self, other: Any) -> bool:
        raise RuntimeError("a canary of 7d20")


@pytest.mark.parametrize("kind", [Failing, Shy, Loud])
def test_an_object_that_fails_is_missing(kind: Any) -> None:
    odd = kind()
    for values in ([1.0, odd], np.array([1.0, odd], dtype=object)):
        assert totals_of(column(values), Grid(Bounds(0, 4), 4)) == Totals(1, 1)
        assert hg.mean(values, bounds=(0, 4), epsilon=60).count == 1
        hg.find_bounds(values, epsilon=1)


def test_an_iterator_that_fails_is_not_quoted() -> None:
    def cells() -> Any:
        yield 1.0
        raise ValueError("a canary of 7d20")

    for ask in (
        lambda: hg.mean(cells(), bounds=(0, 4), epsilon=1),
        lambda: hg.find_bounds(cells(), epsilon=1),
    ):
        with pytest.raises(hg.SourceError, match=r"the iterator failed \(ValueError\)") as caught:
            ask()
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert "7d20" not in str(caught.value)
