"""Counts: discrete Laplace noise on a number of records.

A record adds one to the count of its group, so noise of rate epsilon hides it. Among all
epsilon-DP mechanisms for a count this law has the least expected loss for every loss that grows
with the error (Ghosh, Roughgarden, Sundararajan 2009, Theorem 1.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from ..core.exact import DEFAULT_BITS, Enclosure, exp_minus
from ..core.totals import NoisyCounts, Totals
from ..noise import DiscreteLaplace
from ..noise.bits import SECURE, Bits
from .base import Moments, addable, draws, make, register
from .lattice import Lattice, Part, span
from .tails import Floats, Line, ProductTails
from .threshold import threshold

__all__ = ["CountTails", "LaplaceCount", "reach_of"]


@register
@dataclass(frozen=True)
class LaplaceCount:
    """N + K, K of the discrete Laplace law of rate epsilon."""

    epsilon: Fraction
    grid: None = None

    statistic: ClassVar[str] = "count"
    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "discrete Laplace mechanism on the number of records"
    adjacency: ClassVar[str] = "add-remove"
    by_group: ClassVar[bool] = True
    several_records: ClassVar[bool] = True
    secret_keys: ClassVar[bool] = True
    posterior: ClassVar[bool] = False

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise."""
        return DiscreteLaplace(self.epsilon)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyCounts:
        """N + K."""
        (k,) = addable((self.law.sample(draws(totals, size), bits=bits),), totals, 1)
        return NoisyCounts(totals.count + k)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k) = a^k / (1 + a) for k >= 1, and 1 - P(K >= 1 - k) otherwise."""
        if k < 1:
            return 1 - self.count_tail(1 - k, bits=bits)
        return exp_minus(k * self.epsilon, bits) / (1 + exp_minus(self.epsilon, bits))

    @cached_property
    def moments(self) -> Moments:
        """Nothing but the count has noise."""
        none = Enclosure.of(0)
        return Moments(none, self.law.variance, none)

    @cached_property
    def tails(self) -> CountTails:
        """Of K alone."""
        return CountTails(self.epsilon)

    def lattice(self) -> Lattice:
        """K, which a record moves by one."""
        return Lattice(
            f"count, {self.name}",
            self.epsilon,
            (Part(abs, self.epsilon),),
            ((1,),),
            (span(64),),
            lambda x: self.law.pmf(x),
        )

    @classmethod
    def restored(cls, epsilon: Fraction, grid: None, stored: Mapping[str, Any]) -> LaplaceCount:
        """The law follows from epsilon."""
        found: LaplaceCount = make(cls.name, epsilon, None, cls.statistic)
        return found


class CountTails:
    """Tail probabilities of the error of a count; there is no sum."""

    closed_form: ClassVar[bool] = True

    def __init__(self, rate: Fraction) -> None:
        self._noise = ProductTails(rate, rate)

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """At least P(|first| >= reach or |second| >= reach), the larger of which decides."""
        larger = max(first, second, key=lambda line: abs(line.count))
        return min(1.0, 2 * float(self.above(larger, np.array([reach]))[0]))

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach."""
        return self._noise.above((0.0, float(line.count)), reaches)


@lru_cache(maxsize=256)
def reach_of(epsilon: Fraction, miss: Fraction) -> int:
    """The least r with P(|K| > r) <= miss, exactly, K being the noise on a count."""
    mechanism: LaplaceCount = make(LaplaceCount.name, epsilon, None, LaplaceCount.statistic)
    return max(1, threshold(mechanism, miss / 2, records=0)) - 1
