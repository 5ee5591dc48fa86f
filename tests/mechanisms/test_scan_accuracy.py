"""The sampler of a scan against its law, and what the bounds do on data.

False alarms: each chi-square test at 1e-6, on seeded bits, so it cannot flicker.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import hourglass as hg
from hourglass.mechanisms.scan import Scan
from hourglass.noise import SeededBits

pytestmark = pytest.mark.statistical

ALPHA = 1e-6


def p_value(drawn: list[int], law: list[float]) -> float:
    observed = np.bincount(drawn, minlength=len(law))
    expected = np.array(law) * len(drawn)
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "draws"), [(64, 20_000), (8, 4_000)])
def test_a_scan_is_drawn_from_its_law(width: int, draws: int) -> None:
    counts = (12, 7, 7, 3, 1, 0, 0)
    scan, bits = Scan(Fraction(1, 2)), SeededBits(7, width=width)
    drawn = [scan.sample(counts, bits) for _ in range(draws)]
    assert p_value(drawn, [float(p) for p in scan.pmf(counts, 80)]) > ALPHA
    for wrong in (Fraction(7, 20), Fraction(7, 10)):  # 30 % and 40 % off
        law = [float(p) for p in Scan(wrong).pmf(counts, 80)]
        assert p_value(drawn, law) < ALPHA


def _found(values: np.ndarray, seeds: int) -> list[hg.FoundBounds]:
    return [hg.find_bounds(values, epsilon="0.3", bits=SeededBits(s)) for s in range(seeds)]


@pytest.mark.slow
def test_few_records_are_outside() -> None:
    values = np.random.default_rng(1).normal(100.0, 15.0, 10_000)
    found = _found(values, 200)
    outside = [int(((values < b.lower) | (values > b.upper)).sum()) for b in found]
    assert np.median(outside) <= 120
    promised = [b.most_outside(0.95) for b in found]
    missed = sum(o > p for o, p in zip(outside, promised, strict=True))
    assert missed <= stats.binom.ppf(1 - ALPHA, 200, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_both_ends_of_a_column_far_from_zero(sign: int) -> None:
    values = sign * np.random.default_rng(2).normal(1000.0, 100.0, 10_000)
    widths = [float(b.bounds.width) for b in _found(values, 100)]
    assert np.median(widths) < 1000  # 0 would make it 1414


@pytest.mark.slow
def test_absurd_outliers_are_not_hidden() -> None:
    """One per cent at 1e9 is a part of the data, and of its mean: the bounds reach out."""
    values = np.random.default_rng(3).normal(0.0, 1.0, 10_000)
    values[:100] = 1e9
    found = _found(values, 200)
    reaching = sum(b.upper >= 1e9 for b in found)
    assert reaching >= 150
    for b in found:  # where they do not, the promise on the records outside still holds
        assert (values > b.upper).sum() <= b.most_outside(0.95)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_handful_of_records_leaves_narrow_bounds_or_none(size: int) -> None:
    found = _found(np.full(size, 7.0), 50)
    assert all(b.lower < b.upper for b in found)
    assert np.median([abs(float(b.upper)) for b in found]) < 1
