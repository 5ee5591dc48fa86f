"""Slots and the Renyi filter against adversaries that choose by what they have seen."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hourglass.errors import EpsilonError, OptionError
from hourglass.ledger import Amount, Renyi, Slots, Sum, optimal_epsilon
from hourglass.ledger.composition import STEP, equal_total_fits, slots_epsilon
from hourglass.ledger.creation import checked_rule
from hourglass.ledger.renyi import GRAIN, allowance_down
from hourglass.ledger.replay import Cost, Rule, charged, covers, more_fit

ZERO = Amount(Fraction(0))
NANO = Fraction(1, 10**9)
LIMITS = [
    Amount(Fraction(epsilon), Fraction(delta))
    for epsilon in ("1/100", "1/7", "1", "3", "20")
    for delta in ("1/10", "1/100000", "1/1000000000000")
]
limits = st.sampled_from(LIMITS)


@cache
def filter_of(limit: Amount) -> Renyi:
    rule = Renyi.made(limit)
    assert rule is not None
    return rule


def zero(rule: Rule) -> Cost:
    return (Fraction(0),) * len(rule.capacity)


def worst_delta(rule: Rule, menu: Sequence[Fraction], depth: int) -> float:
    """The largest hockey-stick divergence at the rule's epsilon that any adversary can reach.

    An adversary asks randomised responses, the worst mechanisms of their epsilon; after each
    answer it chooses the next epsilon from the menu, as long as the rule accepts it, or stops. The
    divergence is the mean of (1 - e^(epsilon - loss))+, so that the best choice in a state (loss,
    cost so far) is found by recursion: this enumerates all trees of choices.
    """
    at = float(rule.limit.epsilon)

    @cache
    def reached(loss: Fraction, used: Cost, left: int) -> float:
        best = max(0.0, -math.expm1(at - float(loss)))
        for epsilon in menu if left else ():
            after = charged(rule, used, Amount(epsilon))
            if after is not None:
                likely = 1 / (1 + math.exp(-float(epsilon)))
                up = reached(loss + epsilon, after, left - 1)
                down = reached(loss - epsilon, after, left - 1)
                best = max(best, likely * up + (1 - likely) * down)
        return best

    return reached(Fraction(0), zero(rule), depth)


def fractions(*values: str) -> list[Fraction]:
    return [Fraction(value) for value in values]


# --- slots ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Halves(Slots):
    """A wrong rule: a release of twice the size takes two slots."""

    def cost(self, amount: Amount) -> Cost | None:
        return (Fraction(math.ceil(amount.epsilon / self.epsilon)),)


SLOTS = [(6, "1/2", "1/100"), (6, "1", "1/1000"), (5, "1/4", "1/50"), (40, "1/5", "1/100000")]


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(("count", "size", "delta"), SLOTS)
def test_no_adversary_gets_more_out_of_slots(count: int, size: str, delta: str) -> None:
    """Smaller releases and early ends included; the total is the least that holds."""
    each = Fraction(size)
    rule = Slots.made(count, each, Fraction(delta))
    menu = [each, each / 2] if count > 10 else [each, each / 2, each / 3]
    worst = worst_delta(rule, menu, count)
    assert worst <= float(rule.limit.delta) * (1 + 1e-12)
    assert rule.limit.epsilon < count * each
    less = replace(rule, limit=replace(rule.limit, epsilon=rule.limit.epsilon - 2 * STEP))
    assert worst_delta(less, menu, count) > float(rule.limit.delta)


@pytest.mark.enumeration
def test_two_slots_are_no_slot_of_twice_the_size() -> None:
    """Caught: a rule that counts a larger release as several slots."""
    each = Fraction(1, 2)
    rule = Slots.made(6, each, Fraction(1, 100))
    assert rule.cost(Amount(2 * each)) is None
    wrong = Halves(rule.limit, rule.count, rule.epsilon)
    assert worst_delta(wrong, [each, 2 * each], 6) > 2 * float(rule.limit.delta)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 200),
    st.fractions(Fraction(1, 100), Fraction(1), max_denominator=100),
    st.integers(1, 12),
)
def test_the_total_of_slots_is_the_optimum(count: int, size: Fraction, power: int) -> None:
    delta = Fraction(1, 10**power)
    found = slots_epsilon(size, count, delta)
    optimum = optimal_epsilon([Amount(size)] * count, delta)
    assert optimum is not None
    assert found == max(optimum, min(STEP, size))


@pytest.mark.slow
def test_the_total_of_thousands_of_slots_brackets_the_lattice() -> None:
    """Two computations that share no line: enclosures of 320 bits, and doubles rounded up."""
    for count in (500, 2000):
        ours = slots_epsilon(Fraction(1, 100), count, NANO)
        lattice = optimal_epsilon([Amount(Fraction(1, 100))] * count, NANO)
        assert lattice is not None
        assert lattice - 2 * STEP <= ours <= lattice


# --- the filter -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Cheap(Renyi):
    """A wrong rule: order * epsilon^2 / 4."""

    def cost(self, amount: Amount) -> Cost | None:
        return (min(self.order * amount.epsilon**2 / 4, amount.epsilon),)


@dataclass(frozen=True)
class Generous(Renyi):
    """A wrong rule: the allowance is all of epsilon, without the price of the conversion."""

    @property
    def capacity(self) -> Cost:
        return (2 * self.limit.epsilon,)


FILTERS = [("1", "1/10"), ("2", "1/100"), ("1/2", "1/10"), ("1", "1/5")]
MENU = fractions("1/4", "1/2", "1")


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(("epsilon", "delta"), FILTERS)
@pytest.mark.parametrize("depth", [6, 16])
def test_no_adversary_gets_more_out_of_the_filter(epsilon: str, delta: str, depth: int) -> None:
    """Half the cost or twice the allowance is noticed, by trees of six answers."""
    limit = Amount(Fraction(epsilon), Fraction(delta))
    rule = filter_of(limit)
    for menu in (MENU, fractions("1/10", "1/5", "2/5"), fractions("1/8", "3/4", "3/2")):
        assert worst_delta(rule, menu, depth) <= float(limit.delta)
    cheap = Cheap(limit, rule.order, rule.allowance)
    assert worst_delta(cheap, MENU, depth) > float(limit.delta)
    generous = Generous(limit, rule.order, rule.allowance)
    assert worst_delta(generous, MENU, depth) > float(limit.delta)


def divergence(epsilon: Fraction, order: Fraction) -> mpmath.mpf:
    """The Renyi divergence of a randomised response, the largest of all of its epsilon."""
    e, a = (mpmath.mpf(each.numerator) / each.denominator for each in (epsilon, order))
    moment = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))
    return mpmath.log(moment) / (a - 1)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(limits, st.fractions(Fraction(1, 1000), Fraction(20), max_denominator=10**12))
def test_a_cost_is_above_the_divergence(limit: Amount, epsilon: Fraction) -> None:
    rule = filter_of(limit)
    cost = rule.cost(Amount(epsilon))
    assert cost is not None
    with mpmath.workdps(60):
        assert mpmath.mpf(cost[0].numerator) / cost[0].denominator >= divergence(
            epsilon, rule.order
        )
    exact = min(rule.order * epsilon**2 / 2, epsilon)
    assert exact <= cost[0] < exact + GRAIN
    assert (cost[0] / GRAIN).denominator == 1


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_the_allowance_implies_the_limit(limit: Amount) -> None:
    """The conversion as it is printed, in 60 digits; and no order has a hundredth more room."""
    rule = filter_of(limit)
    with mpmath.workdps(60):
        a, room, delta = (
            mpmath.mpf(each.numerator) / each.denominator
            for each in (rule.order, rule.allowance, limit.delta)
        )
        implied = room + mpmath.log((a - 1) / a) - (mpmath.log(delta) + mpmath.log(a)) / (a - 1)
        epsilon = mpmath.mpf(limit.epsilon.numerator) / limit.epsilon.denominator
        assert epsilon - mpmath.mpf("1e-11") <= implied <= epsilon
    for percent in (50, 80, 90, 95, 97, 103, 105, 110, 120, 200):
        other = 1 + (rule.order - 1) * percent / 100
        assert allowance_down(other, limit) / other <= rule.allowance / rule.order * Fraction(
            101, 100
        )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(limits, st.lists(st.fractions(Fraction(1, 1000), Fraction(2)), min_size=1, max_size=30))
def test_accepted_costs_never_pass_the_allowance(limit: Amount, asked: list[Fraction]) -> None:
    rule = filter_of(limit)
    used, exact = zero(rule), Fraction(0)
    for epsilon in asked:
        most = rule.most(used).epsilon
        assert most == 0 or covers(rule, used, Amount(most))
        assert not covers(rule, used, Amount(most + Fraction(2, 10**6)))
        after = charged(rule, used, Amount(epsilon))
        if after is not None:
            used = after
            exact += min(rule.order * epsilon**2 / 2, epsilon)
        else:
            assert epsilon > most
    assert exact <= used[0] <= rule.allowance


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.fractions(Fraction(1, 100), Fraction(2), max_denominator=100))
def test_how_many_more_fit_is_what_fits(before: int, epsilon: Fraction) -> None:
    for rule in (
        Sum(Amount(Fraction(3))),
        Slots(Amount(Fraction(3), NANO), 30, Fraction(1, 10)),
        filter_of(Amount(Fraction(3), Fraction(1, 10**12))),
    ):
        used, amount = zero(rule), Amount(epsilon)
        for _ in range(before):
            used = charged(rule, used, Amount(Fraction(1, 10))) or used
        told, found = more_fit(rule, used, amount), 0
        while (after := charged(rule, used, amount)) is not None:
            used, found = after, found + 1
        assert told == found


# --- the figures in the docs ----------------------------------------------------------------


def many(limit: Amount, size: Fraction) -> tuple[int, int, int]:
    """How many releases fit by each rule."""
    low, high = 0, 10_001
    while high - low > 1:
        middle = (low + high) // 2
        fits = equal_total_fits(size, middle, *limit.pair)
        low, high = (middle, high) if fits else (low, middle)
    rules: list[Rule] = [Sum(limit), filter_of(limit)]
    plain, renyi = (more_fit(rule, zero(rule), Amount(size)) for rule in rules)
    return plain, low, renyi


@pytest.mark.slow
def test_the_table_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "budget.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:the sum|slots|the Rényi filter) \|.*?\|(.*)\|$", page, re.MULTILINE)
    stated = [[int(cell.strip().replace(",", "")) for cell in row.split("|")] for row in rows]
    three = Amount(Fraction(3), NANO)
    found = [many(three, Fraction(size)) for size in ("1/10", "1/20", "1/100")]
    assert stated == [list(row) for row in zip(*found, strict=True)]
    plain, slots, renyi = many(Amount(Fraction(10), NANO), Fraction(1, 10))
    words = f"(10, 1e-9) fit {plain} releases of 0.1 by the sum, {slots} slots, and {renyi} by"
    assert words in " ".join(page.split())
    for limit in (Amount(Fraction(1), NANO), three, Amount(Fraction(10), NANO)):
        for size in ("1/10", "1/3", "1/2", "1"):
            plain, slots, renyi = many(limit, Fraction(size))
            if plain <= 30:  # "the sum is as good as slots, and better than the filter"
                assert renyi < plain <= slots <= plain + 2


# --- terms that are refused -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "error", "words"),
    [
        ({"slots": 100}, OptionError, "not a pair"),
        ({"slots": (100,)}, OptionError, "not a pair"),
        ({"slots": "100x1/10"}, OptionError, "not a pair"),
        ({"slots": (0, "1/10")}, OptionError, "from 1 to 10000"),
        ({"slots": (True, "1/10")}, OptionError, "from 1 to 10000"),
        ({"slots": (2.0, "1/10")}, OptionError, "from 1 to 10000"),
        ({"slots": (10_001, "1/10")}, OptionError, "from 1 to 10000"),
        ({"slots": (10, 0)}, EpsilonError, "not positive"),
        ({"slots": (10, "x")}, EpsilonError, "not a number"),
        ({"slots": (1000, 11)}, EpsilonError, "more than 10000"),
        ({"slots": (10, "1/10"), "delta": 0}, EpsilonError, "epsilon=1 without slots"),
        ({"slots": (10, "1/10"), "delta": 1}, EpsilonError, r"outside \[0, 1\)"),
        ({"slots": (10, "1/10"), "epsilon": 1}, OptionError, "leave out epsilon="),
        ({"slots": (10, "1/10"), "filter": "renyi"}, OptionError, "give one of them"),
        ({"epsilon": 1, "filter": "gauss"}, OptionError, "give 'renyi'"),
        ({"epsilon": 1, "filter": "renyi", "delta": 0}, EpsilonError, "needs a delta"),
        ({"epsilon": "1e-12", "delta": "1e-30", "filter": "renyi"}, EpsilonError, "no room at all"),
        ({"filter": "renyi"}, EpsilonError, "epsilon is missing"),
        ({}, EpsilonError, "epsilon is missing"),
    ],
)
def test_terms_that_are_refused(
    terms: dict[str, object], error: type[Exception], words: str
) -> None:
    given_ = {"epsilon": None, "delta": "1e-9"} | terms
    with pytest.raises(error, match=words):
        checked_rule(**given_)


def test_one_slot_and_a_large_delta() -> None:
    """The total of a budget is never zero."""
    rule = checked_rule(None, "0.5", (1, "1/10"))
    assert rule.limit.epsilon == STEP
    assert more_fit(rule, zero(rule), Amount(Fraction(1, 10))) == 1
