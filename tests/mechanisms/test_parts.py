"""Parts of a cell: the gain, the privacy, and that nothing else changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.estimate import accuracy
from hourglass.estimate import point as estimate
from hourglass.mechanisms.base import COARSE, MOST_PARTS, HourglassMean, make

pytestmark = pytest.mark.enumeration

EPSILONS = [Fraction(i, 4) for i in (1, 2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20, 24, 27, 28, 32)]


def own(epsilon: Fraction, G: int, lower: int = 0) -> HourglassMean:
    return HourglassMean(epsilon, Grid(Bounds(lower, lower + G), G, own=True))


@pytest.mark.slow
@pytest.mark.parametrize("G", [*range(1, 25), 36, 64, 100, 256])
def test_whole_numbers_are_never_worse_than_real_ones(G: int) -> None:
    """With whole cells alone the worst here is 1.13, at nine cells and epsilon 6."""
    for epsilon in EPSILONS:
        algorithm = own(epsilon, G)
        error = float(algorithm.moments.cells)
        assert error <= 1.0025 * accuracy.sigma2(epsilon)
        whole = float(hg.Hourglass(epsilon, G).variance[0]) / G**2
        assert error <= 1.001 * whole
        assert 1 <= algorithm.parts <= MOST_PARTS
        assert algorithm.law == hg.Hourglass(epsilon, algorithm.parts * G)


def test_only_the_own_grid_of_few_whole_numbers_is_cut() -> None:
    """A grid that was asked for, and a fine one, are not divided."""
    assert own(Fraction(3), 4).parts > 1
    assert HourglassMean(Fraction(3), Grid(Bounds(0.0, 1.0), 4)).parts == 1
    assert own(Fraction(8), COARSE + 1).parts == 1


@pytest.mark.parametrize(("G", "epsilon"), [(4, "3"), (4, "4"), (2, "1"), (6, "5")])
def test_every_record_moves_the_level_by_one(G: int, epsilon: str) -> None:
    """The privacy of what is added, record by record, over a window of the noise."""
    algorithm = own(Fraction(epsilon), G)
    law, parts = algorithm.law, algorithm.parts
    assert parts > 1
    empty = Totals(0, 0)
    for q in range(G + 1):
        one = Totals(q, 1)
        move = [
            [getattr(algorithm.noise(t, bits=hg.SeededBits(5)), part) for t in (empty, one)]
            for part in ("cells", "rest")
        ]
        assert [b - a for a, b in move] == [parts * q, parts * (G - q)]
        for x in range(-4 * law.grid, 4 * law.grid + 1):
            for k in range(-6, 7):
                assert abs(law.level(x, k) - law.level(x - parts * q, k - 1)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [(1, 5), (-3, 3)])
def test_the_error_is_the_predicted_one(bounds: tuple[int, int]) -> None:
    """Five standard errors (false alarms: 6e-7); that of whole cells is twice as far away."""
    epsilon, records, runs = Fraction(7, 2), 10_000, 4_000_000
    G = bounds[1] - bounds[0]
    algorithm = own(epsilon, G, bounds[0])
    totals = Totals(G * records // 4, records)
    noisy = algorithm.noise(totals, size=runs)
    grid, mean = algorithm.grid, bounds[0] + G / 4
    squares = (estimate.mean(noisy, algorithm) - mean) ** 2 * (records / G) ** 2
    slack = 5 * float(squares.std()) / np.sqrt(runs)
    wanted = accuracy.leading_error(epsilon, mean=mean, bounds=bounds, grid=G)
    assert abs(squares.mean() - wanted) < slack + 0.001 * wanted
    sums = (estimate.sum_(noisy, grid) - records * mean) ** 2
    law, parts = algorithm.law, algorithm.parts
    x, k = (float(v) for v in law.variance)
    both = float(law.covariance)
    lower = bounds[0]
    # The covariance on record is that of X and GK - X: Cov(X, K) = (cov + Var X) / grid.
    joint = (both + x) / law.grid
    variance = x / parts**2 + lower**2 * k + 2 * lower * joint / parts
    assert abs(sums.mean() - variance) < 5 * float(sums.std()) / np.sqrt(runs)


def test_large_totals_do_not_wrap() -> None:
    algorithm = own(Fraction(3), 4)
    totals = Totals(2**59, 2**58)
    assert algorithm.parts > 2
    noisy = algorithm.noise(totals, size=100)
    assert all(abs(int(c) - algorithm.parts * 2**59) < 10**4 for c in noisy.cells)
    means = estimate.mean(noisy, algorithm)
    assert np.allclose(means, 2.0, atol=1e-12)


def test_large_counts_do_not_wrap_either() -> None:
    """Records at the lower bound: the sum is zero, what the rest is made of is not."""
    fine = make("hourglass", Fraction(1), Grid(Bounds(0.0, 1.0), 2**32))
    for algorithm, count in ((own(Fraction(3), 4), 2**58), (fine, 2**32)):
        noisy = algorithm.noise(Totals(0, count), size=50)
        assert all(abs(n / count - 1) < 1e-6 for n in noisy.weight / (noisy.parts * noisy.grid))


def test_a_sum_of_large_values_in_a_narrow_range_does_not_wrap() -> None:
    """Noise is added to the sum itself, which is far above that of the distances."""
    algorithm = make("independent", Fraction(1), Grid(Bounds(2.0**18, 2.0**18 + 1), 2**32))
    noisy = algorithm.noise(Totals(0, 2**14), size=50)
    sizes = [int(w) / noisy.parts / noisy.grid for w in noisy.weight]
    assert all(abs(size - 2**14) < 10**3 for size in sizes)
    assert len({*sizes}) > 1
    assert all(abs(int(c) / noisy.parts / noisy.grid) < 2**26 for c in noisy.cells)


def test_what_was_drawn_in_other_parts_is_read_as_it_was_drawn() -> None:
    """An answer of a version that cut cells otherwise keeps its law, and so its intervals."""
    whole = HourglassMean(Fraction(3), Grid(Bounds(1, 5), 4, own=True), stored_parts=1)
    noisy = NoisyTotals(500, 300, 4)
    stored = hg.Release.of(whole, noisy, estimator="posterior", private=True)
    read = hg.Release.from_dict(stored.to_dict())
    assert read.noisy_totals.parts == 1
    assert read.mean == stored.mean
    assert read.interval(0.9) == stored.interval(0.9)
    chosen = hg.Release.of(own(Fraction(3), 4, 1), noisy, estimator="projected", private=True)
    assert read.interval(0.9) != chosen.interval(0.9)


def test_a_release_of_ratings_holds_together() -> None:
    """With and without parts: the answers, their intervals, JSON and back."""
    ratings = np.repeat(np.arange(1, 6), [10, 20, 40, 80, 50])
    release = hg.mean(ratings, bounds=(1, 5), epsilon=3)
    assert release.noisy_totals.parts > 1
    assert release.grid == 4
    for of in ("mean", "sum", "count"):
        assert getattr(release, of) in release.interval(of=of)
    again = hg.Release.from_dict(release.to_dict())
    assert again.to_dict() == release.to_dict()
    assert again.interval() == release.interval()
    whole = make("hourglass", Fraction(3), Grid(Bounds(1, 5), 4, own=True))
    assert accuracy.expected_error(200, (1, 5), 3, grid=4) == pytest.approx(
        4 * float(whole.moments.cells) ** 0.5 / 200
    )
