"""Point estimates of one answer and of many: exact, by one rule."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.grid import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate import point
from hourglass.mechanisms.hourglass import HourglassMean

pytestmark = pytest.mark.property

TOTALS = st.integers(-(10**9), 10**9)


def many(pairs: list[tuple[int, int]], grid: int, parts: int) -> NoisyTotals:
    cells, rest = (np.array(column, dtype=object) for column in zip(*pairs, strict=True))
    return NoisyTotals(cells, rest, grid, parts)


@given(
    st.lists(st.tuples(TOTALS, TOTALS), min_size=1, max_size=5),
    st.integers(1, 300),
    st.integers(1, 8),
    st.integers(-(10**6), 10**6),
)
def test_a_sum_keeps_the_parts_of_a_cell(
    pairs: list[tuple[int, int]], G: int, parts: int, lower: int
) -> None:
    """lower N' + S' / parts of whole numbers, by hand: one, some, and many in doubles."""
    grid = Grid(Bounds(lower, lower + G), G, own=True)
    expected = [
        float(lower * Fraction(cells + rest, parts * G) + Fraction(cells, parts))
        for cells, rest in pairs
    ]
    one = [point.sum_(NoisyTotals(*pair, G, parts), grid) for pair in pairs]
    assert one == expected
    some = many(pairs, G, parts)
    assert point.sum_(some, grid).tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point, "EXACT", 0)
        lost = 1e-15 * max(abs(lower), G) * 4e9  # that of the terms, which may cancel
        assert point.sum_(some, grid) == pytest.approx(expected, rel=1e-12, abs=lost)


def test_sums_of_ratings_come_in_parts_of_a_cell() -> None:
    """On the own grid of 1..5 at epsilon 3 a cell is cut: most sums are not whole numbers."""
    mechanism = HourglassMean(Fraction(3), Grid(Bounds(1, 5), 4, own=True))
    assert mechanism.parts > 1
    ratings = np.repeat(np.arange(1, 6), [10, 20, 40, 80, 50])
    sums = [
        hg.mean(ratings, bounds=(1, 5), epsilon=3, bits=hg.SeededBits(seed)).sum
        for seed in range(40)
    ]
    assert any(found != round(found) for found in sums)
    assert all((found * mechanism.parts).is_integer() for found in sums)


@given(st.integers(-(10**12), 10**12), st.integers(1, 40), st.integers(1, 8))
def test_counts_of_one_and_of_many_are_rounded_alike(weight: int, G: int, parts: int) -> None:
    """To the nearest, halves to even as Python's round, zero at least, whatever the type."""
    expected = max(0, round(Fraction(weight, G * parts)))
    found = point.count(NoisyTotals(weight - 7, 7, G, parts))
    assert found == expected
    assert type(found) is int
    for kind in (object, np.int64):
        cells, rest = (np.array([part], dtype=kind) for part in (weight - 7, 7))
        counts = point.count(NoisyTotals(cells, rest, G, parts))
        assert counts.tolist() == [expected]
        assert counts.dtype == np.int64


@pytest.mark.parametrize(("weight", "expected"), [(5, 0), (15, 2), (25, 2), (35, 4), (-5, 0)])
def test_halves(weight: int, expected: int) -> None:
    assert point.count(NoisyTotals(weight, 0, 10)) == expected
    totals = np.array([weight]), np.array([0])
    assert point.count(NoisyTotals(*totals, 10)).tolist() == [expected]


@pytest.mark.parametrize("width", [1e-300, 1.0, 1e300, sys.float_info.max])
@pytest.mark.parametrize("lower", [-1.0, 0.0, -0.25])
def test_sums_in_doubles_at_the_ends_of_their_range(
    width: float, lower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same numbers as from exact integers, and never an infinity."""
    G = 2**32 if width > 1e-290 else 1000
    grid = Grid(Bounds(lower * width, (lower + 1) * width), G)
    noisy = many([(3 * G, 5 * G), (-(2**40), 2**40 + 1), (2**62, 2**61), (0, 0)], G, 1)
    exact = point.sum_(noisy, grid)
    monkeypatch.setattr(point, "EXACT", 0)
    found = point.sum_(noisy, grid)
    assert np.isfinite(found).all()
    assert found == pytest.approx(exact, rel=1e-12, abs=0.0)
