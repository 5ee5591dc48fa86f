"""The staircase and the hourglass: the optimal noise for a sum, and for a sum and a count.

Kulesza, Suresh, Wang, "Mean estimation in the add-remove model of differential privacy"
(ICML 2024), on an integer lattice. Marks such as [H1] refer to ``hourglass.proof.md``.
"""

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
    exact_epsilon,
    exp_minus,
    whole_number,
)
from ..core.grid import check_centre, check_grid
from .bits import ONE_WORD, SECURE, Bits, Filled, blocks, sample_scaled, sample_scaled_one
from .ladder import Ladder
from .radial import Radial, in_beta
from .uniform import sample_below

__all__ = ["Hourglass", "Staircase", "stair"]


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


@dataclass(frozen=True, init=False)
class Hourglass:
    """(X, K) on the integers: P(x, k) = (1-b)/(1+b) b^(|j| + |k-j|) / Z, j = j(x).

    X is a discrete staircase on the grid and K = j(X) + T, T two-sided geometric; drawn as the
    same law in regions: "a records added, m removed". Contract: ``sample(size)`` is distributed
    as ``size`` independent pairs of that law. Added to the
    totals (S, N) of records q in 0..G it is epsilon-DP in the add-remove model: a neighbour
    moves (S, N) by (q, 1), which moves the level |j| + |k-j| by exactly one.  [H2] [H3]
    (The paper's equation 7, Theorem 2 and Lemma 4.)

    ``centre`` is the half-width c of the centre stair; left out, it is the one of least
    variance for this epsilon and grid.
    """

    epsilon: Fraction
    grid: int
    centre: int

    def __init__(self, epsilon: Exact, grid: int, centre: int | None = None) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        object.__setattr__(self, "grid", check_grid(grid))
        best = optimal_centre(self.epsilon, self.grid) if centre is None else centre
        object.__setattr__(self, "centre", check_centre(best, self.grid))

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> tuple[Any, Any]:
        """``size`` independent pairs as two int64 arrays (X in cells, K), or two integers."""
        if size is not None:
            filled = Filled(size)
            for n in blocks(size):
                filled.add(self._draw(n, bits))
            x, k = filled.arrays
            return x, k
        if self._levels.is_short(bits.width):
            x, k = self._placed(self._levels.sample_one(bits), sample_scaled_one, bits)
        else:
            (x,), (k,) = self._draw(1, bits)
        return int(x), int(k)

    def _draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """By regions, two words or three a pair; by parts if L's table would be too long."""
        if self._levels.is_short(bits.width):
            return self._placed(self._levels.sample(size, bits), sample_scaled, bits)
        x, j, coin = self.marginal_x.draw(size, bits)
        t = self._magnitude.sample(size, bits)
        return x, j + np.where(coin, -t, t)  # the signed stair, not its height  [H2]

    def _placed(self, level: Any, below: Callable[..., Any], bits: Bits) -> tuple[Any, Any]:
        """m uniform on 0..L and X uniform in the region R(L-m, m); K = L - 2m.  [H9]

        L and both results are integers, or arrays of them, and ``below`` draws such. Where one word
        is enough for m and X together, they come from one.
        """
        reach = self._levels.reach(bits.width)
        side, widest = self._side(level), self._side(reach)
        if (reach + 1) * widest <= ONE_WORD:
            both = below((level + 1) * side, bits, largest=(reach + 1) * widest)
            m = both // side
            place = both - m * side
        else:
            m = below(level + 1, bits, largest=reach + 1)
            place = below(side, bits, largest=widest)
        return place - self.grid * m - self.centre, level - 2 * m

    def _side(self, level: Any) -> Any:
        """2c + 1 + GL: how many cells a region R(a, m) with a + m = L has.  [H9]"""
        return self.grid * level + (2 * self.centre + 1)

    @cached_property
    def _levels(self) -> Radial:
        """The law of L: (L+1) b^L (2c + 1 + GL), a polynomial of degree 2 times a geometric."""
        return Radial.of(self.epsilon, [(L + 1) * self._side(L) for L in range(4)])

    @cached_property
    def marginal_x(self) -> Staircase:
        """The law of X alone.  [H4]"""
        return Staircase(self.epsilon, self.grid, self.centre)

    @cached_property
    def _magnitude(self) -> Ladder:
        """The law of |T|, T = K - j(X)."""
        return Ladder(self.epsilon, 1, 2)

    @property
    def c(self) -> int:
        """The half-width of the centre stair, in cells."""
        return self.centre

    def level(self, x: int, k: int) -> int:
        """|j| + |k - j|: how many steps of exp(-epsilon) below the top.  [H2]"""
        j = stair(x, self.grid, self.c)
        return abs(j) + abs(k - j)

    def levels(self, x: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same of arrays that broadcast."""
        j = np.sign(x) * np.maximum(0, -((self.c - np.abs(x)) // self.grid))
        found: npt.NDArray[Any] = np.abs(j) + np.abs(k - j)
        return found

    def pmf(self, x: int, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(X = x, K = k), enclosed."""
        x, k = whole_number("x", x), whole_number("k", k)
        return exp_minus(self.level(x, k) * self.epsilon, bits) * self._top(bits)

    def _top(self, bits: int) -> Enclosure:
        """P(X = 0, K = 0) = (1-b)/(1+b) / Z, where (1-b)/(1+b) = 1/(1 + 2 beta)."""
        if bits not in self._tops:
            ends = in_beta((1, 2), self.epsilon, bits)
            self._tops[bits] = 1 / (ends * self.marginal_x.normaliser(bits))
        return self._tops[bits]

    @cached_property
    def _tops(self) -> dict[int, Enclosure]:
        return {}

    def count_pmf(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K = k) = (1-b)/(1+b) b^|k| ((2c+1) + G(|k| + 2b^2/(1-b^2))) / Z.  [H7]"""
        b = exp_minus(self.epsilon, bits)
        cells = 2 * self.c + 1 + self.grid * (abs(k) + 2 * b**2 / (1 - b**2))
        return exp_minus(abs(k) * self.epsilon, bits) * cells * self._top(bits)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k), k >= 1: the sum of :meth:`count_pmf` over k, k+1, ...  [H7]"""
        if k < 1:
            return 1 - self.count_tail(1 - k, bits=bits)
        b = exp_minus(self.epsilon, bits)
        cells = 2 * self.c + 1 + self.grid * (k + b / (1 - b) + 2 * b**2 / (1 - b**2))
        power = exp_minus(k * self.epsilon, bits)
        return power * cells / (1 + b) / self.marginal_x.normaliser(bits)

    @property
    def mean(self) -> tuple[int, int]:
        """Both zero, by symmetry."""
        return 0, 0

    @cached_property
    def variance(self) -> tuple[Enclosure, Enclosure]:
        """(Var X, Var K), X in cells: Var K = (2 Var X + 2 C) / G^2.  [H5]"""
        var_x = self.marginal_x.variance
        return var_x, (2 * var_x + 2 * self.covariance) / self.grid**2

    @cached_property
    def covariance(self) -> Enclosure:
        """C = Cov(X, GK - X) in cells squared; zero at the continuous optimum.  [H5] [H6]

        -C = G^2 (2c+1-G) b/(1-b)^2 / Z + E r^2, r the offset of X in its stair.
        """
        inner, outer = self.marginal_x.offset_squares
        lean = self.grid**2 * (2 * self.c + 1 - self.grid)  # b/(1-b)^2 = beta + beta^2
        bits = 2 * DEFAULT_BITS
        above = in_beta((-inner, -outer - lean, -lean), self.epsilon, bits)
        return above / self.marginal_x.normaliser(bits)
