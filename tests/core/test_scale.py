"""Buckets and counts: every way to count gives the same integers."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.core.scale import Counts, Scale, counts_from_histogram, histogram_of_chunks

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


def test_the_default_scales_are_symmetric_and_public() -> None:
    for integers in (False, True):
        scale = Scale.of(None, integers=integers)
        assert scale.candidates[scale.pivot] == 0
        assert [-c for c in reversed(scale.candidates)] == list(scale.candidates)
        assert scale.candidates[-1] == 2**64
    positive = [c for c in Scale.of(None).candidates if c > 0]
    ratios = {round(b / a, 9) for a, b in pairwise(positive)}
    assert ratios == {round(2**0.25, 9)}


def test_counts_are_secret() -> None:
    import pickle

    counts = Counts((1,), (12345,))
    assert "12345" not in repr(counts)
    with pytest.raises(TypeError):
        pickle.dumps(counts)
