"""One record more or less moves the totals by exactly (q, 1), on every engine."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.limits import Bounds, Grid, Unit
from tests.read.corpus import (
    ALIKE,
    GROUP,
    MINUS_NAN,
    PERSON,
    cell_of,
    reference,
    reference_of_columns,
    table,
    totals,
)
from tests.read.test_columns import Asked
from tests.read.test_columns import table as columns_table
from tests.read.test_columns import totals as columns_totals

pytestmark = pytest.mark.slow

BOUNDS = Bounds(-1.5, 2.25)
GRID = Grid.choose(BOUNDS)
VALUES = st.one_of(
    st.none(),
    st.floats(),
    st.floats(-2, 3),
    st.sampled_from([math.nan, MINUS_NAN, -1.5, 2.25]),
)
ROWS = st.lists(st.tuples(VALUES, st.just("g"), st.sampled_from(["p", "q", None])), max_size=8)


def on_spark(request: pytest.FixtureRequest) -> bool:
    """Where a query takes long: what is true of the smaller table is taken from the reference."""
    return "spark" in request.node.callspec.params.values()


@pytest.fixture
def examples(request: pytest.FixtureRequest, engine_place: Any) -> settings:
    """Fewer on Spark, where a query takes a third of a second; the corpus is met there whole."""
    return settings(max_examples=3 if on_spark(request) else 10, deadline=None)


@pytest.fixture
def batches(request: pytest.FixtureRequest, engine_place: Any) -> settings:
    """For cases that share a query, each in a group of its own with persons of its own.

    Without the simplest batch, which Hypothesis draws first: in it, all cases are the same.
    """
    return settings(max_examples=1 if on_spark(request) else 3, deadline=None)


@pytest.fixture
def before_it(
    request: pytest.FixtureRequest, total: Callable[..., tuple[int, int]]
) -> Callable[..., tuple[int, int]]:
    """The total of a table to which a row is added."""

    def of(rows: list[Any], unit: Unit | None = None) -> tuple[int, int]:
        return reference(rows, GRID, unit).get("g", (0, 0))

    return of if on_spark(request) else total


@pytest.fixture
def total(engine_place: Any) -> Callable[..., tuple[int, int]]:
    def of(rows: list[Any], **more: Any) -> tuple[int, int]:
        empty = [(None, "g", None)]  # a table always has rows, so that its types are known
        placed = engine_place(table(rows + empty, pa.float64(), pa.string()))
        found: tuple[int, int] = totals(placed, BOUNDS, None, by=None, **more)
        return found

    return of


def test_a_row(
    total: Callable[..., tuple[int, int]],
    before_it: Callable[..., tuple[int, int]],
    examples: settings,
) -> None:
    @examples
    @given(rows=ROWS, value=VALUES, place=st.integers(0, 8))
    def check(rows: list[Any], value: float | None, place: int) -> None:
        before = before_it(rows)
        after = total([*rows[:place], (value, "g", "z"), *rows[place:]])
        cell = cell_of(value, GRID)
        expected = (0, 0) if cell is None else (cell, 1)
        assert (after[0] - before[0], after[1] - before[1]) == expected

    check()


ASKED: list[Asked] = [
    ("x", BOUNDS, None, None),
    ("n", Bounds(0, 10), None, None),
    ("y", Bounds(0.0, 8.0), 8, None),
]
CELLS = st.tuples(
    VALUES, st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 12), VALUES
)


@pytest.mark.parametrize(
    ("most", "fill"),
    [(0, 3), (1, None), (1, 3), (2, None)],
    ids=["rows, fill", "once, drop", "once, fill", "two rows, drop"],
)
def test_several_columns(
    engine_place: Any,
    batches: settings,
    fill: int | None,
    most: int,
    request: pytest.FixtureRequest,
) -> None:
    """A row moves the totals by (q_1, .., q_d, 1) or by nothing, a person by as many of these."""
    unit = {0: None, 1: hg.per_person(PERSON), 2: hg.per_person(PERSON, rows=2)}[most]
    asked = [ASKED[0], (*ASKED[1][:3], fill), ASKED[2]]
    kinds, names = [pa.float64(), pa.int64(), pa.float64()], ["x", "n", "y"]

    def of(rows: list[Any]) -> Any:
        empty = [((None, None, None), None, None)]
        placed = engine_place(columns_table(rows + empty, names, kinds))
        query, found = columns_totals(placed, asked, unit=unit, by=GROUP)
        return [value.grid for value in query.values], defaultdict(lambda: NOTHING, found)

    cases = st.tuples(
        st.lists(st.tuples(CELLS, st.sampled_from(["p", "q"])), max_size=6),
        st.lists(CELLS, min_size=1, max_size=4 if unit else 1),
        st.integers(0, 6),
    )

    @batches
    @given(cases=st.lists(cases, min_size=12, max_size=12))
    def check(cases: list[Any]) -> None:
        assume(differ(cases))
        before: list[Any] = []
        after: list[Any] = []
        own: dict[str, list[Any]] = {}
        for i, (rows, added, place) in enumerate(cases):
            others = [(values, f"g{i}", f"{person}{i}") for values, person in rows]
            own[f"g{i}"] = theirs = [(values, f"g{i}", f"z{i}") for values in added]
            before += others
            after += [*others[:place], *theirs, *others[place:]]
        grids, totals_after = of(after)
        fills = [None, None if fill is None else grids[1].cell(fill), None]
        if on_spark(request):
            known = reference_of_columns(before, grids, unit, missing=fills)
            totals_before = defaultdict(lambda: NOTHING, known)
        else:
            _, totals_before = of(before)
        for name, theirs in own.items():
            moved = reference_of_columns(theirs, grids, unit, missing=fills).get(name, NOTHING)
            assert added_up(totals_before[name], moved) == added_up(totals_after[name], NOTHING)

    check()


NOTHING = ((0, 0, 0), 0)


def differ(cases: list[Any]) -> bool:
    return len(set(map(repr, cases))) > 1


def added_up(one: Any, other: Any) -> list[int]:
    return [int(a) + int(b) for a, b in zip((*one[0], one[1]), (*other[0], other[1]), strict=True)]


@pytest.mark.parametrize("most", [1, 2])
def test_a_person(
    engine_place: Any, batches: settings, most: int, request: pytest.FixtureRequest
) -> None:
    """All rows of one person together move them by one record, or by as many as allowed."""
    unit = hg.per_person(PERSON, rows=None if most == 1 else most)

    def of(rows: list[Any]) -> Any:
        placed = engine_place(table([*rows, (None, None, None)], pa.float64(), pa.string()))
        return defaultdict(lambda: (0, 0), totals(placed, BOUNDS, None, unit=unit))

    cases = st.tuples(ROWS, st.lists(VALUES, min_size=1, max_size=5))

    @batches
    @given(cases=st.lists(cases, min_size=12, max_size=12))
    def check(cases: list[Any]) -> None:
        assume(differ(cases))
        others: list[Any] = []
        theirs: list[Any] = []
        for i, (rows, own) in enumerate(cases):
            others += [(value, f"g{i}", person and f"{person}{i}") for value, _, person in rows]
            theirs += [(value, f"g{i}", f"z{i}") for value in own]
        after = of(theirs + others)
        if on_spark(request):
            before = defaultdict(lambda: (0, 0), reference(others, GRID, unit))
        else:
            before = of(others)
        for i, (_, own) in enumerate(cases):
            (cells, count), (cells_after, count_after) = before[f"g{i}"], after[f"g{i}"]
            present = sum(cell_of(value, GRID) is not None for value in own)
            assert count_after - count == min(present, most)
            assert 0 <= cells_after - cells <= min(present, most) * GRID.cells

    check()


def test_a_person_without_groups(
    total: Callable[..., tuple[int, int]],
    before_it: Callable[..., tuple[int, int]],
    examples: settings,
) -> None:
    @settings(examples, max_examples=3)
    @given(rows=ROWS, own=st.lists(VALUES, min_size=1, max_size=5))
    def check(rows: list[Any], own: list[float | None]) -> None:
        theirs = [(value, "g", "z") for value in own]
        present = any(cell_of(value, GRID) is not None for value in own)
        unit = hg.per_person(PERSON)
        before, after = before_it(rows, unit=unit), total(theirs + rows, unit=unit)
        assert after[1] - before[1] == present
        assert 0 <= after[0] - before[0] <= present * GRID.cells

    check()


NAMES = st.one_of(
    st.sampled_from([*ALIKE, None, "x" * 4096, "x" * 4097, "${x}", "\\\\", "it's", "%s", "?"]),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5),
)


def test_a_name(engine_place: Any, examples: settings, request: pytest.FixtureRequest) -> None:
    """One row more moves the group of its own name by one record, and no other."""

    def groups(found: list[str | None]) -> Any:
        rows: list[Any] = [(1.0, name, "p") for name in [*found, None]]
        placed = engine_place(table(rows, pa.float64(), pa.string()))
        return totals(placed, Bounds(0, 1), 1)

    @examples
    @given(names=st.lists(NAMES, max_size=8), added=NAMES)
    def check(names: list[str | None], added: str | None) -> None:
        after = groups([*names, added])
        if on_spark(request):
            short = [name for name in names if name is not None and len(name.encode()) <= 4096]
            before = {name: (count, count) for name, count in Counter(short).items()}
        else:
            before = groups(names)
        if added is not None and len(added.encode()) <= 4096:
            cells, count = before.get(added, (0, 0))
            before[added] = (cells + 1, count + 1)
        assert after == before

    check()
