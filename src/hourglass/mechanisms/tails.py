"""Tail probabilities of linear combinations of the noise, bounded from above.

An interval needs P(|x - slope y| >= reach) for the pair (x, y) of integers that an algorithm
adds, for any slope. Given y, the tail of x is a geometric sum with a closed form; the rest is
a sum over y. Where y has too many values (small epsilon, fine grids) neighbours are merged,
and privacy itself bounds the error: moving y by i, and the event along with it, changes a
probability by a factor of at most exp(i * loss).

Doubles are good enough here, since the laws are known and every rounding is made towards
the wider interval: :data:`SLACK` is far above what doubles lose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from .base import (
    Algorithm,
    HourglassMean,
    LaplaceMean,
    StaircaseMean,
    SumAndCount,
    SwapMean,
)

__all__ = ["SLACK", "Line", "Tails", "tails_of"]

Floats = npt.NDArray[np.float64]

#: Added to every tail: more than the doubles lose and the values of y left out have.
SLACK: Final = 1e-9
#: Values of y with less mass than exp(-FAR) beyond them are left out.
FAR: Final = 30.0
#: At most about this many values of y on each side.
NODES: Final = 4096
#: An event at an integer is counted even if doubles put it this far beyond.
TOUCH: Final = 1e-6


@dataclass(frozen=True)
class Line:
    """The combination (x - slope y) / unit, unit > 0."""

    slope: float
    unit: float


class Tails(Protocol):
    """The noise of one algorithm, seen through its combinations."""

    def line(self, alpha: float) -> Line:
        """The pivot S' - alpha G N' in units of one record."""

    def sum_line(self) -> Line:
        """The error of the sum, in cells."""

    def count_miss(self, reach: float) -> float:
        """At least P(|error of the count| >= reach)."""

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """At least P(|first| >= reach or |second| >= reach)."""


class _Summed:
    """Tails by a sum over y; a subclass knows P(y, x >= x0) and how far y goes."""

    #: How fast P(y, .) falls in y, per unit.
    decay: float

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(Y = y, X >= x0) for integers x0; the law is symmetric about the origin."""
        raise NotImplementedError

    def loss(self, slope: float) -> float:
        """At most how much log P(y, x >= x0) changes if (y, x0) moves by (1, slope)."""
        raise NotImplementedError

    @cached_property
    def _nodes(self) -> tuple[Floats, int]:
        """0 by itself, then the middles of blocks 1..m, m+1..2m, ... of y; and m, odd."""
        far = math.ceil(FAR / self.decay) + 1
        block = max(1, far // NODES) | 1
        middles = np.arange(1 + block // 2, far + block, block, dtype=np.float64)
        return np.concatenate([[0.0], middles]), block

    def merged(self, block: int, loss: float) -> float:
        """What to multiply the middle of a block by, to be no less than the block's sum."""
        # exp(|i| loss) over the block is below its integral, by convexity.
        half = block / 2 * loss
        return 1.0 if block == 1 else block * math.expm1(half) / half

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """Both tails of both lines, summed over y of either sign."""
        y, block = self._nodes
        weight = self.merged(block, max(self.loss(first.slope), self.loss(second.slope)))
        one, two = reach * first.unit, reach * second.unit
        total = 0.0
        for sign in (1.0, -1.0):
            # x >= slope y + reach; the other tail is this one's mirror image, at -y.
            start = np.minimum(sign * first.slope * y + one, sign * second.slope * y + two)
            tail = self.upper(sign * y, np.ceil(start - TOUCH))
            total += float(tail[0]) + 2.0 * weight * float(tail[1:].sum())
        return min(1.0, total + SLACK)


class HourglassTails(_Summed):
    """x = X in parts of a cell, y = K."""

    def __init__(self, algorithm: HourglassMean) -> None:
        self.law = law = algorithm.law
        self.grid, self.centre = float(law.grid), float(law.c)
        self.bounds, self.parts = algorithm.grid.bounds, float(algorithm.parts)
        self.step = float(algorithm.grid.step)
        self.decay = self.epsilon = float(law.epsilon)
        b = math.exp(-self.epsilon)
        normaliser = 2 * self.centre + 1 + 2 * self.grid / math.expm1(self.epsilon)
        self.top = (1 - b) / (1 + b) / normaliser
        self.twice = 1 / math.expm1(2 * self.epsilon)  # b^2 / (1 - b^2)

    def line(self, alpha: float) -> Line:
        """(X - alpha G K) / G."""
        return Line(alpha * self.grid, self.grid)

    def sum_line(self) -> Line:
        """X / p + (lower / step) K."""
        return Line(-float(self.bounds.lower) * self.parts / self.step, self.parts)

    def count_miss(self, reach: float) -> float:
        """P(|K| >= reach) by the closed form of K's own law."""
        return min(1.0, 2 * float(self.law.count_tail(math.ceil(reach - TOUCH))) + SLACK)

    def loss(self, slope: float) -> float:
        """One epsilon within a record's reach (that is the privacy), two a stair beyond it."""
        records = slope / self.grid
        return self.epsilon * (1 + 2 * math.ceil(max(0.0, -records, records - 1.0)))

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """The cells of the first stair from x0 on, and all stairs above it."""
        G, c = self.grid, self.centre
        above = np.maximum(0.0, np.ceil((x0 - c) / G))
        below = np.maximum(0.0, np.ceil((-x0 - c) / G))
        j = above - below
        last = np.where(j >= 0, c + j * G, -c - 1 - (-j - 1) * G)
        first_stair = (last - x0 + 1) * self._power(np.abs(j) + np.abs(y - j))
        return self.top * (first_stair + self._stairs(j + 1, y))

    def _stairs(self, j: Floats, y: Floats) -> Floats:
        """The weight of all cells in stairs j, j+1, ...; levels are flat between 0 and y."""
        low, high = np.minimum(0.0, y), np.maximum(0.0, y)
        flat = np.clip(high - j + 1, 0.0, high - low + 1)
        right = self.twice * self._power(2 * np.maximum(0.0, j - high - 1))
        left = self.twice * -np.expm1(-2 * self.epsilon * np.maximum(0.0, low - j))
        wide = np.where(j <= 0, 2 * self.centre + 1 - self.grid, 0.0)
        return self._power(np.abs(y)) * (self.grid * (flat + right + left) + wide)

    def _power(self, level: Floats) -> Floats:
        return np.exp(-self.epsilon * level)


class _Transformed(_Summed):
    """x on the cells, y on the rest: independent of which is which."""

    def __init__(self, algorithm: LaplaceMean | StaircaseMean) -> None:
        self.grid = float(algorithm.grid.cells)
        self.bounds = algorithm.grid.bounds
        self.step = float(algorithm.grid.step)
        self.epsilon = float(algorithm.epsilon)
        self.decay = self.epsilon / self.grid

    def line(self, alpha: float) -> Line:
        """((1-alpha) x - alpha y) / G, the larger coefficient divided out."""
        near = min(alpha, 1 - alpha)  # the law is the same with x and y exchanged
        return Line(near / (1 - near), self.grid / (1 - near))

    def sum_line(self) -> Line:
        """(upper x + lower y) / width, the larger coefficient divided out."""
        small, large = sorted(map(Fraction, self.bounds), key=abs)
        return Line(float(-small / large), float(self.bounds.width / abs(large)))

    def count_miss(self, reach: float) -> float:
        """P(|x + y| >= reach G)."""
        line = Line(-1.0, self.grid)
        return self.miss(line, line, reach)

    def loss(self, slope: float) -> float:
        """The law changes by decay a unit in either coordinate, and |slope| <= 1."""
        return 2 * self.decay


class LaplaceTails(_Transformed):
    """Two independent discrete Laplace laws."""

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(Y = y) P(X >= x0)."""
        return _laplace_pmf(y, self.decay) * _laplace_upper(x0, self.decay)


class StaircaseTails(_Transformed):
    """The two-dimensional staircase."""

    def __init__(self, algorithm: StaircaseMean) -> None:
        super().__init__(algorithm)
        self.centre = float(algorithm.law.c)
        self.normaliser = float(algorithm.law.normaliser())

    @cached_property
    def _blocks(self) -> tuple[Floats, Floats]:
        """First and last y of each block, 0 by itself: even ones, and finer towards the centre.

        For large epsilon all of the law lies in a centre that is far narrower than an even block.
        """
        far = math.ceil(FAR / self.decay) + 1
        even = np.linspace(1, far, min(far, NODES))
        finer = np.geomspace(1, far, NODES // 2)
        first = np.unique(np.floor(np.concatenate([[0.0], even, finer])))
        return first, np.append(first[1:] - 1.0, far)

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """Each block as if all of it were at its end next to zero, where the law is largest."""
        near, far = self._blocks
        total = 0.0
        for sign in (1.0, -1.0):
            ends = [
                sign * line.slope * y + reach * line.unit
                for line in (first, second)
                for y in (near, far)
            ]
            tail = self.upper(near, np.ceil(np.minimum.reduce(ends) - TOUCH)) * (far - near + 1)
            total += float(tail[0]) + 2.0 * float(tail[1:].sum())
        return min(1.0, total + SLACK)

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(Y = y, X >= x0), from the sum over radii at least |y| + x0."""
        y = np.abs(y)
        beyond = self._beyond(y + np.maximum(x0, 1.0))
        before = self._beyond(y + np.maximum(1.0 - x0, 1.0))
        whole = 2 * self._beyond(y) - np.exp(-self.epsilon * self._level(y))
        return np.where(x0 >= 1, beyond, whole - before) / self.normaliser

    def _level(self, radius: Floats) -> Floats:
        return np.maximum(0.0, np.ceil((radius - self.centre) / self.grid))

    def _beyond(self, radius: Floats) -> Floats:
        """The sum of b^level over the radii from this one on."""
        level = self._level(radius)
        here = self.centre + level * self.grid - radius + 1
        return np.exp(-self.epsilon * level) * (here + self.grid / math.expm1(self.epsilon))


class SumAndCountTails(_Summed):
    """x on the sum in parts of a cell, y on the count, independent."""

    def __init__(self, algorithm: SumAndCount) -> None:
        self.offset, self.parts = float(algorithm.offset), float(algorithm.parts)
        self.grid = float(algorithm.grid.cells)
        self.lower, self.step = float(algorithm.grid.bounds.lower), float(algorithm.grid.step)
        self.decay = float(algorithm.count_law.rate)
        self.sum_rate = float(algorithm.sum_law.rate)

    def line(self, alpha: float) -> Line:
        """(t - (o + alpha p G) k) / (p G)."""
        return Line(self.offset + alpha * self.parts * self.grid, self.parts * self.grid)

    def sum_line(self) -> Line:
        """(t - o k) / p + (lower / step) k."""
        return Line(self.offset - self.lower * self.parts / self.step, self.parts)

    def count_miss(self, reach: float) -> float:
        """P(|k| >= reach): the sum's noise has no part in it."""
        start = np.array([math.ceil(reach - TOUCH)], dtype=np.float64)
        return min(1.0, 2 * float(_laplace_upper(start, self.decay)[0]) + SLACK)

    def loss(self, slope: float) -> float:
        """Independent laws: what y loses and what moving x by the slope loses."""
        return self.decay + abs(slope) * self.sum_rate

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(Y = y) P(X >= x0)."""
        return _laplace_pmf(y, self.decay) * _laplace_upper(x0, self.sum_rate)


class SwapTails:
    """x = X in cells and no noise on the count."""

    def __init__(self, algorithm: SwapMean) -> None:
        self.law = algorithm.law
        self.grid = float(algorithm.grid.cells)
        self.step = float(algorithm.grid.step)

    def line(self, alpha: float) -> Line:
        """X / G, whatever alpha."""
        return Line(0.0, self.grid)

    def sum_line(self) -> Line:
        """X."""
        return Line(0.0, 1.0)

    def count_miss(self, reach: float) -> float:
        """The count is exact."""
        return 0.0 if reach > 0 else 1.0

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """2 P(X >= x0): the rest of x0's stair and all stairs above it."""
        x0 = max(1, math.ceil(reach * min(first.unit, second.unit) - TOUCH))
        law = self.law
        j = max(0, math.ceil((x0 - law.c) / law.grid))
        cells = law.c + j * law.grid - x0 + 1 + law.grid / math.expm1(float(law.epsilon))
        tail = cells * math.exp(-float(law.epsilon) * j) / float(law.normaliser())
        return min(1.0, 2 * tail + SLACK) if reach > 0 else 1.0


@lru_cache(maxsize=64)
def tails_of(algorithm: Algorithm) -> Tails:
    """The tails of an algorithm's noise, kept for the next interval."""
    kinds: tuple[tuple[type[Any], type[Any]], ...] = (
        (HourglassMean, HourglassTails),
        (LaplaceMean, LaplaceTails),
        (StaircaseMean, StaircaseTails),
        (SumAndCount, SumAndCountTails),
        (SwapMean, SwapTails),
    )
    kind = next(tails for mean, tails in kinds if isinstance(algorithm, mean))
    found: Tails = kind(algorithm)
    return found


def _laplace_pmf(y: Floats, rate: float) -> Floats:
    return math.tanh(rate / 2) * np.exp(-rate * np.abs(y))


def _laplace_upper(x0: Floats, rate: float) -> Floats:
    """P(X >= x0) = a^x0 / (1+a) for x0 >= 1, and the complement of the mirror image below."""
    far = np.exp(-rate * np.maximum(x0, 1.0 - x0)) / (1 + math.exp(-rate))
    return np.where(x0 >= 1, far, 1.0 - far)
