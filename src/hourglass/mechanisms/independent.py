"""The discrete Laplace mechanism on the sum and the count."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from .base import register
from .sum_and_count import SumAndCount

__all__ = ["IndependentMean"]


@register
class IndependentMean(SumAndCount):
    """The plain sum and the count.

    The sum is measured from the cell nearest to zero, at most half a cell off, so that it is an
    integer; the sensitivity used is exact for that sum.
    """

    name: ClassVar[str] = "independent"
    words: ClassVar[str] = "discrete Laplace mechanism on the sum and the count"

    @cached_property
    def offset(self) -> int:
        """The lower bound in cells from zero, to the nearest."""
        return round(Fraction(self.grid.bounds.lower) / self.grid.step)
