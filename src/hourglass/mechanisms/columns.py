"""Several columns from one epsilon: the hourglass of a box, and its marginals for each column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import Enclosure
from ..core.limits import Grid
from ..core.totals import NoisyColumns, NoisyTotals, Totals
from ..noise import HourglassBox
from ..noise.bits import SECURE, Bits
from .base import Moments, OnGrid, SecretKeys, addable, draws, fewest_parts, register
from .box_tails import BoxTails
from .lattice import Lattice, Part, Point, outer_edges, some_cells, span

__all__ = ["HourglassColumn", "HourglassColumns", "box_lattice"]

#: A box whose sides have at most this many cells in total is audited at every point,
_FULL_SIDES: Final = 12
#: if the window has at most so many: at a small epsilon the centre is wide, whatever the grid.
_FULL_WINDOW: Final = 1 << 24
#: On a larger box, the audit takes points around these stairs of each column.
_STAIRS: Final = (0, 1, 2, 1_000_003)
#: In a column of more cells than this, only the critical moves of a record are audited.
_FULL_MOVES: Final = 7


@register
@dataclass(frozen=True)
class HourglassColumns(SecretKeys):
    """(S_1 + X_1, ..., S_d + X_d, N + K) with the noise of the hourglass of a box.

    All columns share one count: a record is in all of them or in none. As for one column, sums are
    in parts of a cell if whole numbers have a small grid of their own.
    """

    epsilon: Fraction
    grids: tuple[Grid, ...]

    statistic: ClassVar[str] = "columns"
    name: ClassVar[str] = "hourglass"
    words: ClassVar[str] = (
        "hourglass mechanism of a box (several columns that share one secret number of records)"
    )
    adjacency: ClassVar[str] = "add-remove"
    by_group: ClassVar[bool] = True
    several_records: ClassVar[bool] = True
    posterior: ClassVar[bool] = False

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """The number of parts of a cell, for each column."""
        return tuple(fewest_parts(grid, self._variance) for grid in self.grids)

    def _variance(self, cells: int) -> Enclosure:
        """The variance of a column if all are on a grid of this many cells."""
        return HourglassBox(self.epsilon, [cells] * len(self.grids)).variance[0][0]

    @cached_property
    def law(self) -> HourglassBox:
        """The joint law of the noise on the sums, in parts of a cell, and on the count."""
        cells = [parts * grid.cells for parts, grid in zip(self.parts, self.grids, strict=True)]
        return HourglassBox(self.epsilon, cells)

    def column(self, number: int) -> HourglassColumn:
        """The noise of one column's sum and of the count, as a mechanism for a mean."""
        return HourglassColumn(self.epsilon, self.grids[number], self.law, number)

    def noise(
        self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None
    ) -> NoisyColumns:
        """(S_i + X_i, G_i (N + K) - (S_i + X_i)) for each column, in parts of a cell."""
        x, k = self.law.sample(draws(totals, size), bits=bits)
        x = tuple(x[:, i] for i in range(len(self.grids))) if isinstance(x, np.ndarray) else x
        *x, k = addable((*x, k), totals, max(self.law.grids))
        count = totals.count + k
        found = []
        for i, (grid, parts) in enumerate(zip(self.grids, self.parts, strict=True)):
            cells = parts * totals.sums[i] + x[i]
            rest = parts * grid.cells * count - cells
            found.append(NoisyTotals(cells, rest, grid.cells, parts))
        return NoisyColumns(tuple(found))

    def lattice(self) -> Lattice:
        """(X_1, ..., X_d, K), which a record moves by (q_1, ..., q_d, 1)."""
        return box_lattice(self.law)

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> HourglassColumn:
        """The column of a stored answer, with the centres that it was drawn with."""
        box = stored["box"]
        law = _box(epsilon, tuple(box["grids"]), tuple(box["centres"]))
        return HourglassColumn(epsilon, grid, law, box["column"])


@dataclass(frozen=True)
class HourglassColumn(SecretKeys, OnGrid):
    """The noise of one column: (S + X_i, N + K), as a mechanism for a mean.

    It is not sampled separately: all columns are drawn together.
    """

    law: HourglassBox
    number: int

    name: ClassVar[str] = HourglassColumns.name
    words: ClassVar[str] = HourglassColumns.words
    statistic: ClassVar[str] = HourglassColumns.statistic

    @property
    def parts(self) -> int:
        """The number of parts of a cell of this column."""
        return self.law.grids[self.number] // self.grid.cells

    @property
    def columns(self) -> int:
        """How many columns are answered together."""
        return self.law.columns

    @cached_property
    def alike(self) -> HourglassColumn:
        """The same for all bounds and columns with as many cells and the same centre."""
        sides = list(zip(self.law.grids, self.law.centres, strict=True))
        return replace(self, grid=self.grid.unit, number=sides.index(sides[self.number]))

    @cached_property
    def moments(self) -> Moments:
        """Equal variances, since X_i and G_i K - X_i have the same law."""
        each, count = self.law.variance
        variance = each[self.number] / self.unit
        return Moments(variance, variance, count / 2 - variance)

    @cached_property
    def tails(self) -> BoxTails:
        """Of X_i in parts of a cell, and K."""
        return BoxTails(self.law, self.number)

    def stored(self) -> dict[str, Any]:
        """The law of all columns, and which of them this is."""
        box = {"grids": list(self.law.grids), "centres": list(self.law.centres)}
        return {"statistic": self.statistic, "box": box | {"column": self.number}}


@lru_cache(maxsize=256)
def _box(epsilon: Fraction, grids: tuple[int, ...], centres: tuple[int, ...]) -> HourglassBox:
    return HourglassBox(epsilon, grids, centres)


def box_lattice(
    law: HourglassBox,
    *,
    level: Callable[..., int] | None = None,
    moves: Sequence[Point] | None = None,
) -> Lattice:
    """The law with the moves of a record; a mutant has a wrong level or wrong moves."""
    sides = list(zip(law.grids, law.centres, strict=True))
    stairs = max(2, 11 - 3 * law.columns)  # a window of 8, 5 or 2 stairs on either side
    ends = [c + stairs * G + 1 for G, c in sides]
    points = math.prod(2 * end + 1 for end in (*ends, stairs + 2))
    small = sum(law.grids) <= _FULL_SIDES and points <= _FULL_WINDOW
    reach = stairs + 2 if small else 4
    if moves is None:
        cells = (some_cells(G, c, full=_FULL_MOVES) for G, c in sides)
        moves = [(*q, 1) for q in product(*cells)]
    return Lattice(
        f"{HourglassColumns.name} of {law.columns} columns",
        law.epsilon,
        (_part(law) if level is None else Part(level, law.epsilon),),
        tuple(moves),
        (*(span(end) if small else () for end in ends), span(reach)),
        (lambda *point: law.pmf(point[:-1], point[-1])) if level is None else None,
        None if small else (*(outer_edges(G, c, _STAIRS) for G, c in sides), ()),
    )


def _part(law: HourglassBox) -> Part:
    def level(*point: int) -> int:
        return law.level(point[:-1], point[-1])

    def levels(*axes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        *x, k = axes
        return law.levels_at(x, k)

    return Part(level, law.epsilon, levels)
