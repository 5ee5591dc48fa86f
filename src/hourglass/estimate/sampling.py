"""The sampling error: tails of A, the sum of x_i - mu over n independent draws.

The draws x_i lie in [0, 1] and have the mean mu. The noise Z is independent of them and has a
tail in :mod:`hourglass.estimate.lines`; so a bound T on the tail of A, as a step function, gives
P(A + Z >= t) <= E T(t - Z), a short sum over the steps.

**Yes/no data.** A + n mu is binomial. For small n its law is summed exactly (:func:`yes_no`). For
many n the inequality of Zubkov and Serov (2013, "A complete proof of universal inequalities for the
distribution function of the binomial law", Theorem 1) is used: P(B <= k) is at least Phi(sign(k/n -
mu) sqrt(2 n KL(k/n, mu))) for every k < n. For a deviation d = k - n mu, n KL(mu + d/n, mu) falls
with n (KL is convex in its first argument and 0 at mu): the most records are the worst above the
mean, the fewest below it.

**Bounded data.** Among all laws on [0, 1] with mean mu, yes/no data is the largest in the convex
order, and the order is kept by adding independent draws. So for every h < y

    P(A >= y) <= E (A - h)+ / (y - h) <= E (B - h)+ / (y - h),

B the centred binomial of any number of records that is n or more; the least over h is taken.
(Bentkus 2004, "On Hoeffding's inequalities", with the first power; at the best h the bound is P(B
>= s), where y is the mean of B given B >= s.) Chernoff's bound is the same with exponentials for
(.)+, and never smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .lines import Tail

__all__ = ["Steps", "bounded", "convolved", "many_yes_no", "yes_no"]

Floats = npt.NDArray[np.float64]

#: The steps of a bound.
STEPS: Final = 400
#: The omitted mass of a law is below this, which is far below the slack of the noise.
LEFT_OUT: Final = 1e-11
#: With more values than this a binomial law is bounded by Zubkov and Serov, not summed.
MOST_VALUES: Final = 2**15
#: The number of values h that are tried.
HINGES: Final = 256


@dataclass(frozen=True, eq=False)
class Steps:
    """A bound on the tail of A: 1 below places[0], heights[i] from places[i] on."""

    places: Floats
    heights: Floats

    @cached_property
    def falls(self) -> Floats:
        """By how much each step is lower than the one before."""
        return np.append(1.0, self.heights[:-1]) - self.heights


def convolved(steps: Steps, tail: Tail, t: Any) -> Any:
    """At least P(A + Z >= t) = E T(t - Z) at each t, by Abel's summation over the steps of T."""
    return tail(np.subtract.outer(t, steps.places)) @ steps.falls + steps.heights[-1]


def _far(variance: float) -> float:
    """A distance that a binomial variable exceeds with a probability below LEFT_OUT (Bernstein)."""
    left = -math.log(LEFT_OUT / 2)
    return left / 3 + math.sqrt(left**2 / 9 + 2 * left * variance)


def _deviations(n: float, mu: float) -> Floats:
    far = _far(n * mu * (1 - mu)) + 2.0
    return np.linspace(-far, far, 2 * STEPS + 1)


def normal_above(z: Floats) -> Floats:
    """P(normal >= z)."""
    return np.array([0.5 * math.erfc(v * math.sqrt(0.5)) for v in z.tolist()])


def _divergence(mu: float, shift: Floats) -> Floats:
    """KL(mu + shift, mu) between yes/no laws; infinite outside [0, 1]."""
    inside = (shift > -mu) & (shift < 1 - mu)
    u = np.where(inside, shift, 0.0)
    up, down = np.log1p(u / mu), np.log1p(-u / (1 - mu))
    found = (mu + u) * up + (1 - mu - u) * down
    return np.where(inside, np.maximum(found, 0.0), math.inf)


@lru_cache(maxsize=64)
def many_yes_no(least: float, most: float, mu: float) -> Steps:
    """The tail of yes/no data for every number of records from ``least`` to ``most``."""
    places = _deviations(most, mu)
    d = places - 1.0  # B >= y implies B > y - 1
    above = most * _divergence(mu, np.maximum(d, 0.0) / most)
    below = least * _divergence(mu, np.minimum(d, 0.0) / least) if least >= 1 else math.inf
    z = np.where(d > 0, np.sqrt(2 * above), -np.sqrt(2 * below))
    # The rounding error of z is below this; P(B >= y) is 0 beyond n, and 1 where there is no bound.
    return Steps(places, np.minimum(1.0, normal_above(z * (1 - 1e-9) - 1e-7) + LEFT_OUT))


def binomial(n: int, mu: float) -> tuple[Floats, Floats]:
    """The values of the binomial law and their probabilities, except for a mass of LEFT_OUT.

    Ratios of neighbours are multiplied outward from the middle and the result is normalised, which
    can only increase the probabilities.
    """
    far = _far(n * mu * (1 - mu))
    first, last = max(0, math.floor(n * mu - far)), min(n, math.ceil(n * mu + far))
    values = np.arange(first, last + 1, dtype=np.float64)
    odds = math.log(mu) - math.log1p(-mu)
    steps = np.log((n - values[:-1]) / values[1:]) + odds
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    mass = np.exp(logs - logs.max())
    return values, mass / mass.sum()


@lru_cache(maxsize=64)
def bounded(most: int, mu: float, width: float = 1.0) -> Steps:
    """The tail of any draws of mean mu in [0, 1], for every number of records up to ``most``.

    With a ``width`` the draws less their mean lie in [-width mu, width (1 - mu)].
    """
    hinges, excess = _excess(most, mu)
    places = np.linspace(0.0, float(hinges[-1]) + 2.0, STEPS + 1)
    # From here on the next h is better: E (B - h)+ is convex in h, so these points increase.
    falls = np.maximum(excess[:-1] - excess[1:], 1e-300)
    turns = (hinges[1:] * excess[:-1] - hinges[:-1] * excess[1:]) / falls
    best = np.searchsorted(np.maximum.accumulate(turns), places)
    gap = np.maximum(places - hinges[best], 1e-300)  # any h gives a bound
    heights = np.minimum(1.0, excess[best] / gap * (1 + 1e-9) + LEFT_OUT)
    return Steps(places * width, np.minimum.accumulate(heights))


def _excess(most: int, mu: float) -> tuple[Floats, Floats]:
    """Points h, and an upper bound on E (B - h)+ at each."""
    far = _far(most * mu * (1 - mu))
    if 2 * far <= MOST_VALUES:
        values, mass = binomial(most, mu)
        tails = np.cumsum(mass[::-1])[::-1]
        excess = np.append(np.cumsum(tails[:0:-1])[::-1], 0.0)  # E (B - s)+ at the values s
        thin = np.linspace(0, len(values) - 1, min(len(values), HINGES)).astype(np.int64)
        return values[thin] - most * mu, excess[thin] + far * LEFT_OUT
    steps = many_yes_no(0.0, float(most), mu)
    # E (B - h)+ is the integral of the tail, which falls: the left sum is no less. Below the mean,
    # E (B - h)+ = -h + E (h - B)+ is not needed.
    middle = len(steps.places) // 2
    places, heights = steps.places[middle:], steps.heights[middle:]
    step = float(places[1] - places[0])
    excess = step * np.cumsum(heights[::-1])[::-1] + far * LEFT_OUT
    return places, excess


@lru_cache(maxsize=8)
def _log_factorials(size: int) -> Floats:
    return np.array([math.lgamma(i + 1.0) for i in range(size)])


def yes_no(least: int, most: int, mu: float, tail: Tail, at: Any) -> float:
    """The largest P(B + Z >= at(n)) of n = least..most, B binomial and not centred."""
    n = np.arange(least, most + 1)[:, None]
    far = _far(most * mu * (1 - mu))
    first = max(0, math.floor(least * mu - far))
    values = np.arange(first, min(most, math.ceil(most * mu + far)) + 1)
    logs = _log_factorials(1 << max(6, (most + 1).bit_length()))
    rest = n - values
    mass = logs[n] - logs[values] - logs[np.maximum(rest, 0)]
    mass = mass + values * math.log(mu) + rest * math.log1p(-mu)
    mass = np.where(rest >= 0, np.exp(np.minimum(mass, 0.0)), 0.0)
    found = (mass * tail(at(n.astype(np.float64)) - values)).sum(axis=1)
    return float((found + np.maximum(0.0, 1.0 - mass.sum(axis=1))).max())
