"""Every engine counts the buckets of a scale as the plain rule does, one by one."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.search import bounds_question
from hourglass.core.limits import Counts, Scale, Unit, counts_from_histogram
from hourglass.noise import SeededBits
from tests.conftest import FRAMES, PLACES, in_places
from tests.read.corpus import IDS, MINUS_NAN, NUMBERED, PERSON, VALUE, Row, _of_person, table

pytestmark = pytest.mark.slow

SCALES: list[tuple[int | float, ...] | None] = [
    None,
    (-(2**70), -(2**63), -(2**53) - 1, -0.1, 0, 2.5, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 2**70),
    (-1.7976931348623157e308, -5e-324, 0.0, 5e-324, 2.2e-308, 1.7976931348623157e308),
    (0.1, 0.30000000000000004, 1e15 + 0.125, 1e22, 1e23),
    tuple(range(0, 121, 10)),
]
#: Every sixteenth candidate of the default scale, whose query is as long as all others together.
COARSE = Scale.of(None).candidates[::16]
ODD = [None, math.nan, MINUS_NAN, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.2e-308]
ODD += [-2.2e-308, 1.7976931348623157e308, -1.7976931348623157e308, 0.1, 2.0**53 + 2, 1e300]


def reals(scale: Scale) -> list[float | None]:
    """Special values, and every candidate with the doubles before and after it."""
    points = [float(c) for c in scale.candidates]
    near = [math.nextafter(p, end) for p in points for end in (-math.inf, math.inf)]
    return [*ODD, *points, *near, *points[::3]]


def wholes(scale: Scale) -> list[int | None]:
    """NULL, both ends of 64 bits, and the integers next to every candidate."""
    points = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62]
    points += [math.floor(c) + d for c in scale.candidates for d in (-1, 0, 1, 2)]
    return [None, *(p for p in points if -(2**63) <= p < 2**63), *points[:3]]


def with_persons(values: list[Any], ids: list[Any] = IDS) -> list[Row]:
    dice = random.Random(7)
    return [(value, "g", dice.choice(ids)) for value in values]


def reference(rows: list[Row], scale: Scale, unit: Unit | None = None) -> Counts:
    buckets = [(None if v is None else scale.bucket(v), person) for v, _, person in rows]
    present = [(bucket, person) for bucket, person in buckets if bucket is not None]
    if unit is None:
        return counts_from_histogram(scale, Counter(bucket for bucket, _ in present))
    own: dict[Any, list[int]] = defaultdict(list)
    for bucket, person in present:
        if person is not None:
            own[person].append(bucket)
    kept = (
        bucket
        for person, buckets in own.items()
        for (bucket,) in _of_person(person, [(b,) for b in buckets], unit.records)
    )
    return counts_from_histogram(scale, Counter(kept))


def counted(placed: dict[str, Any], **more: Any) -> Counts:
    return bounds_question(**placed, column=VALUE, epsilon=1, **more).read()


#: The default scale once for each engine; in other places DuckDB runs the same query.
IN_PLACES = in_places(SCALES, [COARSE, *SCALES[1:]])


@pytest.mark.parametrize(("place", "candidates"), IN_PLACES, indirect=["place"], ids=str)
def test_reals(place: Any, candidates: Any) -> None:
    scale = Scale.of(candidates)
    rows = with_persons(reals(scale))
    placed = place(table(rows, pa.float64(), pa.string()))
    assert counted(placed, scale=candidates) == reference(rows, scale)


@pytest.mark.parametrize(("place", "candidates"), IN_PLACES, indirect=["place"], ids=str)
def test_whole_numbers(place: Any, candidates: Any, request: pytest.FixtureRequest) -> None:
    where = request.node.callspec.params["place"]
    if candidates is None and where in ("spark", "sqlite", "datafusion"):
        candidates = COARSE  # the query of the reals takes long enough
    scale = Scale.of(candidates, integers=True)
    rows = with_persons(wholes(scale))
    placed = place(table(rows, pa.int64(), pa.string()))
    assert counted(placed, scale=candidates) == reference(rows, scale)


@pytest.mark.parametrize("unit", [hg.per_person(PERSON), hg.per_person(PERSON, rows=3)], ids=str)
@pytest.mark.parametrize("numbered", [False, True], ids=["text ids", "numbered ids"])
def test_persons(engine_place: Any, unit: Unit, numbered: bool) -> None:
    scale = Scale.of(COARSE)
    rows = with_persons(reals(scale), NUMBERED if numbered else IDS)
    placed = engine_place(table(rows, pa.float64(), pa.int64() if numbered else pa.string()))
    expected = reference(rows, scale, unit)
    persons = {person for _, _, person in rows if person is not None}
    assert expected.below[-1] + expected.above[-1] <= len(persons) * unit.records
    assert counted(placed, unit=unit, scale=COARSE) == expected


@pytest.mark.parametrize("other", [5.0, -1.0])
def test_nan_beside_values_of_a_person(place: Any, other: float) -> None:
    """Statistics of a file ignore NaN: if they decided that none is there, one would be chosen."""
    scale, unit = Scale.of(COARSE), hg.per_person(PERSON)
    rows: list[Row] = [(v, "g", f"p{i}") for i in range(40) for v in (other, math.nan, math.nan)]
    placed = place(table(rows, pa.float64(), pa.string()))
    assert counted(placed, unit=unit, scale=COARSE) == reference(rows, scale, unit)


def test_narrow_floats(engine_place: Any) -> None:
    scale = Scale.of(COARSE)
    wide = pa.array(reals(scale), pa.float64())
    rows = with_persons(wide.cast(pa.float32(), safe=False).to_pylist())
    placed = engine_place(table(rows, pa.float32(), pa.string()))
    assert counted(placed, scale=COARSE) == reference(rows, scale)


def test_decimals(engine_place: Any, request: pytest.FixtureRequest) -> None:
    if "sqlite" in request.node.name:
        pytest.skip("SQLite has no type for decimals")
    dice, most = random.Random(3), 10**18 - 1
    numbers = [0, 1, -1, most, -most, 5000, *(dice.randint(-most, most) for _ in range(300))]
    values = [None, *(Decimal(f"{n}e-4") for n in numbers)]
    placed = engine_place(table(with_persons(values), pa.decimal128(18, 4), pa.string()))
    doubles = with_persons([None if v is None else float(v) for v in values])
    assert counted(placed, scale=COARSE) == reference(doubles, Scale.of(COARSE))


def test_numerics_past_the_doubles(postgres_url: str) -> None:
    values = ", ".join(f"('{text}')" for text in ("1e400", "-1e400", "1e-400", "NaN", "2.5"))
    source = hg.sql(postgres_url, f"SELECT CAST(v AS NUMERIC) AS x FROM (VALUES {values}) t(v)")
    found = bounds_question(source, "x", epsilon=1, scale=[-1, 0, 3]).read()
    assert found == Counts((1, 1, 3), (3, 2, 1))
    largest = sys.float_info.max  # 1e400 is beyond it, not equal to it
    found = bounds_question(source, "x", epsilon=1, scale=[-largest, largest]).read()
    assert found == Counts((1, 3), (3, 1))


@pytest.mark.parametrize("kind", [pa.uint64(), pa.int8()], ids=str)
def test_narrow_and_wide_integers(tmp_path: Path, kind: pa.DataType) -> None:
    """A type's own reach decides which candidates make a difference."""
    values = [0, 1, 100, 127] + ([2**63, 2**64 - 1] if kind == pa.uint64() else [-128])
    pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "a.parquet")
    for engine in ("duckdb", "datafusion"):
        request = bounds_question(tmp_path / "a.parquet", "x", epsilon=1, engine=engine)
        assert request.read() == reference([(v, "", "") for v in values], request.scale)


def test_text_is_read_by_the_declared_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,u\n" + "".join(f"{x},p\n" for x in ("7", "1e2", "-3", "abc", "", "inf")))
    found = bounds_question(path, "x", epsilon=1, scale=[0, 8, 200]).read()
    assert found == Counts((1, 2, 3), (3, 2, 1))
    found = bounds_question(path, "x", epsilon=1, scale=[0, 8, 200], parse="integer").read()
    assert found == Counts((1, 2, 2), (1, 0, 0))


@pytest.mark.parametrize(
    ("place", "other", "nulls"),
    [
        *product(
            [name for name in PLACES if name not in FRAMES], [5.0, -1.0, 200.0], [True, False]
        ),
        *product(FRAMES, [5.0], [True, False]),
    ],
    indirect=["place"],
)
def test_nan_beside_values_of_one_side(place: Any, other: float, nulls: bool) -> None:
    rows: list[Row] = [(other, "g", "p"), (math.nan, "g", "p"), (None, "g", "p")][: 2 + nulls] * 3
    placed = place(table(rows, pa.float64(), pa.string()))
    assert counted(placed, scale=[0, 120]) == reference(rows, Scale((0, 120)))


def test_no_rows_and_an_array_give_the_same_answer(engine_place: Any) -> None:
    values = np.random.default_rng(5).exponential(10.0, 3_000)
    rows = [(v, "g", "p") for v in values.tolist()]
    whole = table(rows, pa.float64(), pa.string())
    for part, array in ((whole, values), (whole.slice(0, 0), values[:0])):
        placed = engine_place(part)
        ask: dict[str, Any] = {"epsilon": 1, "scale": COARSE}
        found = hg.find_bounds(**placed, column=VALUE, bits=SeededBits(4), **ask)
        assert found.column == VALUE
        assert replace(found, column=None) == hg.find_bounds(array, bits=SeededBits(4), **ask)


def test_one_row_of_each_person_represents_their_rows() -> None:
    """With many rows per person the bounds fit the rows, not the persons' means."""
    dice = np.random.default_rng(8)
    made = pa.table({"x": dice.exponential(1.0, 200_000), "u": np.arange(200_000) % 4_000})
    found = hg.find_bounds(made, "x", epsilon=1, unit=hg.per_person("u"), bits=SeededBits(1))
    assert found.unit == "person (u: counted once)"
    assert found.epsilon == 1
    assert found.lower < 0.1
    assert found.upper > 3
    three = hg.find_bounds(made, "x", epsilon=1, unit=hg.per_person("u", rows=3))
    assert three.target[0] > 2 * found.target[0]
    release = hg.mean(made, "x", bounds=found, epsilon=1, unit=hg.per_person("u"))
    assert abs(release.mean - 1) < 0.2
