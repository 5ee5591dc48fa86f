"""The algorithms of the paper, each as one thing: how it noises totals.

All work on the same integer lattice, where a record adds (q, 1) to (S, N), q in 0..G, and all
hand back the two noisy transformed sums, so that whatever comes after is the same for all.
(Kulesza, Suresh, Wang 2024: Sections 3 and 4 for the Laplace algorithms, 5 for the rest.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from ..core.exact import Enclosure
from ..core.grid import Grid
from ..core.totals import NoisyTotals, Totals
from ..errors import OptionError
from ..noise import DiscreteLaplace, Hourglass, Staircase, Staircase2D
from ..noise.bits import SECURE, Bits

__all__ = ["ALGORITHMS", "Algorithm", "Moments", "make", "remade"]

#: With more cells than this the centre is fine enough: cutting them gains under 0.1 % up to
#: epsilon 8 (docs/decisions/parts-of-a-cell.md).
COARSE: Final = 256
#: A cell is cut into so many parts at most.
MOST_PARTS: Final = 8


@dataclass(frozen=True)
class Moments:
    """Second moments of the noise on (S', G N' - S') in units of one record.

    The leading error of the mean at alpha in [0, 1], times n^2 / width^2, is
    (1-alpha)^2 cells + alpha^2 rest - 2 alpha (1-alpha) both.
    """

    cells: Enclosure
    rest: Enclosure
    both: Enclosure


class Algorithm(Protocol):
    """How an algorithm noises totals: everything else is shared."""

    name: ClassVar[str]
    #: "add-remove", or "swap" where the number of records is public.
    adjacency: ClassVar[str]

    @property
    def epsilon(self) -> Fraction:
        """The privacy parameter, exactly."""

    @property
    def grid(self) -> Grid:
        """The lattice that the totals live on."""

    @property
    def moments(self) -> Moments:
        """The second moments of the noise."""

    def __hash__(self) -> int:
        """Equal algorithms share what is computed from them."""

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """The totals with fresh noise; for groups one each; ``size`` times over for a study."""


@dataclass(frozen=True)
class _OnGrid:
    epsilon: Fraction
    grid: Grid

    adjacency: ClassVar[str] = "add-remove"

    @property
    def _unit(self) -> int:
        return self.grid.cells**2


@dataclass(frozen=True)
class HourglassMean(_OnGrid):
    """The optimal one: (S + X, N + K) with hourglass noise.

    The centre of the noise is a whole number of cells wide. Where whole numbers have a few cells
    of their own, none may be near the best width; so S is counted in parts of a cell. A record
    adds whole cells all the same, which are some of what the proof allows on the finer grid.

    ``drawn_in`` are the parts of noise that was drawn before and read back.
    """

    drawn_in: int | None = None

    name: ClassVar[str] = "hourglass"

    @cached_property
    def parts(self) -> int:
        """Into how many parts a cell is cut: the fewest with an error next to the least."""
        if self.drawn_in is not None:
            return self.drawn_in
        if not self.grid.own or self.grid.cells > COARSE:
            return 1
        errors = [self._error(parts) for parts in range(1, MOST_PARTS + 1)]
        return next(i for i, error in enumerate(errors, 1) if error <= 1.001 * min(errors))

    def _error(self, parts: int) -> float:
        """The variance of X in cells."""
        law = Hourglass(self.epsilon, parts * self.grid.cells)
        return float(law.variance[0] / parts**2)

    @cached_property
    def law(self) -> Hourglass:
        """The joint law of the noise on S, in parts of a cell, and N."""
        return Hourglass(self.epsilon, self.parts * self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G (N + K) - (S + X)), in parts of a cell."""
        G, parts = self.grid.cells, self.parts
        x, k = _drawn(self.law.sample(_size(totals, size), bits=bits), totals, parts * G)
        cells = parts * totals.cells + x
        return NoisyTotals(cells, parts * G * (totals.count + k) - cells, G, parts)

    @cached_property
    def moments(self) -> Moments:
        """Equal variances, whatever the centre."""
        unit = self._unit * self.parts**2
        variance = self.law.variance[0] / unit
        return Moments(variance, variance, self.law.covariance / unit)


class LaplaceMean(_OnGrid):
    """Transformed Laplace: independent noise on S and on G N - S, of which a record moves G."""

    name: ClassVar[str] = "laplace"

    @cached_property
    def law(self) -> DiscreteLaplace:
        """The law of the noise on each of the two."""
        return DiscreteLaplace(self.epsilon / self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G N - S + Y)."""
        n = _size(totals, size)
        G = self.grid.cells
        x, y = _drawn((self.law.sample(n, bits=bits), self.law.sample(n, bits=bits)), totals, G)
        return NoisyTotals(totals.cells + x, G * totals.count - totals.cells + y, G)

    @cached_property
    def moments(self) -> Moments:
        """Independent and equal."""
        variance = self.law.variance / self._unit
        return Moments(variance, variance, Enclosure.of(0))


class StaircaseMean(_OnGrid):
    """Transformed two-dimensional staircase on (S, G N - S)."""

    name: ClassVar[str] = "staircase"

    @cached_property
    def law(self) -> Staircase2D:
        """The joint law of the noise on the two."""
        return Staircase2D(self.epsilon, self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G N - S + Y)."""
        G = self.grid.cells
        x, y = _drawn(self.law.sample(_size(totals, size), bits=bits), totals, G)
        return NoisyTotals(totals.cells + x, G * totals.count - totals.cells + y, G)

    @cached_property
    def moments(self) -> Moments:
        """Uncorrelated and equal."""
        variance = self.law.variance[0] / self._unit
        return Moments(variance, variance, Enclosure.of(0))


class SumAndCount(_OnGrid):
    """Half of epsilon on a sum of ``parts * q + offset`` per record, half on the count."""

    @property
    def parts(self) -> int:
        """Into how many parts a cell is cut so that the sum is an integer."""
        raise NotImplementedError

    @property
    def offset(self) -> int:
        """What a record adds to the sum besides its cell, in parts of a cell."""
        raise NotImplementedError

    @cached_property
    def sum_law(self) -> DiscreteLaplace:
        """The law of the noise on the sum."""
        reach = max(abs(self.offset), abs(self.offset + self.parts * self.grid.cells))
        return DiscreteLaplace(self.epsilon / (2 * reach))

    @cached_property
    def count_law(self) -> DiscreteLaplace:
        """The law of the noise on the count."""
        return DiscreteLaplace(self.epsilon / 2)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """Noise the sum and the count, then put them in the transformed form."""
        n = _size(totals, size)
        noise = self.sum_law.sample(n, bits=bits), self.count_law.sample(n, bits=bits)
        t, k = _drawn(noise, totals, self.parts * self.grid.cells + abs(self.offset))
        count = totals.count + k
        cells = self.parts * totals.cells + self.offset * totals.count + t - self.offset * count
        rest = self.parts * self.grid.cells * count - cells
        return NoisyTotals(cells, rest, self.grid.cells, self.parts)

    @cached_property
    def moments(self) -> Moments:
        """Of t - o k and (pG + o) k - t, with t on the sum and k on the count."""
        unit = self._unit * self.parts**2
        low, high = self.offset, self.offset + self.parts * self.grid.cells
        t, k = self.sum_law.variance, self.count_law.variance
        return Moments(
            (t + low**2 * k) / unit,
            (t + high**2 * k) / unit,
            -(t + low * high * k) / unit,
        )


class ShiftedMean(SumAndCount):
    """Shifted: the sum of distances from the middle, in half cells, and the count."""

    name: ClassVar[str] = "shifted"

    @property
    def parts(self) -> int:
        """Half cells: the middle may lie between two cells."""
        return 2

    @property
    def offset(self) -> int:
        """A record adds 2q - G, between -G and G."""
        return -self.grid.cells


class IndependentMean(SumAndCount):
    """Independent: the plain sum and the count.

    The sum is counted from the cell boundary nearest to zero, less than half a cell off, so
    that it is an integer; the sensitivity used is exact for that sum.
    """

    name: ClassVar[str] = "independent"

    @property
    def parts(self) -> int:
        """Whole cells."""
        return 1

    @cached_property
    def offset(self) -> int:
        """The lower bound in cells from zero, to the nearest."""
        return round(Fraction(self.grid.bounds.lower) / self.grid.step)


class SwapMean(_OnGrid):
    """The baseline with a public number of records: NOT add-remove, n is not protected."""

    name: ClassVar[str] = "swap"
    adjacency: ClassVar[str] = "swap"

    @cached_property
    def law(self) -> Staircase:
        """The law of the noise on S: replacing a record moves S by at most G."""
        return Staircase(self.epsilon, self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """S + X, and N as it is."""
        G = self.grid.cells
        (x,) = _drawn((self.law.sample(_size(totals, size), bits=bits),), totals, G)
        cells = totals.cells + x
        return NoisyTotals(cells, G * totals.count - cells, G)

    @cached_property
    def moments(self) -> Moments:
        """The rest moves against the cells: their sum is exact."""
        variance = self.law.variance / self._unit
        return Moments(variance, variance, -variance)


#: Every algorithm by its name, the best first.
ALGORITHMS: Final[dict[str, type[Any]]] = {
    algorithm.name: algorithm
    for algorithm in (
        HourglassMean,
        StaircaseMean,
        LaplaceMean,
        ShiftedMean,
        IndependentMean,
        SwapMean,
    )
}


@lru_cache(maxsize=256)
def make(name: str, epsilon: Fraction, grid: Grid) -> Algorithm:
    """The algorithm of that name; tables of its laws are kept for the next release."""
    if name not in ALGORITHMS:
        raise OptionError(f"algorithm={name!r} is not one of {', '.join(ALGORITHMS)}")
    algorithm: Algorithm = ALGORITHMS[name](epsilon, grid)
    return algorithm


def remade(name: str, epsilon: Fraction, grid: Grid, parts: int) -> Algorithm:
    """The algorithm that totals were noised with, in so many parts of a cell."""
    found = make(name, epsilon, grid)
    if isinstance(found, HourglassMean) and found.parts != parts:
        return HourglassMean(epsilon, grid, parts)
    return found


def _size(totals: Totals, size: int | None) -> int | None:
    return len(totals.count) if isinstance(totals.count, np.ndarray) else size


def _drawn(noise: tuple[Any, ...], totals: Totals, unit: int) -> tuple[Any, ...]:
    """The noise in a form that can be added: Python integers wherever int64 could wrap.

    ``unit`` is what a record adds at most.
    """
    if isinstance(totals.count, np.ndarray) or (unit * (totals.count + 1)).bit_length() > 60:
        return tuple(z.astype(object) if isinstance(z, np.ndarray) else z for z in noise)
    return noise
