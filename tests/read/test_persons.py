"""The rows of each person that count, chosen in memory: however the rows come in blocks."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.search import bounds_question
from hourglass.core.limits import Counts, Scale, counts_from_histogram
from hourglass.read import persons as module
from hourglass.read.persons import (
    _UNMIX,
    _of_whole,
    histogram_in_any_order,
    histogram_of_persons,
    starts_of,
)
from hourglass.read.source import Field
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


@pytest.mark.slow
@settings(max_examples=200)
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


#: Persons that differ in the first digits only, once they are mixed, and in the last only: of the
#: first kind some have the same number and lie in different parts.
ALIKE = st.sampled_from(
    [n * _UNMIX % 2**64 - 2**63 for n in (0, 1, 2, 1 << 60, 2 << 60, (2 << 60) + 1, 2**64 - 1)]
)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.one_of(st.integers(0, 3), LARGE, ALIKE), VALUES), max_size=40),
    st.integers(1, 5),
    st.sampled_from(SCALES),
    st.sets(st.integers(0, 40)),
    st.sampled_from([1, 5, 1 << 17]),
)
def test_order_does_not_matter(
    rows: list[tuple[int, float]], limit: int, scale: Scale, cuts: set[int], block: int
) -> None:
    """Caught: a person found by the number alone, without the part, or parts that run together."""
    persons = np.array([person for person, _ in rows], dtype=np.int64)
    numbers = np.array([value for _, value in rows])
    ends = [0, *sorted(cuts), 40]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        blocks = [(persons[a:b], numbers[a:b]) for a, b in pairwise(ends)]
        found = histogram_in_any_order(scale, limit, blocks)
    assert found is not None
    assert found.tolist() == reference(sorted(rows, key=itemgetter(0)), scale, limit)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64"])
def test_many_rows_of_every_type_in_threads(kind: str) -> None:
    rows, scale = 600_000, Scale(tuple(range(100)))
    place = np.arange(rows)
    persons = (place * 7919 % 100_003).astype(kind)
    numbers = (place * 31 % 103).astype(np.float64)
    step = 1 << 17
    blocks = [(persons[i : i + step], numbers[i : i + step]) for i in range(0, rows, step)]
    order = np.argsort(persons, kind="stable")
    expected = histogram_of_persons(scale, 2, [(persons[order], numbers[order])])
    found = histogram_in_any_order(scale, 2, blocks)
    assert found is not None
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["parquet", "duckdb file", "arrow", "polars", "pandas", "reader"])
def test_more_rows_than_are_sorted_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB sorts them; what can be read only once it sorts from the start."""
    rows = [(place % 100, float(place * 7919 % 101)) for place in range(300)]
    table = pa.table({"u": [who for who, _ in rows], "x": [value for _, value in rows]})
    scale = Scale.of(range(0, 101, 10))
    expected = counts_from_histogram(scale, dict(enumerate(reference(sorted(rows), scale, 1))))
    ask: dict[str, Any] = {"epsilon": 1, "scale": scale.candidates, "unit": hg.per_person("u")}
    for most in (1 << 24, 300, 299, 0):
        monkeypatch.setattr(module, "MOST_ROWS", most)
        question = bounds_question(stored(table, kind, tmp_path / f"{most}"), "x", **ask)
        assert str(question.sql).endswith("ORDER BY person ASC") == (kind == "reader")
        assert question.read() == expected


def stored(table: pa.Table, kind: str, path: Path) -> Any:
    if kind == "parquet":
        pq.write_table(table, path.with_suffix(".parquet"))
        return path.with_suffix(".parquet")
    if kind == "duckdb file":
        file = path.with_suffix(".duckdb")
        with duckdb.connect(str(file)) as connection:
            connection.register("table_", table).execute("CREATE TABLE t AS SELECT * FROM table_")
        return hg.sql(f"duckdb:///{file}", "t")
    if kind == "polars":
        return pl.from_arrow(table)
    if kind == "pandas":
        return table.to_pandas()
    return table.to_reader() if kind == "reader" else table


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


@cache
def many_rows(scale: Scale) -> tuple[pa.Table, Counts]:
    """More rows than a batch has, and one row of each person: the same for every type."""
    rows = [(place % 100, float(place * 7919 % 101)) for place in range(200_000)]
    table = pa.table({"u": [who for who, _ in rows], "x": [value for _, value in rows]})
    return table, counts_from_histogram(scale, dict(enumerate(reference(sorted(rows), scale, 1))))


@pytest.mark.slow
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
    scale = Scale.of(range(0, 101, 10))
    table, expected = many_rows(scale)
    connection = duckdb.connect().register("table_", table)
    relation = connection.sql(f"SELECT CAST(u AS {kind}) AS u, x FROM table_")
    ask: dict[str, Any] = {"epsilon": 1, "scale": scale.candidates, "unit": hg.per_person("u")}
    question = bounds_question(relation, "x", **ask)
    assert str(question.sql).endswith("ORDER BY person ASC") == in_order
    assert question.read() == expected


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
