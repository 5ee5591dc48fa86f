"""The discrete staircase law on the integers."""

from __future__ import annotations

from bisect import bisect_left
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
    exact_epsilon,
    exp_minus,
    whole_number,
)
from ..core.grid import check_centre, check_grid
from .bits import SECURE, Bits, Filled, blocks
from .ladder import Ladder
from .radial import in_beta
from .uniform import sample_below

__all__ = ["Staircase", "optimal_centre", "stair"]


def stair(x: int, grid: int, centre: int) -> int:
    """The signed stair of x: j(x) = sign(x) max(0, ceil((|x| - c) / G)).  [H1]"""
    steps = max(0, -((centre - abs(x)) // grid))
    return steps if x > 0 else -steps


@dataclass(frozen=True, init=False)
class Staircase:
    """P(x) = b^|j(x)| / Z on the integers, b = exp(-epsilon), Z = (2c+1) + 2Gb/(1-b).

    The centre stair |x| <= c has 2c+1 cells and every other stair G. Contract:
    ``sample(size)`` is distributed as ``size`` independent draws. Added to an integer of
    sensitivity G it is epsilon-DP, and with the centre of :func:`optimal_centre` it has the
    least variance of this family; the continuous form is optimal among all noise distributions
    (Geng, Viswanath 2014, Theorem 7 and eq. 50).
    """

    epsilon: Fraction
    grid: int
    centre: int

    def __init__(self, epsilon: Exact, grid: int, centre: int | None = None) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        object.__setattr__(self, "grid", check_grid(grid))
        best = optimal_centre(self.epsilon, self.grid) if centre is None else centre
        object.__setattr__(self, "centre", check_centre(best, self.grid))

    @property
    def c(self) -> int:
        """The half-width of the centre stair, in cells."""
        return self.centre

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> Any:
        """``size`` independent draws as an array, or one integer."""
        if size is None:
            return int(self.sample(1, bits=bits)[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self.draw(n, bits)[:1])
        return filled.arrays[0]

    def draw(
        self, size: int, bits: Bits
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """X, its signed stair j(X), and a fair coin independent of both.

        Both uniform cells are drawn whatever the stair, and then one is selected, so the number of
        words does not depend on the draw. The sign and the coin are two more digits of the cell's
        uniform.
        """
        stairs = self.stairs.sample(size, bits)
        inner = sample_below(2 * self.c + 1, size, bits) - self.c
        outer = sample_below(4 * self.grid, size, bits)
        magnitude = self.c + 1 + (stairs - 1) * self.grid + (outer >> 2)
        sign = 1 - (outer & 2)
        x = np.where(stairs == 0, inner, sign * magnitude)
        return x, sign * stairs, (outer & 1).astype(np.bool_)

    @cached_property
    def stairs(self) -> Ladder:
        """The law of |j(X)|."""
        return Ladder(self.epsilon, 2 * self.c + 1, 2 * self.grid)

    def pmf(self, x: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(x), enclosed."""
        steps = abs(stair(whole_number("x", x), self.grid, self.c))
        return exp_minus(steps * self.epsilon, bits) / self.normaliser(bits)

    def normaliser(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z = (2c+1) + 2G beta, beta = b/(1-b)."""
        if bits not in self._normalisers:
            found = in_beta((2 * self.c + 1, 2 * self.grid), self.epsilon, bits)
            self._normalisers[bits] = found
        return self._normalisers[bits]

    @cached_property
    def _normalisers(self) -> dict[int, Enclosure]:
        return {}

    @property
    def mean(self) -> int:
        """Zero, by symmetry."""
        return 0

    @cached_property
    def variance(self) -> Enclosure:
        """Var X = 2 G^2 b/(1-b)^2 + E r^2, r the offset of X in its stair.  [H5]"""
        middle, sides, stairs = 2 * self.c + 1, 2 * self.grid, 2 * self.grid**2
        inner, outer = self.offset_squares
        # b/(1-b)^2 = beta + beta^2; both terms over Z = middle + sides beta.
        above = (inner, outer + stairs * middle, stairs * (middle + sides), stairs * sides)
        bits = 2 * DEFAULT_BITS
        return in_beta(above, self.epsilon, bits) / self.normaliser(bits)

    @cached_property
    def offset_squares(self) -> tuple[int, int]:
        """Z E r^2 as a polynomial in beta: the squares of all offsets, with their weights."""
        return _offset_squares(self.c, self.grid)


def _offset_squares(centre: int, grid: int) -> tuple[int, int]:
    """Z E r^2 = inner + outer beta: the squares of the offsets x - G j(x), with their weights.

    In the centre r runs over -c..c; in stair j > 0 over c-G+1..c, in -j the mirror image.
    """
    inner = centre * (centre + 1) * (2 * centre + 1) // 3
    return inner, 2 * (_squares(centre) - _squares(centre - grid))


def _squares(m: int) -> int:
    """1^2 + ... + m^2, continued to negative m so that differences are sums of squares."""
    return m * (m + 1) * (2 * m + 1) // 6


@lru_cache(maxsize=1024)
def optimal_centre(epsilon: Fraction, grid: int) -> int:
    """The centre half-width c in 0..G-1 of least Var X, found exactly.  [H6]

    With N(c) = Z E r^2, Var X falls from c to c+1 iff (N(c+1) - N(c)) Z(c) < 2 N(c). The
    difference of the two sides has increments Z(c+1) times the second difference of N,
    all positive: it changes sign once, and bisection finds where. Its sign is decided in
    exact arithmetic, with as many digits of b as that takes.
    """
    return bisect_left(range(grid - 1), True, key=partial(_rises, epsilon, grid))


def _rises(epsilon: Fraction, grid: int, c: int) -> bool:
    """Whether Var X does not fall from c to c+1."""
    inner, outer = _offset_squares(c, grid)
    next_inner, next_outer = _offset_squares(c + 1, grid)
    rise, outer_rise = next_inner - inner, next_outer - outer
    middle, sides = 2 * c + 1, 2 * grid
    # (N(c+1) - N(c)) Z(c) - 2 N(c), as a polynomial in beta
    slope = (
        rise * middle - 2 * inner,
        rise * sides + outer_rise * middle - 2 * outer,
        outer_rise * sides,
    )
    signs = (in_beta(slope, epsilon, bits).sign for bits in PRECISIONS)
    return next(sign for sign in signs if sign is not None) >= 0
