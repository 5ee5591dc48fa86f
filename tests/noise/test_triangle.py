"""The hourglass of a triangle: its values, its privacy, its moments, its centre.

Enumeration throughout; the sampler is in test_body_samplers.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hourglass as hg
from hourglass.core.exact import Enclosure, exp_minus
from hourglass.noise.triangle import best_triangle_centre
from tests.noise.test_box import close, same

pytestmark = pytest.mark.enumeration

Levels = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


def test_reference_values(bodies: dict[str, Any]) -> None:
    assert len(bodies["moments"]) == 4
    for row in bodies["moments"]:
        law = hg.HourglassTriangle(row["epsilon"], row["whole"], row["centre"])
        assert close(law.normaliser(), row["normaliser"])
        for region in row["points"]:
            assert law.points(region["added"], region["removed"]) == region["points"]
        for point in row["pmf"]:
            assert law.count(point["u"]) == point["k"]
            assert law.level(point["u"]) == point["level"]
            assert close(law.pmf(point["u"]), point["p"])


# --- the regions --------------------------------------------------------------------------


def region(whole: int, centre: int, a: int, m: int) -> list[tuple[int, int, int]]:
    """By the definition: the sum is W (a - m), the positive ones add up to at most a W + c."""
    total, most = whole * (a - m), a * whole + centre
    reach = range(-(m * whole + centre), most + 1)
    triples = ((x, total - x - y, y) for x, y in product(reach, repeat=2))
    return [u for u in triples if sum(max(0, value) for value in u) <= most]


def by_signs(whole: int, centre: int, a: int, m: int) -> int:
    """The number of points by the pattern of signs: none, one, two, three below zero."""
    s, t = whole * (a - m), m * whole + centre
    none = (s + 2) * (s + 1) // 2 if s >= 0 else 0
    one = 3 * sum(r + s + 1 for r in range(max(1, -s), t + 1))
    two = 3 * sum(r - 1 for r in range(max(2, -s), t + 1))
    three = (-s - 1) * (-s - 2) // 2 if s < 0 else 0
    return none + one + two + three


@pytest.mark.parametrize("whole", range(1, 7))
def test_the_number_of_points(whole: int) -> None:
    for centre, a, m in product(range(5), range(4), range(4)):
        law = hg.HourglassTriangle(1, whole, centre)
        found = len(region(whole, centre, a, m))
        assert law.points(a, m) == found == by_signs(whole, centre, a, m)


@pytest.mark.slow
@pytest.mark.parametrize("whole", [1, 2, 4])
def test_the_level_is_the_least_number_of_records(whole: int) -> None:
    for centre in range(4):
        law = hg.HourglassTriangle(1, whole, centre)
        least: dict[tuple[int, int, int], int] = {}
        for a, m in product(range(6), repeat=2):
            for u in region(whole, centre, a, m):
                least[u] = min(least.get(u, a + m), a + m)
        small = {u: level for u, level in least.items() if level <= 5}
        assert len(small) > 50
        for u, level in small.items():
            assert law.level(u) == level
            assert law.levels(np.array(u)) == level


# --- privacy ------------------------------------------------------------------------------


def points(whole: int, reach: int) -> Any:
    """Every triple with coordinates up to the reach and a sum that is a multiple of W."""
    axis = np.arange(-reach, reach + 1)
    u = np.stack([part.ravel() for part in np.meshgrid(axis, axis, axis)], axis=1)
    return u[u.sum(axis=1) % whole == 0]


def records(whole: int) -> list[Any]:
    """Everything that a record may add: whole numbers, not negative, of sum W."""
    return [np.array((x, whole - x - y, y)) for x in range(whole + 1) for y in range(whole - x + 1)]


def losses(levels: Levels, whole: int, moves: list[Any], reach: int) -> set[int]:
    u = points(whole, reach)
    here = levels(u)
    return {change for v in moves for change in np.unique(levels(u + v) - here).tolist()}


@pytest.mark.slow
@pytest.mark.parametrize("whole", range(1, 7))
def test_one_record_moves_the_level_by_exactly_one(whole: int) -> None:
    for centre in range(2 * whole + 1):
        law = hg.HourglassTriangle(1, whole, centre)
        reach = min(centre + 2 * whole + 1, 18)
        assert losses(law.levels, whole, records(whole), reach) == {-1, 1}, centre


@pytest.mark.parametrize("whole", [2, 4, 6])
def test_the_same_check_rejects_each_mutant(whole: int) -> None:
    for centre in (0, 1, whole):
        law = hg.HourglassTriangle(1, whole, centre)

        def independent(u: Any, law: Any = law) -> Any:
            stairs = np.maximum(0, -((law.centre - np.abs(u).max(axis=1)) // law.whole))
            return np.abs(u.sum(axis=1) // law.whole) + stairs

        def unsigned(u: Any, law: Any = law) -> Any:
            k = u.sum(axis=1) // law.whole
            stairs = np.maximum(0, -((law.centre - np.abs(u).max(axis=1)) // law.whole))
            return np.maximum(np.abs(k), 2 * stairs + k)

        def flipped(u: Any, law: Any = law) -> Any:
            return law.levels(np.stack([u[:, 0], -u[:, 1], u[:, 2] + 2 * u[:, 1]], axis=1))

        reach = min(centre + 2 * whole + 1, 14)
        for mutant in (independent, unsigned, flipped):
            found = losses(mutant, whole, records(whole), reach)
            assert max(map(abs, found)) > 1, mutant.__name__
        outside = [np.array((whole + 1, 0, -1)), np.array((-1, whole + 2, -1))]
        assert max(map(abs, losses(law.levels, whole, outside, reach))) > 1
        twice = [2 * v for v in records(whole)]
        assert max(map(abs, losses(law.levels, whole, twice, reach))) > 1
        # Counted in one coordinate only: the sum is no multiple of W any more, or two W.
        uncounted = [np.array((whole, -whole, 0))]
        assert max(map(abs, losses(law.levels, whole, uncounted, reach))) > 1


@pytest.mark.parametrize("G", range(1, 30))
def test_what_a_value_adds_is_a_record(G: int) -> None:
    for q in range(G + 1):
        added = ((G - q) ** 2, 2 * q * (G - q), q**2)
        assert min(added) >= 0
        assert sum(added) == G**2
        assert added[1] + 2 * added[2] == 2 * G * q


# --- sums and moments ---------------------------------------------------------------------

LAWS = [(1, 0), (1, 2), (4, 1), (4, 5), (6, 0)]


def window(law: hg.HourglassTriangle, stairs: int) -> tuple[Any, Any, Any]:
    reach = law.centre + stairs * law.whole
    axis = np.arange(-reach, reach + 1)
    x, y, k = (part.ravel() for part in np.meshgrid(axis, axis, np.arange(-stairs, stairs + 1)))
    u = np.stack([x, law.whole * k - x - y, y], axis=1)
    b = float(exp_minus(law.epsilon))
    return u, k, b ** law.levels(u) / (1 - b * b) / float(law.normaliser())


@pytest.mark.parametrize(("whole", "centre"), LAWS)
def test_the_pmf_sums_to_one_and_has_the_moments(whole: int, centre: int) -> None:
    law = hg.HourglassTriangle(3, whole, centre)
    u, k, p = window(law, 10)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    each, count = law.variance
    across, with_count = law.covariance
    assert law.mean == ((0, 0, 0), 0)
    assert (p * k * k).sum() == pytest.approx(float(count), rel=1e-6)
    for i in range(3):
        assert (p * u[:, i] ** 2).sum() == pytest.approx(float(each), rel=1e-6)
        assert (p * u[:, i] * k).sum() == pytest.approx(float(with_count), rel=1e-6)
        both = (p * u[:, i] * u[:, (i + 1) % 3]).sum()
        assert both == pytest.approx(float(across), rel=1e-6, abs=1e-9)
    for value in range(-3, 4):
        assert p[k == value].sum() == pytest.approx(float(law.count_pmf(value)), rel=1e-6)
        assert p[k >= value].sum() == pytest.approx(float(law.count_tail(value)), rel=1e-6)
    doubled = u[:, 1] + 2 * u[:, 2]  # 2 W times the sum of the values, as parts of the range
    for alpha, wanted in ((0, law.mean_error[0]), (0.5, law.mean_error[1])):
        error = (p * (doubled / (2 * whole) - alpha * k) ** 2).sum()
        assert error == pytest.approx(float(wanted), rel=1e-6)


def test_exact_masses_of_the_count() -> None:
    law = hg.HourglassTriangle("1/2", 2**32)
    for t in (1, 7, 80):
        assert same(law.count_tail(t) - law.count_tail(t + 1), law.count_pmf(t))
        assert same(law.count_tail(-t), 1 - law.count_tail(t + 1))


# --- the best centre ----------------------------------------------------------------------


def error(epsilon: Fraction, whole: int, c: int) -> Enclosure:
    return hg.HourglassTriangle(epsilon, whole, c).mean_error[0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/4", "1", "4", "12", "30"])
@pytest.mark.parametrize("whole", [1, 2, 9, 16])
def test_the_centre_is_the_best_of_all(epsilon: str, whole: int) -> None:
    exact = Fraction(epsilon)
    reach = int(2 * whole / float(exact)) + whole + 2
    best = min(range(reach), key=lambda c: error(exact, whole, c).low)
    assert best < reach - 1
    assert best_triangle_centre(exact, whole) == best


@pytest.mark.parametrize(
    ("epsilon", "ratio"),
    [("0.1", 1.20), ("0.5", 1.20), ("1", 1.22), ("2", 1.27), ("4", 1.47), ("8", 2.21)],
)
def test_what_the_spread_costs_the_mean(epsilon: str, ratio: float) -> None:
    """The error of the mean beside that of the mean alone, on fine grids."""
    alone = hg.Hourglass(epsilon, 2**32).variance[0] / 2**64
    both = hg.HourglassTriangle(epsilon, 2**32).mean_error[0]
    assert float(both / alone) == pytest.approx(ratio, rel=0.006)


# --- what it is ---------------------------------------------------------------------------


def test_a_law_is_a_value() -> None:
    law = hg.HourglassTriangle(1, 16, 20)
    assert law == hg.HourglassTriangle("1", 16, 20)
    assert hash(law) == hash(hg.HourglassTriangle(1, 16, 20))
    assert law != hg.HourglassTriangle(1, 16, 19)
    with pytest.raises(AttributeError):
        law.whole = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("whole", "centre", "message"),
    [
        (0, None, "whole=0 is out of range; give a number from 1 to 2.46"),
        (2**46 + 1, None, "whole=70368744177665 is out of range"),
        (2.5, None, "whole=2.5 is not a whole number"),
        (True, None, "whole=True is not a whole number"),
        (4, -1, "centre=-1 is out of range; give 0 or more"),
        (4, "1", "centre='1' is not a whole number"),
    ],
)
def test_bad_arguments(whole: Any, centre: Any, message: str) -> None:
    with pytest.raises(hg.GridError, match=message):
        hg.HourglassTriangle(1, whole, centre)


def test_points_off_the_lattice() -> None:
    law = hg.HourglassTriangle(1, 4, 1)
    assert law.pmf((1, 1, 1)) == Enclosure.of(0)
    with pytest.raises(ValueError, match="multiple of whole=4"):
        law.level((1, 1, 1))
