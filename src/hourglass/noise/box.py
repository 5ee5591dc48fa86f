"""The hourglass of a box: the noise for several columns and their shared count.

A record adds (q_1, ..., q_d, 1), q_i in 0..G_i. For one column this is the hourglass of
Kulesza, Suresh and Wang (ICML 2024); for more it is the best law known. Marks such as [B1] refer
to ``body.proof.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import (
    DEFAULT_BITS,
    Enclosure,
    Exact,
    choose,
    exact_epsilon,
    power,
    product,
    whole_number,
    whole_numbers,
)
from ..core.limits import check_grid
from ..errors import GridError
from .bits import MAX_INT64_BOUND, SECURE, Bits, Filled, blocks, sample_scaled
from .hourglass import Radial
from .least import least_ratio
from .regions import Regions

__all__ = ["MOST_COLUMNS", "HourglassBox", "best_centre"]

#: The law of this many columns takes about half a second to prepare.
MOST_COLUMNS: Final = 64
#: Twice the digits of a probability: variances are differences of large numbers.
_MOMENT_BITS = 2 * DEFAULT_BITS


@dataclass(frozen=True, init=False)
class HourglassBox:
    """(X_1, ..., X_d, K) on the integers: P(x, k) = b^level / ((1-b^2) Z), b = exp(-epsilon).

    The level of (x, k) is the least a + m with a - m = k and every x_i within
    -c_i - G_i m .. c_i + G_i a: "a records added, m removed". Contract: ``sample(size)`` is
    distributed as ``size`` independent draws of that law. Added to the totals of records
    (q_1, ..., q_d, 1), q_i in 0..G_i, it is epsilon-DP in the add-remove model: a neighbour
    moves the level by exactly one.  [B1] [B2] [B4]

    ``centres`` are the half-widths c_i of the box in which nothing was added or removed,
    in cells, and may exceed the grids. If they are left out, each is the same fraction of its
    grid: the one with the least variance for this epsilon and this number of columns, all on
    the finest of the grids.  [B6]
    """

    epsilon: Fraction
    grids: tuple[int, ...]
    centres: tuple[int, ...]

    def __init__(
        self, epsilon: Exact, grids: Iterable[int], centres: Iterable[int] | None = None
    ) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        object.__setattr__(self, "grids", _check_grids(grids))
        chosen = best_centres(self.epsilon, self.grids) if centres is None else centres
        object.__setattr__(self, "centres", _check_centres(chosen, len(self.grids)))

    def __reduce__(self) -> Any:
        """Without what is computed from the parameters, which cannot be pickled."""
        return HourglassBox, (self.epsilon, self.grids, self.centres)

    @property
    def columns(self) -> int:
        """d, the number of columns."""
        return len(self.grids)

    # --- sampling ---------------------------------------------------------------------

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> tuple[Any, Any]:
        """X of shape (size, d) in cells and K of shape (size,); or a tuple and an integer.

        Both are int64, or Python integers where int64 could overflow: the law decides that,
        not the draw.
        """
        if size is None:
            x, k = self._draw(1, bits)
            return tuple(int(value) for value in x[0]), int(k[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self._draw(n, bits))
        x, k = filled.arrays
        return x, k

    def _draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """One word for L, one for m and one per column: uniform in the region R(L-m, m). [B4]"""
        reach = self._radial.reach(bits.width)
        widest = self._widths(reach)
        kind = object if max(widest) >= MAX_INT64_BOUND else np.int64
        L = self._radial.sample(size, bits).astype(kind, copy=False)
        m = sample_scaled(L + 1, bits, largest=reach + 1).astype(kind, copy=False)
        x = np.empty((size, self.columns), dtype=kind)
        for i, (grid, centre) in enumerate(zip(self.grids, self.centres, strict=True)):
            place = sample_scaled(2 * centre + 1 + grid * L, bits, largest=widest[i])
            x[:, i] = place.astype(kind, copy=False) - (centre + grid * m)
        return x, L - 2 * m

    def _widths(self, L: int, leave: int | None = None) -> list[int]:
        """2 c_i + 1 + G_i L: the side lengths of the regions with a + m = L."""
        sides = zip(self.grids, self.centres, strict=True)
        return [2 * c + 1 + g * L for i, (g, c) in enumerate(sides) if i != leave]

    @cached_property
    def _radial(self) -> Radial:
        """The law of L = a + m."""
        return self._regions.radial(self._regions.points, self.columns)

    @cached_property
    def _regions(self) -> Regions:
        @lru_cache(maxsize=1024)
        def points(L: int) -> int:
            return product(self._widths(L))

        return Regions(self.epsilon, lambda a, m: points(a + m), self.columns)

    # --- the law ----------------------------------------------------------------------

    def level(self, x: Sequence[int], k: int) -> int:
        """How many steps of exp(-epsilon) below the top (x, k) lies.  [B4]"""
        wanted = f"one whole number for each of {self.columns} columns"
        x, k = whole_numbers("x", x, self.columns, wanted), whole_number("k", k)
        stairs = [self._stairs(i, value) for i, value in enumerate(x)]
        up, down = max(pair[0] for pair in stairs), max(pair[1] for pair in stairs)
        return max(abs(k), 2 * up - k, 2 * down + k)

    def levels(self, x: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The level of every row of x, of shape (..., d), with its count k."""
        return self.levels_at([x[..., i] for i in range(self.columns)], k)

    def levels_at(self, x: Sequence[npt.NDArray[Any]], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same for columns of any shapes that broadcast, such as the axes of a window."""
        sides = [*zip(self.grids, self.centres, x, strict=True)]
        up = reduce(np.maximum, (-((c - values) // g) for g, c, values in sides))
        down = reduce(np.maximum, (-((c + values) // g) for g, c, values in sides))
        above, below = 2 * np.maximum(0, up), 2 * np.maximum(0, down)
        found: npt.NDArray[Any] = np.maximum(np.abs(k), np.maximum(above - k, below + k))
        return found

    def _stairs(self, column: int, x: int) -> tuple[int, int]:
        """The least a and the least m that reach x in this column."""
        grid, centre = self.grids[column], self.centres[column]
        return max(0, -((centre - x) // grid)), max(0, -((centre + x) // grid))

    def pmf(self, x: Sequence[int], k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(X = x, K = k), enclosed.  [B3]"""
        return power(self.epsilon, self.level(x, k), bits) * self._regions.top(bits)

    def normaliser(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z = sum over L of (L+1) b^L prod_i (2 c_i + 1 + G_i L)."""
        return self._radial.total(bits)

    def count_pmf(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K = k), enclosed.  [B5]"""
        return self._regions.count_pmf(k, bits)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k), enclosed.  [B5]"""
        return self._regions.count_tail(k, bits)

    def column_pmf(
        self, column: int, x: int, k: int | None = None, *, bits: int = DEFAULT_BITS
    ) -> Enclosure:
        """P(X_i = x, K = k), or P(X_i = x) if k is left out.  [B5]"""
        up, down = self._stairs(column, x)
        if k is None:  # one of the two is zero; the other is the least possible L - m or m
            start = up + down
            values = [
                (n + 1) * product(self._widths(start + n, column)) for n in range(self.columns + 1)
            ]
            law = Radial.of(self.epsilon, values)
        else:
            start = max(abs(k), 2 * up - k, 2 * down + k)
            values = [product(self._widths(start + 2 * n, column)) for n in range(self.columns)]
            law = Radial.of(2 * self.epsilon, values)
        return power(self.epsilon, start, bits) * law.total(bits) / self.normaliser(bits)

    def column_tail(self, column: int, x: int, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(X_i >= x, K = k), enclosed: what an interval's pivot X_i - alpha G_i K needs.  [B5]

        Regions that end below x have no such cells, those that begin at x or above have all
        of theirs, the rest have c_i + G_i a - x + 1.
        """
        grid, centre = self.grids[column], self.centres[column]
        up, down = self._stairs(column, x)
        first = max(abs(k), 2 * up - k)
        part = max(first, 2 * down + k)  # from here on the region has cells on both sides of x

        def beyond(L: int) -> int:
            return centre + grid * ((L + k) // 2) - x + 1

        def whole(L: int) -> int:
            return 2 * centre + 1 + grid * L

        def summed(start: int, cells: Callable[[int], int]) -> Enclosure:
            values = [
                cells(L) * product(self._widths(L, column))
                for L in range(start, start + 2 * self.columns + 1, 2)
            ]
            law = Radial.of(2 * self.epsilon, values)
            return power(self.epsilon, start, bits) * law.total(bits)

        cut = summed(part, beyond)
        if part > first:
            cut = cut + summed(first, whole) - summed(part, whole)
        return cut / self.normaliser(bits)

    # --- moments ----------------------------------------------------------------------

    @property
    def mean(self) -> tuple[tuple[int, ...], int]:
        """All zero, by symmetry."""
        return (0,) * self.columns, 0

    @cached_property
    def variance(self) -> tuple[tuple[Enclosure, ...], Enclosure]:
        """((Var X_1, ..., Var X_d), Var K), X in cells.  [B5]"""
        count = self._mean_of(lambda L: L * (L + 2)) / 3

        def spread(grid: int, centre: int) -> Enclosure:
            return self._mean_of(
                lambda L: (2 * centre + 1 + grid * L) ** 2 - 1 + grid**2 * L * (L + 2)
            )

        sides = list(zip(self.grids, self.centres, strict=True))
        found = {side: spread(*side) / 12 for side in set(sides)}  # equal columns, equal variances
        return tuple(found[side] for side in sides), count

    def _mean_of(self, f: Callable[[int], int]) -> Enclosure:
        """E f(L), f a polynomial of degree 2 at most."""
        regions = self._regions
        return regions.expected(
            lambda a, m: f(a + m) * regions.points(a, m), self.columns + 2, _MOMENT_BITS
        )

    def covariance(self, column: int, other: int | None = None) -> Enclosure:
        """Cov(X_i, K) = G_i Var K / 2; of two columns Cov(X_i, X_j) = G_i G_j Var K / 4.  [B5]"""
        columns, count = self.variance
        if other is None:
            return self.grids[column] * count / 2
        if column == other:
            return columns[column]
        return self.grids[column] * self.grids[other] * count / 4


def _check_grids(grids: Any) -> tuple[int, ...]:
    if isinstance(grids, str | bytes) or not isinstance(grids, Iterable):
        raise GridError("grids is not a sequence; give one number of cells for each column")
    found = tuple(check_grid(grid) for grid in grids)
    if not found:
        raise GridError("grids is empty; give the number of cells of at least one column")
    if len(found) > MOST_COLUMNS:
        raise GridError(
            f"grids has {len(found)} values, and a box has at most {MOST_COLUMNS} columns; use "
            "several boxes and give each its part of epsilon"
        )
    return found


def _check_centres(centres: Any, columns: int) -> tuple[int, ...]:
    if isinstance(centres, str | bytes) or not isinstance(centres, Iterable):
        raise GridError("centres is not a sequence; give one for each column, or leave it out")
    found = tuple(centres)
    if len(found) != columns:
        raise GridError(
            f"centres has {len(found)} values for {columns} columns; give one for each column, "
            "or leave it out for the optimal ones"
        )
    for centre in found:
        if isinstance(centre, bool) or not isinstance(centre, int | np.integer) or centre < 0:
            raise GridError(
                f"centre={centre!r} is not a whole number of cells; give 0 or more, "
                "or leave centres out for the best ones"
            )
    return tuple(int(centre) for centre in found)


def best_centres(epsilon: Fraction, grids: tuple[int, ...]) -> tuple[int, ...]:
    """The best fraction of the grid for that many columns; on each grid the nearest to it.  [B6]"""
    finest = max(grids)
    centre = best_centre(epsilon, finest, len(grids))
    # 2c+1 cells of the centre to 2G cells of two records: the nearest such ratio.
    return tuple((2 * centre + 1) * grid // (2 * finest) for grid in grids)


@lru_cache(maxsize=1024)
def best_centre(epsilon: Fraction, grid: int, columns: int) -> int:
    """The c of least Var X for this many columns, all on one grid, with one centre.  [B6]

    12 Var X + 1 is F(c)/N(c), N = sum_L w(L) s^d and F = sum_L w(L) s^d (s^2 + G^2 L(L+2)),
    with s = 2c + 1 + GL the side of a region and w(L) = (L+1) b^L.
    """
    d = columns

    def polynomials(bits: int) -> tuple[list[Enclosure], list[Enclosure]]:
        def moment(order: int, spread: bool) -> Enclosure:
            """The sum of w(L) (1 + GL)^order, and with L(L+2) if it is for the spread of m."""
            values = [
                (L + 1) * (1 + grid * L) ** order * (L * (L + 2) if spread else 1)
                for L in range(order + 4)
            ]
            return Radial.of(epsilon, values).total(bits)

        plain = [moment(order, False) for order in range(d + 3)]
        spread = [moment(order, True) for order in range(d + 1)]
        below = [choose(d, i) * 2**i * plain[d - i] for i in range(d + 1)]
        above = [choose(d + 2, i) * 2**i * plain[d + 2 - i] for i in range(d + 3)]
        for i in range(d + 1):
            above[i] = above[i] + choose(d, i) * 2**i * grid**2 * spread[d - i]
        return above, below

    return least_ratio(polynomials)
