"""Intervals for a population's mean: exact coverage by enumeration, and by samples."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.errors import OptionError
from hourglass.estimate.interval import interval
from hourglass.estimate.lines import COUNT, count_reach, tail
from hourglass.estimate.population import Seen, population, records_mean, studentised
from hourglass.estimate.sampling import many_yes_no
from hourglass.mechanisms.base import ALGORITHMS, HourglassMean, make
from hourglass.mechanisms.tails import Line
from tests.tools import at_least

from .sampled import (
    POPULATIONS,
    coverage,
    holds_at,
    mechanism_for,
    noisy_samples,
    not_excluded,
)

YES_NO = Grid(Bounds(0, 1), 1, True)
REAL = Grid(Bounds(0.0, 1.0), 2**32)


def seen_without_noise(grid: Grid, n: int, epsilon: str, mean: float) -> hg.Interval:
    """The interval where the noise happens to be zero."""
    mechanism = make("hourglass", Fraction(epsilon), grid)
    unit = mechanism.parts * grid.cells
    cells = round(n * mean * unit)
    noisy = NoisyTotals(cells, n * unit - cells, grid.cells, mechanism.parts)
    return population(mechanism, noisy, 0.95, mean)


# --- how wide ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "mean", "half", "kind"),
    [
        ("1", 0.1, 0.0059, "exact"),
        ("1/10", 0.1, 0.0064, "valid"),
        ("1/10", 0.5, 0.0100, "valid"),
    ],
)
def test_half_widths_of_yes_no_columns(epsilon: str, mean: float, half: float, kind: str) -> None:
    """At n = 10,000: within 10 % of the best that an exact test with a secret n was found to do."""
    found = seen_without_noise(YES_NO, 10_000, epsilon, mean)
    assert found.kind == kind
    assert 0.9 * half < (found.high - found.low) / 2 < 1.1 * half


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 0.02, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_exact_is_said_only_where_the_law_was_summed(
    monkeypatch: pytest.MonkeyPatch, epsilon: str, mean: float
) -> None:
    """Caught: "exact" for many records, where a proven inequality bounds the binomial law."""
    bounds = []

    def bounded(*given: Any) -> Any:
        bounds.append(given)
        return many_yes_no(*given)

    monkeypatch.setattr("hourglass.estimate.population.many_yes_no", bounded)
    kinds = []
    for n in (3, 50, 700, 9000, 10**5):
        bounds.clear()
        population.cache_clear()
        found = seen_without_noise(YES_NO, n, epsilon, mean)
        assert (found.kind == "exact") is (not bounds)
        kinds.append(found.kind)
    assert kinds == sorted(kinds)  # the largest ones are not exact
    assert {*kinds} == {"exact", "valid"}


def test_half_widths_of_other_columns() -> None:
    """At n = 10,000, epsilon 1, mean .1: Chernoff's bound is .0082."""
    found = seen_without_noise(REAL, 10_000, "1", 0.1)
    assert found.kind == "valid"
    assert 0.0059 < (found.high - found.low) / 2 < 0.0072


@pytest.mark.parametrize("grid", [YES_NO, REAL])
def test_wider_than_the_interval_of_the_records_and_narrower_with_more(grid: Grid) -> None:
    mechanism = make("hourglass", Fraction(1), grid)
    previous = 1.0
    for n in (10, 100, 1000, 10**5, 10**8, 10**12):
        found = seen_without_noise(grid, n, "1", 0.3)
        unit = mechanism.parts * grid.cells
        cells = round(n * 0.3 * unit)
        noisy = NoisyTotals(cells, n * unit - cells, grid.cells, mechanism.parts)
        records = interval(mechanism, noisy, 0.95, "mean", 0.3)
        assert found.low <= records.low
        assert found.high >= records.high
        assert found.high - found.low < 0.6 * previous or n == 10
        previous = found.high - found.low


# --- exact coverage, by enumeration -----------------------------------------------------------


@cache
def ends(mechanism: HourglassMean, cells: int, count: int) -> tuple[float, float]:
    unit = mechanism.parts * mechanism.grid.cells
    noisy = NoisyTotals(cells, unit * count - cells, mechanism.grid.cells, mechanism.parts)
    seen = min(max(cells / (unit * count), 0.0), 1.0) if count > 0 else 0.5
    low, high = population(mechanism, noisy, 0.8, seen)
    return low, high


def exact_coverage(epsilon: str, n: int, mu: float, narrower: float = 1.0) -> float:
    """Summed over the yes/no data of n records and the noise."""
    mechanism = make("hourglass", Fraction(epsilon), YES_NO)
    assert isinstance(mechanism, HourglassMean)
    far = math.ceil(11 / float(Fraction(epsilon)))
    covered = 0.0
    noise = [
        (x, k, float(mechanism.law.pmf(x, k, bits=64)))
        for x, k in product(range(-far * mechanism.parts, far * mechanism.parts + 1),
                            range(-far, far + 1))
    ]  # fmt: skip
    noise = [one for one in noise if one[2] > 1e-7]
    left = 1.0 - sum(mass for *_, mass in noise)
    for s in range(n + 1):
        chance = math.comb(n, s) * mu**s * (1 - mu) ** (n - s)
        for x, k, mass in noise:
            low, high = ends(mechanism, mechanism.parts * s + x, n + k)
            middle, half = (low + high) / 2, (high - low) / 2 * narrower
            covered += chance * mass * (middle - half <= mu <= middle + half)
    return covered + left


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize(("n", "mu"), [(0, 0.3), (1, 0.5), (3, 0.1), (8, 0.5), (8, 0.97)])
def test_exact_coverage_is_at_least_nominal(n: int, mu: float) -> None:
    assert exact_coverage("2", n, mu) >= 0.8


@pytest.mark.enumeration
@pytest.mark.slow
def test_the_coverage_test_rejects_an_interval_too_narrow() -> None:
    assert exact_coverage("2", 8, 0.5, narrower=0.6) < 0.8


# --- coverage, by samples ---------------------------------------------------------------------

#: Of so many intervals at 95 %, fewer hold with a probability of 5e-8.
ENOUGH = {160: int(stats.binom.ppf(5e-8, 160, 0.95))}


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "epsilon"),
    [
        ("yes/no .02", 200, "1"),
        ("yes/no .5", 20, "4"),
        ("uniform", 20, "4"),
        ("two points", 200, "1"),
        ("heavy at 0", 10_000, "1"),
    ],
)
def test_coverage_of_some(name: str, n: int, epsilon: str) -> None:
    """160 samples: fewer have a probability of 5e-8, below 1e-6 in all."""
    assert at_least(ENOUGH[160], coverage(name, n, epsilon, 160), 160)


@pytest.mark.statistical
@pytest.mark.slow
def test_the_interval_of_the_records_fails_the_coverage_test() -> None:
    """An interval of half the width holds the mean far less often: the tests can tell."""
    assert not at_least(ENOUGH[160], coverage("yes/no .5", 200, "1", 160, narrower=0.5), 160)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "hourglass"])
@pytest.mark.parametrize("name", ["yes/no .5", "two points"])
def test_coverage_of_every_mechanism(algorithm: str, name: str) -> None:
    """160 samples: fewer have a probability of 5e-8, below 1e-6 in all."""
    assert at_least(ENOUGH[160], not_excluded(name, 200, "1", 160, algorithm=algorithm), 160)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "epsilon", "algorithm", "samples"),
    [
        ("uniform", 20, "1", "hourglass", 30),
        ("yes/no .02", 200, "4", "hourglass", 30),
        *(("yes/no .5", 200, "1", each, 6) for each in ALGORITHMS),
        *(("two points", 200, "1", each, 6) for each in ALGORITHMS),
    ],
)
def test_what_is_not_excluded_lies_in_the_interval(
    name: str, n: int, epsilon: str, algorithm: str, samples: int
) -> None:
    """At any mean, for many answers: so that the coverage of all can be measured by that."""
    mechanism = mechanism_for(name, epsilon, algorithm)
    tried = 0
    for noisy in noisy_samples(name, n, mechanism, samples, 5):
        low, high = population(mechanism, noisy, 0.95, 0.5)
        for mu in (*np.linspace(0.01, 0.99, 9), low + 1e-4, low - 1e-3, high - 1e-4, high + 1e-3):
            if 0.0 < mu < 1.0 and holds_at(mechanism, noisy, float(mu), 0.95):
                tried += 1
                assert low - 1e-9 <= mu <= high + 1e-9
    assert tried > samples


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
@pytest.mark.parametrize("n", [20, 200, 10_000])
@pytest.mark.parametrize("name", POPULATIONS)
def test_coverage_of_all(name: str, n: int, epsilon: str) -> None:
    """4,000 samples, 4 standard errors below nominal. At a coverage of exactly 95 % a cell would
    fail once in 30,000 times; the samples are fixed, so that it passes or fails for good."""
    found = sum(not_excluded(name, n, epsilon, 4000)) / 4000
    print(f"{name}, n={n}, epsilon={epsilon}: coverage {found:.4f}")
    assert found >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 4000)


# --- the public call --------------------------------------------------------------------------


def test_of_population_in_the_public_call() -> None:
    data = [0.2, 0.4] * 500
    release = hg.mean(data, bounds=(0.0, 1.0), epsilon=1, bits=hg.SeededBits(3))
    found = release.interval(0.9, of="population")
    assert (found.of, found.kind, found.confidence) == ("population", "valid", 0.9)
    assert found.low < release.interval(0.9).low < release.interval(0.9).high < found.high
    low, high = found
    assert (low, high) == (found.low, found.high)
    whole = hg.mean(np.array([0, 1] * 500), bounds=(0, 1), epsilon=1, bits=hg.SeededBits(3))
    assert whole.interval(of="population").kind == "exact"
    assert whole.interval(of="mean").kind == "exact"
    rounded = hg.mean(data, bounds=(0.0, 1.0), epsilon=1, grid=1, bits=hg.SeededBits(3))
    assert rounded.interval(of="population").kind == "valid"  # not yes/no: rounded to the ends
    with pytest.raises(OptionError, match="mean, sum, count, population"):
        release.interval(of="median")
    with pytest.raises(OptionError, match="outside"):
        release.interval(2.0, of="population")


def test_each_of_several_columns_and_all_at_once() -> None:
    rng = np.random.default_rng(2)
    release = hg.mean(rng.random((2000, 3)), ["0", "1", "2"], bounds=(0.0, 1.0), epsilon=1)
    alone = release.intervals(of="population")
    together = release.intervals(of="population", simultaneous=True)
    for name, found in alone.items():
        assert found.kind == "valid"
        assert together[name].low < found.low < release[name].mean < found.high
        assert found.high - found.low < 0.12


def test_a_public_number_of_records_is_used_directly() -> None:
    release = hg.mean([0.25] * 400, bounds=(0.0, 1.0), epsilon=1, algorithm="swap")
    assert count_reach(release._algorithm, 0.001) == 0.0
    found = release.interval(0.999999, of="population")
    assert 0.0 <= found.low < 0.25 < found.high <= 1.0


def test_the_bounds_are_those_of_the_data() -> None:
    release = hg.mean([30.0] * 300, bounds=(10.0, 110.0), epsilon=2, bits=hg.SeededBits(1))
    found = release.interval(of="population")
    assert 10 <= found.low < 30 < found.high < 40
    few = hg.mean([30.0], bounds=(10.0, 110.0), epsilon="1/10", bits=hg.SeededBits(1))
    assert tuple(few.interval(of="population")) == (10, 110)


@pytest.mark.parametrize(("cells", "count"), [(-5, 0), (0, -3), (40, 3), (-50, 20), (9, 9)])
def test_totals_that_no_data_makes_likely(cells: int, count: int) -> None:
    mechanism = make("hourglass", Fraction(2), YES_NO)
    unit = mechanism.parts
    noisy = NoisyTotals(cells * unit, (count - cells) * unit, 1, unit)
    low, high = population(mechanism, noisy, 0.95, 0.5)
    assert 0.0 <= low <= 0.5 <= high <= 1.0


# --- with the spread ---------------------------------------------------------------------------


def test_with_the_spread_it_is_narrow_and_says_that_it_is_approximate() -> None:
    rng = np.random.default_rng(4)
    data = np.clip(rng.normal(0.5, 0.05, 4000), 0, 1)
    spread = hg.mean(data, bounds=(0.0, 1.0), epsilon=1, spread=True, bits=hg.SeededBits(2))
    plain = hg.mean(data, bounds=(0.0, 1.0), epsilon=1, bits=hg.SeededBits(2))
    found, wide = (r.interval(of="population") for r in (spread, plain))
    assert (found.kind, wide.kind) == ("approximate", "valid")
    assert found.high - found.low < 0.3 * (wide.high - wide.low)
    assert spread.interval(of="std").kind == "approximate"


def test_studentised() -> None:
    found = studentised(5.0, 4.0, 101, noise=0.0, confidence=0.95, bounds=(0.0, 10.0))
    half = 1.98397 * 2 / math.sqrt(101)  # Student's quantile with 100 degrees of freedom
    assert (found.low, found.high) == pytest.approx((5 - half, 5 + half), abs=1e-4)
    noisy = studentised(5.0, 4.0, 101, noise=0.3, confidence=0.95, bounds=(0.0, 10.0))
    assert noisy.high - 5 == pytest.approx(math.hypot(half, 1.98397 * 0.3), abs=1e-4)
    for few in (-3, 0.5, 1):  # there is no variance of one record
        none = studentised(5.0, 0.01, few, noise=0.3, confidence=0.95, bounds=(0.0, 10.0))
        assert tuple(none) == (0.0, 10.0)
    edge = studentised(0.1, 1e9, 4, noise=0.0, confidence=0.95, bounds=(0.0, 10.0))
    # No values between the bounds have a variance above 25, nor a mean below 0.
    assert tuple(edge) == pytest.approx((0.0, 0.1 + 5 / 2 * 3.064), abs=1e-2)
    for shift in (-1000.0, -5.0, 300.0):
        bounds = shift, shift + 10
        moved = studentised(shift + 5, 1e9, 20, noise=0.1, confidence=0.9, bounds=bounds)
        there = studentised(5.0, 25.0, 20, noise=0.1, confidence=0.9, bounds=(0.0, 10.0))
        assert tuple(moved) == pytest.approx((shift + there.low, shift + there.high))


# --- the noise of several answers --------------------------------------------------------------


def law_of_sum(mechanism: HourglassMean, quarters: int, copies: int) -> tuple[Any, Any]:
    """The values of the sum of so many pivots at alpha = quarters / 4, and their probabilities."""
    far, unit = 14, 4 * mechanism.parts
    law: Any = np.ones(1)
    one = np.zeros(4 * far * unit + 1)
    for x, k in product(range(-far * mechanism.parts, far * mechanism.parts + 1),
                        range(-far, far + 1)):  # fmt: skip
        place = 4 * x - quarters * mechanism.parts * k
        one[2 * far * unit + place] += float(mechanism.law.pmf(x, k, bits=64))
    for _ in range(copies):
        law = np.convolve(law, one)
    return (np.arange(len(law)) - copies * 2 * far * unit) / unit, law


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize(("quarters", "copies"), [(1, 1), (1, 2), (2, 5), (0, 12)])
def test_the_tail_of_a_sum_of_noises(quarters: int, copies: int) -> None:
    """Never below the law, and above it by the rounding to a table's places alone. The atoms of
    the law are tried as well: rounded down instead of up, it would be too low just there."""
    mechanism = make("hourglass", Fraction(2), YES_NO)
    assert isinstance(mechanism, HourglassMean)
    values, law = law_of_sum(mechanism, quarters, copies)
    found = tail(mechanism, Line(1.0, quarters / 4), copies)
    deviation = math.sqrt(float((law * values**2).sum()))
    atoms = values[(law > 1e-9) & (np.abs(values) < 3 * deviation)]
    for r in (*np.linspace(-3, 5, 60) * deviation, *atoms):
        near = float(found(r))
        assert near >= float(law[values >= r - 1e-9].sum()) - 1e-9
        # Far out the places are further apart, and an atom of the law moves further.
        assert near <= float(law[values >= r - 0.15 * deviation].sum()) + 0.004


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 12])
@pytest.mark.parametrize("name", ["hourglass", "laplace", "independent"])
def test_the_reach_of_a_count_of_several(name: str, copies: int) -> None:
    """Against draws: 20,000 sums, 6 standard errors (false alarms below 1e-8)."""
    mechanism = make(name, Fraction(1), REAL)
    reach = count_reach(mechanism, 0.05, copies)
    draws = mechanism.noise(Totals(0, 0), size=20_000 * copies, bits=hg.SeededBits(8))
    off = np.asarray(draws.weight, dtype=np.float64).reshape(-1, copies).sum(axis=1) / 2**32
    missed = float((np.abs(off) >= reach).mean())
    assert missed <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / 20_000)
    assert missed >= 0.015  # whole numbers are taken to the next one
    assert tail(mechanism, COUNT, copies).reach(1e-30) == math.inf


def test_the_records_mean_by_tables_is_about_the_interval_of_the_release() -> None:
    for epsilon, n in (("1", 300), ("1/10", 5000), ("4", 50)):
        mechanism = make("hourglass", Fraction(epsilon), REAL)
        low, high = records_mean(Seen(mechanism, 0.3 * n, float(n), 0.95))
        noisy = NoisyTotals(int(0.3 * n * 2**32), n * 2**32 - int(0.3 * n * 2**32), 2**32)
        exact = interval(mechanism, noisy, 0.95, "mean", 0.3)
        assert low <= exact.low + 1e-3 * (exact.high - exact.low)
        assert high >= exact.high - 1e-3 * (exact.high - exact.low)
        assert high - low < 1.06 * (exact.high - exact.low)


def test_the_mechanism_for_a_name_is_on_its_own_grid() -> None:
    assert mechanism_for("yes/no .5", "1").grid.own
    assert mechanism_for("uniform", "1").grid.cells == 2**32


# --- planning ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_plan_says_how_many_records_a_margin_needs() -> None:
    found = hg.accuracy.plan((0, 1), 0.02, epsilon=1, grid=1, mean=0.5, population=True)
    assert found.population
    assert found.error <= 0.02
    assert 2400 < found.records < 2700  # 2401 without noise, by the normal law
    fewer = seen_without_noise(YES_NO, int(found.records * 0.97), "1", 0.5)
    assert (fewer.high - fewer.low) / 2 > 0.02
    real = hg.accuracy.plan((0.0, 1.0), 0.02, epsilon=1, mean=0.5, population=True)
    assert 1.3 < real.records / found.records < 1.5  # from the bounds alone
    worst = hg.accuracy.plan((0, 1), 0.02, epsilon=1, grid=1, population=True)
    assert worst.records == pytest.approx(found.records, rel=0.01)


@pytest.mark.slow
def test_plan_finds_epsilon_for_a_margin() -> None:
    found = hg.accuracy.plan((0, 1), 0.02, records=3000, grid=1, mean=0.5, population=True)
    assert found.epsilon < 1
    assert found.error <= 0.02


def test_plan_refuses_a_margin_that_no_epsilon_or_sample_reaches() -> None:
    with pytest.raises(OptionError, match="cannot be reached"):
        hg.accuracy.plan((0, 1), 0.01, records=100, mean=0.5, population=True)
    with pytest.raises(OptionError, match="a finer grid"):
        hg.accuracy.plan((0, 100), 0.3, epsilon=1, grid=50, population=True)


@pytest.mark.parametrize("cells", [1, 2**32])
@pytest.mark.parametrize("below", [True, False])
def test_a_sum_that_the_noise_hardly_explains_leaves_the_whole_range(
    cells: int, below: bool
) -> None:
    """As for the mean of the records; what no mean explains must not look precise."""
    grid = Grid(Bounds(0, 1), 1, own=True) if cells == 1 else Grid(Bounds(0.0, 1.0), cells)
    mechanism = make("hourglass", Fraction(4), grid)
    unit = mechanism.parts * cells
    pair = (-3 * unit, 11 * unit) if below else (11 * unit, -3 * unit)
    noisy = NoisyTotals(*pair, cells, mechanism.parts)
    estimate = 0.0 if below else 1.0
    for found in (
        interval(mechanism, noisy, 0.95, "mean", estimate),
        population(mechanism, noisy, 0.95, estimate),
        population(mechanism, noisy, 0.95, estimate, copies=2),
    ):
        assert (found.low, found.high) == (0.0, 1.0)
    plausible = NoisyTotals(unit, 7 * unit, cells, mechanism.parts)
    assert population(mechanism, plausible, 0.95, 1 / 8).high < 0.8
