"""The two-dimensional staircase mechanism on the transformed sums."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..core.exact import Enclosure
from ..core.totals import NoisyTotals, Totals
from ..noise import Staircase2D
from ..noise.bits import SECURE, Bits
from . import tails
from .base import Moments, OnGrid, addable, draws, register
from .lattice import FULL_GRID, Lattice, Part, landmarks, outer_edges, some_cells, span
from .tails import FAR, SLACK, TOUCH, Floats, Line, distinct

__all__ = ["StaircaseMean"]


@register
class StaircaseMean(OnGrid):
    """(S + X, G N - S + Y); a record adds q to one and G - q to the other."""

    name: ClassVar[str] = "staircase"
    words: ClassVar[str] = "two-dimensional staircase mechanism on the transformed sums"

    @cached_property
    def law(self) -> Staircase2D:
        """The joint law of the noise on the two."""
        return Staircase2D(self.epsilon, self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G N - S + Y)."""
        G = self.grid.cells
        x, y = addable(self.law.sample(draws(totals, size), bits=bits), totals, G)
        return NoisyTotals(totals.cells + x, G * totals.count - totals.cells + y, G)

    @cached_property
    def moments(self) -> Moments:
        """Uncorrelated and equal."""
        variance = self.law.variance[0] / self.unit
        return Moments(variance, variance, Enclosure.of(0))

    @cached_property
    def tails(self) -> StaircaseTails:
        """Of X and Y."""
        return StaircaseTails(self.law)

    def lattice(self) -> Lattice:
        """(X, Y), which a record moves by (q, G - q)."""
        law, G, c = self.law, self.law.grid, self.law.c
        full = G <= FULL_GRID // 2
        tried = span(c + 2 * G + 1) if full else landmarks(G, c)
        return Lattice(
            self.name,
            law.epsilon,
            (Part(law.level, law.epsilon),),
            tuple((q, G - q) for q in some_cells(G, c)),
            (tried, tried),
            law.pmf,
            None if full else (outer_edges(G, c), ()),
        )


class StaircaseTails:
    """The error of the sum is X / G in widths of the range, that of the count (X + Y) / G."""

    def __init__(self, law: Staircase2D) -> None:
        self.epsilon, self.grid, self.centre = float(law.epsilon), float(law.grid), float(law.c)
        self.normaliser = float(law.normaliser())

    @cached_property
    def _blocks(self) -> tuple[Floats, Floats]:
        """First and last y of each block, 0 apart: equal ones, and finer ones near the centre.

        For large epsilon most of the mass lies in a centre that is far narrower than a block.
        """
        return self._edges(tails.NODES)

    def _edges(self, nodes: int) -> tuple[Floats, Floats]:
        far = math.ceil(FAR * self.grid / self.epsilon) + 1
        even = np.linspace(1, far, min(far, nodes))
        finer = np.geomspace(1, far, nodes // 2)
        first = np.unique(np.floor(np.concatenate([[0.0], even, finer])))
        return first, np.append(first[1:] - 1.0, far)

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """Treat each block as if it were all at its end nearest to zero, where the law is largest.

        The law is the same with X and Y exchanged, and with the sign of either changed.
        """
        pairs = [(p.sum - p.count, p.count) for p in distinct(first, second)]
        lines = [sorted(abs(float(part)) for part in pair) for pair in pairs]
        near, far = self._blocks
        total = 0.0
        for sign in (1.0, -1.0):
            ends = [
                (sign - TOUCH) * (small / large) * y + reach * (1 - TOUCH) * (self.grid / large)
                for small, large in lines
                for y in (near, far)
            ]
            tail = self.upper(near, np.ceil(np.minimum.reduce(ends))) * (far - near + 1)
            total += float(tail[0]) + 2.0 * float(tail[1:].sum())
        return min(1.0, total + SLACK)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach, by fewer blocks than :meth:`miss` has."""
        small, large = sorted((abs(float(line.sum - line.count)), abs(float(line.count))))
        near, far = self._edges(tails.TABLE_NODES)
        mass = (far - near + 1) * np.where(near == 0, 0.5, 1.0)  # zero has both signs
        found = np.full(len(reaches), SLACK)
        least = (reaches - TOUCH * np.abs(reaches)) * (self.grid / large)
        for end in (far, -near):  # where the tail of X begins earliest in a block
            shifts = small / large * (end + TOUCH * far)
            found += self.upper(near, np.ceil(np.subtract.outer(least, shifts))) @ mass
        capped: Floats = np.minimum(1.0, found)
        return capped

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(Y = y, X >= x0), from the sum over radii at least |y| + x0."""
        y, above = np.abs(y), x0 >= 1
        beyond = self._beyond(y + np.maximum(np.where(above, x0, 1.0 - x0), 1.0))
        if above.all():
            return beyond / self.normaliser
        whole = 2 * self._beyond(y) - np.exp(-self.epsilon * self._level(y))
        return np.where(above, beyond, whole - beyond) / self.normaliser

    def _level(self, radius: Floats) -> Floats:
        return np.maximum(0.0, np.ceil((radius - self.centre) / self.grid))

    def _beyond(self, radius: Floats) -> Floats:
        """The sum of b^level over the radii from this one on."""
        level = self._level(radius)
        here = self.centre + level * self.grid - radius + 1
        return np.exp(-self.epsilon * level) * (here + self.grid / math.expm1(self.epsilon))
