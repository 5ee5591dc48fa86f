"""Events that distinguish two datasets: learned from samples of both, then fixed.

A release is a row of numbers. Each number is binned; the products of the bins are the cells; an
event is a set of cells. The most distinguishing event consists of the cells with the largest
likelihood ratios (Neyman-Pearson), so cells are ordered by the estimated ratio and the best prefix
is taken. Of non-integers, the position of the lowest bit is used as well, by which floating-point
noise reveals what it was added to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["Binning", "Event", "features", "learn_binning", "learn_event"]

Array = npt.NDArray[Any]

#: The approximate limit on the number of cells, and the most bins of one number.
CELLS: Final = 8192
MOST_BINS: Final = 1024


def features(columns: Sequence[Array]) -> list[Array]:
    """The numbers themselves and, for non-integers, the position of the lowest bit."""
    found: list[Array] = []
    for column in columns:
        values = _plain(column)
        found.append(values)
        if values.dtype.kind == "f":
            found.append(lowest_bit(values))
    return found


def _plain(column: Array) -> Array:
    """int64 if the numbers are whole numbers that fit, else float64."""
    if column.dtype.kind in "iub":
        return column.astype(np.int64, copy=False)
    if column.dtype.kind == "O":
        if all(isinstance(x, int) and abs(x) < 1 << 62 for x in column):
            return column.astype(np.int64)
        return np.array([float(x) for x in column])
    return column.astype(np.float64, copy=False)


def lowest_bit(values: Array) -> Array:
    """The exponent of the lowest bit that is set: 0.75 is 3 * 2^-2, so -2; zero has none."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    low = np.where(whole == 0, 1, whole & -whole).astype(np.float64)
    found = exponent - 53 + np.frexp(low)[1] - 1
    return np.where(whole == 0, 2000, found).astype(np.int64)


@dataclass(frozen=True)
class Binning:
    """The lower ends of the bins of each number; everything below the first is a bin too."""

    edges: tuple[Array, ...] = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Bins of each number."""
        return tuple(len(edges) + 1 for edges in self.edges)

    def count(self, columns: Sequence[Array]) -> Array:
        """How many rows fall in each cell."""
        places = [
            np.searchsorted(edges, column, side="right")
            for edges, column in zip(self.edges, features(columns), strict=True)
        ]
        cells = np.ravel_multi_index(places, self.shape)
        return np.bincount(cells, minlength=math.prod(self.shape))

    def coarser(self, step: int) -> Array:
        """For each cell, the index of its coarse cell, ``step`` bins wide in every direction."""
        shape = [-(-bins // step) for bins in self.shape]
        places = np.unravel_index(np.arange(math.prod(self.shape)), self.shape)
        return np.ravel_multi_index([place // step for place in places], shape)

    def words(self, cell: int) -> str:
        """A cell as ranges of its numbers."""
        place = np.unravel_index(cell, self.shape)
        parts = []
        for i, (edges, at) in enumerate(zip(self.edges, place, strict=True)):
            low = "-inf" if at == 0 else f"{edges[at - 1]:.6g}"
            high = "inf" if at == len(edges) else f"{edges[at]:.6g}"
            parts.append(f"{low} <= z{i + 1} < {high}")
        return ", ".join(parts)


def learn_binning(*samples: Sequence[Array]) -> Binning:
    """Bins of about equal mass; a frequent value has a bin of its own."""
    pooled = [np.concatenate(parts) for parts in zip(*map(features, samples), strict=True)]
    most = min(MOST_BINS, max(3, int(CELLS ** (1 / len(pooled)))))
    return Binning(tuple(_edges(np.sort(column), most) for column in pooled))


def _edges(ordered: Array, most: int) -> Array:
    distinct, counts = np.unique(ordered, return_counts=True)
    if len(distinct) <= most:
        return distinct
    places = np.linspace(0, len(ordered) - 1, most // 2 + 1).astype(np.int64)
    often = distinct[counts * most >= 2 * len(ordered)]
    after = often + 1 if often.dtype.kind == "i" else np.nextafter(often, np.inf)
    return np.unique(np.concatenate([ordered[places], often, after]))


@dataclass(frozen=True)
class Event:
    """A set of cells, and the bound that it gave on the data it was learned from."""

    inside: npt.NDArray[np.bool_] = field(repr=False)
    guess: float
    words: str

    def hits(self, counts: Array) -> int:
        """How many of the counted rows lie in the event."""
        return int(counts[self.inside].sum())


def learn_event(
    binning: Binning,
    ordered_by: tuple[Array, Array],
    chosen_by: tuple[Array, Array],
    deviations: float,
) -> Event:
    """The event with the largest expected lower bound on log P(likely) / P(unlikely).

    Both arguments are counts of cells, (likely, unlikely): the first determines the order of the
    cells; the second, which must be fresh, how many of them to take and how coarse they are.
    ``deviations`` is the number of standard deviations of the later confidence limits.
    """
    best = None
    for step in (1, 2, 4, 8):
        where = binning.coarser(step)
        order = _order(*(np.bincount(where, counts) for counts in ordered_by))
        counts = [np.bincount(where, part) for part in chosen_by]
        worth = _worth(counts[0][order], counts[1][order], deviations)
        taken = int(worth.argmax()) + 1
        if best is None or worth[taken - 1] > best.guess:
            inside = np.isin(where, order[:taken])
            heaviest = int(np.where(inside, chosen_by[0], -1).argmax())
            words = f"{int(inside.sum())} cells, the heaviest {binning.words(heaviest)}"
            best = Event(inside, float(worth[taken - 1]), words)
    assert best is not None
    return best


def _order(likely: Array, unlikely: Array) -> Array:
    """Cells by their ratio, the largest first, with rare cells shrunk towards one."""
    careful = 2.0
    top = np.maximum(likely - careful * np.sqrt(likely), 0.0)
    ratio = top / (unlikely + careful * np.sqrt(unlikely) + careful**2)
    return np.argsort(-ratio, kind="stable")


def _worth(likely: Array, unlikely: Array, deviations: float) -> Array:
    """The approximate bound that each prefix of the ordered cells will give.

    It approximates the Clopper-Pearson limits by normal ones, with z^2/2 for zero hits.
    """
    hits, misses = np.cumsum(likely), np.cumsum(unlikely)
    low = hits - deviations * np.sqrt(np.maximum(hits * (1 - hits / hits[-1]), 0.0))
    spread = np.sqrt(np.maximum(misses * (1 - misses / misses[-1]), 0.0))
    high = np.minimum(misses + deviations * spread + deviations**2 / 2, misses[-1])
    worth: Array = np.log(np.maximum(low, 1e-9)) - np.log(high)
    return worth
