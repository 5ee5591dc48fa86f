"""Several columns at once: every engine and the array kernel give the totals of the reference.

The columns share one count, so a row counts in all of them or in none. These tests were seen to
catch: a row counted although one column is missing, sums of rows that do not count, two columns
swapped, the replacement for missing values of one column used for another.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.core.grid import Bounds, Grid
from hourglass.core.totals import Sum
from hourglass.core.unit import Unit, per_row
from hourglass.read.open import open_source, public_keys
from hourglass.read.source import value_field
from hourglass.read.sql.query import Query, Value
from tests.read import corpus
from tests.read.corpus import GROUP, PERSON

#: What is asked of a column: its name, its bounds, its grid, the value of a missing one.
Asked = tuple[str, Bounds, int | None, Any]
Row = tuple[Any, Any, Any]  # the values, the group, the person

NAMES = ["real 'x'", 'who"le', "yes?"]
KINDS = [pa.float64(), pa.int64(), pa.bool_()]
ASKED: list[Asked] = [
    (NAMES[0], Bounds(-1.5, 2.25), None, None),
    (NAMES[1], Bounds(2**53 - 2**20, 2**53 + 2**20), None, None),
    (NAMES[2], Bounds(0, 1), None, None),
]
UNITS = [
    None,
    hg.per_person(PERSON),
    hg.per_person(PERSON, groups=2),
    hg.per_person(PERSON, rows=2),
    hg.per_person(PERSON, rows=3, groups=2),
]
NAN = float("nan")


def filled(asked: Sequence[Asked], *fills: Any) -> list[Asked]:
    return [(*one[:3], fill) for one, fill in zip(asked, fills, strict=True)]


def query_of(
    source: Any,
    asked: Sequence[Asked],
    *,
    by: str | None = None,
    keys: Any = None,
    unit: Unit | None = None,
    parse: str | None = None,
    sums: tuple[Sum, ...] = (),
) -> Query:
    """The question that a statistic of several columns would put together."""
    schema, whose, values = source.schema(), unit or per_row(), []
    for name, bounds, cells, missing in asked:
        field = value_field(source, schema, name, parse)
        grid = field.grid(bounds, cells, averaged=bool(whose.person) and whose.rows is None)
        values.append(Value(field, grid, None if missing is None else grid.cell(missing)))
    groups = (schema.key(by),) if by else ()
    public = public_keys(keys, groups) if keys is not None else None
    return Query(
        tuple(values),
        groups,
        allowed=public.allowed() if public else (),
        nulls=public.nulls() if public else (),
        unit=whose,
        person=schema.person(whose.person) if whose.person else None,
        sums=sums,
    )


def totals(placed: dict[str, Any], asked: Sequence[Asked], **more: Any) -> Any:
    """The query, and the sums and the count by group or of all."""
    names = [one[0] for one in asked]
    names += [more["by"]] if more.get("by") else []
    names += [more["unit"].person] if more.get("unit") else []
    source = open_source(placed["data"], tuple(names), placed.get("engine"))
    query = query_of(source, asked, **more)
    found = source.run(source.sql(query, Bounds(0, 1)), query)
    if not query.by:
        return query, (found.only.sums, found.only.count)
    whole = found.totals
    rows = zip(zip(*whole.sums, strict=True), whole.count, strict=True)
    keyed = zip(found.keys, rows, strict=True)
    return query, {key[0]: row for key, row in keyed if row[1]}


def table(rows: list[Row], names: Sequence[str], kinds: Sequence[pa.DataType]) -> pa.Table:
    columns = list(zip(*(row[0] for row in rows), strict=True))
    arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
    others = [pa.array([row[i] for row in rows], pa.string()) for i in (1, 2)]
    return pa.table(dict(zip([*names, GROUP, PERSON], [*arrays, *others], strict=True)))


def agree(
    place: Any,
    rows: list[Row],
    kinds: Sequence[pa.DataType],
    asked: Sequence[Asked],
    *,
    read: Sequence[Any] = (),
    whole: bool = True,
    **more: Any,
) -> None:
    """By group and all in one the totals are those of the reference.

    ``read`` are functions that convert cells that are not numbers. Without ``whole``, only by
    group.
    """
    made = table(rows, [one[0] for one in asked], kinds)
    placed = place(made)
    query, found = totals(placed, asked, by=GROUP, **more)
    grids = [value.grid for value in query.values]
    powers = [(each.column, each.power) for each in query.sums]
    known: dict[str, Any] = {"missing": [v.missing for v in query.values], "powers": powers}
    numbers = [
        (tuple(f(v) for f, v in zip(read or [lambda v: v] * len(asked), row[0], strict=True)),
        *row[1:])
        for row in rows
    ]  # fmt: skip
    unit = more.get("unit")
    assert found == corpus.reference_of_columns(numbers, grids, unit, **known)
    if not whole:
        return
    if isinstance(placed["data"], pa.RecordBatchReader):  # which is read once
        placed = place(made)
    _, found = totals(placed, asked, **more)
    numbers = [(values, "all", person) for values, _, person in numbers]
    none = ((0,) * len(query.sums), 0)
    assert found == corpus.reference_of_columns(numbers, grids, unit, **known).get("all", none)


def on_spark(request: pytest.FixtureRequest) -> bool:
    """Where a query takes long, so that a total is asked for once and not with every option:
    without groups the same expressions are summed."""
    return "spark" in request.node.callspec.params.values()


def fills_are_few(request: pytest.FixtureRequest, unit: Unit | None, *, filled: bool) -> None:
    """Values are replaced row by row, before rows are chosen or averaged."""
    if filled and on_spark(request) and unit in UNITS[2:4]:
        pytest.skip(
            "on Spark replacements meet averages, and choices of rows and of groups at once"
        )


def nasty_rows(seed: int = 0) -> list[Row]:
    """Missing values in each column, in two of them, in all, beside every difficult value."""
    dice = random.Random(seed)
    reals = corpus.reals(Grid.choose(*ASKED[0][1:3])) + [NAN, corpus.MINUS_NAN, None] * 9
    wholes = corpus.wholes(ASKED[1][1]) + [None] * 9
    longest = max(len(reals), len(wholes))
    columns: list[list[Any]] = [
        [*reals, *dice.choices(reals, k=longest - len(reals))],
        [*wholes, *dice.choices(wholes, k=longest - len(wholes))],
        [dice.choice([True, True, False, None]) for _ in range(longest)],
    ]
    for column in columns:
        dice.shuffle(column)
    values = list(zip(*columns, strict=True))
    values += [(NAN, 2**53, True), (1.0, None, True), (1.0, 2**53, None), (None, None, None)]
    values += [(-0.0, 2**53 + 1, False), (math.inf, 2**63 - 1, True), (-math.inf, -(2**63), True)]
    lonely = [  # fewer rows than may count, some of them without a value
        (dice.choice(values), dice.choice(corpus.GROUPS), f"lonely {i}")
        for i in range(40)
        for _ in range(1 + i % 3)
    ]
    return [*corpus.rows(values, seed=seed), *lonely]


ROWS = nasty_rows()


def test_the_rows_are_nasty_enough() -> None:
    """Each set of missing columns is among the rows, and complete ones with a group and a person"""
    patterns = {
        tuple(v is None or v != v for v in values)
        for values, group, person in ROWS
        if group and person
    }
    assert len(patterns) == 2**3


@pytest.mark.slow
def test_reals_integers_and_booleans(place: Any) -> None:
    agree(place, ROWS, KINDS, ASKED)


@pytest.mark.slow
@pytest.mark.parametrize("fills", [(1.0, None, None), (None, 2**53, 1), (0.5, 2**53 + 7, 0)])
def test_fills(engine_place: Any, fills: tuple[Any, ...], request: pytest.FixtureRequest) -> None:
    agree(engine_place, ROWS, KINDS, filled(ASKED, *fills), whole=not on_spark(request))


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS[1:], ids=str)
@pytest.mark.parametrize("fills", [(None, None, None), (None, 2**53, 1)], ids=["drop", "fill"])
def test_persons(
    engine_place: Any, unit: Unit, fills: tuple[Any, ...], request: pytest.FixtureRequest
) -> None:
    asked = filled(ASKED, *fills)
    fills_are_few(request, unit, filled=asked != ASKED)
    made = table(ROWS, NAMES, KINDS)
    query, found = totals(engine_place(made), asked, by=GROUP, unit=unit)
    grids, missing = [v.grid for v in query.values], [v.missing for v in query.values]
    assert found == corpus.reference_of_columns(ROWS, grids, unit, missing=missing)
    if unit.groups == 1 and not (on_spark(request) and asked != ASKED):
        whole = [(values, "all", person) for values, _, person in ROWS]
        _, found = totals(engine_place(made), asked, unit=unit)
        assert found == corpus.reference_of_columns(whole, grids, unit, missing=missing)["all"]


def test_public_keys_with_null_among_them(engine_place: Any) -> None:
    made = table(ROWS, NAMES, KINDS)
    query, found = totals(engine_place(made), ASKED, by=GROUP, keys=["north", "", None, "nobody"])
    grids = [value.grid for value in query.values]
    named = [(v, "no name" if group is None else group, p) for v, group, p in ROWS]
    known = corpus.reference_of_columns(named, grids)
    expected = {group: known[group] for group in ("north", "")} | {None: known["no name"]}
    assert found == expected


TEXTS = [
    "1",
    " 2.5 ",
    "-3e400",
    "abc",
    "",
    None,
    "NaN",
    "inf",
    "+7",
    "1e-400",
    "9" * 30,
    "2.",
    "-0",
]
WHOLE_TEXTS = ["9007199254740993", "-1", "x", None, "", "12 ", "9" * 40, "1.5", "9007199254740992"]


@pytest.mark.slow
def test_text_that_is_read_as_numbers(engine_place: Any, request: pytest.FixtureRequest) -> None:
    dice = random.Random(3)
    rows: list[Row] = [
        ((dice.choice(TEXTS), dice.choice([1.0, NAN, None, 2.0])), dice.choice("ab"), "p")
        for _ in range(200)
    ]
    asked: list[Asked] = [("t", Bounds(-5.0, 5.0), 1000, None), ("x", Bounds(0.0, 2.0), 7, None)]

    def number(text: str | None) -> float | None:
        try:
            return None if text in (None, "NaN") else float(text)
        except ValueError:
            return None

    kinds, once = [pa.string(), pa.float64()], on_spark(request)
    only_where_parsed(engine_place, rows, kinds, asked, "real", [number, lambda v: v], once=once)
    rows = [((dice.choice(WHOLE_TEXTS), *row[0][1:]), *row[1:]) for row in rows]
    asked[0] = ("t", Bounds(2**53 - 10, 2**53 + 10), None, None)

    def whole(text: str | None) -> int | None:
        return int(text) if text and text.strip().lstrip("-").isdigit() else None

    only_where_parsed(engine_place, rows, kinds, asked, "integer", [whole, lambda v: v], once=once)


def only_where_parsed(
    place: Any, rows: list[Row], kinds: Any, asked: Any, parse: str, read: Any, *, once: bool
) -> None:
    placed = place(table(rows, [one[0] for one in asked], kinds))
    if open_source(placed["data"], ("t", "x"), placed.get("engine")).parses:
        agree(place, rows, kinds, asked, read=read, parse=parse, whole=not once)
    else:
        with pytest.raises(hg.OptionError, match="cannot read text as numbers"):
            totals(placed, asked, parse=parse)


def test_decimals_beside_floats(engine_place: Any, request: pytest.FixtureRequest) -> None:
    import sqlite3

    dice = random.Random(5)
    most = 10**18 - 1
    decimals = [None, *(Decimal(f"{dice.randint(-most, most)}e-4") for _ in range(99))]
    rows: list[Row] = [
        ((dice.choice(decimals), dice.choice([0.25, None, NAN]), dice.choice(decimals)), "a", "p")
        for _ in range(300)
    ]
    asked: list[Asked] = [
        ("d", Bounds(-0.5e14, 0.7e14), None, None),
        ("x", Bounds(0.0, 1.0), 4, None),
        ("e", Bounds(0, 10**13), None, 5.0),
    ]
    kinds = [pa.decimal128(18, 4), pa.float64(), pa.decimal128(18, 4)]
    try:
        agree(engine_place, rows, kinds, asked, whole=not on_spark(request))
    except sqlite3.Error:
        pytest.skip("SQLite has no type for decimals")


def test_one_column_on_two_grids(engine_place: Any, request: pytest.FixtureRequest) -> None:
    """A column may be asked for twice; clamping for one grid must not affect the other."""
    import sqlite3

    decimals = [None, *(Decimal(f"{n}e-1") for n in range(-500, 500, 7))]
    rows: list[Row] = [((d, d, 1.0), "a", "p") for d in decimals]
    asked: list[Asked] = [
        ("d", Bounds(-1, 2), 1000, None),
        ("d", Bounds(1, 30), 1000, 2.0),
        ("x", Bounds(0.0, 2.0), 4, None),
    ]
    kinds = [pa.decimal128(9, 1), pa.decimal128(9, 1), pa.float64()]
    try:
        agree(engine_place, rows, kinds, asked, whole=not on_spark(request))
    except sqlite3.Error:
        pytest.skip("SQLite has no type for decimals")
    floats: list[Row] = [((None if d is None else float(d),) * 2 + (x,), g, p)
                         for (d, _, x), g, p in rows]  # fmt: skip
    agree(engine_place, floats, [pa.float64()] * 3, asked, whole=not on_spark(request))


@cache
def many_batches(size: int) -> tuple[pa.Table, Any]:
    """A table, and what is asked of it below: computed once for several engines."""
    dice = np.random.default_rng(5)
    reals = [dice.uniform(-10, 130, size) for _ in range(2)]
    reals[0][dice.integers(0, size // 3, size // 60)] = np.nan
    absent = np.zeros(size, bool)
    absent[size // 2 + dice.integers(0, size // 3, size // 5)] = True
    whole = dice.integers(-5, 130, size)
    made = pa.table(
        {"x": reals[0], "y": pa.array(reals[1], mask=absent), "n": pa.array(whole, mask=absent)}
    )
    x, y = Grid.choose(Bounds(0, 120)), Grid.choose(Bounds(0, 100), 1000)
    kept = ~np.isnan(reals[0]) & ~absent
    sums = (
        sum(x.cell(v) or 0 for v in reals[0][kept].tolist()),
        sum(y.cell(v) or 0 for v in reals[1][kept].tolist()),
        int(np.clip(whole, 0, 120)[kept].sum()),
    )
    return made, (sums, int(kept.sum()))


@pytest.mark.slow
def test_one_total_of_many_batches(engine_place: Any, request: pytest.FixtureRequest) -> None:
    """Missing values of every kind, dense in some batches and absent from others; SQLite reads row
    by row."""
    asked: list[Asked] = [
        ("x", Bounds(0, 120), None, None),
        ("y", Bounds(0, 100), 1000, None),
        ("n", Bounds(0, 120), None, 7),
    ]
    one_by_one = request.node.callspec.params["engine_place"] == "sqlite"
    made, expected = many_batches(30_000 if one_by_one else 300_000)
    query, found = totals(engine_place(made), asked)
    assert found == expected
    assert query.values[2].grid.own


def test_unsigned_integers_of_64_bits(tmp_path: Any) -> None:
    """The kernel cannot take them from DuckDB, so the query runs."""
    import pyarrow.parquet as pq

    values = [(2**64 - 1, 1.0), (2**63, None), (7, NAN), (2**64 - 5, 0.0), (None, 1.0)]
    rows: list[Row] = [(v, "a", "p") for v in values]
    asked: list[Asked] = [
        ("u", Bounds(2**64 - 9, 2**64 - 1), None, None),
        ("x", Bounds(0.0, 1.0), 4, None),
    ]

    def place(made: pa.Table) -> dict[str, Any]:
        pq.write_table(made, tmp_path / "u.parquet")
        return {"data": tmp_path / "u.parquet"}

    agree(place, rows, [pa.uint64(), pa.float64()], asked)


# --- powers ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("fill", [None, 1.0], ids=["drop", "fill"])
def test_squares_of_one_column(
    engine_place: Any, unit: Unit | None, fill: Any, request: pytest.FixtureRequest
) -> None:
    """What a spread asks for: cells and squares of one column on up to 2^16 cells."""
    fills_are_few(request, unit, filled=fill is not None)
    asked: list[Asked] = [(NAMES[0], Bounds(-1.5, 2.25), 2**16, fill)]
    rows = [((values[0],), group, person) for values, group, person in ROWS]
    sums = (Sum(), Sum(power=2))
    query, found = totals(
        engine_place(table(rows, NAMES[:1], KINDS[:1])), asked, by=GROUP, unit=unit, sums=sums
    )
    (value,) = query.values
    expected = corpus.reference_of_columns(
        rows, [value.grid], unit, missing=[value.missing], powers=[(0, 1), (0, 2)]
    )
    assert found == expected
    if unit is None or (unit.groups == 1 and not on_spark(request)):
        rows = [(values, "all", person) for values, _, person in rows]
        _, found = totals(
            engine_place(table(rows, NAMES[:1], KINDS[:1])), asked, unit=unit, sums=sums
        )
        expected = corpus.reference_of_columns(
            rows, [value.grid], unit, missing=[value.missing], powers=[(0, 1), (0, 2)]
        )
        assert found == expected["all"]


def test_sums_in_any_order_and_of_any_power(
    engine_place: Any, request: pytest.FixtureRequest
) -> None:
    asked = [(NAMES[0], Bounds(-1.5, 2.25), 2**16, None), (NAMES[1], Bounds(0, 2**16), None, 3)]
    rows = [(values[:2], group, person) for values, group, person in ROWS]
    sums = (Sum(2, 1), Sum(1, 0), Sum(1, 1), Sum(2, 0))
    agree(engine_place, rows, KINDS[:2], asked, sums=sums, whole=not on_spark(request))


def test_squares_need_a_grid_that_holds_them() -> None:
    source = open_source(np.zeros((2, 2)), ("0", "1"), None)
    asked: list[Asked] = [
        ("0", Bounds(0.0, 1.0), 2**23, None),
        ("1", Bounds(0.0, 1.0), 2**24, None),
    ]
    assert query_of(source, asked, sums=(Sum(2, 0), Sum(1, 1)))
    with pytest.raises(hg.GridError, match=r"grid=16777216 is too fine .* at most 8388608"):
        query_of(source, asked, sums=(Sum(2, 1),))
