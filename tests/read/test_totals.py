"""Totals by property: the rule in rationals, and what a neighbour may change."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hourglass.core.limits import NEAREST, Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.errors import GridError
from hourglass.read import kernel
from hourglass.read.column import column
from tests.tools import grid_of, totals_of

pytestmark = pytest.mark.property

finite = st.floats(allow_nan=False, allow_infinity=False)
any_float = st.floats(allow_nan=True, allow_infinity=True)
grids = st.sampled_from([1, 2, 3, 7, 120, 1000, 2**16, 2**31 - 1, 2**32])


@st.composite
def real_grids(draw: st.DrawFn) -> Grid:
    low, high = sorted((draw(finite), draw(finite)))
    assume(low < high)
    try:
        return Grid(Bounds(low, high), draw(grids))
    except GridError:
        assume(False)
        raise


@st.composite
def near_edges(draw: st.DrawFn, grid: Grid) -> float:
    """A value where rounding could go wrong: bounds and half-grid points, and their neighbours."""
    place = draw(st.integers(0, min(grid.cells, 2**20)))
    share = Fraction(2 * place + draw(st.integers(-1, 1)), 2 * grid.cells)
    top = Fraction(1.7e308)
    x = float(min(max(Fraction(grid.lower) + share * grid.bounds.width, -top), top))
    for _ in range(draw(st.integers(0, 2))):
        x = math.nextafter(x, draw(st.sampled_from([-math.inf, math.inf])))
    return x


def reference(x: float, grid: Grid) -> int | None:
    """The documented rule: each step is one rounded operation on doubles, the last one exact."""
    if math.isnan(x):
        return None
    if x <= grid.first_above:
        return 0
    if x <= grid.last_below:
        shifted = x * grid.shrink - grid.lower * grid.shrink
        return round(Fraction(shifted * grid.scale))
    return grid.cells


@given(st.floats(-(2.0**51), 2.0**51) | st.integers(-(2**34), 2**34).map(lambda n: n / 2))
def test_adding_and_subtracting_rounds_to_the_nearest_integer(y: float) -> None:
    """What SQL computes: equal to exact rounding, ties to even."""
    assert (y + NEAREST) - NEAREST == round(Fraction(y)) == np.rint(y)


@pytest.mark.slow
@given(st.data(), real_grids())
def test_the_kernel_follows_the_rule_bit_for_bit(data: st.DataObject, grid: Grid) -> None:
    values = data.draw(st.lists(any_float | near_edges(grid), max_size=20))
    cells = [reference(x, grid) for x in values]
    assert cells == [grid.cell(x) for x in values]
    totals = totals_of(column(np.array(values, dtype=np.float64)), grid)
    assert totals.cells == sum(cell for cell in cells if cell is not None)
    assert totals.count == sum(cell is not None for cell in cells)
    again = totals_of(column(values), grid)
    assert (again.cells, again.count) == (totals.cells, totals.count)


@pytest.mark.slow
@given(st.data(), real_grids())
def test_a_cell_is_in_range_and_near_the_value(data: st.DataObject, grid: Grid) -> None:
    x = data.draw((near_edges(grid) | finite).filter(math.isfinite))
    cell = grid.cell(x)
    assert cell is not None
    assert 0 <= cell <= grid.cells
    clamped = min(max(Fraction(x), Fraction(grid.lower)), Fraction(grid.upper))
    exact = (clamped - Fraction(grid.lower)) * grid.cells / grid.bounds.width
    # Half a cell by rounding, and what doubles lose next to a bound far from zero.
    ulp = Fraction(math.ulp(max(abs(grid.lower), abs(grid.upper)))) * grid.cells / grid.bounds.width
    assert abs(cell - exact) <= Fraction(1, 2) + 2 * ulp + Fraction(grid.cells, 2**50)


@pytest.mark.slow
@given(st.data(), real_grids())
def test_cells_never_fall_as_values_rise(data: st.DataObject, grid: Grid) -> None:
    values = sorted(data.draw(st.lists(near_edges(grid) | finite, min_size=2, max_size=8)))
    cells = [grid.cell(x) for x in values]
    assert cells == sorted(c for c in cells if c is not None)


def moved(before: Totals, after: Totals) -> tuple[int, int]:
    return after.cells - before.cells, after.count - before.count


@given(st.data(), real_grids(), any_float)
def test_a_neighbour_moves_the_totals_by_its_cell_and_one(
    data: st.DataObject, grid: Grid, x: float
) -> None:
    values = data.draw(st.lists(any_float, max_size=12))
    place = data.draw(st.integers(0, len(values)))
    with_it = [*values[:place], x, *values[place:]]
    change = moved(
        *(totals_of(column(np.array(v, dtype=np.float64)), grid) for v in (values, with_it))
    )
    cell = grid.cell(x)
    assert change == ((0, 0) if cell is None else (cell, 1))


dtypes = st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])


@pytest.mark.slow
@given(st.data(), dtypes)
def test_integers_are_clamped_exactly(data: st.DataObject, dtype: str) -> None:
    info = np.iinfo(dtype)
    elements = st.integers(int(info.min), int(info.max))
    values = data.draw(st.lists(elements, max_size=20))
    lower = data.draw(st.integers(-(2**66), 2**66) | elements)
    upper = lower + data.draw(st.integers(1, 2**32))
    source = column(np.array(values, dtype=dtype))
    grid = grid_of(source, Bounds(lower, upper))
    assert grid.own
    totals = totals_of(source, grid)
    assert totals.cells == sum(min(max(x, lower), upper) - lower for x in values)
    assert totals.count == len(values)


@pytest.mark.slow
@given(st.lists(any_float, max_size=60), st.integers(1, 7), st.randoms(use_true_random=False))
def test_order_chunks_and_threads_change_nothing(values: list[float], chunk: int, rng: Any) -> None:
    grid = Grid(Bounds(-2.0, 5.0), 2**32)
    array = np.array(values, dtype=np.float64)
    whole = kernel.total_of_array(array, grid)
    pieces = [(array[i : i + chunk], 0) for i in range(0, len(array), chunk)]
    rng.shuffle(pieces)
    cut = kernel.total_of_chunks(pieces, grid)
    threaded = kernel.total_of_array(array, grid, threads=2)
    assert moved(whole, cut) == moved(whole, threaded) == (0, 0)


@settings(max_examples=30)
@given(st.integers(0, 2**33), st.integers(0, 2**33))
def test_totals_far_past_int64_still_move_exactly(many: int, more: int) -> None:
    grid = Grid.choose(Bounds(0.0, 1.0))
    heap = Totals(many * grid.cells, many)
    rest = Totals(more * grid.cells, more)
    both = heap + rest
    assert moved(heap, both) == (more * grid.cells, more)
