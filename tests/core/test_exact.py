from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.core.exact import PRECISIONS, Enclosure, exp_minus, floor_scaled, log_of

rationals = st.fractions(min_value=0, max_value=3000, max_denominator=10**12)


@pytest.mark.slow
@given(rationals, st.sampled_from([8, 64, 160, 400, 2500]))
def test_exp_is_enclosed(x: Fraction, bits: int) -> None:
    found = exp_minus(x, bits)
    with mpmath.workprec(bits + 200):
        true = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        low = mpmath.mpf(found.low.numerator) / found.low.denominator
        high = mpmath.mpf(found.high.numerator) / found.high.denominator
        slack = mpmath.mpf(2) ** -(bits + 150)
        assert low - slack <= true <= high + slack
    assert found.high - found.low <= Fraction(1, 2 ** (bits - 2))


@pytest.mark.slow
@given(
    st.fractions(Fraction(1, 10**15), 10**15, max_denominator=10**15).filter(bool),
    st.sampled_from([64, 160, 400]),
)
def test_log_is_enclosed(x: Fraction, bits: int) -> None:
    found = log_of(x, bits)
    with mpmath.workprec(bits + 200):
        true = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
        low = mpmath.mpf(found.low.numerator) / found.low.denominator
        high = mpmath.mpf(found.high.numerator) / found.high.denominator
        slack = mpmath.mpf(2) ** -(bits + 150)
        assert low - slack <= true <= high + slack
    assert found.high - found.low <= Fraction(1, 2 ** (bits - 18))


def test_log_of_powers_of_two_and_of_nothing() -> None:
    assert log_of(Fraction(1)) == Enclosure.of(0)
    assert (log_of(Fraction(8)) - 3 * log_of(Fraction(2))).sign in (0, None)
    assert log_of(Fraction(1, 4)).high < -1
    for x in (0, -1):
        with pytest.raises(ValueError, match="x > 0"):
            log_of(Fraction(x))


@pytest.mark.slow
@given(rationals)
def test_tiny_rates_keep_their_digits(x: Fraction) -> None:
    tiny = x / 2**60
    assert exp_minus(tiny).low >= 1 - tiny - Fraction(1, 2**150)
    assert exp_minus(tiny).high <= 1 - tiny + tiny**2 / 2 + Fraction(1, 2**150)


def test_exp_refuses_negative_arguments() -> None:
    with pytest.raises(ValueError, match="x >= 0"):
        exp_minus(Fraction(-1))


ends = st.fractions(min_value=-50, max_value=50, max_denominator=50)


@pytest.mark.slow
@given(ends, ends, ends, ends, st.fractions(0, 1), st.fractions(0, 1))
def test_arithmetic_keeps_the_promise(
    a: Fraction, b: Fraction, c: Fraction, d: Fraction, s: Fraction, t: Fraction
) -> None:
    first, second = Enclosure(min(a, b), max(a, b)), Enclosure(min(c, d), max(c, d))
    x = first.low + s * (first.high - first.low)
    y = second.low + t * (second.high - second.low)
    assert x + y in first + second
    assert x - y in first - second
    assert x * y in first * second
    assert 2 - x in 2 - first
    if not second.low <= 0 <= second.high:
        assert x / y in first / second
        assert 3 / y in 3 / second
    else:
        with pytest.raises(ZeroDivisionError):
            first / second


@pytest.mark.slow
@given(rationals.filter(lambda x: x > 0), st.sampled_from([1, 4, 64]))
def test_floor_is_exact(x: Fraction, bits: int) -> None:
    floor = floor_scaled((exp_minus(x, bits + more) for more in PRECISIONS), bits)
    with mpmath.workprec(bits + 300):
        assert floor == int(
            mpmath.floor(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**bits)
        )


def test_floor_asks_for_more_digits_when_it_must() -> None:
    asked = []

    def value(precision: int) -> Enclosure:
        asked.append(precision)
        width = Fraction(1, 2 ** (precision // 8))
        return Enclosure(Fraction(3, 4) + Fraction(1, 10**9) - width, Fraction(3, 4) + width)

    assert floor_scaled(map(value, PRECISIONS), 2) == 3
    assert len(asked) > 1


def test_sign() -> None:
    near = Fraction(10**60 + 1, 10**60)
    few, more = (exp_minus(Fraction(1), bits) - exp_minus(near, bits) for bits in (160, 320))
    assert few.sign is None
    assert (more.sign, (-more).sign) == (1, -1)
    assert Enclosure.of(0).sign == 0
    assert Enclosure(Fraction(0), Fraction(1)).sign is None


def test_what_no_enclosure_tells_is_an_error() -> None:
    with pytest.raises(ArithmeticError, match="the floor"):
        floor_scaled([Enclosure(Fraction(-1), Fraction(1))] * 3, 4)


def test_it_shows_itself_as_a_number() -> None:
    assert float(exp_minus(Fraction(1))) == 0.36787944117144233
    assert repr(Enclosure.of(2)).startswith("Enclosure(2.0 ")
