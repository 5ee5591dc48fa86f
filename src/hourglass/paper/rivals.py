"""Alternatives to the hourglass of a box: other noise for several columns and one count.

Each has a leading n^2 MSE / width^2 in closed form, for a column whose mean lies at ``mean`` of its
range, and parameters that are the best for the worst mean, a bound. Continuous sums, whole counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.totals import NoisyTotals
from ..noise import DiscreteLaplace
from ..noise.bits import Bits
from .data import UNIT, Data

__all__ = ["KNorm", "LaplaceSums", "hardt_talwar", "least"]

#: Epsilon is divided into this many parts; the best division is a whole number of them.
PARTS: Final = 1000


def _error(centred: float, count: float, mean: float) -> float:
    """Noise of these variances, or arrays of them, on a sum of x - 1/2 and on the count."""
    return centred + (mean - 0.5) ** 2 * count


@dataclass(frozen=True)
class LaplaceSums:
    """Laplace noise on d sums and on one count, the values centred: they lie in -1/2..1/2.

    A record changes the sums by d/2 in total and the count by 1, so a part of epsilon is divided
    among the sums and the rest is for the count. The part has the least worst-case error.
    """

    epsilon: Fraction
    columns: int

    @cached_property
    def part(self) -> Fraction:
        """How much of epsilon is for the sums."""
        errors = self._at(np.arange(1, PARTS) / PARTS, 0.0)
        return Fraction(int(errors.argmin()) + 1, PARTS)

    def error(self, mean: float) -> float:
        """The leading error with the best part."""
        return float(self._at(float(self.part), mean))

    def _at(self, part: Any, mean: float) -> Any:
        """For one part or an array of them."""
        sums, count = float(self.epsilon) * part, float(self.epsilon) * (1 - part)
        b = np.exp(-count)
        return _error(self.columns**2 / (2 * sums**2), 2 * b / (1 - b) ** 2, mean)

    def noise(self, data: Data, bits: Bits, size: int) -> NoisyTotals:
        """The noisy totals of one of the columns, in halves of a cell."""
        G = UNIT.cells
        # The sum of 2q - G over the records, of which one moves d sums by G each at most.
        law = DiscreteLaplace(self.epsilon * self.part / (self.columns * G))
        z = law.sample(size, bits=bits)
        k = DiscreteLaplace(self.epsilon * (1 - self.part)).sample(size, bits=bits)
        cells = 2 * data.totals.cells + z + G * k
        return NoisyTotals(cells, 2 * G * (data.totals.count + k) - cells, G, 2)


def hardt_talwar(epsilon: Fraction, columns: int, mean: float) -> float:
    """The K-norm mechanism of Hardt and Talwar (2010): density exp(-epsilon |z|), |z| the norm.

    With values centred and doubled a record moves (sums, count) within the cube [-1, 1]^(d+1),
    so the norm is l-infinity: z is a Gamma(d+2) radius times a uniform point of the cube.
    """
    each = (columns + 2) * (columns + 3) / (3 * float(epsilon) ** 2)
    return _error(each / 4, each, mean)


@dataclass(frozen=True)
class KNorm:
    """The same norm with known improvements: whole counts, stairs, and a wide centre.

    Density b^j with the least j for which |k| <= j and all |y_i| <= j + centre: a record of the
    cube changes j by at most one. The centre has the least worst-case error.
    """

    epsilon: Fraction
    columns: int

    @cached_property
    def centre(self) -> float:
        """The half-width of the top stair, in records of a centred and doubled value."""
        return least(lambda centre: self._at(centre, 0.0), 2 * (self.columns + 2) / self._e)

    @property
    def _e(self) -> float:
        return float(self.epsilon)

    def error(self, mean: float) -> float:
        """The leading error with the best centre."""
        return self._at(self.centre, mean)

    def _at(self, centre: float, mean: float) -> float:
        j, weight = _stairs(self._e, self.columns)
        side = j + centre
        # side^d, scaled so that no power overflows
        mass = weight * np.exp(self.columns * (np.log(side) - np.log(side[-1])))
        mass /= mass.sum()
        sums, count = float(mass @ side**2) / 3, float(mass @ (j * (j + 1))) / 3
        return _error(sums / 4, count, mean)


@lru_cache(maxsize=64)
def _stairs(epsilon: float, columns: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Stairs with almost all of the mass, and b^j for each of the 2j + 1 counts."""
    j = np.arange(math.ceil((60 + 8 * columns) / epsilon) + 2, dtype=np.float64)
    return j, (2 * j + 1) * np.exp(-epsilon * j)


def least(f: Callable[[float], float], most: float) -> float:
    """Where f is least on 0..most: the best of a scan, then ternary search around it."""
    step = most / 400
    low = min((step * (i + 0.5) for i in range(400)), key=f)
    left, right = max(low - step, step / 1000), low + step
    for _ in range(60):
        first, second = left + (right - left) / 3, right - (right - left) / 3
        left, right = (left, second) if f(first) < f(second) else (first, right)
    return (left + right) / 2
