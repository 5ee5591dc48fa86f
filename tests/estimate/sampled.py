"""Populations to draw samples from, and how often an interval holds their mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.estimate.interval import _records
from hourglass.estimate.lines import tabled
from hourglass.estimate.population import Seen, population, sampled
from hourglass.mechanisms.base import MeanMechanism, make

Draw = Callable[[np.random.Generator, Any], Any]

#: Name: the mean and how to draw.
POPULATIONS: dict[str, tuple[float, Draw]] = {
    "yes/no .02": (0.02, lambda rng, shape: rng.random(shape) < 0.02),
    "yes/no .5": (0.5, lambda rng, shape: rng.random(shape) < 0.5),
    "uniform": (0.5, lambda rng, shape: rng.random(shape)),
    "beta(2, 8)": (0.2, lambda rng, shape: rng.beta(2, 8, shape)),
    "two points": (0.41, lambda rng, shape: np.where(rng.random(shape) < 0.3, 0.9, 0.2)),
    "heavy at 0": (0.025, lambda rng, shape: np.maximum(0, 1 - 20 * rng.random(shape))),
}
#: 0 with probability 19/20, else uniform on [0, 1].
assert POPULATIONS["heavy at 0"][0] == 1 / 40


def mechanism_for(name: str, epsilon: str, algorithm: str = "hourglass") -> MeanMechanism:
    grid = Grid(Bounds(0, 1), 1, True) if "yes" in name else Grid(Bounds(0.0, 1.0), 2**32)
    return make(algorithm, Fraction(epsilon), grid)


def noisy_samples(
    name: str, n: int, mechanism: MeanMechanism, samples: int, seed: int
) -> list[NoisyTotals]:
    """That many samples of n records from a population, each with fresh noise on its totals."""
    rng = np.random.default_rng(seed)
    G, parts = mechanism.grid.cells, mechanism.parts
    zero = mechanism.noise(Totals(0, 0), size=samples, bits=hg.SeededBits(seed))
    found = []
    for cells, rest in zip(zero.cells.tolist(), zero.rest.tolist(), strict=True):
        q = np.rint(POPULATIONS[name][1](rng, n) * float(G))
        S = int(q.sum())
        found.append(NoisyTotals(cells + parts * S, rest + parts * (G * n - S), G, parts))
    return found


def coverage(
    name: str,
    n: int,
    epsilon: str,
    samples: int,
    *,
    algorithm: str = "hourglass",
    confidence: float = 0.95,
    narrower: float = 1.0,
    seed: int = 1,
) -> Iterator[bool]:
    """Whether the interval of each sample holds the population's mean."""
    mu, mechanism = POPULATIONS[name][0], mechanism_for(name, epsilon, algorithm)
    for noisy in noisy_samples(name, n, mechanism, samples, seed):
        estimate = min(max(noisy.cells / max(noisy.weight, 1), 0.0), 1.0)
        low, high = population(mechanism, noisy, confidence, estimate)
        middle, half = (low + high) / 2, (high - low) / 2 * narrower
        yield middle - half - 1e-12 <= mu <= middle + half + 1e-12


def holds_at(mechanism: MeanMechanism, noisy: NoisyTotals, mu: float, confidence: float) -> bool:
    """Whether a mean is not excluded by itself, by the pivot there: then the interval holds it.

    The interval excludes stretches of means at once, and so excludes no more: this is a test of the
    same bound in a twentieth of the time.
    """
    seen = Seen(mechanism, *_records(noisy), confidence)
    sides = ((seen, mu, False), (seen.mirrored, 1.0 - mu, True))
    return all(
        sampled(one, tabled(place), flip, place, place) > one.miss for one, place, flip in sides
    )


def not_excluded(
    name: str,
    n: int,
    epsilon: str,
    samples: int,
    *,
    algorithm: str = "hourglass",
    confidence: float = 0.95,
    seed: int = 1,
) -> Iterator[bool]:
    """Whether each sample does not exclude the population's mean: if so, its interval holds it."""
    mu, mechanism = POPULATIONS[name][0], mechanism_for(name, epsilon, algorithm)
    for noisy in noisy_samples(name, n, mechanism, samples, seed):
        yield holds_at(mechanism, noisy, mu, confidence)
