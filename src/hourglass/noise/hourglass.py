"""The hourglass: the optimal noise for a sum and a count in the add-remove model.

Kulesza, Suresh, Wang, "Mean estimation in the add-remove model of differential privacy"
(ICML 2024), on an integer lattice. Marks such as [H1] refer to ``hourglass.proof.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.exact import DEFAULT_BITS, Enclosure, Exact, exact_epsilon, exp_minus, whole_number
from ..core.grid import check_centre, check_grid
from .bits import SECURE, Bits, Filled, blocks
from .inversion import ONE_WORD, sample_scaled, sample_scaled_one
from .ladder import Ladder
from .radial import Radial, in_beta
from .staircase import Staircase, optimal_centre, stair

__all__ = ["Hourglass"]


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
