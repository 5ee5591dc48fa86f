"""Every engine gives the totals of the plain reference, bit for bit."""

from __future__ import annotations

import math
import random
import sqlite3
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hourglass as hg
from hourglass.ask.search import bounds_question
from hourglass.core.keys import NAMELESS
from hourglass.core.limits import Bounds, Grid, Unit
from hourglass.core.totals import Groups
from hourglass.read.column import column as memory_column
from hourglass.read.sql.cells import identifier
from tests.conftest import IN_MEMORY, PLACES, in_places
from tests.read import corpus
from tests.read.corpus import GROUP, PERSON, VALUE, Row, table, totals
from tests.read.places import spark
from tests.read.test_columns import Asked
from tests.read.test_columns import table as columns_table
from tests.read.test_columns import totals as columns_totals
from tests.tools import totals_of

pytestmark = pytest.mark.usefixtures("as_for_users")

UNITS = [
    None,
    hg.per_person(PERSON),
    hg.per_person(PERSON, groups=2),
    hg.per_person(PERSON, rows=1),
    hg.per_person(PERSON, rows=3, groups=2),
]


def agree(
    place: Any,
    rows: list[Row],
    kind: pa.DataType,
    grid: Grid,
    cells: int | None = None,
    *,
    unit: Unit | None = None,
    missing: Any = "drop",
    whole: bool = True,
) -> None:
    """By group and, if asked, as a ``whole``, the totals are those of the reference."""
    asked: dict[str, Any] = {"unit": unit, "missing": missing}
    cell = None if missing == "drop" else grid.cell(missing)
    expected = corpus.reference(rows, grid, unit, missing=cell)
    made = table(rows, kind, pa.string())
    placed = place(made)
    assert totals(placed, grid.bounds, cells, **asked) == expected
    if not whole:
        return
    rows = [(value, "all", person) for value, _, person in rows]
    total = corpus.reference(rows, grid, unit, missing=cell).get("all", (0, 0))
    if isinstance(placed["data"], pa.RecordBatchReader):  # which is read once
        placed = place(made)
    assert totals(placed, grid.bounds, cells, by=None, **asked) == total


def once(request: pytest.FixtureRequest, first: bool) -> bool:
    """Whether to ask for a total too: on Spark, where a query takes long, only with the first
    bounds."""
    return first or not on_spark(request)


def on_spark(request: pytest.FixtureRequest) -> bool:
    return "spark" in request.node.callspec.params.values()


def leave_to(other: str, request: pytest.FixtureRequest, *, unless: bool) -> None:
    """On Spark, what another test asks about together with other cases."""
    if on_spark(request) and not unless:
        pytest.skip(f"asked about on Spark by {other}")


#: Bounds for places that one engine reads in the same way: each clamps in a way of its own.
FEW_REAL, FEW_WHOLE = corpus.REAL[:5], [*corpus.WHOLE[:4], corpus.WHOLE[6], corpus.WHOLE[8]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "case"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] * (each[1] not in FEW_REAL[:3]))
        for each in in_places(corpus.REAL, FEW_REAL)
    ],
    indirect=["place"],
)
def test_reals(place: Any, case: tuple[Bounds, int | None], request: pytest.FixtureRequest) -> None:
    bounds, cells = case
    first = bounds == corpus.REAL[0][0]
    leave_to("test_all_bounds_at_once_on_spark", request, unless=first)
    grid, whole = Grid.choose(bounds, cells), once(request, first)
    agree(place, corpus.rows(corpus.reals(grid)), pa.float64(), grid, cells, whole=whole)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "case"), in_places(corpus.WHOLE, FEW_WHOLE), indirect=["place"])
def test_whole_numbers(
    place: Any, case: tuple[Bounds, int | None], request: pytest.FixtureRequest
) -> None:
    bounds, cells = case
    first = bounds == corpus.WHOLE[0][0]
    leave_to("test_all_bounds_at_once_on_spark", request, unless=first)
    grid, whole = Grid.choose(bounds, cells, integers=True), once(request, first)
    agree(place, corpus.rows(corpus.wholes(bounds)), pa.int64(), grid, cells, whole=whole)


@pytest.mark.slow
@pytest.mark.engine("spark")
@pytest.mark.parametrize("integers", [False, True], ids=["reals", "whole numbers"])
def test_all_bounds_at_once_on_spark(spark_session: Any, tmp_path: Path, integers: bool) -> None:
    """A column for each of the bounds, whose difficult values are in groups of their own, beside
    ones in the other columns."""
    cases = corpus.WHOLE if integers else corpus.REAL
    asked: list[Asked] = [(f"c{i}", *case, None) for i, case in enumerate(cases)]
    grids = [Grid.choose(*case, integers=integers) for case in cases]
    rows: list[Any] = []
    for i, grid in enumerate(grids):
        values = corpus.wholes(grid.bounds) if integers else corpus.reals(grid)
        for value, group, person in corpus.rows(values):
            ones = [1] * len(cases)
            beside = (*ones[:i], value, *ones[i + 1 :])
            rows.append((beside, None if group is None else f"{i} {group}", person))
    kinds = [pa.int64() if integers else pa.float64()] * len(cases)
    made = columns_table(rows, [one[0] for one in asked], kinds)
    query, found = columns_totals(spark(spark_session, tmp_path)(made), asked, by=GROUP)
    assert [value.grid for value in query.values] == grids
    assert found == corpus.reference_of_columns(rows, grids)


@pytest.mark.parametrize("unit", UNITS[1:], ids=str)
@pytest.mark.parametrize("numbered", [False, True], ids=["text ids", "numbered ids"])
def test_persons(
    engine_place: Any, unit: Unit, numbered: bool, request: pytest.FixtureRequest
) -> None:
    # A number makes a difference to the order of groups and to the start, which the last unit has.
    leave_to("its case of text ids", request, unless=not numbered or unit == UNITS[-1])
    bounds = Bounds(0, 120)
    grid = Grid.choose(bounds)
    rows = corpus.rows(corpus.reals(grid), numbered=numbered)
    placed = engine_place(table(rows, pa.float64(), pa.int64() if numbered else pa.string()))
    assert totals(placed, bounds, None, unit=unit) == corpus.reference(rows, grid, unit)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()], ids=str)
def test_ids_of_every_width(
    engine_place: Any, kind: pa.DataType, request: pytest.FixtureRequest
) -> None:
    """The hash of a person is the same whatever the type, and overflows at neither end of it."""
    place = request.node.callspec.params["engine_place"]
    if kind == pa.uint64() and place in ("sqlite", "postgres", "spark"):
        pytest.skip("the engine has no such type")
    bits = kind.bit_width - (not pa.types.is_unsigned_integer(kind))
    least, most = -(2**bits) if bits < kind.bit_width else 0, 2**bits - 1
    dice, persons = random.Random(1), [least, least + 1, 1, 2, 3, most - 1, most]
    rows = [(float(i), dice.choice("ab"), dice.choice(persons)) for i in range(200)]
    grid, unit = Grid(Bounds(0.0, 200.0), 400), hg.per_person(PERSON, rows=3)
    placed = engine_place(table(rows, pa.float64(), kind))
    assert totals(placed, grid.bounds, 400, unit=unit) == corpus.reference(rows, grid, unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS[1:], ids=str)
@pytest.mark.parametrize(
    "setting",
    ["default_order = 'DESC'", "default_null_order = 'NULLS FIRST'", "integer_division = true"],
)
def test_settings_of_the_users_connection(setting: str, unit: Unit) -> None:
    grid = Grid.choose(Bounds(0, 120))
    rows = corpus.rows(corpus.reals(grid), numbered=True)
    connection = duckdb.connect()
    connection.execute(f"SET {setting}")
    placed = {"data": connection.from_arrow(table(rows, pa.float64(), pa.int64()))}
    assert totals(placed, grid.bounds, None, unit=unit) == corpus.reference(rows, grid, unit)


@pytest.mark.parametrize("ids", [range(3000), range(10, 30_010, 10), "users"], ids=str)
@pytest.mark.parametrize(("rows", "limit"), [(2, 1), (10, 1), (10, 3), (103, 1)])
def test_every_row_of_a_person_has_the_same_chance(ids: Any, rows: int, limit: int) -> None:
    """Of 3,000 persons with the same values each value is kept by limit / rows of them.

    Independent choices miss these ends with a probability of 2e-10 a value, 1e-7 in all; a hash
    that starts everyone at the same row misses them by far.
    """
    persons = [f"user-{i}" for i in range(3000)] if ids == "users" else list(ids)
    table = pa.table(
        {
            VALUE: [float(value) for _ in persons for value in range(rows)],
            PERSON: [person for person in persons for _ in range(rows)],
        }
    )
    unit = hg.per_person(PERSON, rows=limit)
    scale = [value + 0.5 for value in range(-1, rows)]
    kept = np.diff(bounds_question(table, VALUE, epsilon=1, unit=unit, scale=scale).read().below)
    assert kept.sum() == len(persons) * limit
    law = stats.binom(len(persons), limit / rows)
    assert law.ppf(1e-10) <= kept.min()
    assert kept.max() <= law.isf(1e-10)


@pytest.mark.parametrize("first", [0, 1, 7, 10**9])
@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 10, 16, 100, 1000, 48271, 10**6, 2**32])
def test_starts_do_not_follow_the_pattern_of_ids(first: int, step: int) -> None:
    """Ids at regular distances: the remainders of their starts are uniform, by chi-square.

    Of the reference, which every engine is compared with. The probability of a false alarm is 1e-10
    for each of 1,200 statistics; a start that is linear in the id fails.
    """
    starts = np.array([corpus.start_of(first + step * i) for i in range(3000)])
    for rows in (*range(2, 21), 25, 50, 64, 100, 103, 206):
        found = np.bincount(starts % rows, minlength=rows)
        assert stats.chisquare(found).pvalue > 1e-10, rows


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_a_group_in_which_a_person_has_no_value_is_none_of_theirs(
    engine_place: Any, unit: Unit
) -> None:
    """It takes no place among the groups in which the person counts, whatever its hash."""
    rows = [
        (value, group, f"p{i}")
        for i in range(24)
        for group, value in [
            ("a", 1.0),
            ("b", math.nan if i % 2 else None),
            ("c", 2.0),
            ("d", None),
        ]
    ]
    agree(engine_place, rows, pa.float64(), Grid(Bounds(0.0, 2.0), 8), 8, unit=unit, whole=False)


@pytest.mark.parametrize("unit", UNITS, ids=str)
def test_names_that_are_alike(
    engine_place: Any, unit: Unit | None, request: pytest.FixtureRequest
) -> None:
    """Case, accents, blanks and normalisation: names are distinguished by their bytes."""
    leave_to("test_collations.py", request, unless=unit in UNITS[::4])
    grid = Grid.choose(Bounds(0, 120))
    dice = random.Random(7)
    names = [None, *corpus.ALIKE, "x" * 4096, "x" * 4097]
    rows: list[Row] = [
        (dice.uniform(-5, 130), dice.choice(names), dice.choice(names)) for _ in range(300)
    ]
    placed = engine_place(table(rows, pa.float64(), pa.string()))
    short = [
        (v, *(n if n is None or len(n) <= 4096 else None for n in names_)) for v, *names_ in rows
    ]
    assert totals(placed, grid.bounds, None, unit=unit) == corpus.reference(short, grid, unit)


@pytest.mark.parametrize("unit", UNITS[:2], ids=str)
def test_a_missing_value_can_count(
    engine_place: Any, unit: Unit | None, request: pytest.FixtureRequest
) -> None:
    grid = Grid.choose(Bounds(-1.5, 2.25), 7)
    rows = corpus.rows(corpus.reals(grid))
    whole = once(request, unit is None)
    agree(engine_place, rows, pa.float64(), grid, 7, unit=unit, missing=1.0, whole=whole)


def test_booleans(engine_place: Any, request: pytest.FixtureRequest) -> None:
    rows = corpus.rows([True, False, None, True] * 5)
    whole = once(request, False)
    agree(engine_place, rows, pa.bool_(), Grid(Bounds(0, 1), 1, True), whole=whole)


def test_narrow_floats(engine_place: Any, request: pytest.FixtureRequest) -> None:
    grid = Grid.choose(Bounds(0, 120))
    narrow = pa.array(corpus.reals(grid), pa.float64()).cast(pa.float32(), safe=False).to_pylist()
    whole = once(request, False)
    agree(engine_place, corpus.rows(narrow), pa.float32(), grid, whole=whole)


@pytest.mark.slow
@pytest.mark.parametrize(("digits", "scale"), [(9, 3), (15, 15), (18, 4), (38, 20)])
def test_decimals(
    engine_place: Any, digits: int, scale: int, request: pytest.FixtureRequest
) -> None:
    dice = random.Random(digits)
    most = 10**digits - 1
    numbers = [None, 0, 1, -1, most, -most, *(dice.randint(-most, most) for _ in range(300))]
    values = [None if n is None else Decimal(f"{n}e-{scale}") for n in numbers]
    bounds = Bounds(-0.5 * 10.0 ** (digits - scale), 0.7 * 10.0 ** (digits - scale))
    kind = pa.decimal128(digits, scale)
    try:
        whole = once(request, digits == 38)
        agree(engine_place, corpus.rows(values), kind, Grid.choose(bounds), whole=whole)
    except sqlite3.Error:
        pytest.skip("SQLite has no type for decimals")


#: Days since 1970: the last before the year 1, the first after 9999, what DuckDB calls infinity.
NO_DATES = [-719163, 2932897, 2**31 - 1, -(2**31) + 1]


def test_dates_outside_pythons_range_are_null(engine_place: Any) -> None:
    """A date outside Python's range is NULL; one row must not cause an error."""
    named = [date(1, 1, 1), date(2026, 3, 1), date(9999, 12, 31)]
    days = pa.array([(day - date(1970, 1, 1)).days for day in named] + NO_DATES, pa.int32())
    made = pa.table({VALUE: [1.0] * len(days), GROUP: days.cast(pa.date32())})
    try:
        placed = engine_place(made)
    except (OverflowError, ValueError):  # such a date cannot be written as a value of Python
        pytest.skip("below, on PostgreSQL; SQLite has no type for dates")
    assert totals(placed, Bounds(0, 1), 1) == dict.fromkeys(named, (1, 1))


def test_dates_outside_pythons_range_on_postgres(postgres_url: str) -> None:
    days = ["0001-01-01", "9999-12-31", "infinity", "-infinity", "0044-03-15 BC", "10000-01-01"]
    rows = ", ".join(f"(1.0::float8, '{day}'::date)" for day in days)
    names = f"{identifier(VALUE)}, {identifier(GROUP)}"
    placed = {"data": hg.sql(postgres_url, f"SELECT * FROM (VALUES {rows}) AS t({names})")}
    assert totals(placed, Bounds(0, 1), 1) == dict.fromkeys([date.min, date.max], (1, 1))


def test_one_total_without_groups_also_of_no_rows(engine_place: Any) -> None:
    grid = Grid.choose(Bounds(0, 120))
    rows = [(value, "all", "p") for value in corpus.reals(grid)]
    expected = corpus.reference(rows, grid)["all"]
    for unit in (None, hg.per_person(PERSON, rows=10**5)):
        full = engine_place(table(rows, pa.float64(), pa.string()))
        assert totals(full, Bounds(0, 120), None, by=None, unit=unit) == expected
        none = engine_place(table(rows, pa.float64(), pa.string()).slice(0, 0))
        assert totals(none, Bounds(0, 120), None, by=None, unit=unit) == (0, 0)


@pytest.mark.slow
def test_one_total_of_many_batches(engine_place: Any, request: pytest.FixtureRequest) -> None:
    """Missing values of both kinds, dense in some batches and absent from others; SQLite reads row
    by row."""
    size = 30_000 if request.node.callspec.params["engine_place"] == "sqlite" else 300_000
    dice = np.random.default_rng(5)
    numbers = dice.uniform(-10, 130, size)
    numbers[dice.integers(0, size // 3, size // 60)] = np.nan
    absent = np.zeros(len(numbers), bool)
    absent[size // 2 + dice.integers(0, size // 3, size // 5)] = True
    grid = Grid.choose(Bounds(0, 120))
    column = pa.array(numbers, mask=absent)
    placed = engine_place(pa.table({VALUE: column}))
    expected = totals_of(memory_column(np.ma.array(numbers, mask=absent)), grid)
    found = totals(placed, grid.bounds, None, by=None)
    assert found == (expected.cells, expected.count)
    assert expected.count < size - size * 3 // 20


def test_sums_past_64_bits(tmp_path: Any) -> None:
    """2^32 cells per row, as many rows as fit: the sum is carried in two halves."""
    from hourglass.core.totals import HALF
    from hourglass.read.source import Field
    from hourglass.read.sql.query import Query, Value

    text = Query((Value(Field("x", "real"), Grid.choose(Bounds(0, 1))),)).text("halves")
    assert "SUM(t >> 16)" in text
    for rows in (1, 2**30 - 1, 2**30, 10**14):
        columns = [rows], [rows * (2**32 // HALF)], [HALF - 1]
        for given in (columns, [np.array(column) for column in columns]):
            (cells,) = Groups.of(NAMELESS, *given).totals.cells
            assert type(cells) is int
            assert cells == rows * 2**32 + HALF - 1
    assert cells > 2**63


#: Every pair of options if a file has statistics; elsewhere, and for values as far out as they can
#: be, each option once. Where nothing can be known of values before they are read, only the first
#: is also asked for without groups.
WITH_STATISTICS = {"duckdb", "datafusion", "relation of a file"}
OTHERS = [5.0, -1.0, 200.0, 1e300, -1e300, math.inf]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "other"),
    [
        (name, other)
        for name in PLACES
        for other in (OTHERS[:2] if name in IN_MEMORY or name == "duckdb alone" else OTHERS)
    ],
    indirect=["place"],
)
def test_nan_beside_values_of_one_side(
    place: Any, other: float, request: pytest.FixtureRequest
) -> None:
    """Statistics of a file ignore NaN, so no engine may use them to fold expressions."""
    grid = Grid.choose(Bounds(0, 120))
    once = hg.per_person(PERSON)
    cases: list[tuple[Any, bool, Unit | None]] = [  # every pair of options
        ("drop", True, None), (3.0, False, once), ("drop", False, once), (3.0, True, None),
        ("drop", False, hg.per_person(PERSON, rows=2)),
    ]  # fmt: skip
    name = request.node.callspec.params["place"]
    if name not in WITH_STATISTICS or other not in OTHERS[:3]:
        cases = cases[:2]
    if name == "spark" and other != 5.0:  # each option beside values of either side
        cases = [cases[other in (-1.0, 1e300, math.inf)]]
    for missing, nulls, unit in cases:
        rows: list[Row] = [(other, "g", "p"), (math.nan, "g", "p"), (None, "g", "p")][: 2 + nulls]
        whole = other == 5.0 or name in WITH_STATISTICS or name == "duckdb file"
        agree(place, rows * 3, pa.float64(), grid, unit=unit, missing=missing, whole=whole)
