"""Tail probabilities of the sum under the hourglass of a triangle, and of the count.

With the count k given, the noise on the sum is W k + D with D = u2 - u0. The region R(a, m) is a
triangle of side n = p + 2t whose corners of side t - 1 are cut off (p = aW + c, t = mW + c), and in
a triangle {v >= 0, v0 + v1 + v2 = n} the points with v2 - v0 >= y are easily counted. They number

    F(n, y) = (f+1)(h+1-f),  h = n - y, f = floor(h/2), for 0 <= y <= n,
    F(n, y) = T(n) - F(n, 1-y) for y < 0,  T(n) = (n+1)(n+2)/2,

which lies between ((h+2)^2 - 1)/4 and (h+2)^2/4. So P(K = k, D >= y) is at most a sum over L = a+m
of b^L times squares of linear functions of L, each over a range of L: closed forms.  [B7]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..core.exact import to_double
from ..noise import HourglassTriangle
from .body_tails import BodyTails, GeometricSum
from .tails import Floats

__all__ = ["TriangleTails"]


@dataclass(frozen=True)
class _Linear:
    """slope * L + start, in units of W: the start is an array, one for each count."""

    slope: float
    start: Floats
    whole: float

    def least(self, value: Floats | float) -> Floats:
        """The L at which it reaches a value.

        That is a whole number of points over W. In doubles it is rounded to the nearest one: else
        an L just where a range begins could fall out of it.
        """
        found: Floats = np.rint((value - self.start) / self.slope * self.whole) / self.whole
        return found


class TriangleTails(BodyTails):
    """X = U1 + 2 U2, of which a record adds up to 2 W."""

    def __init__(self, law: HourglassTriangle) -> None:
        super().__init__(law, 2.0 * law.whole, 3)
        self.whole, self.centre = float(law.whole), law.centre / law.whole
        # L^j b^L summed over L, L+2, ..., in the units of GeometricSum.
        self._powers = [GeometricSum(row, self.epsilon) for row in np.eye(3)]
        self.normaliser = to_double(law.normaliser().low / law.whole**2)

    def upper(self, k: Floats, x: Floats) -> Floats:
        """At least P(K = k, X >= x): what the rounded counts of points add is below 1/W^2."""
        y = np.clip(x / self.whole - k, -8 * self.far, 8 * self.far)
        total = np.zeros_like(k)
        for sign, square, first, last in self._terms(k, y):
            total += sign * self._summed(square, np.abs(k), first, last)
        tail: Floats = np.clip(total / self.normaliser, 0.0, 1.0)
        return tail

    def _terms(
        self, k: Floats, y: Floats
    ) -> Iterator[tuple[Floats, _Square, Floats, Floats | None]]:
        """The counted points: a sign, what is summed, and the range of L that it is summed over.

        None if the range has no end.
        """
        W, one = self.whole, 1.0 / self.whole  # a point, in units of W
        p, t = _Linear(0.5, k / 2 + self.centre, W), _Linear(0.5, self.centre - k / 2, W)
        n = _Linear(1.5, 3 * self.centre - k / 2, W)
        both = _Linear(1.0, np.full_like(k, 2 * self.centre + one), W)  # p + t + 1
        above, below = np.where(y >= 0, 1.0, 0.0), np.where(y >= 0, 0.0, 1.0)
        one_each = np.ones_like(k)
        always, ever = np.full_like(k, -np.inf), None
        ahead, behind = both.least(y), both.least(-y)  # from where on p + t + 1 passes y, or -y
        corner = _triangle(t, -one, one)
        # The whole triangle. Where y passes p + t + 1, all that it has lies in the corner at v2.
        yield above, _most(n, -y, one), ahead, ever
        yield below, _triangle(n, 0.0, one), always, ever
        yield -below, _fewest(n, y - one, one), behind, ever
        # The corner at v1, which does not affect the difference.
        yield -above, _fewest(t, -y - one, one), t.least(y), ever
        yield -below, corner, always, ever
        yield below, _most(t, y - 2 * one, one), t.least(2 * one - y), ever
        # The corner at v2, whose points are ahead by p + t + 1.
        yield -one_each, corner, ahead, ever
        yield one_each, _most(p, 3 * one - y, one, flip=True), ahead, p.least(y - 2.5 * one)
        # The corner at v0, whose points are behind by as much.
        yield -one_each, _fewest(p, y + 2 * one, one, flip=True), behind, p.least(-y - 0.5 * one)
        yield -one_each, corner, always, behind

    def _summed(self, square: _Square, least: Floats, first: Floats, last: Floats | None) -> Floats:
        """The sum of a quadratic in L times b^L over first <= L < last, L = |k|, |k|+2, ..."""
        start = least + 2 * np.ceil(np.maximum(0.0, first - least) / 2)
        sums = self._sums(start)
        if last is not None:
            end = np.maximum(start, least + 2 * np.ceil(np.maximum(0.0, last - least) / 2))
            sums = [a - b for a, b in zip(sums, self._sums(end), strict=True)]
        total = np.zeros_like(least)
        for j, (coefficient, each) in enumerate(zip(square, sums, strict=True)):
            total += coefficient * each / self.epsilon**j
        return total

    def _sums(self, L: Floats) -> list[Floats]:
        """The sums of (e L)^j b^L from L on, j = 0, 1, 2."""
        place = self.epsilon * L
        decay = np.exp(-place)
        found = []
        for j, power in enumerate(self._powers):
            *rest, each = power.coefficients[: j + 1]
            for coefficient in reversed(rest):
                each = each * place
                each += coefficient
            found.append(decay * each)
        return found


#: The coefficients of 1, L and L^2, in units of W^2.
_Square = tuple[Floats, Floats, Floats]


def _square(line: _Linear, shift: Floats | float, less: float = 0.0) -> _Square:
    """((line + shift)^2 - less) / 4; the sign of what is squared does not matter."""
    start, slope = line.start + shift, line.slope
    return ((start**2 - less) / 4, slope * start / 2, np.full_like(start, slope**2 / 4))


def _most(line: _Linear, shift: Floats, one: float, flip: bool = False) -> _Square:
    """(h+2)^2/4 of h = line + shift, or of h = -(line + shift)."""
    return _square(line, shift + (-2 * one if flip else 2 * one))


def _fewest(line: _Linear, shift: Floats, one: float, flip: bool = False) -> _Square:
    """((h+2)^2 - 1)/4 of the same."""
    return _square(line, shift + (-2 * one if flip else 2 * one), one**2)


def _triangle(line: _Linear, shift: float, one: float) -> _Square:
    """(n+1)(n+2)/2 of n = line + shift."""
    start, slope = line.start + shift, line.slope
    return (
        (start + one) * (start + 2 * one) / 2,
        slope * (2 * start + 3 * one) / 2,
        np.full_like(start, slope**2 / 2),
    )
