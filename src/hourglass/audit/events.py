"""Events worth betting on: learned from samples of both datasets, then fixed.

A release is a row of numbers. Each number is put into bins; the product of the bins are the
cells; an event is a set of cells. The best event against a likelihood ratio is a set of the
cells with the largest ratios (Neyman-Pearson), so cells are ordered by what was learned and
the best prefix is taken. For numbers with fractions one more number is looked at: the place
of the lowest bit, by which floating-point noise betrays what it was added to.
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

#: About as many cells as the bins may make, and the most bins of one number.
CELLS: Final = 8192
MOST_BINS: Final = 1024


def features(columns: Sequence[Array]) -> list[Array]:
    """The numbers themselves and, of those with fractions, the place of the lowest bit."""
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
    """Bins of about equal mass; a number that comes often has a bin of its own."""
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
    """A set of cells, and what it was worth where it was learned."""

    inside: npt.NDArray[np.bool_] = field(repr=False)
    guess: float
    words: str

    def hits(self, counts: Array) -> int:
        """How many of the counted rows lie in the event."""
        return int(counts[self.inside].sum())


def learn_event(binning: Binning, likely: Array, unlikely: Array, deviations: float) -> Event:
    """The event that promises the largest lower bound on log P(likely) / P(unlikely).

    ``deviations`` is how many standard deviations the bound will later be made safe by.
    """
    careful = 2.0
    top = np.maximum(likely - careful * np.sqrt(likely), 0.0)
    ratio = top / (unlikely + careful * np.sqrt(unlikely) + careful**2)
    order = np.argsort(-ratio, kind="stable")
    hits, misses = np.cumsum(likely[order]), np.cumsum(unlikely[order])
    share, other = hits / hits[-1], misses / misses[-1]
    # About the Clopper-Pearson limits: the spread of a binomial, and z^2 for none at all.
    low = hits - deviations * np.sqrt(hits * (1 - share))
    high = misses + deviations * np.sqrt(misses * (1 - other)) + deviations**2 / 2
    worth = np.log(np.maximum(low, 1e-9)) - np.log(np.minimum(high, misses[-1]))
    best = int(worth.argmax())
    inside = np.zeros(likely.size, dtype=np.bool_)
    inside[order[: best + 1]] = True
    heaviest = int(order[: best + 1][likely[order[: best + 1]].argmax()])
    words = f"{best + 1} cells, the heaviest {binning.words(heaviest)}"
    return Event(inside, float(worth[best]), words)
