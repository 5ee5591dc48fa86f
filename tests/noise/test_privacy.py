"""Privacy by enumeration: every move of a neighbour, every small grid, every centre.

The check is one function of a level (how many steps of e^-epsilon below the top a point
lies) and a set of moves. It must pass for the laws and fail for each known mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product

import pytest

import hourglass as hg
from hourglass.core.exact import Enclosure, exp_minus
from hourglass.noise.hourglass import stair

pytestmark = pytest.mark.enumeration

Level = Callable[[int, int], int]
Move = tuple[int, int]


def losses(level: Level, moves: Iterable[Move], reach: tuple[int, int]) -> set[int]:
    """Every change of level that a move can make from a point of the window."""
    points = list(product(range(-reach[0], reach[0] + 1), range(-reach[1], reach[1] + 1)))
    return {level(x + dx, y + dy) - level(x, y) for dx, dy in moves for x, y in points}


def records(G: int, over: int = 0) -> list[Move]:
    """What one record may add to (S, N)."""
    return [(q, 1) for q in range(G + 1 + over)]


GRIDS = range(1, 13)


@pytest.mark.slow
@pytest.mark.parametrize("G", GRIDS)
def test_hourglass_loss_is_exactly_one_step(G: int) -> None:
    for c in range(G):
        law = hg.Hourglass(1, G, c)
        # Stairs repeat after the third on either side: this window holds every pattern.
        assert losses(law.level, records(G), (c + 3 * G + 1, 5)) == {-1, 1}, c


@pytest.mark.parametrize("G", GRIDS)
def test_the_jump_over_a_narrow_centre_happens(G: int) -> None:
    """Case C of the proof: without it the enumeration above would prove less than it seems."""
    for c in range(G):
        jumps = any(
            stair(x, G, c) == -1 and stair(x + q, G, c) == 1
            for x in range(-c - G, 0)
            for q in range(G + 1)
        )
        assert jumps == (2 * c + 2 <= G), c


def mutant_levels(G: int, c: int) -> dict[str, tuple[Level, list[Move]]]:
    law = hg.Hourglass(1, G, c)

    def unsigned(x: int, k: int) -> int:
        j = abs(stair(x, G, c))
        return j + abs(k - j)

    def independent_count(x: int, k: int) -> int:
        return abs(stair(x, G, c)) + abs(k)

    return {
        "unsigned stair": (unsigned, records(G)),
        "count noise without the stair": (independent_count, records(G)),
        "q = G+1": (law.level, records(G, over=1)),
        "summed but not counted": (law.level, [(q, 0) for q in range(G + 1)]),
        "counted twice": (law.level, [(q, 2) for q in range(G + 1)]),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", list(mutant_levels(2, 0)))
def test_the_same_check_rejects_each_mutant(name: str) -> None:
    for G in range(2, 13):
        for c in range(G):
            level, moves = mutant_levels(G, c)[name]
            worst = max(map(abs, losses(level, moves, (c + 3 * G + 1, 5))))
            assert worst > 1, (name, G, c)


def test_what_the_mistakes_cost() -> None:
    """The figures that the proof gives: 3 epsilon for q = G+1, 2 for an uncounted record."""
    mutants = mutant_levels(6, 1)
    assert max(losses(*mutants["q = G+1"], (22, 5))) == 3
    assert losses(*mutants["summed but not counted"], (22, 5)) == {-2, 0, 2}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(4)])
def test_the_pmf_follows_the_level(epsilon: Fraction) -> None:
    """The ratio of two pmfs encloses e^(+-epsilon): what is enumerated is what is sampled."""
    for G, c in ((1, 0), (3, 0), (3, 2), (6, 1)):
        law = hg.Hourglass(epsilon, G, c)
        for q in range(G + 1):
            for x, k in product(range(-c - G - 2, c + G + 3), range(-2, 3)):
                ratio = law.pmf(x, k) / law.pmf(x + q, k + 1)
                up = law.level(x + q, k + 1) > law.level(x, k)
                one = ratio * exp_minus(epsilon) if up else ratio / exp_minus(epsilon)
                assert 1 in one, (G, c, q, x, k)
                assert one.high - one.low < Fraction(1, 10**30)


@pytest.mark.slow
@pytest.mark.parametrize("G", GRIDS)
def test_two_dimensional_staircase(G: int) -> None:
    moves = [(q, G - q) for q in range(G + 1)]
    for c in range(G):
        law = hg.Staircase2D(1, G, c)
        found = losses(law.level, moves, (2 * G + c + 1, 2 * G + c + 1))
        assert max(map(abs, found)) == 1, c
        worse = losses(law.level, [(q, G + 1 - q) for q in range(G + 2)], (c + G + 1, c + G + 1))
        assert max(map(abs, worse)) > 1 or G == 1, c


@pytest.mark.parametrize("G", GRIDS)
def test_transformed_laplace(G: int) -> None:
    """Rate epsilon/G on each coordinate: a record moves them by q and G-q, G in all."""

    def level(x: int, y: int) -> int:
        return abs(x) + abs(y)

    moves = [(q, G - q) for q in range(G + 1)]
    assert max(losses(level, moves, (G + 1, G + 1))) == G
    law = hg.DiscreteLaplace(Fraction(1, G))
    for q, x in product(range(G + 1), range(-2, 3)):
        one_sided = law.pmf(x) / law.pmf(x + q) * exp_minus(Fraction(q, G))
        assert one_sided.high < 1 + Fraction(1, 10**30)


def sums(values: Iterable[Enclosure]) -> Enclosure:
    total = Enclosure.of(0)
    for value in values:
        total = total + value
    return total


@pytest.mark.slow
@pytest.mark.parametrize("G", [1, 2, 5, 8])
def test_pmfs_sum_to_one_within_their_enclosures(G: int) -> None:
    """Up to a tail that is enclosed too: the rest beyond stair 40 at epsilon 2."""
    for c in range(G):
        law = hg.Hourglass(2, G, c)
        last = c + 40 * G
        inside = sums(law.marginal_x.pmf(x) for x in range(-last, last + 1))
        tail = law.marginal_x.stairs.tail(41)
        assert 1 in inside + tail
        counts = sums(law.count_pmf(k) for k in range(-60, 61))
        assert 1 in counts + 2 * law.count_tail(61)
        flat = hg.Staircase2D(2, G, c)
        rings = sums((1 if r == 0 else 4 * r) * flat.pmf(r, 0) for r in range(c + 60 * G + 1))
        assert rings.low < 1 < rings.high + Fraction(1, 10**40)


@pytest.mark.slow
@pytest.mark.parametrize("G", [1, 3, 4])
def test_marginals_of_the_joint_law(G: int) -> None:
    for c in {0, G // 2, G - 1}:
        law = hg.Hourglass(3, G, c)
        for x in range(-c - 2 * G, c + 2 * G + 1):
            row = sums(law.pmf(x, k) for k in range(-70, 71))
            assert abs(float(row) / float(law.marginal_x.pmf(x)) - 1) < 1e-15
        for k in range(-3, 4):
            column = sums(law.pmf(x, k) for x in range(-c - 30 * G, c + 30 * G + 1))
            assert abs(float(column) / float(law.count_pmf(k)) - 1) < 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("G", [1, 2, 5])
def test_moments_are_those_of_the_pmf(G: int) -> None:
    for c in {0, G // 2, G - 1}:
        law = hg.Hourglass(2, G, c)
        points = [
            (x, k, float(law.pmf(x, k)))
            for x in range(-c - 22 * G, c + 22 * G + 1)
            for k in range(-24, 25)
        ]
        var_x = sum(p * x * x for x, _, p in points)
        var_k = sum(p * k * k for _, k, p in points)
        both = sum(p * x * (G * k - x) for x, k, p in points)
        assert var_x == pytest.approx(float(law.variance[0]), rel=1e-12)
        assert var_k == pytest.approx(float(law.variance[1]), rel=1e-12)
        assert both == pytest.approx(float(law.covariance), rel=1e-10, abs=1e-12)
        flat = hg.Staircase2D(2, G, c)
        spread = sum(float(flat.pmf(r, 0)) * (4 * r**3 + 2 * r) / 3 for r in range(c + 30 * G + 1))
        assert spread == pytest.approx(float(flat.variance[0]), rel=1e-12)


@pytest.mark.parametrize("epsilon", ["1/100", "1/4", "1", "3", "8", "20"])
@pytest.mark.parametrize("G", [1, 2, 3, 7, 16, 41])
def test_the_centre_is_the_best_of_all(epsilon: str, G: int) -> None:
    best = min(range(G), key=lambda c: hg.Staircase(epsilon, G, c).variance.low)
    assert hg.Hourglass(epsilon, G).centre == best
    best = min(range(G), key=lambda c: hg.Staircase2D(epsilon, G, c).variance[0].low)
    assert hg.Staircase2D(epsilon, G).centre == best


def test_variances_are_equal_whatever_the_centre() -> None:
    """Var X = Var(GK - X) for every centre: the paper does not state it, the proof does."""
    for G in range(1, 9):
        for c in range(G):
            law = hg.Hourglass("1/2", G, c)
            var_x, var_k = law.variance
            other = var_k * G**2 - var_x - 2 * law.covariance
            assert float(other) == pytest.approx(float(var_x), rel=1e-14)


def test_uncorrelated_at_the_optimum() -> None:
    for epsilon in ("1/10", "1", "4"):
        law = hg.Hourglass(epsilon, 2**32)
        assert abs(float(law.covariance / law.variance[0])) < 1e-8
        assert float(law.variance[1]) == pytest.approx(2 * hg.accuracy.sigma2(epsilon), rel=1e-8)
        off = hg.Hourglass(epsilon, 2**32, law.c // 2)
        assert abs(float(off.covariance / off.variance[0])) > 1e-3
