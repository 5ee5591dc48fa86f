"""Totals: what is known of the data, before and after the noise.

``Totals`` are secret and print nothing. ``NoisyTotals`` are safe: everything after them is
post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["NoisyTotals", "Totals"]


@dataclass(frozen=True, repr=False)
class Totals:
    """The sum of the cells and the number of the records: secret.

    Python integers, or for groups NumPy arrays of Python integers: neither can wrap.
    """

    cells: Any
    count: Any

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.cells + other.cells, self.count + other.count)

    def __repr__(self) -> str:
        return "Totals(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("totals are secret: they are not pickled or copied out of the process")


@dataclass(frozen=True)
class NoisyTotals:
    """S' and G N' - S' after the noise, in cells: ``cells / parts`` and ``rest / parts``.

    The two are what the paper calls the transformed sums: how much of the records leans to
    the upper bound, and how much to the lower. Integers, or arrays of them for groups.
    """

    cells: Any
    rest: Any
    grid: int
    parts: int = 1

    @property
    def weight(self) -> Any:
        """G N' in the same units: an integer multiple of ``grid`` for the hourglass."""
        return self.cells + self.rest

    @property
    def size(self) -> Fraction:
        """N', the noisy number of records, exactly; it can be zero or negative."""
        return Fraction(self.weight, self.parts * self.grid)
