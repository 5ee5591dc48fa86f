"""The discrete Laplace law, also called the two-sided geometric."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.exact import DEFAULT_BITS, Enclosure, Exact, exact_rate, exp_minus, whole_number
from .bits import SECURE, Bits, Filled, blocks
from .ladder import Ladder

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, init=False)
class DiscreteLaplace:
    """P(x) = (1-a)/(1+a) a^|x| on all integers, a = exp(-rate).

    Contract: ``sample(size)`` is distributed as ``size`` independent draws of that law.
    Added to an integer of sensitivity d it is (d * rate)-DP: the ratio of P(x) and P(x+d) is
    at most a^-d. (Ghosh, Roughgarden, Sundararajan 2009; the lattice form of the Laplace
    noise in the algorithms of Kulesza, Suresh, Wang 2024, Section 4.)
    """

    rate: Fraction

    def __init__(self, rate: Exact) -> None:
        object.__setattr__(self, "rate", exact_rate(rate))

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> Any:
        """``size`` independent draws as an array, or one integer."""
        if size is None:
            return int(self.sample(1, bits=bits)[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self._draw(n, bits))
        return filled.arrays[0]

    def _draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[Any]]:
        magnitude = self._magnitude.sample(size, bits)
        return (np.where(bits.words(size) & np.uint64(1), -magnitude, magnitude),)

    @cached_property
    def _magnitude(self) -> Ladder:
        return Ladder(self.rate, 1, 2)

    def pmf(self, x: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(x), enclosed."""
        a, far = exp_minus(self.rate, bits), abs(whole_number("x", x))
        return (1 - a) / (1 + a) * exp_minus(far * self.rate, bits)

    @property
    def mean(self) -> int:
        """Zero, by symmetry."""
        return 0

    @cached_property
    def variance(self) -> Enclosure:
        """2a/(1-a)^2, with enough bits to tell a from 1."""
        a = exp_minus(self.rate, DEFAULT_BITS + 2 * int(1 / self.rate).bit_length())
        return 2 * a / (1 - a) ** 2
