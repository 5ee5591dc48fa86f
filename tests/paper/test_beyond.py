"""What goes beyond the paper; tolerances as in test_claims: six standard errors a point."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hourglass.noise import SeededBits
from hourglass.paper import EXHIBITS, Table
from hourglass.paper.columns import EPSILONS, GAINS, MEASURED
from hourglass.paper.data import data_set
from hourglass.paper.exhibit import SIGMAS
from hourglass.paper.rivals import KNorm, LaplaceSums, hardt_talwar, least

from .conftest import Tables
from .test_claims import scaled, verdicts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("paper")]


@pytest.mark.parametrize("name", ["parabola", "grids", "intervals", "centre", "levels", "e9"])
def test_the_claims_hold(tables: Tables, name: str) -> None:
    claims = EXHIBITS[name].claims(tables(name))
    assert claims
    assert [c.text for c in claims if not c.holds] == []


def test_the_parabola_is_met_and_nothing_else_would_be(tables: Tables) -> None:
    table = tables("parabola")
    assert all(abs(p.deviation) <= SIGMAS for p in table.points)
    for series in ("0.1", "1", "4"):
        assert verdicts("parabola", scaled(table, series, 1.1)) == [False]


def test_the_gain_of_integer_grids_is_that_of_the_reference(tables: Tables) -> None:
    # 0.585 and 0.199 of sigma2: the variance of two independent geometrics, exactly.
    table = tables("grids")
    for epsilon, reference in ((4, 0.585), (8, 0.199)):
        point = table.at("yes/no", epsilon)
        assert point.closed_form == pytest.approx(reference, abs=0.0006)
        assert abs(point.deviation) <= SIGMAS
    assert verdicts("grids", scaled(table, "yes/no", 1.5))[0] is False
    assert verdicts("grids", scaled(table, "ages 0 to 120", 1.3))[1] is False


def test_few_cells_are_cut_for_a_better_centre(tables: Tables) -> None:
    # Four whole cells have no centre near the best at epsilon 3 (1.083 of the optimum for real
    # values at this mean); cut into five parts each they have, and it is seen.
    point = tables("grids").at("ratings 1 to 5", 3)
    assert point.closed_form == pytest.approx(1.0065, abs=0.0005)
    assert point.y + SIGMAS * point.se < 1.083


def test_projected_gains_at_the_ends_and_pays_in_the_middle(tables: Tables) -> None:
    # We once held that projected is never worse, and the posterior at most twice as bad; both
    # are refuted. Made on the same 4,000 draws, the gain at (0.01, 2 records) is 0.71 and the
    # cost at (0.5, 2) 1.12, each +- 0.02 over 25 seeds: every limit is six of those away.
    table = tables("estimators")
    gain = table.at("projected", 2, "0.01").y / table.at("ratio", 2, "0.01").y
    cost = table.at("projected", 2, "0.5").y / table.at("ratio", 2, "0.5").y
    assert gain < 0.88
    assert 1 < cost < 1.25
    assert verdicts("estimators", table) == [False, True, True, False, True]
    assert verdicts("estimators", scaled(table, "projected", 1.3))[1] is False


def test_the_posterior_helps_in_the_middle(tables: Tables) -> None:
    # From 0.057 to 0.019 at four records: a ratio of 0.330 +- 0.005 over seeds.
    table = tables("estimators")
    assert table.at("posterior", 4, "0.5").y < 0.5 * table.at("projected", 4, "0.5").y
    assert verdicts("estimators", scaled(table, "posterior", 2))[2] is False
    # Jeffreys costs 1.4 at most where the other costs 2.4, and gains 0.5 where that gains 0.33.
    for factor in (0.5, 2):
        assert verdicts("estimators", scaled(table, "jeffreys", factor))[4] is False


def test_the_interval_covers(tables: Tables) -> None:
    # All 36,000 intervals together: under exact coverage less than 0.943 has probability 1e-8
    # (binomial); an interval that covers 93 % fails it always. The claim itself is judged
    # point by point.
    table = tables("intervals")
    coverage = [p for p in table.points if p.panel == "coverage"]
    assert sum(p.y for p in coverage) / len(coverage) > 0.943
    # An interval that is always the whole range would cover too; its width would not fall.
    width = table.series("1", "width")
    assert width[-1].y < 0.01 < width[0].y
    short = [scaled(table, series, 0.8) for series in ("0.5", "1", "4")]
    assert all(verdicts("intervals", t) == [False] for t in short)


def test_tuning_the_centre_pays_where_it_was_tuned_for(tables: Tables) -> None:
    table = tables("centre")
    for judge in table.panels:
        for point in table.series(judge, judge):
            others = [table.at(name, point.x, judge) for name in table.panels]
            assert point.closed_form <= min(p.closed_form for p in others) + 1e-4
    assert verdicts("centre", scaled(table, "average over means", 1.1)) == [False, False]


# --- several columns ------------------------------------------------------------------------


def test_the_box_has_the_reference_errors(tables: Tables) -> None:
    """Errors at a bound in 60-digit arithmetic on 1024 cells; on 2^32 they agree to five digits."""
    table = tables("e9")
    reference = {
        ("ε = 0.1", 2): 326.580587633558, ("ε = 0.1", 10): 2046.63236806448,
        ("ε = 1", 1): 1.91810350630681, ("ε = 1", 2): 3.193, ("ε = 1", 3): 4.661,
        ("ε = 1", 5): 8.190, ("ε = 1", 10): 20.40,
    }  # fmt: skip
    for (panel, d), error in reference.items():
        unit = float(panel.removeprefix("ε = ")) ** 2 / 2
        found = table.at("box", d, f"{panel}, worst mean").y / unit
        assert found == pytest.approx(error, rel=3e-4)


def test_measured_errors_of_columns_are_the_closed_forms(tables: Tables) -> None:
    """Of the box, of separate hourglasses and of Laplace noise; a law 8 % off would be seen."""
    table = tables("e9")
    measured = [p for p in table.points if p.runs]
    assert len(measured) == 3 * len(MEASURED) * len(EPSILONS)
    for p in measured:
        assert abs(p.deviation) <= SIGMAS, p
        assert SIGMAS * p.se / p.y < 0.08, p


def test_the_claims_about_columns_can_fail(tables: Tables) -> None:
    table = tables("e9")
    assert verdicts("e9", table) == [True] * 7
    gains = len(GAINS)
    worse = scaled(table, "box", 1.06)
    assert verdicts("e9", worse)[:gains] == [False] * gains
    assert verdicts("e9", scaled(table, "box", 1.2))[gains:] == [False] * 3
    assert verdicts("e9", scaled(table, "box", 0.95))[gains] is False
    # 2.4 % off is more than 2 %, and at these runs too close for a verdict of no.
    assert verdicts("e9", scaled(table, "box", 0.976))[gains] is None


def test_a_level_of_two_columns_that_jumps_is_seen(tables: Tables) -> None:
    table = tables("levels")
    moved = tuple(replace(p, y=p.y + 1) if p.panel == "K = 0" else p for p in table.points)
    assert verdicts("levels", Table(table.x, table.y, moved)) == [False]


@pytest.mark.parametrize(("d", "narrow"), [(1, 1.97), (2, 3.24), (5, 8.96), (10, 25.2)])
def test_a_wide_centre_helps_the_k_norm(d: int, narrow: float) -> None:
    """With a centre of one record at most it has the errors that are known for it."""
    law = KNorm(Fraction(1), d)
    bounded = least(lambda centre: law._at(centre, 0.0), 1.0)
    assert law._at(bounded, 0.0) == pytest.approx(narrow, abs=0.006 * narrow)
    # For one column both searches end at the same centre, up to the last digits of a double.
    assert law.error(0.0) <= law._at(bounded, 0.0) * (1 + 1e-12)
    assert law.error(0.0) < hardt_talwar(Fraction(1), d, 0.0)


@pytest.mark.enumeration
@pytest.mark.parametrize("d", [1, 2])
def test_the_k_norm_s_moments_are_those_of_its_law(d: int) -> None:
    """Summed over a lattice of tenths, from the level alone; a record moves it by one at most."""
    law, step = KNorm(Fraction(2), d), 0.1
    centre = round(law.centre / step) * step
    ys = np.arange(-12 + step / 2, 12, step)
    size = np.abs(ys)
    for _ in range(d - 1):
        size = np.maximum.outer(size, np.abs(ys))
    mass = total = count = 0.0
    for k in range(-11, 12):
        level = np.maximum(abs(k), np.maximum(0, np.ceil(size - centre - 1e-9)))
        weight = np.exp(-2 * level)
        mass += weight.sum()
        total += (weight.sum(axis=tuple(range(1, d))) * ys**2).sum()
        count += k**2 * weight.sum()
    found = total / mass / 4 + 0.25 * count / mass
    assert found == pytest.approx(law._at(centre, 0.0), rel=2e-3)
    for y, k, v in product((-3.05, -centre, 0.0, centre, 2.95), (-2, 0, 3), (-1.0, 0.3, 1.0)):
        before = max(abs(k), max(0, np.ceil(abs(y) - centre - 1e-9)))
        after = max(abs(k + 1), max(0, np.ceil(abs(y + v) - centre - 1e-9)))
        assert abs(after - before) <= 1


@pytest.mark.parametrize("d", [1, 3, 10])
def test_epsilon_is_divided_in_the_best_way(d: int) -> None:
    """For small epsilon, where counts are as good as real, in parts d^(2/3) : 1."""
    law = LaplaceSums(Fraction(1, 100), d)
    assert float(law.part) == pytest.approx(d ** (2 / 3) / (d ** (2 / 3) + 1), abs=2e-3)
    wanted = (d ** (2 / 3) + 1) ** 3 / 2 * 100**2
    assert law.error(0.0) == pytest.approx(wanted, rel=1e-4)


def test_laplace_noise_is_charged_for_all_sums_and_the_count() -> None:
    """d sums of sensitivity G each and a count of 1: their rates add up to epsilon."""
    law = LaplaceSums(Fraction(3), 4)
    bits = SeededBits(3)
    noisy = law.noise(data_set(0.5, 1000, bits), bits, 4000)
    spread = np.std(np.asarray(noisy.cells + noisy.rest, dtype=float)) / (2 * noisy.grid)
    b = float(np.exp(-float(3 * (1 - law.part))))
    # The standard deviation of 4,000 draws: within a tenth, six of its own deviations and more.
    assert spread == pytest.approx((2 * b) ** 0.5 / (1 - b), rel=0.25)
    assert 0 < law.part < 1
