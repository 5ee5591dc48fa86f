"""Bounds on what sampling adds: against exact laws of small samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from hourglass.estimate.lines import Tail
from hourglass.estimate.sampling import (
    Steps,
    binomial,
    bounded,
    convolved,
    many_yes_no,
    yes_no,
)

pytestmark = pytest.mark.enumeration

#: No noise: P(0 >= r).
NONE = Tail(np.array([-1e18, 1e-300]), np.array([1.0, 0.0]))


def law_of(n: int, mu: float) -> np.ndarray:
    return np.array([math.comb(n, k) * mu**k * (1 - mu) ** (n - k) for k in range(n + 1)])


def height(steps: Steps, y: float) -> float:
    place = int(np.searchsorted(steps.places, y + 1e-12, side="right")) - 1
    return 1.0 if place < 0 else float(steps.heights[place])


@pytest.mark.parametrize("n", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("mu", [0.01, 0.2, 0.5, 0.93])
def test_the_binomial_law(n: int, mu: float) -> None:
    values, mass = binomial(n, mu)
    true = law_of(n, mu)
    assert mass.sum() == pytest.approx(1.0)
    assert np.allclose(mass, true[values.astype(int)], rtol=1e-9, atol=1e-13)
    assert true.sum() - true[values.astype(int)].sum() < 2e-11


@pytest.mark.parametrize("mu", [0.002, 0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("least", "most"), [(1, 1), (0, 9), (4, 12), (80, 100), (270, 300)])
def test_many_yes_no_bounds_every_number_of_records(least: int, most: int, mu: float) -> None:
    """Zubkov and Serov's inequality with the worst n on either side of the mean: against every
    tail of every n. Half a record more than it says would fail, and so would the wrong end of n."""
    steps = many_yes_no(least, most, mu)
    closest = 1.0
    for n in range(max(least, 1), most + 1):
        tails = np.cumsum(law_of(n, mu)[::-1])[::-1]
        for k, true in enumerate(tails.tolist()):
            bound = height(steps, k - n * mu)
            assert bound >= true - 1e-10, (n, k)
            if 0.01 < true < 0.2:
                closest = min(closest, height(steps, k - n * mu + 1.05) - true)
    if most >= 80 and 0.05 <= mu <= 0.9:
        assert closest < 0.0  # a record further on it has passed the tail: it is no looser


def draws_of(values: Sequence[int], mass: Sequence[float], n: int) -> np.ndarray:
    """The law of the sum of n draws from whole numbers."""
    one = np.zeros(max(values) + 1)
    for value, part in zip(values, mass, strict=True):
        one[value] += part
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, one)
    return law


@pytest.mark.parametrize("n", [1, 3, 12, 60])
@pytest.mark.parametrize(
    ("values", "mass"),
    [
        ((0, 10), (0.7, 0.3)),
        ((0, 10), (0.98, 0.02)),
        ((2, 9), (0.7, 0.3)),
        ((0, 5, 10), (0.25, 0.5, 0.25)),
        ((0, 1, 10), (0.6, 0.3, 0.1)),
        ((4, 5, 6), (0.3, 0.4, 0.3)),
        ((0, 9, 10), (0.1, 0.1, 0.8)),
        (tuple(range(11)), (1 / 11,) * 11),
    ],
)
def test_bounded_holds_for_other_data_and_fewer_records(
    values: tuple[int, ...], mass: tuple[float, ...], n: int
) -> None:
    """Draws from tenths in [0, 1]: every tail of the sum, with the bound of n or more records."""
    mu = float(np.dot(values, mass)) / 10
    law = draws_of(values, mass, n)
    tails = np.cumsum(law[::-1])[::-1]
    for most in (n, n + 1, 2 * n + 5):
        steps = bounded(most, mu)
        for cells, true in enumerate(tails.tolist()):
            assert height(steps, cells / 10 - n * mu) >= true - 1e-10, (most, cells)


@pytest.mark.parametrize(("n", "mu"), [(100, 0.5), (1000, 0.1), (10_000, 0.5)])
def test_bounded_is_narrower_than_chernoff(n: int, mu: float) -> None:
    """Where the bound is 2.5 %: at 2.34 standard deviations, where Chernoff's is at 2.72."""
    steps = bounded(n, mu)
    deviation = math.sqrt(n * mu * (1 - mu))
    at = float(steps.places[np.argmax(steps.heights <= 0.025)])
    assert 2.3 < at / deviation < 2.48
    u = at / n
    chernoff = math.exp(
        -n * ((mu + u) * math.log1p(u / mu) + (1 - mu - u) * math.log1p(-u / (1 - mu)))
    )
    assert chernoff > 0.05


def test_a_sum_too_long_to_be_made_is_bounded() -> None:
    """Beyond 2^15 values the excess is an integral: a little larger than the sum would be."""
    n, mu = 4_000_000, 0.4
    deviation = math.sqrt(n * mu * (1 - mu))
    steps = bounded(n, mu)
    at = float(steps.places[np.argmax(steps.heights <= 0.025)]) / deviation
    more = bounded(40_000_000, mu)
    far = float(more.places[np.argmax(more.heights <= 0.025)]) / (deviation * math.sqrt(10))
    assert at == pytest.approx(2.34, abs=0.04)
    assert at - 0.02 <= far <= at + 0.05


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_yes_no_is_the_largest_of_all_numbers_of_records(mu: float) -> None:
    def at(n: np.ndarray) -> np.ndarray:
        return n * mu + 2.3

    true = max(law_of(n, mu)[math.ceil(n * mu + 2.3 - 1e-9) :].sum() for n in range(3, 31))
    assert yes_no(3, 30, mu, NONE, at) == pytest.approx(true, abs=1e-9)


def test_a_convolution_is_the_sum() -> None:
    """A step function of three steps and a noise of two values."""
    steps = Steps(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.2, 0.0]))
    noise = Tail(np.array([-1.0, -1.0 + 1e-9, 0.7, 0.7 + 1e-9]), np.array([1.0, 0.4, 0.4, 0.0]))
    # Z is -1 with probability 0.6 and 0.7 with 0.4: E T(1.5 - Z) = 0.6 T(2.5) + 0.4 T(0.8).
    assert convolved(steps, noise, 1.5) == pytest.approx(0.4 * 0.5, abs=1e-9)
    assert convolved(steps, noise, 0.5) == pytest.approx(0.6 * 0.2 + 0.4 * 1.0, abs=1e-9)


@pytest.mark.parametrize(("t", "wanted"), [(-1.0, 1.0), (0.5, 0.5), (1.5, 0.2), (7.0, 0.2)])
def test_what_is_beyond_the_last_step_counts(t: float, wanted: float) -> None:
    """A bound that ends above zero stays there, however far away."""
    steps = Steps(np.array([0.0, 1.0]), np.array([0.5, 0.2]))
    assert convolved(steps, NONE, t) == pytest.approx(wanted)
