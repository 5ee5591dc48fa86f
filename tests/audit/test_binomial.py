"""Clopper-Pearson limits against SciPy's beta quantiles, and tails by plain summation."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hourglass.audit.binomial import at_least, at_most, lower_limit, upper_limit

CASES = [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (997, 1000), (27, 10**5), (0, 10**7)]
CASES += [(5 * 10**6, 10**7), (1_345_000, 5 * 10**6), (1, 10**7), (10**7 - 1, 10**7)]


@pytest.mark.parametrize("alpha", [0.05, 1e-7])
@pytest.mark.parametrize(("k", "n"), CASES)
def test_limits_are_those_of_scipy_or_a_hair_outside(k: int, n: int, alpha: float) -> None:
    low = 0.0 if k == 0 else float(stats.beta.ppf(alpha, k, n - k + 1))
    high = 1.0 if k == n else float(stats.beta.isf(alpha, k + 1, n - k))
    assert lower_limit(k, n, alpha) == pytest.approx(low, rel=3e-7)
    assert upper_limit(k, n, alpha) == pytest.approx(high, rel=3e-7)
    assert lower_limit(k, n, alpha) <= low
    assert upper_limit(k, n, alpha) >= high


@pytest.mark.slow
@given(st.integers(1, 60), st.integers(0, 61), st.integers(1, 99))
def test_tails_equal_the_sums(n: int, k: int, percent: int) -> None:
    p = Fraction(percent, 100)
    exact = sum(
        (comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), start=Fraction(0)
    )
    assert at_least(k, n, percent / 100) == pytest.approx(float(exact), rel=1e-11, abs=1e-15)
    below = at_most(k - 1, n, percent / 100)
    assert below == pytest.approx(float(1 - exact), rel=1e-11, abs=1e-15)


def test_the_ends() -> None:
    assert at_least(0, 5, 0.0) == 1.0
    assert at_least(1, 5, 0.0) == 0.0
    assert at_least(6, 5, 1.0) == 0.0
    assert at_least(5, 5, 1.0) == 1.0
