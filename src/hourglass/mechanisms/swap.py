"""The staircase mechanism on the sum, where the number of records is public."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..core.totals import NoisyTotals, Totals
from ..noise import Staircase
from ..noise.bits import SECURE, Bits
from ..noise.hourglass import stair
from .base import Moments, OnGrid, addable, draws, register
from .lattice import FULL_GRID, Lattice, Part, outer_edges, some_cells, span
from .tails import SLACK, TOUCH, Floats, Line

__all__ = ["SwapMean"]


@register
class SwapMean(OnGrid):
    """The baseline with a public number of records: n is NOT protected."""

    name: ClassVar[str] = "swap"
    words: ClassVar[str] = "staircase mechanism on the sum; the number of records is public"
    adjacency: ClassVar[str] = "swap"
    by_group: ClassVar[bool] = False
    several_records: ClassVar[bool] = False

    @cached_property
    def law(self) -> Staircase:
        """The law of the noise on S: replacing a record moves S by at most G."""
        return Staircase(self.epsilon, self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """S + X, and N without noise."""
        G = self.grid.cells
        (x,) = addable((self.law.sample(draws(totals, size), bits=bits),), totals, G)
        cells = totals.cells + x
        return NoisyTotals(cells, G * totals.count - cells, G)

    @cached_property
    def moments(self) -> Moments:
        """The two errors are opposite, since their sum is exact."""
        variance = self.law.variance / self.unit
        return Moments(variance, variance, -variance)

    @cached_property
    def tails(self) -> SwapTails:
        """Of X."""
        return SwapTails(self.law)

    def lattice(self) -> Lattice:
        """X, which replacing a record moves by up to G either way."""
        law, G, fine = self.law, self.law.grid, self.law.grid > FULL_GRID
        return Lattice(
            self.name,
            self.epsilon,
            (Part(lambda x, _: abs(stair(x, G, law.c)), self.epsilon),),
            tuple((sign * q, 0) for q in some_cells(G) for sign in (1, -1)),
            (() if fine else span(law.c + 3 * G + 1), (0,)),
            lambda x, _: law.pmf(x),
            (outer_edges(G, law.c), ()) if fine else None,
        )


class SwapTails:
    """The error of the sum is X / G in widths of the range; the count has none."""

    def __init__(self, law: Staircase) -> None:
        self.law, self.epsilon = law, float(law.epsilon)
        self.normaliser = float(law.normaliser())

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """2 P(X >= x0): the rest of x0's stair and all stairs above it."""
        if reach <= 0:
            return 1.0
        most = max(float(first.sum), float(second.sum))
        if not most:
            return 0.0
        x0 = np.maximum(1.0, np.ceil([reach * (1 - TOUCH) * self.law.grid / most]))
        return min(1.0, 2 * float(self._upper(x0)[0]) + SLACK)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach; up to zero the complement of the mirror."""
        if not line.sum:
            return np.where(reaches > 0, 0.0, 1.0)
        x0 = np.ceil((reaches - TOUCH * np.abs(reaches)) * self.law.grid / float(line.sum))
        tail = self._upper(np.maximum(x0, 1.0 - x0))
        return np.minimum(1.0, np.where(x0 >= 1, tail, 1.0 - tail) + SLACK)

    def _upper(self, x0: Floats) -> Floats:
        """P(X >= x0) for x0 >= 1."""
        G, c = self.law.grid, self.law.c
        j = np.maximum(0.0, np.ceil((x0 - c) / G))
        cells = c + j * G - x0 + 1 + G / math.expm1(self.epsilon)
        tail: Floats = cells * np.exp(-self.epsilon * j) / self.normaliser
        return tail
