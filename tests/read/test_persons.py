"""The rows of each person that count, chosen in memory: however the rows come in blocks."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.search import bounds_question
from hourglass.core.scale import Scale, counts_from_histogram
from hourglass.read.persons import _of_whole, histogram_of_persons, starts_of
from hourglass.read.schema import Field
from hourglass.read.sql.steps import _start
from tests.read.corpus import _of_person, start_of

pytestmark = pytest.mark.property

#: By cells, and by searching: the second has several candidates in a cell.
SCALES = [Scale((-2, 0, 1, 10)), Scale((0.0, 1.0, 1.0000001, 1.0000002, 3.5))]
VALUES = st.one_of(
    st.integers(-3, 12).map(float), st.sampled_from([-math.inf, math.inf, 1.0000001])
)
LARGE = st.integers(-(2**63), 2**63 - 1)


def reference(rows: list[tuple[int, float]], scale: Scale, limit: int) -> list[int]:
    found: Counter[int] = Counter()
    for person, own in groupby(rows, key=itemgetter(0)):
        buckets: list[Any] = [(scale.bucket(value),) for _, value in own]
        found.update(bucket for (bucket,) in _of_person(person, buckets, limit))
    return [found[bucket] for bucket in range(2 * len(scale.candidates) + 1)]


@settings(max_examples=400)
@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 3), LARGE), VALUES), max_size=40),
    st.integers(1, 5),
    st.sampled_from(SCALES),
    st.sets(st.integers(0, 40)),
)
def test_blocks_do_not_matter(
    rows: list[tuple[int, float]], limit: int, scale: Scale, cuts: set[int]
) -> None:
    rows.sort(key=itemgetter(0))  # the numbers of a person are in any order
    persons = np.array([person for person, _ in rows], dtype=np.int64)
    numbers = np.array([value for _, value in rows])
    ends = [0, *sorted(cuts), 40]
    blocks = [(persons[a:b], numbers[a:b]) for a, b in pairwise(ends)]
    found = histogram_of_persons(scale, limit, blocks)
    assert found.tolist() == reference(rows, scale, limit)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64"])
def test_starts_are_those_of_the_sql(kind: str) -> None:
    limits = np.iinfo(kind)
    near = {0, 1, 7, 2**31 - 2, 2**31 - 1, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1}
    some = sorted({limits.min, limits.max, *(n for n in near if n <= limits.max)})
    some += [-n for n in some if 0 < n <= -limits.min]
    persons = np.array(some, dtype=kind)
    seed, start = _start(Field("person", "integer"))
    table = pa.table({"person": persons})
    text = f"SELECT {start} AS t FROM (SELECT {seed} AS s FROM table_)"
    rows = duckdb.connect().register("table_", table).sql(text).fetchall()
    assert starts_of(persons).tolist() == [t for (t,) in rows] == [start_of(n) for n in some]


@pytest.mark.parametrize("size", [7, 200_001])
def test_persons_times_buckets_beyond_32_bits(size: int) -> None:
    """Caught: 32-bit integers for 10800 persons on a scale of 100000 candidates."""
    count = 10_800
    assert (count * size < 2**31) == (size == 7)
    own = np.arange(count) % size  # both rows of a person are in the same bucket
    changes = np.arange(1, 2 * count + 2, 2)
    persons = np.repeat(np.arange(count + 1), 2)[1:]
    found = _of_whole(persons, np.append(0, np.repeat(own, 2)), changes, 1, size)
    assert np.array_equal(found, np.bincount(own, minlength=size))


def test_a_person_with_very_many_rows_takes_no_more_memory() -> None:
    scale, rows = Scale((0, 1, 2)), 1 << 14

    def blocks(count: int) -> Iterator[tuple[Any, Any]]:
        for _ in range(count):
            yield np.zeros(rows, dtype=np.int64), np.arange(rows) % 3.0

    peaks = []
    for count in (2, 200):
        tracemalloc.start()
        assert histogram_of_persons(scale, 3, blocks(count)).sum() == 3
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize(
    ("kind", "in_order"),
    [
        ("TINYINT", True),
        ("UINTEGER", True),
        ("BIGINT", True),
        ("UBIGINT", False),
        ("HUGEINT", False),
    ],
)
def test_integer_types_of_persons(kind: str, in_order: bool) -> None:
    """Types that are handed over, and others, with more rows than a batch has."""
    rows = [(place % 100, float(place * 7919 % 101)) for place in range(200_000)]
    table = pa.table({"u": [who for who, _ in rows], "x": [value for _, value in rows]})
    connection = duckdb.connect().register("table_", table)
    relation = connection.sql(f"SELECT CAST(u AS {kind}) AS u, x FROM table_")
    scale = Scale.of(range(0, 101, 10))
    ask: dict[str, Any] = {"epsilon": 1, "scale": scale.candidates, "unit": hg.per_person("u")}
    question = bounds_question(relation, "x", **ask)
    assert str(question.sql).endswith("ORDER BY person ASC") == in_order
    expected = dict(enumerate(reference(sorted(rows), scale, 1)))
    assert question.read() == counts_from_histogram(scale, expected)


def test_rows_without_a_number_are_left_out_without_a_warning() -> None:
    """NULL, NaN and a signalling NaN; warnings are errors here."""
    loud = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    values = np.concatenate([loud, [math.nan, 1.0, 2.0, math.inf, 3.0]])
    mask = np.arange(len(values)) == 5
    table = pa.table({"u": [1, 1, 1, 2, 3, 4], "x": pa.array(values, mask=mask)})
    scale = Scale((0, 1, 2))
    ask: dict[str, Any] = {"epsilon": 1, "scale": scale.candidates, "unit": hg.per_person("u")}
    found = bounds_question(table, "x", **ask).read()
    expected = reference([(1, 1.0), (2, 2.0), (3, math.inf)], scale, 1)
    assert found == counts_from_histogram(scale, dict(enumerate(expected)))
