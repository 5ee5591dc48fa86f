"""The hourglass of a triangle as a mechanism: its noise on totals, its tails, its moments."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.audit.exact import enumerate_losses, exact_audit, exact_finding
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.mechanisms.base import make
from hourglass.mechanisms.spread import FINEST, HourglassSpread, triangle_lattice
from hourglass.mechanisms.tails import SLACK, Line
from hourglass.mechanisms.triangle_tails import TriangleTails
from tests.tools import long


def spread(epsilon: str, cells: int) -> HourglassSpread:
    grid = Grid(Bounds(0.0, 1.0), cells)
    made: HourglassSpread = make("hourglass", Fraction(epsilon), grid, "spread")
    return made


@pytest.mark.slow
@given(
    st.lists(st.integers(0, FINEST), max_size=6),
    st.sampled_from([1, 2, 7, 1000, FINEST]),
    st.sampled_from(["1/100", "1", "8"]),
)
@settings(max_examples=80, deadline=None)
def test_the_noise_is_added_to_three_totals(values: list[int], G: int, epsilon: str) -> None:
    """Exactly: what is left without the totals is the law's own draw, whatever the records."""
    mechanism, cells = spread(epsilon, G), [q % (G + 1) for q in values]
    totals = Totals(sum(cells), len(cells), (sum(q * q for q in cells),))
    (u0, u1, u2), k = mechanism.law.sample(None, bits=hg.SeededBits(3))
    noisy = mechanism.noise(totals, bits=hg.SeededBits(3))
    fold = mechanism.fold
    assert noisy.squares == fold * sum(q * q for q in cells) + u2
    assert noisy.cells == fold * sum(2 * G * q for q in cells) + u1 + 2 * u2
    assert noisy.rest == fold * sum(2 * G * (G - q) for q in cells) + 2 * u0 + u1
    assert noisy.size == len(cells) + k
    cells_of, count_of, squares_of = (
        np.array([v], dtype=object) for v in (totals.cells, totals.count, totals.more[0])
    )
    many = Totals(cells_of, count_of, (squares_of,))
    drawn, _ = mechanism.law.sample(1, bits=hg.SeededBits(3))
    by_group = mechanism.noise(many, bits=hg.SeededBits(3))
    assert by_group.squares[0] == fold * totals.more[0] + int(drawn[0, 2])
    assert by_group.take(0).size == len(cells) + int(drawn[0].sum()) // mechanism.law.whole


def test_many_draws_of_large_totals_do_not_wrap() -> None:
    mechanism, count = spread("1", FINEST), 2**20
    noisy = mechanism.noise(Totals(FINEST * count, count, (FINEST**2 * count,)), size=50)
    unit = noisy.parts * noisy.grid
    assert all(abs(int(w) / unit - count) < 10**3 for w in noisy.weight)
    assert all(abs(2 * int(u) / unit - count) < 10**3 for u in noisy.squares)


@pytest.mark.parametrize(
    ("epsilon", "ratio"), [("1/10", 1.20), ("1", 1.22), ("2", 1.276), ("4", 1.47)]
)
def test_the_mean_pays_a_fifth_for_the_spread(epsilon: str, ratio: float) -> None:
    alone = make("hourglass", Fraction(epsilon), Grid(Bounds(0.0, 1.0), 2**32)).moments.cells
    found = float(spread(epsilon, FINEST).moments.cells) / float(alone)
    assert found == pytest.approx(ratio, rel=0.03)
    assert found < 1.03 * ratio


@pytest.mark.slow
def test_moments_are_those_of_the_sum_and_the_rest() -> None:
    """By enumeration of a small law: variances and the covariance of S' and G N' - S'."""
    mechanism = HourglassSpread(Fraction(3, 2), Grid(Bounds(0.0, 1.0), 2), (4, 3))
    law, W = mechanism.law, mechanism.law.whole
    reach, found = 12 * W + law.centre, np.zeros(3)
    for k in range(-12, 13):
        for u0 in range(-reach, reach + 1):
            for u2 in range(-reach, reach + 1):
                u1 = W * k - u0 - u2
                if law.level((u0, u1, u2)) > 14:
                    continue
                p = math.exp(-1.5 * law.level((u0, u1, u2)))
                s, r = (u1 + 2 * u2) / (2 * W), (2 * u0 + u1) / (2 * W)
                found += p * np.array([s * s, r * r, s * r])
    found /= (1 - math.exp(-3)) * float(law.normaliser())
    moments = mechanism.moments
    wanted = [float(m) for m in (moments.cells, moments.rest, moments.both)]
    assert found == pytest.approx(wanted, rel=2e-3)


# --- tails ----------------------------------------------------------------------------------


def every_upper(law: hg.HourglassTriangle, k: int, x: Any) -> Any:
    """P(K = k, U1 + 2 U2 >= x) for many x, region by region.

    U1 + 2 U2 is W k + d where d = U2 - U0: with a given d, the points of a region are a row, whose
    length is counted.
    """
    W, c, total = law.whole, law.centre, np.zeros(len(x))
    for L in range(abs(k), int(26 / float(law.epsilon)) + 6, 2):
        p, t = (L + k) // 2 * W + c, (L - k) // 2 * W + c
        d = np.arange(-p - t, p + t + 1)
        # -t <= u0 <= p, the same of u2 = u0 + d, and of u1 = W k - d - 2 u0.
        first = np.maximum(np.maximum(-t, -t - d), -((p + d - W * k) // 2))
        last = np.minimum(np.minimum(p, p - d), (W * k - d + t) // 2)
        row = np.maximum(0, last - first + 1)
        above = np.append(np.cumsum(row[::-1])[::-1], 0)  # how many are at least W k + d
        assert above[0] == law.points((L + k) // 2, (L - k) // 2)
        places = np.clip(x - W * k + p + t, 0, len(row))
        total += math.exp(-float(law.epsilon) * L) * above[places]
    return total / float(law.normaliser())


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(
    ("W", "epsilon", "centre"),
    [
        *((W, epsilon, None) for W in (2, 25, 49, 64) for epsilon in ("1", "2", "4")),
        *((25, "4", centre) for centre in (0, 2, 12)),
        (67, "8", None),
        (64, "20", None),
    ],
)
def test_the_tail_is_never_below_the_law_and_above_it_by_less_than_a_point(
    W: int, epsilon: str, centre: int | None
) -> None:
    """Of each region that reaches so far, at every point.

    Also where a range of L begins: divided by a W that is no power of two, such places are rounded,
    and points were lost. With the narrowest centre, a range can be empty.
    """
    law = hg.HourglassTriangle(epsilon, W, centre)
    b, normaliser = math.exp(-float(law.epsilon)), float(law.normaliser())
    for k in range(-4, 5):
        x = np.arange(-6 * W, 6 * W + 1)
        found = TriangleTails(law).upper(np.full(len(x), float(k)), x.astype(np.float64))
        wanted = every_upper(law, k, x)
        assert np.all(found >= wanted - 1e-12)
        # A quarter of a point for each of four counts, from the first region that reaches it on.
        steps = np.ceil((np.abs(x - W * k) - 2 * law.centre - 1 - W * abs(k)) / (2 * W))
        first = abs(k) + 2 * np.maximum(0.0, steps)
        assert np.all(found <= wanted + b**first / (1 - b**2) / normaliser + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0, -2.5])
@pytest.mark.parametrize("epsilon", ["1/10", "1"])
def test_misses_agree_with_a_sample(slope: float, epsilon: str) -> None:
    """200,000 draws at a fine grid: within 6 standard errors. False alarms: 1e-8."""
    law, n = hg.HourglassTriangle(epsilon, FINEST**2), 200_000
    u, k = law.sample(n)
    x = (np.asarray(u, dtype=float)[:, 1] + 2 * np.asarray(u, dtype=float)[:, 2]) / law.whole / 2
    z = np.abs(x - slope * np.asarray(k, dtype=float))
    line = Line(1.0, slope)
    for share in (0.5, 0.1, 0.01):
        reach = float(np.quantile(z, 1 - share))
        found = TriangleTails(law).miss(line, line, reach)
        error = math.sqrt(share * (1 - share) / n)
        assert abs(found - share) < 6 * error + SLACK
        assert abs(found - 1.3 * share) > 6 * error


# --- what a record does ---------------------------------------------------------------------


@pytest.mark.enumeration
@pytest.mark.parametrize("whole", range(1, 7))
@pytest.mark.parametrize("centre", [0, 1, 4])
def test_every_record_moves_the_level_by_one(whole: int, centre: int) -> None:
    """All triples of sum W are records here, not only squares of cells."""
    lattice = triangle_lattice(hg.HourglassTriangle("1", whole, centre))
    losses = enumerate_losses(lattice)
    assert losses.least == -1
    assert losses.greatest == 1


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("cells", [1, 2, FINEST, *long(3, 1000)])
def test_the_audit_passes(cells: int) -> None:
    found = exact_audit(spread("1/2", cells))
    assert found.holds
    assert found.figures["loss"] == "1/2"


def _mutants() -> dict[str, Any]:
    law = hg.HourglassTriangle("1", 4)
    level = law.level
    return {
        "a record in the sums and not in the count": triangle_lattice(law, [(4, -4, 4)]),
        "a cell past the grid": triangle_lattice(law, [(1, -6, 9)]),
        "the square not counted in the middle": triangle_lattice(law, [(1, 3, 4)]),
        "two coordinates mixed up": triangle_lattice(
            law, level=lambda u0, u2, k: level((u0 - u2, 4 * k - u0, u2))
        ),
        "the parity of the count lost": triangle_lattice(
            law, level=lambda u0, u2, k: level((u0, 4 * k - u0 - u2, u2)) // 2 * 3
        ),
    }


@pytest.mark.enumeration
@pytest.mark.parametrize("name", list(_mutants()))
def test_the_audit_catches(name: str) -> None:
    assert not exact_finding(_mutants()[name]).holds


def test_a_stored_answer_keeps_its_law() -> None:
    grid = Grid(Bounds(0, 5), 5, True)
    stored = {"triangle": {"whole": 50, "centre": 3}}
    found = HourglassSpread.restored(Fraction(1), grid, stored)
    assert (found.law.whole, found.law.centre, found.fold) == (50, 3, 2)
    assert found.stored()["triangle"] == stored["triangle"]
    today = spread("1", 5)
    again = HourglassSpread.restored(Fraction(1), today.grid, today.stored())
    assert again is today
