"""Polynomials in beta = b/(1-b), against the same in far more digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
from hypothesis import given
from hypothesis import strategies as st

from hourglass.noise.radial import in_beta

coefficients = st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5)
rates = st.fractions(Fraction(1, 10**4), 50, max_denominator=10**6)


@given(coefficients, rates, st.sampled_from([64, 160, 320]))
def test_a_polynomial_in_beta_is_enclosed(terms: list[int], rate: Fraction, bits: int) -> None:
    found = in_beta(terms, rate, bits)
    with mpmath.workprec(4 * bits + 400):
        beta = 1 / mpmath.expm1(mpmath.mpf(rate.numerator) / rate.denominator)
        true = sum(term * beta**power for power, term in enumerate(terms))
        slack = mpmath.mpf(2) ** -(4 * bits)
        assert mpmath_of(found.low) - slack <= true <= mpmath_of(found.high) + slack
        most = mpmath.fabs(beta) + 1  # beta is known to a few units of 2^-bits
        slope = sum(abs(term) * power * most ** (power - 1) for power, term in enumerate(terms))
        assert mpmath_of(found.high - found.low) <= slope * most**2 * mpmath.mpf(2) ** (4 - bits)


def mpmath_of(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@given(rates)
def test_a_constant_is_a_point(rate: Fraction) -> None:
    assert in_beta((7,), rate).sign == 1
    assert in_beta((0, 0), rate).sign == 0
    assert in_beta((-7, 0, 0), rate).high == -7
