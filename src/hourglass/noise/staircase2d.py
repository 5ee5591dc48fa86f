"""The two-dimensional discrete staircase law: stairs of |x| + |y|."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.exact import (
    DEFAULT_BITS,
    PRECISIONS,
    Enclosure,
    Exact,
    differences,
    exp_minus,
    whole_number,
)
from .bernoulli import Bernoulli
from .bits import SECURE, Bits, Filled, blocks
from .hourglass import set_terms
from .ladder import Ladder
from .uniform import MAX_BOUND, sample_below_each

__all__ = ["Staircase2D", "optimal_centre_2d"]


def points_within(radius: int) -> int:
    """The lattice points of |x| + |y| <= radius."""
    return 1 + 2 * radius * (radius + 1)


def squares_within(radius: int) -> int:
    """The sum of x^2 over those points: ring r adds (4 r^3 + 2 r) / 3."""
    product = radius * (radius + 1)
    return product * (product + 1) // 3


@dataclass(frozen=True, init=False)
class Staircase2D:
    """P(x, y) = b^level / Z, level = max(0, ceil((|x|+|y| - c) / G)), b = exp(-epsilon).

    Contract: ``sample(size)`` is distributed as ``size`` independent pairs of that law. Added
    to two integers that a neighbour moves by at most G in all, it is epsilon-DP: the level
    moves by at most one. (Geng, Kairouz, Oh, Viswanath 2015; the normaliser printed in
    Kulesza et al., Section 5, lacks a factor 2 in its first term.)

    Sampling: the law is a mixture of uniform laws on the balls of radius c + iG, with weight
    b^i times their size. That size is quadratic in i, f0 + f1 i + f2 i(i-1)/2 with positive
    coefficients, so i is k plus k+1 independent geometrics, k chosen among 0, 1, 2.
    """

    epsilon: Fraction
    grid: int
    centre: int

    def __init__(self, epsilon: Exact, grid: int, centre: int | None = None) -> None:
        set_terms(self, epsilon, grid, centre, optimal_centre_2d)

    @property
    def c(self) -> int:
        """The radius of the centre ball, in cells."""
        return self.centre

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> tuple[Any, Any]:
        """``size`` independent pairs as two int64 arrays, or two integers."""
        if size is None:
            x, y = self._draw(1, bits)
            return int(x[0]), int(y[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self._draw(n, bits))
        x, y = filled.arrays
        return x, y

    def _draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        some, two = (coin.sample(size, bits) for coin in self._extra)
        geometric = Ladder(self.epsilon, 1, 1)
        first, second, third = (geometric.sample(size, bits) for _ in range(3))
        stairs = first + np.where(some, 1 + second, 0) + np.where(some & two, 1 + third, 0)
        return sample_ball(self.c + stairs * self.grid, bits)

    @cached_property
    def _extra(self) -> tuple[Bernoulli, Bernoulli]:
        """The coins for k >= 1 and, given that, k = 2."""
        return Bernoulli(partial(self._part, 0)), Bernoulli(partial(self._part, 1))

    def _part(self, k: int, bits: int) -> Enclosure:
        """P(more than k | k or more)."""
        here, *more = _newton_terms(self.epsilon, self.grid, self.c, points_within, 2, bits)[k:]
        above = sum(more, start=Enclosure.of(0))
        return above / (here + above)

    def level(self, x: int, y: int) -> int:
        """How many steps of exp(-epsilon) below the top."""
        far = abs(whole_number("x", x)) + abs(whole_number("y", y))
        return max(0, -((self.c - far) // self.grid))

    def pmf(self, x: int, y: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(X = x, Y = y), enclosed."""
        return exp_minus(self.level(x, y) * self.epsilon, bits) / self.normaliser(bits)

    def normaliser(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z, the sum of b^level over the plane."""
        return _stair_sum(self.epsilon, self.grid, self.c, points_within, 2, bits)

    @property
    def mean(self) -> tuple[int, int]:
        """Both zero, by symmetry."""
        return 0, 0

    @cached_property
    def variance(self) -> tuple[Enclosure, Enclosure]:
        """(Var X, Var Y), equal; the two are uncorrelated."""
        squares = _stair_sum(self.epsilon, self.grid, self.c, squares_within, 4, 2 * DEFAULT_BITS)
        variance = squares / self.normaliser(2 * DEFAULT_BITS)
        return variance, variance


def sample_ball(
    radii: npt.NDArray[np.int64], bits: Bits
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A uniform lattice point of each ball |x| + |y| <= radius.

    In the coordinates u = x+y, v = x-y the ball is the pairs of equal parity in [-R, R]^2:
    for u of R's parity there are R+1 values of v, for the others R. So u = a - R with a
    uniform in 0..2R, the place of v uniform in 0..R, and the pairs with a odd and the last
    place, which do not exist, are drawn again.
    """
    # A larger bound takes 2^29 stairs on the finest grid: a probability below 2^-700 at the least
    # epsilon.
    largest = min(MAX_BOUND, 2 * int(radii.max(initial=0)) + 1) if bits.width < 64 else MAX_BOUND
    a, place = np.zeros_like(radii), np.zeros_like(radii)
    again = np.arange(radii.size)
    while again.size:
        radius = radii[again]
        a[again] = sample_below_each(2 * radius + 1, bits, largest=largest)
        place[again] = sample_below_each(radius + 1, bits, largest=largest)
        again = again[(a[again] % 2 == 1) & (place[again] == radius)]
    u, v = a - radii, 2 * place + a % 2 - radii
    return (u + v) // 2, (u - v) // 2


def _newton_terms(
    epsilon: Fraction, grid: int, centre: int, within: Callable[[int], int], degree: int, bits: int
) -> list[Enclosure]:
    """The terms of (1-b) sum_i b^i within(c + iG), ``within`` a polynomial of that degree.

    By Newton's series p(i) = sum_k D^k p(0) C(i, k), and sum_i b^i C(i, k) = b^k/(1-b)^(k+1).
    """
    b = exp_minus(epsilon, bits)
    beta = b / (1 - b)
    at_zero = differences([within(centre + i * grid) for i in range(degree + 1)])
    return [difference * beta**k for k, difference in enumerate(at_zero)]


def _stair_sum(
    epsilon: Fraction, grid: int, centre: int, within: Callable[[int], int], degree: int, bits: int
) -> Enclosure:
    """The sum over the plane of b^level times what ``within`` counts, ring by ring.

    A ball of radius c + iG holds the stairs 0..i, so by Abel's summation this is
    (1-b) sum_i b^i within(c + iG).
    """
    terms = _newton_terms(epsilon, grid, centre, within, degree, bits)
    return sum(terms, start=Enclosure.of(0))


@lru_cache(maxsize=1024)
def optimal_centre_2d(epsilon: Fraction, grid: int) -> int:
    """The centre radius c in 0..G-1 of least variance, found exactly by bisection."""
    return bisect_left(range(grid - 1), True, key=partial(_rises, epsilon, grid))


def _rises(epsilon: Fraction, grid: int, c: int) -> bool:
    """Whether the variance does not fall from c to c+1."""
    slopes = (_slope(epsilon, grid, c, bits) for bits in PRECISIONS)
    return next(slope.sign for slope in slopes if slope.sign is not None) >= 0


def _slope(epsilon: Fraction, grid: int, c: int, bits: int) -> Enclosure:
    """Of the sign of the variance at c+1 less the variance at c."""
    here, there = (
        (
            _stair_sum(epsilon, grid, centre, squares_within, 4, bits),
            _stair_sum(epsilon, grid, centre, points_within, 2, bits),
        )
        for centre in (c, c + 1)
    )
    return there[0] * here[1] - here[0] * there[1]
