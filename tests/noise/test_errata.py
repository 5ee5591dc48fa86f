"""The errata of the paper, each with the check that shows it (docs/paper.md lists them)."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from hourglass.core.exact import exp_minus
from hourglass.core.limits import Bounds, Grid
from hourglass.errors import GridError
from hourglass.estimate.accuracy import expected_error, gamma, leading_error, sigma2
from hourglass.mechanisms.base import make
from hourglass.noise import DiscreteLaplace, Hourglass, Staircase2D
from hourglass.noise.hourglass import stair

pytestmark = pytest.mark.enumeration

UNIT = Grid(Bounds(0, 1), 1 << 32)
DOCS = Path(__file__).parents[2] / "docs" / "paper"
RATIOS = [Fraction(1, 10), Fraction(1, 3), Fraction(2, 3), Fraction(9, 10)]
GAMMAS = [Fraction(1, 10), Fraction(2, 5), Fraction(1, 2), Fraction(1)]


def plane_integral(b: Fraction, g: Fraction) -> Fraction:
    """The integral of b^level over the plane: (1-b) sum_i b^i 2 (g+i)^2, in closed form."""
    return 2 * (g**2 + 2 * g * b / (1 - b) + b * (1 + b) / (1 - b) ** 2)


def constant(b: Fraction, g: Fraction, factor: int) -> Fraction:
    """The normaliser with ``factor`` on the first term in the bracket; printed: 1."""
    bracket = factor * b * (b + (1 - b) * g) + (1 - b) * (b + (1 - b) * g**2)
    return (1 - b) ** 2 / (2 * bracket)


@pytest.mark.parametrize(("b", "g"), list(product(RATIOS, GAMMAS)))
def test_the_staircase_normaliser_needs_a_factor_two(b: Fraction, g: Fraction) -> None:
    assert constant(b, g, 2) * plane_integral(b, g) == 1
    assert constant(b, g, 1) * plane_integral(b, g) > 1


def test_the_sampled_staircase_has_the_corrected_normaliser() -> None:
    law = Staircase2D(Fraction(1), 1 << 20, 2 * (1 << 20) // 5)
    b = Fraction(float(exp_minus(Fraction(1))))
    integral = float(law.normaliser()) / law.grid**2
    assert integral == pytest.approx(float(1 / constant(b, Fraction(2, 5), 2)), rel=1e-5)
    assert integral != pytest.approx(float(1 / constant(b, Fraction(2, 5), 1)), rel=0.01)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_the_sum_over_counts_is_not_the_inverse(epsilon: Fraction) -> None:
    b = float(exp_minus(epsilon))
    total = sum(b ** abs(y) for y in range(-200, 201))
    assert total == pytest.approx((1 + b) / (1 - b))
    assert total != pytest.approx((1 - b) / (1 + b), rel=0.1)


@pytest.mark.slow
def test_the_final_constant_of_the_hourglass_is_right() -> None:
    law = Hourglass(Fraction(2), 4, 1)
    total = sum(float(law.pmf(x, k)) for x in range(-60, 61) for k in range(-30, 31))
    assert total == pytest.approx(1, abs=1e-9)


LATTICES = [(grid, centre) for grid in range(1, 9) for centre in range(grid)]


@pytest.mark.parametrize(("grid", "centre"), LATTICES)
def test_the_third_case_of_the_proof_is_a_jump_from_minus_one_to_one(
    grid: int, centre: int
) -> None:
    """A record never lowers the stair; it raises it by 0, by 1, or from -1 to 1."""
    jumps = {
        (stair(x, grid, centre), stair(x + q, grid, centre))
        for x in range(-4 * grid, 4 * grid + 1)
        for q in range(grid + 1)
    }
    assert {after - before for before, after in jumps} <= {0, 1, 2}
    assert {jump for jump in jumps if jump[1] - jump[0] == 2} <= {(-1, 1)}
    # It happens if and only if a record can step over the centre's 2c+1 cells.
    assert ((-1, 1) in jumps) == (2 * centre + 2 <= grid)


@pytest.mark.parametrize(("grid", "centre"), LATTICES)
def test_the_level_moves_by_one_in_every_case(grid: int, centre: int) -> None:
    """Of q = 0, where the second point is (x, y+1), the jump over the centre, and the rest."""
    law = Hourglass(Fraction(1), grid, centre)
    for x, k, q in product(range(-3 * grid, 3 * grid + 1), range(-4, 5), range(grid + 1)):
        assert abs(law.level(x + q, k + 1) - law.level(x, k)) == 1
        if q == 0:
            # Read as printed, with the count left where it is, nothing would move.
            assert law.level(x, k) - law.level(x, k) == 0


def test_padding_with_zeros_keeps_the_sum_and_ones_do_not() -> None:
    """The lower bound turns a mean over n records into the sum of the first few of them."""
    values, n = [Fraction(1, 4), Fraction(1, 2), Fraction(1)], 10
    padding = n - len(values)

    def scaled_mean(filler: int) -> Fraction:
        return n * (sum(values, Fraction(0)) + padding * filler) / n

    assert scaled_mean(0) == sum(values)
    assert scaled_mean(1) == sum(values) + padding != sum(values)


def test_the_lower_bound_is_not_two_over_epsilon_squared() -> None:
    sizes = [sigma2(epsilon) * float(epsilon) ** 2 / 2 for epsilon in (0.01, 0.1, 1, 4, 8)]
    assert all(size < 1 for size in sizes)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.2


def test_a_record_moves_the_query_either_way() -> None:
    """Removing one is the negative of adding it, and not of the form (x, 1 - x) itself."""
    G = 4
    added = {(q, G - q) for q in range(G + 1)}
    removed = {(-x, -y) for x, y in added}
    assert not added & removed
    lattice = make("hourglass", Fraction(1), Grid(Bounds(0, 1), G)).lattice()
    assert {(q, 1) for q in range(G + 1)} == set(lattice.moves)
    law = Hourglass(Fraction(1), G)
    for (x, y), k in product(removed, range(-3, 4)):
        # The count moves by (x + y) / G, the sum by x.
        assert abs(law.level(x, k + (x + y) // G) - law.level(0, k)) == 1


def test_the_third_figure_on_small_data_shows_errors_and_the_fourth_their_ratio() -> None:
    def column(name: str) -> dict[tuple[str, str], float]:
        with (DOCS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            _, *rows = csv.reader(file)
        return {(row[1], row[2]): float(row[3]) for row in rows}

    third, fourth = column("e7"), column("e8")
    sizes = [size for series, size in third if series == "hourglass"]
    assert len(sizes) == 7
    for size in sizes:
        ratio = third["staircase", size] / third["hourglass", size]
        assert fourth["staircase / hourglass", size] == pytest.approx(ratio, rel=1e-8)
    # Errors fall by orders with the size; their ratio stays where it is.
    assert third["hourglass", "1"] > 100 * third["hourglass", "64"]
    assert max(fourth.values()) < 2 * min(fourth.values())


@pytest.mark.parametrize("width", [10, 120])
def test_the_error_carries_the_width_squared(width: int) -> None:
    unit = expected_error(10_000, (0.0, 1.0), 1) ** 2
    assert expected_error(10_000, (0.0, float(width)), 1) ** 2 == pytest.approx(width**2 * unit)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_laplace_with_parameter_epsilon_means_scale_one_over_epsilon(epsilon: Fraction) -> None:
    # In the middle of the range the leading error is stated as 1/(n eps)^2.
    stated = 1 / float(epsilon) ** 2
    assert leading_error(epsilon, algorithm="laplace", mean=0.5) == pytest.approx(stated)
    law = make("laplace", epsilon, UNIT).law  # type: ignore[attr-defined]
    assert law.rate * UNIT.cells == epsilon
    # With scale epsilon the loss of one record would be 1/epsilon, not epsilon.
    wrong = DiscreteLaplace(1 / epsilon / UNIT.cells)
    assert wrong.rate * UNIT.cells != epsilon


def test_the_centre_is_never_empty() -> None:
    # gamma is above zero at every epsilon, if ever less; on the lattice c >= 0 is one cell.
    assert all(0 < gamma(epsilon) < 0.5 for epsilon in (0.01, 1, 10, 50))
    for grid in (1, 2, 7, 1 << 32):
        law = Hourglass(Fraction(100), grid)
        assert 2 * law.c + 1 >= 1
        assert law.level(0, 0) == 0
    with pytest.raises(GridError):
        Hourglass(Fraction(1), 4, -1)
