"""How many values lie outside the bounds: discrete Laplace noise on two counts per column.

A value lies below the lower bound of a column, above the upper one, or within: it adds one to one
of the column's two counts, or to neither. So a record changes the counts of d columns by at most d
in total, and independent noise of rate epsilon / d on each of them is epsilon-DP for a record:
log P(x) - log P(x + m) is at most (epsilon / d) * |m|_1 <= epsilon. A person who counts once with
the mean of their rows is one record, on the side where more of their rows lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar

from ..core.totals import NoisyColumns, NoisyTotals, Sum, Totals
from ..noise import DiscreteLaplace
from ..noise.bits import SECURE, Bits
from .base import addable, draws
from .lattice import Lattice, Part, Point, span

__all__ = ["OutsideCounts"]


@dataclass(frozen=True)
class OutsideCounts:
    """The noise on the counts of values outside the bounds; ``epsilon`` is that of a record."""

    epsilon: Fraction
    columns: int = 1

    words: ClassVar[str] = "discrete Laplace mechanism"

    @property
    def sums(self) -> tuple[Sum, ...]:
        """What is counted: below and above, for each column."""
        return tuple(Sum(column=i, side=side) for i in range(self.columns) for side in (-1, 1))

    @property
    def rate(self) -> Fraction:
        """The rate of the noise on each count."""
        return self.epsilon / self.columns

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise on each count."""
        return DiscreteLaplace(self.rate)

    def noise(self, noisy: Any, counts: Sequence[Any], *, bits: Bits = SECURE) -> Any:
        """The noisy totals of one or several columns, with their noisy counts added."""
        drawn = [self._one(count, bits) for count in counts]
        if isinstance(noisy, NoisyColumns):
            pairs = zip(drawn[::2], drawn[1::2], strict=True)
            each = zip(noisy.columns, pairs, strict=True)
            return NoisyColumns(tuple(_with(column, *pair) for column, pair in each))
        return _with(noisy, *drawn)

    def _one(self, count: Any, bits: Bits) -> Any:
        one = Totals(0, count)
        (drawn,) = addable((self.law.sample(draws(one, None), bits=bits),), one, 1)
        return count + drawn

    def lattice(self) -> Lattice:
        """The counts; a record moves at most one of them per column, by one."""
        each: list[Point] = [(0, 0), (1, 0), (0, 1)]
        moves = {sum(parts, ()) for parts in product(each, repeat=self.columns)}
        axes = 2 * self.columns

        def level(*point: int) -> int:
            return sum(map(abs, point))

        def pmf(*point: int) -> Any:
            return prod(self.law.pmf(x) for x in point)

        return Lattice(
            "outside the bounds",
            self.epsilon,
            (Part(level, self.rate),),
            tuple(sorted(moves)),
            (span(12 if self.columns == 1 else 3),) * axes,
            pmf,
        )


def _with(noisy: NoisyTotals, below: Any, above: Any) -> NoisyTotals:
    return replace(noisy, below=below, above=above)
