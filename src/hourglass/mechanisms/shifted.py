"""The discrete Laplace mechanism on the centred sum and the count."""

from __future__ import annotations

from typing import ClassVar

from .base import register
from .sum_and_count import SumAndCount

__all__ = ["ShiftedMean"]


@register
class ShiftedMean(SumAndCount):
    """The sum of distances from the middle of the range, in half cells, and the count."""

    name: ClassVar[str] = "shifted"
    words: ClassVar[str] = "discrete Laplace mechanism on the centred sum and the count"

    @property
    def parts(self) -> int:
        """Half cells: the middle may lie between two cells."""
        return 2

    @property
    def offset(self) -> int:
        """A record adds 2q - G, between -G and G."""
        return -self.grid.cells
