"""Tail probabilities of one column of the hourglass of a box, and of the count.

P(K = k, X_i >= x) is a sum over L = a + m, in steps of two, of b^L times a polynomial in L: how
many cells of column i lie at x or above, times the widths of all other columns.  [B5]
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.polynomial.polynomial import polyfromroots

from ..core.exact import to_double
from ..noise import HourglassBox
from .body_tails import BodyTails, GeometricSum
from .tails import Floats

__all__ = ["BoxTails"]


class BoxTails(BodyTails):
    """X_i in cells, G_i of which a record can add."""

    def __init__(self, law: HourglassBox, column: int) -> None:
        super().__init__(law, float(law.grids[column]), law.columns + 1)
        self.grid, self.centre = float(law.grids[column]), float(law.centres[column])
        self.middle = (2 * self.centre + 1) / self.grid  # the centre's width, in records
        # The widths of the other columns, (2c+1)/G + L, times epsilon: numbers of moderate size.
        sides = zip(law.grids, law.centres, strict=True)
        roots = [
            -self.epsilon * to_double(Fraction(2 * c + 1, g))
            for i, (g, c) in enumerate(sides)
            if i != column
        ]
        widths = np.asarray(polyfromroots(roots), dtype=np.float64)
        self._plain = GeometricSum(widths, self.epsilon)
        self._times_l = GeometricSum(np.concatenate([[0.0], widths]), self.epsilon)
        # Z in the same units, one power of epsilon for column i as well.
        self.normaliser = (
            to_double(law.normaliser().low / math.prod(law.grids)) * self.epsilon**law.columns
        )

    def upper(self, k: Floats, x: Floats) -> Floats:
        """P(K = k, X_i >= x).  [B5]

        Regions that end below x have no such cells, those that begin at x or above have all of
        theirs, the rest have c + G a - x + 1.
        """
        x = np.clip(x, -4 * self.far * self.grid, 4 * self.far * self.grid)
        up = np.maximum(0.0, np.ceil((x - self.centre) / self.grid))
        down = np.maximum(0.0, np.ceil((-x - self.centre) / self.grid))
        first = np.maximum(np.abs(k), 2 * up - k)
        part = np.maximum(first, 2 * down + k)  # from here on the region has cells on both sides
        plain, times_l = self._from(part)
        found = times_l / 2 + ((self.centre + 1 - x) / self.grid + k / 2) * plain
        apart = first < part
        if apart.any():
            whole, whole_l = self._from(first[apart])
            found[apart] += self.middle * (whole - plain[apart]) + (whole_l - times_l[apart])
        tail: Floats = np.clip(found * self.epsilon / self.normaliser, 0.0, 1.0)
        return tail

    def _from(self, L: Floats) -> tuple[Floats, Floats]:
        """The sums over L, L+2, ... of widths(L) b^L and of L widths(L) b^L."""
        decay = np.exp(-self.epsilon * L)
        times_l = self._times_l.times(L, decay)
        times_l /= self.epsilon
        return self._plain.times(L, decay), times_l
