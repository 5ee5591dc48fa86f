"""The discrete Laplace mechanism on the transformed sums."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from ..core.exact import Enclosure
from ..core.totals import NoisyTotals, Totals
from ..noise import DiscreteLaplace
from ..noise.bits import SECURE, Bits
from .base import Moments, OnGrid, addable, draws, register
from .lattice import Lattice, product_lattice, some_cells
from .tails import Floats, Line, ProductTails, distinct

__all__ = ["LaplaceMean"]


@register
class LaplaceMean(OnGrid):
    """Independent noise on S and on G N - S; a record adds q to one and G - q to the other."""

    name: ClassVar[str] = "laplace"
    words: ClassVar[str] = "discrete Laplace mechanism on the transformed sums"

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise on each of the two."""
        return DiscreteLaplace(self.epsilon / self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G N - S + Y)."""
        n, G = draws(totals, size), self.grid.cells
        x, y = addable((self.law.sample(n, bits=bits), self.law.sample(n, bits=bits)), totals, G)
        return NoisyTotals(totals.cells + x, G * totals.count - totals.cells + y, G)

    @cached_property
    def moments(self) -> Moments:
        """Independent and equal."""
        variance = self.law.variance / self.unit
        return Moments(variance, variance, Enclosure.of(0))

    @cached_property
    def tails(self) -> LaplaceTails:
        """Of X and Y."""
        return LaplaceTails(self.law, self.grid.cells)

    def lattice(self) -> Lattice:
        """(X, Y), which a record moves by (q, G - q)."""
        G = self.grid.cells
        moves = [(q, G - q) for q in some_cells(G)]
        return product_lattice(self.name, self.epsilon, self.law, self.law, moves)


class LaplaceTails:
    """The error of the sum is X / G in widths of the range, that of the count (X + Y) / G."""

    def __init__(self, law: DiscreteLaplace, cells: int) -> None:
        self.product, self.cells = ProductTails(law.rate, law.rate), cells

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """s x - n y is ((s - n) X - n Y) / G."""
        G = self.cells
        pairs = [(float(p.sum - p.count) / G, -float(p.count) / G) for p in distinct(first, second)]
        return self.product.miss(pairs, reach)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach."""
        G = self.cells
        pair = float(line.sum - line.count) / G, -float(line.count) / G
        return self.product.above(pair, reaches)
