"""Rows that find their group in a table of public keys: the same totals as the reference."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.keys import KeyColumn, Keys, Places
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Sum
from hourglass.read import by_group
from hourglass.read.open import LISTED, open_source, public_keys
from hourglass.read.several import Target
from hourglass.read.source import Field
from hourglass.read.sql.query import MOST_LISTED, Query, Value
from hourglass.read.sql.steps import is_between
from tests.read.corpus import reference_of_columns

#: Types of the key, and a value at each end, which must not be mistaken for a key in the table.
KEYS: dict[str, tuple[pa.DataType, int, int]] = {
    "int8": (pa.int8(), -(2**7), 2**7 - 1),
    "uint32": (pa.uint32(), 0, 2**32 - 1),
    "int64": (pa.int64(), -(2**63), 2**63 - 1),
}
REALS = st.none() | st.floats() | st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, math.nan])
WHOLE = st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-4, 9)
FILLS = st.sampled_from([None, 0, 3])


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Rows of a key, a real and an integer; public keys; cells for missing values."""
    kind = draw(st.sampled_from(sorted(KEYS)))
    _, low, high = KEYS[kind]
    first = draw(st.sampled_from([low, max(low, -3), high - 9]))
    named = st.integers(first, first + 9)
    keys: list[Any] = draw(st.lists(named, min_size=3, max_size=8, unique=True))
    keys += draw(st.sampled_from([[], [None]]))
    key = st.none() | named | st.sampled_from([low, high])
    rows = draw(st.lists(st.tuples(key, REALS, WHOLE), max_size=30))
    return KEYS[kind][0], keys, rows, draw(FILLS), draw(FILLS)


@pytest.fixture(params=["few", "many"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to add up, whatever the number of groups."""
    if request.param == "many":
        monkeypatch.setattr(by_group, "_FEW", 0)


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.usefixtures("ways")
@given(tables())
def test_totals_are_those_of_the_reference(made: Any) -> None:
    kind, keys, rows, *fills = made
    table = pa.table(
        {
            "k": pa.array([row[0] for row in rows], kind),
            "x": pa.array([row[1] for row in rows], pa.float64()),
            "i": pa.array([row[2] for row in rows], pa.int64()),
        }
    )
    source = open_source(table, ("k", "x", "i"), None)
    schema = source.schema()
    public = public_keys(keys, (schema.key("k"),))
    grids = [Grid(Bounds(0.0, 2.0), 2**20), Grid(Bounds(-2, 5), 7, own=True)]
    values = tuple(
        Value(schema.field(name, "column"), grid, fill)
        for name, grid, fill in zip("xi", grids, fills, strict=True)
    )
    query = Query(
        values, (schema.key("k"),), allowed=(None,), nulls=public.nulls(), places=public.places
    )
    assert query.in_table
    assert not replace(query, sums=query.sums[::-1]).in_table  # it adds up one sum per column
    found = source.run(source.sql(query, Bounds(0, 1)), query)
    sums = public.padded(found).totals
    got = list(zip(zip(*sums.sums, strict=True), sums.count, strict=True))
    marked = [(row[1:], "NULL" if row[0] is None else row[0], None) for row in rows]
    known = reference_of_columns(marked, grids, missing=fills)
    named = ["NULL" if key is None else key for key in keys]
    assert got == [known.get(key, ((0, 0), 0)) for key in named]
    # The same by SQL, which leaves out what is beyond the public keys.
    turned = replace(query, sums=query.sums[::-1])
    assert "BETWEEN" in turned.text()
    again = open_source(table, ("k", "x", "i"), None)
    assert again.schema() == schema
    sums = public.padded(again.run(again.sql(turned, Bounds(0, 1)), turned)).totals
    assert got == list(zip(zip(*sums.sums[::-1], strict=True), sums.count, strict=True))


def test_it_is_used_for_many_public_keys_only() -> None:
    """The choice depends on the keys and the schema, never on the rows."""
    table = pa.table({"k": [1, None, 2**40], "x": [0.5, math.nan, 1.0], "t": ["a", "b", "c"]})
    many = list(range(MOST_LISTED + 1))

    def handed_over(**more: Any) -> bool:
        asked: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "k", "keys": many} | more
        return "NumPy aggregates them" in (mean_question(table, "x", **asked).sql or "")

    assert handed_over()
    assert not handed_over(keys=many[1:])
    assert not handed_over(keys=[10**6 * key for key in many])  # the table would be too long
    assert not handed_over(by="t", keys=[str(key) for key in many])
    assert not handed_over(by=["k", "t"], keys=[(key, "a") for key in many])
    assert not handed_over(spread=True)
    assert not handed_over(outside="1/2")
    assert not handed_over(unit=hg.per_person("t"))
    assert not handed_over(keys=None, delta=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()])
def test_keys_beyond_what_a_column_holds(kind: Any, tmp_path: Path) -> None:
    """They are groups without rows; the range of the others is still compared in the column's type.

    Catches: a literal that the type cannot hold, which fails in the query or drops rows.
    """
    table = pa.table({"k": pa.array([0, 1, 100, None], kind), "x": [0.5] * 4})
    pq.write_table(table, tmp_path / "t.parquet")
    far = [key * 10**12 for key in range(1, MOST_LISTED + 1)]
    below = list(range(-MOST_LISTED - 1, 0))
    some = ([0, 100, *far], [1, 1]), ([-5, 1, *far], [0, 1]), (far, [0, 0]), (below, [0, 0])
    for keys, counts in some:
        for engine in ("duckdb", "datafusion"):
            ask: dict[str, Any] = {"bounds": (0, 1), "by": "k", "keys": keys, "engine": engine}
            found = hg.mean(tmp_path / "t.parquet", "x", epsilon=60, **ask)
            assert [one.count for one in list(found.values())[:2]] == counts


def test_no_literal_is_beyond_what_a_column_holds() -> None:
    """An engine could fail at it, if there is a row to compare it with."""
    field = Field("k", "integer", reach=(0, 2**64 - 1), wide="UBIGINT")
    assert is_between(field, KeyColumn.of([-5, -1]), False) == "FALSE"
    assert is_between(field, KeyColumn.of([-5, None]), True) == '(FALSE OR "k" IS NULL)'
    assert is_between(field, KeyColumn.of([-5, 7]), False) == '"k" BETWEEN 0 AND 7'


@pytest.mark.slow
def test_more_keys_than_any_query_lists(engine_place: Any) -> None:
    """The range of the keys is compared on every engine; NULL counts if it is a key.

    Catches: an end of the range that is left out, NULL that is dropped by the comparison.
    """
    held = [-4, -3, -3, 0, LISTED, LISTED + 1, 2**62, None, None]
    placed = engine_place(pa.table({"k": pa.array(held, pa.int64()), "x": [0.5] * len(held)}))
    for last in ([], [None]):
        keys = [*range(-3, LISTED + 1), *last]
        found = hg.mean(**placed, column="x", bounds=(0, 1), epsilon=60, by="k", keys=keys)
        shown = [found[key].count for key in (-3, -2, 0, LISTED, *last)]
        assert shown == [2, 0, 1, 1, *([2] if last else [])]


def test_filters_computed_columns_and_counts() -> None:
    rows = 5000
    table = pa.table({"k": np.arange(rows) % 97, "x": np.arange(rows) % 13})
    many: dict[str, Any] = {"by": "k", "keys": range(LISTED + 1), "epsilon": 60}
    some = (np.arange(rows) % 13 > 4) & (np.arange(rows) % 97 < 50)
    counts = np.bincount(np.arange(rows)[some] % 97, minlength=LISTED + 1)
    sums = np.bincount(np.arange(rows)[some] % 97, 2 * (np.arange(rows)[some] % 13), LISTED + 1)
    where = "x > 4 AND k < 50"
    found = hg.mean(table, hg.expression("x * 2"), bounds=(0, 24), where=where, **many)
    assert np.mean(found.counts == counts) > 0.999  # at this epsilon noise is rare
    assert np.mean(np.abs(found.sums - sums) < 1) > 0.999
    assert np.mean(hg.count(table, where=where, **many).counts == counts) > 0.999


@pytest.mark.usefixtures("ways")
def test_sums_never_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are emptied in time: the same totals whether that happens once or in every block."""
    grid = Grid(Bounds(0, 2**32), 2**32, own=True)
    places = Places(Keys([KeyColumn.of([4, 2])]))
    names = Keys([KeyColumn.of([2, 4, 2, 3])])
    block = [(np.array([2**32, 2**32 - 1, 2**32, 5]), None)]
    target = Target(grid, None, (Sum(),))
    once = by_group.groups_of_blocks([(names, block)] * 9, places, [target])
    assert by_group._ROWS * grid.cells < 2**63
    full = by_group._Sums(1, 1)
    full._rows = by_group._ROWS - 1
    full._sums[:] = full._rows * grid.cells
    for _ in range(3):
        full.add(np.array([0]), [np.array([grid.cells])])
        assert full._sums.max() <= 2**62
    found = full.groups(Keys([KeyColumn.of([4])]))
    assert list(found.totals.cells) == [(by_group._ROWS + 2) * grid.cells]
    monkeypatch.setattr(by_group, "_ROWS", 4)
    often = by_group.groups_of_blocks([(names, block)] * 9, places, [target])
    for found in (once, often):
        assert list(found.keys) == [(4,), (2,)]
        assert list(found.totals.cells) == [9 * (2**32 - 1), 9 * 2**33]
        assert found.count.tolist() == [9, 18]


@pytest.mark.usefixtures("ways")
def test_a_type_that_starts_above_the_lower_bound() -> None:
    """Its cells are counted from the lower bound all the same, and so is a filled one."""
    places = Places(Keys([KeyColumn.of([0, 1])]))
    names = Keys([KeyColumn.of([0, 1, 1, 1])])
    block = [(np.array([0, 1, 9, 3], dtype=np.uint8), np.array([False, False, False, True]))]
    for missing, cells in (None, 10), (1, 11):
        target = Target(Grid(Bounds(-2, 5), 7, own=True), missing, (Sum(),))
        found = by_group.groups_of_blocks([(names, block)], places, [target])
        assert list(found.totals.cells) == [2, cells]
        assert found.count.tolist() == [1, 2 if missing is None else 3]
