"""The paper's claims, from the numbers themselves.

Unless a test says otherwise its tolerance is six standard errors a point. A normal value lies
beyond that with probability 2e-9, so even a sweep of a hundred points raises a false alarm
with probability below 1e-6. Every test also shows that a wrong law would be rejected.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourglass.estimate.accuracy import sigma2
from hourglass.paper import EXHIBITS, Claim, Point, Table
from hourglass.paper.exhibit import SIGMAS
from hourglass.paper.sweeps import ratios

from .conftest import Tables

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("paper")]

#: staircase2d_variance / sigma2 in 60-digit arithmetic, twelve digits shown.
STAIRCASE_OVER_HOURGLASS = {4: 1.398467, 8: 2.344508}


def scaled(table: Table, series: str, factor: float) -> Table:
    """The table that a law with ``factor`` times the error would have given."""
    points = (
        replace(p, y=p.y * factor, se=p.se * factor) if p.series == series else p
        for p in table.points
    )
    return Table(table.x, table.y, tuple(points))


def verdicts(name: str, table: Table) -> list[bool | None]:
    return [claim.holds for claim in EXHIBITS[name].claims(table)]


def over(table: Table, top: str, below: str) -> list[Point]:
    return [p.over(table.at(below, p.x)) for p in table.series(top)]


def test_transformed_laplace_halves_the_error_of_shifted(tables: Tables) -> None:
    shifted = over(tables("e1"), "shifted", "laplace")
    assert [p.x for p in shifted] == pytest.approx([i / 10 for i in range(1, 11)])
    for p in shifted:
        assert abs(p.y - 2) <= SIGMAS * p.se
        assert SIGMAS * p.se < 0.4  # a ratio of 1.6, or of 1, is rejected


def test_transformed_laplace_has_a_quarter_of_the_error_of_independent(tables: Tables) -> None:
    # At mean 0.01 theory says 8 (1 + 0.01^2) / (1 + 4 (0.49)^2) = 4.08, about 4.
    for p in over(tables("e1"), "independent", "laplace"):
        assert p.closed_form == pytest.approx(4.08, abs=0.01)
        assert abs(p.y - 4) <= 0.1 + SIGMAS * p.se
        assert SIGMAS * p.se < 0.8  # a ratio of 3, or of 2, is rejected


def test_laplace_claims_reject_a_law_thirty_per_cent_off(tables: Tables) -> None:
    table = tables("e1")
    assert verdicts("e1", table) == [True, True, True]
    assert verdicts("e1", scaled(table, "laplace", 1.3)) == [False, False, False]


def test_hourglass_meets_the_lower_bound_for_epsilon_1_to_10(tables: Tables) -> None:
    # What is compared: n^2 MSE at the data's own mean a, near 0.01, against
    # sigma2 ((1-a)^2 + a^2). The bound sigma2 itself is on the worst mean, which no data
    # set can have without being clipped; at 0.01 the factor is 0.98.
    hourglass = tables("e3").series("hourglass")
    assert [p.x for p in hourglass] == list(range(1, 11))
    for p in hourglass:
        worst = sigma2(int(p.x)) * p.x**2 / 2
        assert p.closed_form == pytest.approx(0.98 * worst, rel=0.01)
        assert abs(p.deviation) <= SIGMAS
        assert p.se / p.y < 0.09
    # Up to epsilon 6 the error is known to a hundredth: a law 8 % off would be seen.
    assert all(p.se / p.y < 0.0125 for p in hourglass if p.x <= 6)


def test_the_lower_bound_claim_rejects_the_staircase(tables: Tables) -> None:
    table = tables("e3")
    assert all(verdicts("e3", table))
    wrong = [
        replace(p, closed_form=table.at("hourglass", p.x).closed_form)
        for p in table.series("staircase")
    ]
    assert all(abs(p.deviation) > SIGMAS for p in wrong if p.x >= 3)
    assert verdicts("e3", scaled(table, "hourglass", 1.1))[0] is False


@pytest.mark.parametrize("epsilon", [4, 8])
def test_staircase_over_hourglass_is_the_reference_value(tables: Tables, epsilon: int) -> None:
    table = tables("e3")
    ratio = table.at("staircase", epsilon).over(table.at("hourglass", epsilon))
    reference = STAIRCASE_OVER_HOURGLASS[epsilon]
    assert ratio.closed_form == pytest.approx(reference, rel=1e-5)
    assert abs(ratio.y - reference) <= SIGMAS * ratio.se
    assert ratio.y - SIGMAS * ratio.se > 1  # equal laws are rejected


def test_the_staircase_falls_behind_as_epsilon_grows(tables: Tables) -> None:
    ratio = over(tables("e3"), "staircase", "hourglass")
    assert ratio[0].y < ratio[3].y < ratio[6].y < ratio[9].y


@pytest.mark.parametrize(
    ("name", "series"),
    [("e2", "laplace"), ("e2", "shifted"), ("e4", "staircase"), ("e4", "hourglass")],
)
def test_the_error_over_the_mean_is_an_m(tables: Tables, name: str, series: str) -> None:
    # Clipping halves the error at both ends, and so does the middle: peaks of 1, lows of 1/2.
    # A quarter of the peak is far beyond six standard errors of a difference.
    points = tables(name).series(series)
    peak_left = max(p.y for p in points if 0 < p.x < 0.5)
    peak_right = max(p.y for p in points if 0.5 < p.x < 1)
    for low in (points[0].y, tables(name).at(series, 0.5).y, points[-1].y):
        assert low == pytest.approx(peak_left / 2, rel=0.25)
        assert low == pytest.approx(peak_right / 2, rel=0.25)
    assert all(SIGMAS * p.se < 0.25 * peak_left for p in points)


def test_without_clipping_there_is_no_m(tables: Tables) -> None:
    table = tables("e4")
    free = Table(
        table.x,
        table.y,
        tuple(replace(p, y=p.closed_form) for p in table.points),
    )
    assert verdicts("e4", table)[:2] == [True, True]
    assert False not in verdicts("e4", table)
    assert verdicts("e4", free)[:2] == [False, False] or verdicts("e4", free)[:2] == [None, None]


def test_shifted_is_twice_transformed_at_every_mean(tables: Tables) -> None:
    table = tables("e2")
    assert all(verdicts("e2", table))
    assert verdicts("e2", scaled(table, "shifted", 0.7))[0] is False
    assert verdicts("e2", scaled(table, "independent", 0.3))[1] is False


def test_shifted_over_transformed_is_about_two_from_sixteen_records(tables: Tables) -> None:
    # "About": at mean 0.01 clipping is at work up to 64 records, and the ratio lies between
    # 1.8 and 2.1 (E2 shows why: close to zero the two curves are not proportional).
    large = [p for p in over(tables("e5"), "shifted", "laplace") if p.x >= 16]
    assert [p.x for p in large] == [16, 32, 64]
    for p in large:
        assert abs(p.y - 2) <= 0.2 + SIGMAS * p.se
        assert p.y - SIGMAS * p.se > 1.5  # equal errors are rejected
    table = ratios(tables("e5"), "laplace")
    assert verdicts("e6", table) == [True]
    assert verdicts("e6", scaled(table, "shifted / laplace", 0.6)) == [False]


def test_transformed_is_the_best_laplace_from_two_records_on(tables: Tables) -> None:
    assert verdicts("e5", tables("e5"))[0] is True
    assert verdicts("e5", scaled(tables("e5"), "laplace", 3))[0] is False


def test_only_transformed_laplace_converges_to_the_lower_bound_curve(tables: Tables) -> None:
    """At 64 records 0.95 of the curve; shifted 1.77 and independent 3.85 of it."""
    table = tables("e5")
    assert table.at("laplace", 64).over(table.at("swap", 64)).y == pytest.approx(1, abs=0.15)
    assert verdicts("e5", table)[1] is True
    # A transformed noise that stays away is seen, and so is a shifted one that comes close.
    for series, factor in (("laplace", 1.5), ("laplace", 0.7), ("shifted", 0.5)):
        assert verdicts("e5", scaled(table, series, factor))[1] is False, series
    few = tuple(replace(p, se=10 * p.se) for p in table.points)
    assert verdicts("e5", Table(table.x, table.y, few))[1] is None


def test_hourglass_beats_the_staircase_at_every_size(tables: Tables) -> None:
    table = ratios(tables("e7"), "hourglass")
    ratio = table.series("staircase / hourglass")
    assert [p.x for p in ratio] == [1, 2, 4, 8, 16, 32, 64]
    assert all(p.y - SIGMAS * p.se > 1 for p in ratio)
    assert verdicts("e8", table) == [True]
    assert verdicts("e8", scaled(table, "staircase / hourglass", 0.5)) == [False]


@pytest.mark.parametrize("name", ["balls", "space", "density"])
def test_the_pictures_bear_out_their_claims(tables: Tables, name: str) -> None:
    assert all(verdicts(name, tables(name)))


def test_a_level_that_jumps_by_two_is_seen(tables: Tables) -> None:
    table = tables("density")
    moved = tuple(replace(p, y=p.y + 1) if p.series == "K = 0" else p for p in table.points)
    assert verdicts("density", Table(table.x, table.y, moved)) == [False]


def test_a_verdict_can_be_open() -> None:
    assert Claim("", "", None).verdict == "too few runs"
    assert Claim("", "", True).verdict == "yes"
    assert Claim("", "", False).verdict == "no"
