"""What the laws of all bodies share: sums over the regions R(a, m), and the law of the count.

A body's regions have |R(a, m)| points, a polynomial in (a, m) with nonnegative coefficients,
symmetric in a and m. (a, m) is drawn with weight b^(a+m) |R(a, m)| and the count is K = a - m;
every sum below is a polynomial times a geometric. [B3] [B5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from ..core.exact import DEFAULT_BITS, Enclosure, power
from .hourglass import Radial

__all__ = ["Regions"]


@dataclass(frozen=True)
class Regions:
    """``points(a, m)`` is |R(a, m)|, a polynomial of this degree in (a, m) together."""

    epsilon: Fraction
    points: Callable[[int, int], int]
    degree: int

    def radial(self, f: Callable[[int, int], int], degree: int) -> Radial:
        """The law of L = a + m if (a, m) has weight b^(a+m) f(a, m), f of this degree."""
        return Radial.of(
            self.epsilon,
            [sum(f(L - m, m) for m in range(L + 1)) for L in range(degree + 2)],
        )

    def total(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z = sum over (a, m) of b^(a+m) |R(a, m)|."""
        return self.radial(self.points, self.degree).total(bits)

    def top(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """The probability of the origin, 1 / ((1 - b^2) Z), where the level is zero."""
        if bits not in self._tops:
            twice = power(self.epsilon, 2, bits)
            self._tops[bits] = 1 / ((1 - twice) * self.total(bits))
        return self._tops[bits]

    @cached_property
    def _tops(self) -> dict[int, Enclosure]:
        return {}

    def expected(self, f: Callable[[int, int], int], degree: int, bits: int) -> Enclosure:
        """E f(a, m) / |R(a, m)|: f a polynomial of this degree that sums over the region."""
        return self.radial(f, degree).total(bits) / self.total(bits)

    def count_pmf(self, k: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K = k) = (1/Z) sum_m b^(|k|+2m) |R(|k|+m, m)|."""
        start = abs(k)
        values = [self.points(start + m, m) for m in range(self.degree + 1)]
        steps = Radial.of(2 * self.epsilon, values).total(bits)
        return power(self.epsilon, start, bits) * steps / self.total(bits)

    def count_tail(self, k: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k): for k >= 1 the sum over a - m >= k, separately for even and odd a + m - k."""
        if k < 1:
            return 1 - self.count_tail(1 - k, bits)
        even, odd = (
            Radial.of(
                2 * self.epsilon,
                [
                    sum(self.points(k + 2 * h + extra - m, m) for m in range(h + 1))
                    for h in range(self.degree + 2)
                ],
            ).total(bits)
            for extra in (0, 1)
        )
        both = even + power(self.epsilon, 1, bits) * odd
        return power(self.epsilon, k, bits) * both / self.total(bits)
