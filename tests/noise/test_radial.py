"""Polynomials in beta = b/(1-b), against the same in far more digits; tables of the law of a
level."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.exact import geometric_sum, in_beta
from hourglass.noise.hourglass import Radial, _cumulated
from hourglass.noise.pieces import Pieces

coefficients = st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=5)
rates = st.fractions(Fraction(1, 10**4), 50, max_denominator=10**6)


@pytest.mark.slow
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


@pytest.mark.slow
@given(rates)
def test_a_constant_is_a_point(rate: Fraction) -> None:
    assert in_beta((7,), rate).sign == 1
    assert in_beta((0, 0), rate).sign == 0
    assert in_beta((-7, 0, 0), rate).high == -7


LAWS = [
    Radial.of(rate, values)
    for rate in (Fraction(1, 3), Fraction(1), Fraction(5, 2))
    for values in ([1], [3, 8], [0, 2], [1, 4, 10], [6, 20, 42])
]


@pytest.mark.enumeration
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_a_floor_that_is_not_determined_is_not_guessed(width: int) -> None:
    """With few digits, a table is the exact one or none; with more there is one."""
    for law in LAWS:
        exact = [law.threshold(0, width)]
        while exact[-1] != 2**width - 1:
            exact.append(law.threshold(len(exact), width))
        tables = [_cumulated(law, width, precision) for precision in range(6, 2 * width + 40)]
        assert all(table is None or table == exact for table in tables)
        assert tables[0] is None or width < 8
        assert tables[-1] == exact


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 2**40), min_size=1, max_size=6),
    rates,
    st.sampled_from([1, 8, 64, 160]),
)
def test_a_sum_is_enclosed(terms: list[int], rate: Fraction, bits: int) -> None:
    """Within what the same in far more digits tells, and narrow."""
    found, closer = geometric_sum(terms, rate, bits), geometric_sum(terms, rate, bits + 200)
    assert found.low <= closer.low <= closer.high <= found.high
    assert found.high - found.low <= found.high / 2**bits


@pytest.mark.enumeration
def test_what_is_known_of_one_width_is_not_used_for_another() -> None:
    """One law, drawn from with words of several widths in turn, as a new one would be each time."""
    one, pieces = Radial.of(Fraction(1), [1, 4, 10]), Pieces(Fraction(1), 3, 1)
    for width in (64, 2, 8, 2, 64, 1):
        fresh = Radial.of(Fraction(1), [1, 4, 10])
        assert one.reach(width) == fresh.reach(width)
        for n in range(4):
            assert one.threshold(n, width) == fresh.threshold(n, width)
        drawn, expected = (law.sample(50, hg.SeededBits(1, width=width)) for law in (one, fresh))
        assert drawn.tolist() == expected.tolist()
        drawn, expected = (
            each.draw(50, hg.SeededBits(1, width=width))[0]
            for each in (pieces, Pieces(Fraction(1), 3, 1))
        )
        assert drawn.tolist() == expected.tolist()
