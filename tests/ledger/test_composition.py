"""The tighter total, against enumeration and against another library."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hourglass.ledger import Amount, optimal_epsilon
from hourglass.ledger.composition import STEP, Responses, _fused, equal_total_fits

NANO = Fraction(1, 10**9)
epsilons = st.fractions(Fraction(1, 50), Fraction(3), max_denominator=97)


def enumerated(values: list[Fraction], total: Fraction) -> mpmath.mpf:
    """Murtagh and Vadhan's sum over all sets, in 50 digits."""
    with mpmath.workdps(50):
        exps = [mpmath.mpf(v.numerator) / v.denominator for v in values]
        bound = mpmath.exp(mpmath.mpf(total.numerator) / total.denominator)
        excess = mpmath.mpf(0)
        for chosen in itertools.product((0, 1), repeat=len(exps)):
            inside = sum(e for e, c in zip(exps, chosen, strict=True) if c)
            outside = sum(e for e, c in zip(exps, chosen, strict=True) if not c)
            excess += max(mpmath.mpf(0), mpmath.exp(inside) - bound * mpmath.exp(outside))
        return excess / mpmath.fprod(1 + mpmath.exp(e) for e in exps)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(epsilons, min_size=1, max_size=7), st.fractions(0, Fraction(9, 10)))
def test_unequal_is_the_enumerated_delta_from_above(values: list[Fraction], part: Fraction) -> None:
    total = sum(values, Fraction(0)) * part
    truth = enumerated(values, total)
    found = Responses(values).delta_up(total)
    exact = mpmath.mpf(found.numerator) / found.denominator
    assert exact >= truth * (1 - mpmath.mpf(10) ** -14)
    # the lattice rounds each epsilon up by at most sum/50000
    assert exact <= truth + mpmath.mpf("1e-3")


@pytest.mark.parametrize("values", [["1/3"], ["1/3", "1/7"], ["1/10"] * 5, ["1", "2", "7/3"]])
def test_delta_is_never_below_the_enumerated_one_next_to_a_loss(values: list[str]) -> None:
    """There the doubles of the loss and of the total cancel; nothing is allowed for in the test."""
    exact = [Fraction(value) for value in values]
    responses = Responses(exact)
    for signs in set(itertools.product((-1, 1), repeat=len(exact))):
        loss = sum((sign * value for sign, value in zip(signs, exact, strict=True)), Fraction(0))
        for power in (10, 13, 14, 15, 16, 17, 20):
            for total in (loss - Fraction(1, 10**power), loss - Fraction(3, 10**power)):
                if total > 0:
                    found = responses.delta_up(total)
                    with mpmath.workdps(50):
                        bound = mpmath.mpf(found.numerator) / found.denominator
                        assert bound >= enumerated(exact, total)


@pytest.mark.enumeration
def test_merging_loses_no_charge() -> None:
    """Neighbours are merged into as few as asked for; caught: a slice that leaves one out."""
    for count in range(1, 40):
        given_ = [Fraction(2**place) for place in range(count)]  # each set has its own sum
        for most in range(1, 12):
            fused = _fused(given_, most)
            assert len(fused) <= most
            assert sum(fused) == sum(given_)
            assert fused == sorted(fused)
            assert count > most or fused == given_


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(epsilons, st.integers(1, 10), st.fractions(0, Fraction(99, 100)))
def test_equal_closed_form_is_the_enumerated_delta(
    each: Fraction, count: int, part: Fraction
) -> None:
    total = (each * count * part).limit_denominator(10**6)
    truth = enumerated([each] * count, total)
    above = Fraction(str(mpmath.nstr(truth * (1 + mpmath.mpf(10) ** -12), 40)))
    below = Fraction(str(mpmath.nstr(truth * (1 - mpmath.mpf(10) ** -12), 40)))
    assert equal_total_fits(each, count, total, above)
    if truth > 0:
        assert not equal_total_fits(each, count, total, below)


def test_the_corners_of_kairouz_oh_viswanath() -> None:
    """Theorem 3.3, written down as printed, for k = 12 and epsilon = 0.3."""
    k, each = 12, Fraction(3, 10)
    with mpmath.workdps(40):
        e = mpmath.mpf(3) / 10
        for i in range(k // 2 + 1):
            printed = (
                sum(
                    mpmath.binomial(k, j)
                    * (mpmath.exp((k - j) * e) - mpmath.exp((k - 2 * i + j) * e))
                    for j in range(i)
                )
                / (1 + mpmath.exp(e)) ** k
            )
            found = Responses([each] * k).delta_up((k - 2 * i) * each)
            assert float(found) == pytest.approx(float(printed), rel=1e-9, abs=1e-16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        [Fraction(1, 10)] * 100,
        [Fraction(1, 2)] * 30,
        [Fraction(1, 10)] * 40 + [Fraction(1, 4)] * 20,
        [Fraction(n, 100) for n in range(1, 60)],
    ],
    ids=["100 tenths", "30 halves", "two sizes", "59 sizes"],
)
def test_against_dp_accounting(values: list[Fraction]) -> None:
    """Its discretisation is pessimistic too: the two bracket the optimum from above."""
    common = pytest.importorskip("dp_accounting.pld.common")
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    composed = None
    for value in values:
        one = pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(float(value), 0),
            value_discretization_interval=1e-4,
        )
        composed = one if composed is None else composed.compose(one)
    assert composed is not None
    theirs = composed.get_epsilon_for_delta(1e-9)
    ours = optimal_epsilon([Amount(value) for value in values], NANO)
    assert ours is not None
    assert float(ours) == pytest.approx(theirs, rel=2e-4)
    assert ours < sum(values)


def test_never_above_the_sum_and_never_below_what_fits() -> None:
    amounts = [Amount(Fraction(1, 10))] * 10
    tight = optimal_epsilon(amounts, Fraction(1, 10**6))
    assert tight is not None
    assert tight < 1
    assert equal_total_fits(Fraction(1, 10), 10, tight, Fraction(1, 10**6))
    assert not equal_total_fits(Fraction(1, 10), 10, tight - STEP, Fraction(1, 10**6))
    assert optimal_epsilon(amounts[:1], NANO) == Fraction(1, 10)
    assert optimal_epsilon([], NANO) == 0


def test_deltas_of_the_charges_come_first() -> None:
    some = [Amount(Fraction(1, 10), Fraction(1, 10**10))] * 50
    with_delta = optimal_epsilon(some, NANO * 6)
    without = optimal_epsilon([Amount(Fraction(1, 10))] * 50, NANO * 6)
    assert with_delta is not None
    assert without is not None
    assert without < with_delta < 5
    assert optimal_epsilon(some, NANO) is None  # 50e-10 is more than 1e-9
    all_spent = 1 - (1 - Fraction(1, 10**10)) ** 50
    assert optimal_epsilon(some, all_spent) == 5


def test_many_charges_stay_quick_and_below_the_sum() -> None:
    many = [Amount(Fraction(1, 100))] * 5000
    tight = optimal_epsilon(many, NANO)
    assert tight is not None
    assert 5 < tight < 15
