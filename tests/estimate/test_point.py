"""Point estimates of one answer and of many: exact, by one rule."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate import point
from hourglass.mechanisms.base import HourglassMean

pytestmark = pytest.mark.property

TOTALS = st.integers(-(10**9), 10**9)


def many(pairs: list[tuple[int, int]], grid: int, parts: int) -> NoisyTotals:
    cells, rest = (np.array(column, dtype=object) for column in zip(*pairs, strict=True))
    return NoisyTotals(cells, rest, grid, parts)


@pytest.mark.slow
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


@pytest.mark.slow
@given(
    st.lists(st.tuples(TOTALS, TOTALS), min_size=1, max_size=5),
    st.sampled_from(["projected", "ratio"]),
)
def test_a_mean_is_the_clipped_ratio(pairs: list[tuple[int, int]], estimator: str) -> None:
    """S' / (G N') in [0, 1] by hand: one, some, and many in doubles; caught: S' - S'' for N'."""

    def by_hand(cells: int, rest: int) -> Fraction:
        if estimator == "projected":
            cells, rest = max(cells, 0), max(rest, 0)
        if cells + rest == 0:
            return Fraction(1, 2)
        return min(max(Fraction(cells, cells + rest), Fraction(0)), Fraction(1))

    pairs = [*pairs, (0, 0), (3, -3), (-4, 2), (2, -4), (5, 0), (0, 5), (1, 3)]
    shares = [by_hand(*pair) for pair in pairs]
    assert [point.share(NoisyTotals(*pair, 10), estimator) for pair in pairs] == shares
    some = many(pairs, 10, 1)
    assert point.share(some, estimator) == pytest.approx([float(share) for share in shares])
    mechanism = HourglassMean(Fraction(1), Grid(Bounds(-20, 80), 10))
    expected = [float(-20 + 100 * share) for share in shares]
    for exact in (10_000, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(point, "EXACT", exact)
            assert point.mean(some, mechanism, estimator) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("estimator", point.BAYESIAN)
def test_the_posterior_of_very_many_is_that_of_some(
    estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = HourglassMean(Fraction(1), Grid(Bounds(-20, 80), 10))
    unit = 10 * mechanism.parts
    some = many([(3 * unit, 9 * unit), (-unit, 2 * unit), (40 * unit, 0)], 10, mechanism.parts)
    exact = point.mean(some, mechanism, estimator)
    monkeypatch.setattr(point, "EXACT", 0)
    assert point.mean(some, mechanism, estimator) == pytest.approx(exact, abs=1e-12)
    assert len({*exact.tolist()}) == 3


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


@pytest.mark.slow
@given(st.integers(-(10**12), 10**12), st.integers(1, 40), st.integers(1, 8))
def test_counts_of_one_and_of_many_are_rounded_alike(weight: int, G: int, parts: int) -> None:
    """To the nearest, halves to even as Python's round, zero at least, whatever the type."""
    expected = max(0, round(Fraction(weight, G * parts)))
    found = point.count(NoisyTotals(weight - 7, 7, G, parts))
    assert found == expected
    assert type(found) is int
    for kind in (object, np.int64):
        cells, rest = np.array([weight - 7], dtype=kind), np.array([7], dtype=kind)
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
