"""The base of mechanisms that split epsilon between a sum and the count."""

from __future__ import annotations

from functools import cached_property

from ..core.totals import NoisyTotals, Totals
from ..noise import DiscreteLaplace
from ..noise.bits import SECURE, Bits
from .base import Moments, OnGrid, addable, draws
from .lattice import Lattice, product_lattice, some_cells
from .tails import Floats, Line, Pair, ProductTails, distinct

__all__ = ["SumAndCount"]


class SumAndCount(OnGrid):
    """Half of epsilon on a sum of ``parts * q + offset`` per record, half on the count."""

    @property
    def offset(self) -> int:
        """What a record adds to the sum besides its cell, in parts of a cell."""
        raise NotImplementedError

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the most that a record adds to the sum, in parts of a cell."""
        return self.offset, self.offset + self.parts * self.grid.cells

    @cached_property
    def sum_law(self) -> DiscreteLaplace:
        """The law of the noise on the sum."""
        return DiscreteLaplace(self.epsilon / (2 * max(map(abs, self.ends))))

    @cached_property
    def count_law(self) -> DiscreteLaplace:
        """The law of the noise on the count."""
        return DiscreteLaplace(self.epsilon / 2)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """Add noise to the sum and the count, then convert them to the transformed sums."""
        n = draws(totals, size)
        noise = self.sum_law.sample(n, bits=bits), self.count_law.sample(n, bits=bits)
        t, k = addable(noise, totals, self.parts * self.grid.cells + abs(self.offset))
        count = totals.count + k
        cells = self.parts * totals.cells + self.offset * totals.count + t - self.offset * count
        rest = self.parts * self.grid.cells * count - cells
        return NoisyTotals(cells, rest, self.grid.cells, self.parts)

    @cached_property
    def moments(self) -> Moments:
        """Of t - o k and (pG + o) k - t, with t on the sum and k on the count."""
        low, high = self.ends
        t, k = self.sum_law.variance, self.count_law.variance
        return Moments(
            (t + low**2 * k) / self.unit,
            (t + high**2 * k) / self.unit,
            -(t + low * high * k) / self.unit,
        )

    @cached_property
    def tails(self) -> SumAndCountTails:
        """Of t and k."""
        return SumAndCountTails(self)

    def lattice(self) -> Lattice:
        """(t, k), which a record moves by (parts * q + offset, 1)."""
        moves = [(self.parts * q + self.offset, 1) for q in some_cells(self.grid.cells)]
        return product_lattice(self.name, self.epsilon, self.sum_law, self.count_law, moves)


class SumAndCountTails:
    """The error of the sum is (t - o k) / (p G) in widths of the range, that of the count k."""

    def __init__(self, mechanism: SumAndCount) -> None:
        self.product = ProductTails(mechanism.sum_law.rate, mechanism.count_law.rate)
        self.offset, self.unit = mechanism.offset, mechanism.parts * mechanism.grid.cells

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """s x - n y is (s t - (s o + n p G) k) / (p G)."""
        return self.product.miss([self._pair(p) for p in distinct(first, second)], reach)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach."""
        return self.product.above(self._pair(line), reaches)

    def _pair(self, line: Line) -> Pair:
        o, unit = self.offset, self.unit
        return float(line.sum / unit), -float((line.sum * o + line.count * unit) / unit)
