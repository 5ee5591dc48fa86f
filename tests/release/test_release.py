from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.estimate import point as estimate
from hourglass.mechanisms.base import ALGORITHMS, make
from hourglass.release.release import Release

UNIT = Grid.choose(Bounds(0.0, 1.0))


def seeded(algorithm: str = "hourglass", **options: Any) -> Release:
    values = np.arange(2000) % 100
    settings: dict[str, Any] = {"bounds": (0, 120), "epsilon": 1, "bits": hg.SeededBits(11)}
    release: Release = hg.mean(values, algorithm=algorithm, **(settings | options))
    return release


def test_a_release_is_frozen_and_has_a_repr() -> None:
    release = hg.mean(np.arange(100), bounds=(0, 120), epsilon="0.5")
    assert isinstance(release.count, int)
    assert isinstance(release.mean, float)
    assert release.private
    assert release.bounds == hg.Bounds(0, 120)
    assert (release.grid, release.algorithm, release.adjacency) == (120, "hourglass", "add-remove")
    with pytest.raises(AttributeError):
        release.mean = 1.0  # type: ignore[misc]


def test_seeded_bits_are_said_to_be_not_private() -> None:
    release = seeded()
    assert not release.private
    assert "NOT PRIVATE" in str(release)
    assert release == seeded()
    assert release != seeded(bits=hg.SeededBits(12))


def test_print_shows_three_answers_with_their_intervals() -> None:
    text = str(seeded())
    for word in (
        "mean",
        "sum",
        "count",
        "95 %",
        "epsilon 1",
        "estimate",
        "clamped to [0, 120]",
        "row added or",
    ):
        assert word in text
    assert seeded()._repr_html_().count("<tr>") == 4


def test_swap_is_labelled() -> None:
    release = seeded("swap")
    assert release.adjacency == "swap"
    assert release.count == 2000
    assert "PUBLIC" in str(release)
    assert release.interval(of="count").low == release.interval(of="count").high == 2000


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_near_the_truth(algorithm: str) -> None:
    """n = 2000 at epsilon 50: the worst error is far below 0.5, unless the wiring is wrong."""
    release = seeded(algorithm, epsilon=50)
    assert release.mean == pytest.approx(49.5, abs=0.5)
    assert release.sum == pytest.approx(99_000, abs=500)
    assert abs(release.count - 2000) <= 2


@pytest.mark.parametrize("bounds", [(-5, -3), (1000.25, 1001.5), (-0.1, 0.2), (0, 1)])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_noise_gives_the_truth(bounds: tuple[float, float], algorithm: str) -> None:
    """At epsilon 100 noise is all but zero: the mean comes back to within a thousandth."""
    lower, upper = bounds
    values = lower + (upper - lower) * np.linspace(0, 1, 1001) ** 2
    release = hg.mean(values, bounds=bounds, epsilon=100, algorithm=algorithm)
    assert release.mean == pytest.approx(values.mean(), abs=(upper - lower) * 2e-3 * 50)
    if algorithm in ("hourglass", "staircase", "swap"):
        assert release.mean == pytest.approx(values.mean(), abs=(upper - lower) * 1e-6)
        assert release.sum == pytest.approx(values.sum(), rel=1e-6)


class TestEstimates:
    def share(self, cells: int, rest: int, estimator: str = "projected") -> Fraction:
        return Fraction(estimate.share(NoisyTotals(cells, rest, 10), estimator))

    def test_projected(self) -> None:
        assert self.share(3, 1) == Fraction(3, 4)
        assert self.share(-3, 8) == 0
        assert self.share(3, -1) == 1
        assert self.share(-3, -1) == self.share(0, 0) == Fraction(1, 2)

    def test_ratio(self) -> None:
        assert self.share(3, 1, "ratio") == Fraction(3, 4)
        assert self.share(5, -5, "ratio") == Fraction(1, 2)
        assert self.share(-3, -1, "ratio") == Fraction(3, 4)
        assert self.share(8, -3, "ratio") == 1
        assert self.share(-8, 3, "ratio") == 1  # S'/(G N') = -8/-5, clipped

    def test_equal_where_the_count_is_positive(self) -> None:
        for cells in range(-20, 21):
            for rest in range(-20, 21):
                if cells + rest > 0:
                    assert self.share(cells, rest) == self.share(cells, rest, "ratio")

    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    @pytest.mark.parametrize("estimator", ["projected", "ratio"])
    def test_many_at_once_are_the_same(self, algorithm: str, estimator: str) -> None:
        mechanism = make(algorithm, Fraction(1), Grid.choose(Bounds(-3, 7.5)))
        G = mechanism.grid.cells
        cells = np.array([0, 5 * G, 70 * G // 3, 2**70 * G], dtype=object)
        count = np.array([0, 20, 30, 2**71], dtype=object)
        noisy = mechanism.noise(Totals(cells, count), bits=hg.SeededBits(4))
        assert noisy.cells.dtype == object
        many = estimate.mean(noisy, mechanism, estimator)
        for i in range(4):
            one = NoisyTotals(noisy.cells[i], noisy.rest[i], noisy.grid, noisy.parts)
            assert type(noisy.cells[i]) is int
            assert many[i] == pytest.approx(
                estimate.mean(one, mechanism, estimator), rel=1e-12, abs=1e-12
            )
            if i < 3:
                assert estimate.count(
                    NoisyTotals(noisy.cells[:3], noisy.rest[:3], noisy.grid, noisy.parts)
                )[i] == estimate.count(one)
            assert estimate.sum_(noisy, mechanism.grid)[i] == pytest.approx(
                estimate.sum_(one, mechanism.grid), rel=1e-9, abs=1e-9
            )

    def test_count_is_rounded_and_raised_to_zero(self) -> None:
        assert estimate.count(NoisyTotals(26, 0, 10)) == 3
        assert estimate.count(NoisyTotals(-26, 0, 10)) == 0

    def test_equal_noisy_totals_give_equal_bytes(self) -> None:
        """The same noisy integers reached from S = 0 and from S = 2^60."""
        mechanism = make("hourglass", Fraction(1), UNIT)
        low = Totals(0, 5)
        high = Totals(2**60, 2**29)
        x, k = 12345, 3
        first = NoisyTotals(low.cells + x, UNIT.cells * (low.count + k) - x, UNIT.cells)
        moved_x, moved_k = x - high.cells, k + low.count - high.count
        cells = high.cells + moved_x
        second = NoisyTotals(cells, UNIT.cells * (high.count + moved_k) - cells, UNIT.cells)
        answers = [
            json.dumps(Release.of(mechanism, noisy, estimator="projected", private=True).to_dict())
            for noisy in (first, second)
        ]
        assert answers[0] == answers[1]


def test_expected_error_is_that_of_the_noisy_answer() -> None:
    release = seeded()
    predicted = hg.accuracy.expected_error(release.count, (0, 120), 1, mean=release.mean, grid=120)
    assert release.expected_error == pytest.approx(predicted)
    empty = hg.mean([], bounds=(0, 1), epsilon=1, bits=hg.SeededBits(1))
    assert 0 < empty.expected_error <= 1


@pytest.mark.parametrize("estimator", ["posterior", "jeffreys"])
def test_posterior_stays_within_the_bounds(estimator: str) -> None:
    for seed in range(20):
        release = hg.mean(
            [2.0, 3.0], bounds=(1, 4), epsilon=1, estimator=estimator, bits=hg.SeededBits(seed)
        )
        assert 1 <= release.mean <= 4
        assert release.mean in release.interval(0.5)
