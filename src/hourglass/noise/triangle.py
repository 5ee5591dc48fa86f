"""The hourglass of a triangle: the noise for a column with its spread.

A record of q in 0..G cells adds the three numbers (G-q)^2, 2q(G-q), q^2, which are nonnegative
integers and add up to W = G^2. Their totals give the count (their sum is W times it), the sum (half
the second and the third) and the sum of squares (the third). Marks such as [B1] refer to
``body.proof.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import DEFAULT_BITS, Enclosure, Exact, exact_epsilon, power, whole_numbers
from ..errors import GridError, OptionError
from .bits import SECURE, Bits, Filled, blocks
from .least import least_ratio, times
from .pieces import Pieces
from .regions import Regions

__all__ = ["HourglassTriangle", "best_triangle_centre"]

_MOMENT_BITS = 2 * DEFAULT_BITS
#: The square of the finest grid that a sum of squares is exact for.
MAX_WHOLE: Final = 2**46


@dataclass(frozen=True, init=False)
class HourglassTriangle:
    """U on the integer triples whose sum is W K: P(u) = b^level / ((1-b^2) Z), b = exp(-epsilon).

    The level of u is the least a + m with W (a - m) the sum of u and -c - W m <= u_i <= c + W a:
    "a records added, m removed". Contract: ``sample(size)`` is distributed as ``size``
    independent draws of that law. Added to the totals of records that are triples of whole
    numbers, not negative and of sum W, it is epsilon-DP in the add-remove model: a neighbour
    moves the level by exactly one.  [B1] [B2] [B7]

    ``centre`` is c. If it is left out, it is the one with the least error of a mean that lies
    on a bound.  [B8]
    """

    epsilon: Fraction
    whole: int
    centre: int

    def __init__(self, epsilon: Exact, whole: int, centre: int | None = None) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        object.__setattr__(self, "whole", _check("whole", whole, 1, MAX_WHOLE))
        best = best_triangle_centre(self.epsilon, self.whole) if centre is None else centre
        object.__setattr__(self, "centre", _check("centre", best, 0, None))

    # --- sampling ---------------------------------------------------------------------

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> tuple[Any, Any]:
        """U of shape (size, 3) and K of shape (size,); or a tuple of three and an integer.

        Both are int64, or Python integers where int64 could overflow: the law decides that,
        not the draw.
        """
        if size is None:
            u, k = self._pieces.draw(1, bits)
            return tuple(int(value) for value in u[0]), int(k[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self._pieces.draw(n, bits))
        u, k = filled.arrays
        return u, k

    @cached_property
    def _pieces(self) -> Pieces:
        return Pieces(self.epsilon, self.whole, self.centre)

    @cached_property
    def _regions(self) -> Regions:
        return Regions(self.epsilon, self.points, 2)

    # --- the law ----------------------------------------------------------------------

    def points(self, added: int, removed: int) -> int:
        """How many points the region R(a, m) has.  [B7]"""
        p, t = added * self.whole + self.centre, removed * self.whole + self.centre
        return (p * p + 4 * p * t + t * t + 3 * p + 3 * t + 2) // 2

    def count(self, u: Sequence[int]) -> int:
        """K: the sum of u over W."""
        total = sum(_point(u))
        if total % self.whole:
            raise OptionError(f"u is not a triple whose sum is a multiple of whole={self.whole}")
        return total // self.whole

    def level(self, u: Sequence[int]) -> int:
        """How many steps of exp(-epsilon) below the top u lies.  [B7]"""
        u = _point(u)
        k = self.count(u)
        up = max(0, -((self.centre - max(u)) // self.whole))
        down = max(0, -((self.centre + min(u)) // self.whole))
        return max(abs(k), 2 * up - k, 2 * down + k)

    def levels(self, u: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The level of every row of u, of shape (..., 3); their sums are multiples of W."""
        return self.levels_at(u[..., 0], u[..., 2], u.sum(axis=-1) // self.whole)

    def levels_at(
        self, u0: npt.NDArray[Any], u2: npt.NDArray[Any], k: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """The same for the first and the last coordinate and the count, which broadcast."""
        u1 = self.whole * k - u0 - u2
        most = np.maximum(np.maximum(u0, u2), u1)
        least = np.minimum(np.minimum(u0, u2), u1)
        up = np.maximum(0, -((self.centre - most) // self.whole))
        down = np.maximum(0, -((self.centre + least) // self.whole))
        found: npt.NDArray[Any] = np.maximum(np.abs(k), np.maximum(2 * up - k, 2 * down + k))
        return found

    def pmf(self, u: Sequence[int], *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(U = u), enclosed; zero if the sum of u is not a multiple of W. [B3]"""
        u = _point(u)
        if sum(u) % self.whole:
            return Enclosure.of(0)
        return power(self.epsilon, self.level(u), bits) * self._regions.top(bits)

    def normaliser(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z = sum over (a, m) of b^(a+m) |R(a, m)|."""
        return self._regions.total(bits)

    def count_pmf(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K = k), enclosed.  [B5]"""
        return self._regions.count_pmf(k, bits)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k), enclosed.  [B5]"""
        return self._regions.count_tail(k, bits)

    # --- moments ----------------------------------------------------------------------

    @property
    def mean(self) -> tuple[tuple[int, int, int], int]:
        """All zero, by symmetry."""
        return (0, 0, 0), 0

    @cached_property
    def variance(self) -> tuple[Enclosure, Enclosure]:
        """(Var U_i, Var K), the first the same for all three.  [B8]"""
        count = self._regions.expected(
            lambda a, m: (a - m) ** 2 * self.points(a, m), 4, _MOMENT_BITS
        )

        def squares(a: int, m: int) -> int:
            p, t = a * self.whole + self.centre, m * self.whole + self.centre
            return _twelve_squares(p, t) + _twelve_squares(t, p)

        return self._regions.expected(squares, 4, _MOMENT_BITS) / 12, count

    @cached_property
    def covariance(self) -> tuple[Enclosure, Enclosure]:
        """(Cov(U_i, U_j), Cov(U_i, K)), i and j different.  [B8]"""
        each, count = self.variance
        return (self.whole**2 * count - 3 * each) / 6, self.whole * count / 3

    @cached_property
    def mean_error(self) -> tuple[Enclosure, Enclosure]:
        """n^2 MSE of the mean as a part of the range, leading order: on a bound, in the middle.

        At a mean of alpha it is the first less 4 alpha (1-alpha) times their difference.  [B8]
        """
        each, count = self.variance
        on_bound = 3 * each / (4 * self.whole**2) + count / 6
        return on_bound, on_bound - count / 4


def _point(u: Any) -> list[int]:
    return whole_numbers("u", u, 3, "three whole numbers")


def _twelve_squares(p: int, t: int) -> int:
    """12 times the sum of v^2 (p + t + 1 - v) over v = 1..p.  [B8]"""
    return p * (p + 1) * (p * p + 4 * p * t + 3 * p + 2 * t + 2)


def _check(name: str, value: Any, least: int, most: int | None) -> int:
    span = (
        f"{least} or more"
        if most is None
        else f"a number from {least} to 2^{most.bit_length() - 1}"
    )
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise GridError(f"{name}={value!r} is not a whole number; give {span}")
    if value < least or (most is not None and value > most):
        raise GridError(f"{name}={value} is out of range; give {span}")
    return int(value)


@lru_cache(maxsize=1024)
def best_triangle_centre(epsilon: Fraction, whole: int) -> int:
    """The c of least error of the mean at a mean on the bound.  [B8]

    24 W^2 times that error is F(c)/N(c), N the sum of b^(a+m) 2|R(a, m)| and F that of
    b^(a+m) (3 (12 times the sum of squares of a coordinate) + 4 W^2 (a-m)^2 2|R(a, m)|).
    """

    def coefficients(a: int, m: int) -> tuple[list[int], list[int]]:
        """F and N of one region as polynomials in c: p = aW + c, t = mW + c."""
        p, t = [a * whole, 1], [m * whole, 1]
        points = _plus(
            times(p, p), _scale(4, times(p, t)), times(t, t), _scale(3, _plus(p, t)), [2]
        )
        squares = _plus(_squares(p, t), _squares(t, p))
        return _plus(_scale(3, squares), _scale(4 * whole**2 * (a - m) ** 2, points)), points

    def polynomials(bits: int) -> tuple[list[Enclosure], list[Enclosure]]:
        regions = Regions(epsilon, lambda a, m: 1, 0)

        def summed(which: int, power: int) -> Enclosure:
            def coefficient(a: int, m: int) -> int:
                return coefficients(a, m)[which][power]

            return regions.radial(coefficient, 4).total(bits)

        return [summed(0, i) for i in range(5)], [summed(1, i) for i in range(3)]

    return least_ratio(polynomials)


def _squares(p: list[int], t: list[int]) -> list[int]:
    """:func:`_twelve_squares` of polynomials."""
    inner = _plus(times(p, p), _scale(4, times(p, t)), _scale(3, p), _scale(2, t), [2])
    return times(times(p, _plus(p, [1])), inner)


def _plus(*terms: list[int]) -> list[int]:
    length = max(map(len, terms))
    padded = [term + [0] * (length - len(term)) for term in terms]
    return [sum(column) for column in zip(*padded, strict=True)]


def _scale(factor: int, term: list[int]) -> list[int]:
    return [factor * value for value in term]
