"""The exact sampler of the hourglass of a triangle: a hexagon in three pieces.

With p = aW + c and t = mW + c the region R(a, m) is a hexagon, and by the signs of two coordinates
it falls into a triangle of (p+1)(p+2)/2 points, one of t(t+1)/2 points and a rectangle of t (2p+1).
Each size is a function of a times a function of m. So the piece is drawn first, then a and m,
independently of each other, then a point: five words, or seven where W is large and more where
epsilon is small, whatever the outcome. [B7]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import PRECISIONS, Enclosure, floor_scaled
from .bits import MAX_INT64_BOUND, Bits, Words, invert, sample_scaled
from .hourglass import Radial

__all__ = ["Pieces"]

#: The degree of a piece's size in a and in m, at most.
_DEGREE: Final = 2


@dataclass(frozen=True)
class Pieces:
    """Draws (u, k) of the triangle's law.

    Contract: ``draw(size, bits)`` is distributed as ``size`` independent draws.
    """

    epsilon: Fraction
    whole: int
    centre: int

    @cached_property
    def laws(self) -> tuple[tuple[Radial, Radial], ...]:
        """For each piece the laws of a and of m: their weights multiply to twice its size."""

        def law(size: Callable[[int], int]) -> Radial:
            sides = [r * self.whole + self.centre for r in range(_DEGREE + 1)]
            return Radial.of(self.epsilon, [size(side) for side in sides])

        return (
            (law(lambda p: (p + 1) * (p + 2)), law(lambda t: 1)),
            (law(lambda p: 1), law(lambda t: t * (t + 1))),
            (law(lambda p: 2 * (2 * p + 1)), law(lambda t: t)),
        )

    def _threshold(self, piece: int, digits: int) -> int:
        """floor(2^digits P(this piece or one before it))."""
        if piece == len(self.laws) - 1:
            return 1 << digits
        if (piece, digits) not in self._known:
            enclosures = (self._cumulated(piece, digits + more) for more in PRECISIONS)
            self._known[piece, digits] = floor_scaled(enclosures, digits)
        return self._known[piece, digits]

    def _cumulated(self, piece: int, precision: int) -> Enclosure:
        """P(this piece or one before it)."""
        masses = [a.total(precision) * m.total(precision) for a, m in self.laws]
        part = sum(masses[: piece + 1], start=Enclosure.of(0))
        return part / sum(masses, start=Enclosure.of(0))

    @cached_property
    def _known(self) -> dict[tuple[int, int], int]:
        return {}

    @cached_property
    def _tables(self) -> dict[int, Words]:
        return {}

    def _table(self, width: int) -> Words:
        if width not in self._tables:
            self._tables[width] = np.array(
                [self._threshold(piece, width) for piece in range(len(self.laws) - 1)],
                dtype=np.uint64,
            )
        return self._tables[width]

    def reach(self, width: int) -> int:
        """An upper bound on a and m."""
        return max(law.reach(width) for pair in self.laws for law in pair)

    def draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """U of shape (size, 3) and K: int64, or Python integers where those could overflow."""
        largest = 2 * (self.reach(bits.width) * self.whole + self.centre) + 2
        kind = object if largest >= MAX_INT64_BOUND else np.int64
        piece = invert(
            self._table(bits.width), bits.words(size), bits, self._threshold, len(self.laws)
        )
        a, m = (self._sample(piece, side, bits).astype(kind, copy=False) for side in (0, 1))
        p, t = a * self.whole + self.centre, m * self.whole + self.centre
        # The sides of the rectangle that each piece is, or that it is folded from.
        first = np.where(piece == 0, p + 1, t)
        second = np.where(piece == 0, p + 2, np.where(piece == 1, t + 1, 2 * p + 1))
        i = sample_scaled(first, bits, largest=largest).astype(kind, copy=False)
        j = sample_scaled(second, bits, largest=largest).astype(kind, copy=False)
        u0, u2 = _point(piece, p, i, j)
        u = np.stack([u0, (a - m) * self.whole - u0 - u2, u2], axis=1)
        return u, a - m

    def _sample(self, piece: npt.NDArray[np.int64], side: int, bits: Bits) -> npt.NDArray[Any]:
        """a (side 0) or m (side 1), by the law of each draw's piece."""
        laws = [pair[side] for pair in self.laws]
        words = bits.words(piece.size)
        short = all(law.is_short(bits.width) for law in laws)
        found = np.zeros(piece.size, dtype=np.int64)
        for number, law in enumerate(laws):
            mine = np.flatnonzero(piece == number)
            found[mine] = (law.at if short else law.order_at)(words[mine], bits)
        return found if short else laws[0].add_geometrics(found, _DEGREE + 1, bits)


def _point(
    piece: npt.NDArray[np.int64], p: npt.NDArray[Any], i: npt.NDArray[Any], j: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(u0, u2) from a point of the piece's rectangle.  [B7]

    A rectangle of n+1 by n+2 covers the triangle 0 <= v <= w <= n twice: fold it. The first
    piece is u0 >= 0, u2 >= 0, u0 + u2 <= p; the second u2 <= -1, u0 <= 0, -u0 - u2 <= t; the
    third has u0 <= -1 and u2 in 0..p, or u2 <= -1 and u0 in 1..p.
    """
    over = j > i
    v, w = np.where(over, i, j), np.where(over, j - 1, i)
    left = j <= p
    u0 = np.where(piece == 0, v, np.where(piece == 1, -v, np.where(left, -1 - i, j - p)))
    u2 = np.where(piece == 0, w - v, np.where(piece == 1, v - w - 1, np.where(left, j, -1 - i)))
    return u0, u2
