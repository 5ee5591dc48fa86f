"""Buckets counted in memory: by cells, by sorting and one by one, the same integers."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.core.limits import Counts, Scale, counts_from_histogram
from hourglass.read import bucket_counts
from hourglass.read.bucket_counts import buckets_of, histogram_of_chunks

pytestmark = pytest.mark.property

NASTY = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.0, -1.0, 2.0**64, 1e308, 2.0**53]
CANDIDATES = st.lists(
    st.one_of(st.integers(-(2**70), 2**70), st.floats(-1e300, 1e300)), min_size=2, max_size=8
)
DTYPES = ["float64", "float32", "float16", "int8", "uint8", "int64", "uint64", ">i4", ">f8"]


def count_chunks(scale: Scale, chunks: Any) -> Counts:
    return counts_from_histogram(scale, dict(enumerate(histogram_of_chunks(scale, chunks))))


def scale_of(candidates: list[Any]) -> Scale | None:
    ordered = sorted(candidates)
    if any(float(a) >= float(b) for a, b in pairwise(ordered)):
        return None
    return Scale(tuple(ordered))


def plain_counts(scale: Scale, values: list[Any]) -> Counts:
    present = [x for x in values if x == x]
    return Counts(
        tuple(sum(x < c for x in present) for c in scale.candidates),
        tuple(sum(x > c for x in present) for c in scale.candidates),
    )


@pytest.mark.slow
@given(CANDIDATES, st.lists(st.one_of(st.sampled_from(NASTY), st.floats())))
def test_histogram_chunks_and_plain_counting_agree(
    candidates: list[Any], values: list[float]
) -> None:
    scale = scale_of(candidates)
    if scale is None:
        return
    values = [*values, *(float(c) for c in scale.candidates)]
    expected = plain_counts(scale, values)
    buckets = Counter(b for x in values if (b := scale.bucket(x)) is not None)
    assert counts_from_histogram(scale, buckets) == expected
    cut = len(values) // 2
    halves = [(np.array(part, dtype=np.float64), 0) for part in (values[:cut], values[cut:])]
    assert count_chunks(scale, halves) == expected
    assert count_chunks(scale, halves[:1]) + count_chunks(scale, halves[1:]) == expected


@pytest.mark.slow
@given(CANDIDATES, st.sampled_from(DTYPES), st.data())
def test_every_type_is_counted_exactly(candidates: list[Any], name: str, data: Any) -> None:
    scale = scale_of(candidates)
    if scale is None:
        return
    dtype = np.dtype(name)
    if dtype.kind == "f":
        values = np.array(data.draw(st.lists(st.sampled_from(NASTY[:8]))), dtype=dtype)
    else:
        info = np.iinfo(dtype)
        element = st.one_of(
            st.sampled_from([info.min, info.max, 0]), st.integers(info.min, info.max)
        )
        values = np.array(data.draw(st.lists(element)), dtype=dtype)
    assert count_chunks(scale, [(values, 0)]) == plain_counts(scale, values.tolist())


@pytest.mark.slow
@given(st.lists(st.floats(allow_nan=False)), st.floats(allow_nan=False))
def test_one_record_moves_the_counts_by_one_beyond_its_place(
    values: list[float], record: float
) -> None:
    scale = Scale.of(None)
    before = count_chunks(scale, [(np.array(values, dtype=np.float64), 0)])
    after = count_chunks(scale, [(np.array([*values, record]), 0)])
    for i, c in enumerate(scale.candidates):
        assert after.below[i] - before.below[i] == (record < c)
        assert after.above[i] - before.above[i] == (record > c)


def neighbours(numbers: list[float]) -> list[float]:
    """Doubles, and those next to them."""
    ends = (-math.inf, math.inf)
    return [*numbers, *(math.nextafter(x, end) for x in numbers for end in ends)]


#: Powers of two and sixteenths of them, where cells end, and what is no number.
EDGES = neighbours(
    [sign * math.ldexp(16 + part, exponent) for sign in (-1, 1) for part in (0, 1, 7, 15)
     for exponent in (-1078, -1040, -70, -5, -4, 0, 48, 49, 58, 60, 967, 1019)]
) + NASTY + [-math.nan, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308]  # fmt: skip

SCALES = {
    "default": Scale.of(None),
    "default of integers": Scale.of(None, integers=True),
    "ends of cells": Scale((-17, -16, -0.0, 2.0**-1074, 16, 17, 2**53 + 1, 2**64)),
    "between doubles": Scale((-(2**62) - 1, 2**53 + 1, 2**60 + 17 * 2**4 + 1, 2**63 - 1)),
    "least and largest": Scale((-1.7976931348623157e308, -(2**63), 255, 1.7976931348623157e308)),
}
#: Several candidates in a cell; in the last two as doubles, to which they are rounded.
DENSE = {
    "whole numbers": Scale(tuple(range(-5, 1000))),
    "near zero": Scale((0.0, 5e-324, 1e-320)),
    "last of a cell": Scale((0.0, 1.01, math.nextafter(1.0625, 0.0))),
    "rounded into a cell": Scale((0, 2**60 - 123, 2**60 - 108)),
    "rounded below a cell": Scale((0, 2**60 - 40, 2**60 - 10)),
}


@pytest.mark.enumeration
@pytest.mark.parametrize("name", [*SCALES, *DENSE])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_ends_of_cells(name: str, dtype: str) -> None:
    """Every bucket is that of the rule.

    Catches: a cell without its candidate, a comparison with its neighbour, an integer that is
    rounded into the next cell, NaN or an infinity in a bucket of numbers.
    """
    scale, kind = (SCALES | DENSE)[name], np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(all="ignore"):
            values = np.array([*EDGES, *map(float, scale.candidates)]).astype(kind)
    else:
        info = np.iinfo(kind)
        whole = [int(x) for x in EDGES if math.isfinite(x)]
        whole += [math.floor(c) for c in scale.candidates] + [int(info.min), int(info.max)]
        near = {x + step for x in whole for step in (-64, -1, 0, 1, 15, 64)}
        values = np.array([x for x in near if info.min <= x <= info.max], dtype=kind)
    wanted = Counter(b for x in values.tolist() if (b := scale.bucket(x)) is not None)
    chunks = [(values, 0), (values[::-2], 0)]
    found = histogram_of_chunks(scale, chunks[:1])
    assert {i: n for i, n in enumerate(found.tolist()) if n} == wanted
    twice = histogram_of_chunks(scale, chunks)
    assert twice.sum() == found.sum() + histogram_of_chunks(scale, chunks[1:]).sum()


@np.errstate(all="ignore")
def test_which_scales_are_sorted() -> None:
    """The usual ones are not; a scale that has several candidates in a cell is."""
    reals, integers = np.dtype(np.float64), [np.dtype(name) for name in ("int64", "int32", "uint8")]
    assert bucket_counts._cells(Scale.of(None), reals) is not None
    for dtype in (reals, *integers):
        assert bucket_counts._cells(Scale.of(None, integers=True), dtype) is not None
        assert bucket_counts._cells(DENSE["whole numbers"], dtype) is None
    for name in ("near zero", "last of a cell"):
        assert bucket_counts._cells(DENSE[name], reals) is None
    for name in ("rounded into a cell", "rounded below a cell"):
        assert bucket_counts._cells(DENSE[name], np.dtype(np.int64)) is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "candidates",
    [(-(2**70), -3.5, 0, 1, 2**70), (-1000.0, 0.0, 1.0, 1.0000001, 1.0000002, 3.5, 1e30)],
    ids=["by cells", "by searching"],
)
def test_each_number_has_the_bucket_of_the_rule(dtype: str, candidates: tuple[Any, ...]) -> None:
    """Candidates below and above every value of a type, infinities, and both ends of the type."""
    scale, kind = Scale(candidates), np.dtype(dtype)
    numbers = np.arange(-5, 6).astype(kind)
    if kind.kind == "f":
        numbers = np.concatenate([numbers, np.array([-math.inf, math.inf, 0.5, 3.5], kind)])
    else:
        info = np.iinfo(kind)
        numbers = np.concatenate([numbers, np.array([info.min, info.max], kind)])
    found = buckets_of(scale, numbers.astype(kind))
    assert found.tolist() == [scale.bucket(number.item()) for number in numbers]
