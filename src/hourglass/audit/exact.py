"""The exact audit: every likelihood ratio of a law, without sampling.

It checks that no move of a neighbour changes the exponent by more than epsilon, that the pmf
follows the enumerated levels, and that the masses add up to at most one. The mass of the tail
beyond the window is reported; there the stairs repeat (``hourglass.proof.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product, starmap
from operator import add
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import Enclosure, exp_minus
from ..mechanisms.base import Mechanism
from ..mechanisms.lattice import Lattice, Part, Point
from .finding import Finding

__all__ = ["Losses", "enumerate_losses", "exact_audit", "exact_finding", "table_of"]

#: How precisely the pmf must follow the level: enclosures of 160 bits are far tighter.
_SLACK: Final = Fraction(1, 10**30)
#: Up to here, sums of coordinates fit int64.
_MOST_INT64: Final = 1 << 60
#: Farther out an enclosure of 160 bits would have no digits left.
_FARTHEST: Final = 40


@dataclass(frozen=True)
class Losses:
    """The exact least and greatest privacy loss of any move, and where they occur."""

    least: Fraction
    greatest: Fraction
    point: Point
    move: Point
    ratios: int

    @property
    def worst(self) -> Fraction:
        """The greatest loss in either direction."""
        return max(-self.least, self.greatest)


def exact_audit(mechanism: Mechanism) -> Finding:
    """The exact audit of a mechanism."""
    return exact_finding(mechanism.lattice())


def exact_finding(lattice: Lattice, *, claimed: Fraction | None = None) -> Finding:
    """Whether a law satisfies the claimed epsilon (by default its own)."""
    epsilon = lattice.epsilon if claimed is None else claimed
    table = table_of(lattice) if lattice.full else None
    losses = enumerate_losses(lattice, table)
    follows = _pmf_follows(lattice)
    tail = _tail(lattice, table)
    holds = losses.worst <= epsilon and follows and (tail is None or tail.high >= 0)
    words = [f"{losses.ratios:,} ratios, loss {_times(losses.worst, epsilon)}"]
    if losses.worst > epsilon:
        words.append(f"at {losses.point} moved by {losses.move}")
    if not follows:
        words.append("the pmf does not follow the levels")
    if not lattice.full:
        words.append("points on both sides of every edge")
    elif tail is not None:
        words.append(f"the law repeats beyond the window, mass {max(0.0, float(tail)):.1e}")
    return Finding(
        "exact",
        lattice.name,
        holds,
        "; ".join(words),
        {
            "epsilon": str(epsilon),
            "loss": str(losses.worst),
            "ratios": losses.ratios,
            "tail": None if tail is None else max(0.0, float(tail)),
        },
    )


def enumerate_losses(lattice: Lattice, table: _Table | None = None) -> Losses:
    """The extremes of log P(point) - log P(point + move) over all points and moves tried."""
    if lattice.full:
        found = _all_losses(lattice, table or table_of(lattice))
    else:
        found = _edge_losses(lattice)
    least = greatest = Fraction(0)
    point = move = _origin(lattice)
    ratios = 0
    for low, high, low_at, high_at, step, tried in found:
        ratios += tried
        if max(-low, high) > max(-least, greatest):
            point, move = (high_at if high >= -low else low_at), step
        least, greatest = min(least, low), max(greatest, high)
    return Losses(least, greatest, point, move, ratios)


_Found = tuple[Fraction, Fraction, Point, Point, Point, int]


@dataclass(frozen=True)
class _Table:
    """The exponents of the window and of all points reached from it, in units of 1/unit."""

    unit: int
    first: Point
    exponents: npt.NDArray[np.int64]
    window: tuple[Sequence[int], ...]

    def moved(self, step: Point) -> npt.NDArray[np.int64]:
        """The exponents of the window's points, each moved by ``step``."""
        starts = [
            axis[0] - first + by
            for axis, first, by in zip(self.window, self.first, step, strict=True)
        ]
        ends = [start + len(axis) for start, axis in zip(starts, self.window, strict=True)]
        return self.exponents[tuple(map(slice, starts, ends))]

    def point(self, place: int) -> Point:
        """The point of the window at that index."""
        places = np.unravel_index(place, [len(axis) for axis in self.window])
        return tuple(axis[int(at)] for axis, at in zip(self.window, places, strict=True))


def table_of(lattice: Lattice) -> _Table:
    """The exponents of the window and of every point that a move leads to."""
    steps = zip(_origin(lattice), *lattice.moves, strict=True)
    axes = [
        range(axis[0] + min(by), axis[-1] + max(by) + 1)
        for axis, by in zip(lattice.window, steps, strict=True)
    ]
    shape = [len(axis) for axis in axes]
    unit = _unit(lattice)
    exponents = np.zeros(shape, dtype=np.int64)
    for part in lattice.parts:
        exponents += _levels(part, axes) * int(part.rate * unit)
    return _Table(unit, tuple(axis[0] for axis in axes), exponents, lattice.window)


def _levels(part: Part, axes: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """The levels of every point of a product of axes."""
    if part.levels is not None:
        found: npt.NDArray[np.int64] = part.levels(*np.ix_(*map(_array, axes)))
        return found
    shape = [len(axis) for axis in axes]
    levels = np.fromiter(starmap(part.level, product(*axes)), np.int64, math.prod(shape))
    return levels.reshape(shape)


def _array(values: Sequence[int]) -> npt.NDArray[Any]:
    """As int64 if sums of such numbers fit it, else as Python integers."""
    return np.array(values, np.int64 if max(map(abs, values)) < _MOST_INT64 else object)


def _unit(lattice: Lattice) -> int:
    """The common denominator of the rates: every exponent is an integer over it."""
    return math.lcm(*(part.rate.denominator for part in lattice.parts))


def _origin(lattice: Lattice) -> Point:
    return (0,) * len(lattice.window)


def _all_losses(lattice: Lattice, table: _Table) -> Iterator[_Found]:
    """Every point of the window, every move: losses as differences of exponents."""
    before = table.moved(_origin(lattice))
    for step in lattice.moves:
        loss = table.moved(step) - before
        down, up = int(loss.argmin()), int(loss.argmax())
        yield (
            Fraction(int(loss.flat[down]), table.unit),
            Fraction(int(loss.flat[up]), table.unit),
            table.point(down),
            table.point(up),
            step,
            loss.size,
        )


def _edge_losses(lattice: Lattice) -> Iterator[_Found]:
    """On a fine grid: a point and the point moved on both sides of every edge."""
    assert lattice.edges is not None
    if len(lattice.parts) == 1 and lattice.parts[0].levels is not None:
        yield from _edge_losses_at_once(lattice, lattice.parts[0])
        return
    unit = _unit(lattice)
    factors = [(part.level, int(part.rate * unit)) for part in lattice.parts]

    @cache
    def exponent(point: Point) -> int:
        return sum(level(*point) * factor for level, factor in factors)

    for step in lattice.moves:
        axes = _edge_axes(lattice, step)
        losses = {
            point: exponent(tuple(map(add, point, step))) - exponent(point)
            for point in product(*axes)
        }
        low_at, high_at = min(losses, key=losses.__getitem__), max(losses, key=losses.__getitem__)
        low, high = Fraction(losses[low_at], unit), Fraction(losses[high_at], unit)
        yield low, high, low_at, high_at, step, len(losses)


def _edge_losses_at_once(lattice: Lattice, part: Part) -> Iterator[_Found]:
    """The same for a law that computes the levels of many points at once."""
    for step in lattice.moves:
        axes = _edge_axes(lattice, step)
        after = [[value + by for value in axis] for axis, by in zip(axes, step, strict=True)]
        loss = _levels(part, after) - _levels(part, axes)
        low_at, high_at = (
            tuple(axis[int(i)] for axis, i in zip(axes, places, strict=True))
            for places in (
                np.unravel_index(loss.argmin(), loss.shape),
                np.unravel_index(loss.argmax(), loss.shape),
            )
        )
        low, high = int(loss.min()) * part.rate, int(loss.max()) * part.rate
        yield low, high, low_at, high_at, step, loss.size


def _edge_axes(lattice: Lattice, step: Point) -> list[list[int]]:
    edges = lattice.edges or ()
    return [sorted(_near(*axis)) for axis in zip(lattice.window, edges, step, strict=True)]


def _near(window: Sequence[int], edges: Sequence[int], step: int) -> set[int]:
    """The values of a coordinate next to its edges; all values if it has none."""
    if not edges:
        return {value - moved for value in window for moved in (0, step)}
    return {*window, *(edge + d - moved for edge in edges for d in (0, 1) for moved in (0, step))}


def _pmf_follows(lattice: Lattice) -> bool:
    """Whether P(point) exp(exponent) is the same number everywhere, to thirty digits."""
    if lattice.pmf is None:
        return True
    points = [_origin(lattice), *_landmarks(lattice)]
    exponents = _exponents(lattice, points)
    top = lattice.pmf(*points[0]) / exp_minus(exponents[0])
    right: dict[Fraction, Enclosure] = {}
    for point, exponent in zip(points, exponents, strict=True):
        if exponent >= _FARTHEST:
            continue
        mass = lattice.pmf(*point)
        if mass == right.get(exponent):
            continue
        ratio = mass / exp_minus(exponent) / top
        if 1 not in ratio or ratio.high - ratio.low > _SLACK:
            return False
        right[exponent] = mass
    return True


def _exponents(lattice: Lattice, points: Sequence[Point]) -> list[Fraction]:
    """The exponent of each point."""
    found = [Fraction(0)] * len(points)
    for part in lattice.parts:
        levels: Iterable[int] = starmap(part.level, points)
        if part.levels is not None:
            levels = part.levels(*map(_array, zip(*points, strict=True))).tolist()
        found = [total + level * part.rate for total, level in zip(found, levels, strict=True)]
    return found


def _landmarks(lattice: Lattice) -> Iterable[Point]:
    """Points at which the pmf is compared: some across the window, and the edges."""
    axes = len(lattice.window)
    shown = (40, 8) if axes == 2 else (math.ceil(400 ** (1 / axes)),) * axes
    near = lattice.edges or [()] * len(shown)
    return product(
        *(
            sorted({*edges, *axis[:: len(axis) // most + 1]})
            for axis, edges, most in zip(lattice.window, near, shown, strict=True)
        )
    )


def _tail(lattice: Lattice, table: _Table | None) -> Enclosure | None:
    """One minus the mass of the window, summed level by level; None on a fine grid."""
    if table is None or lattice.pmf is None:
        return None
    exponents = table.moved(_origin(lattice))
    _, first, counts = np.unique(exponents, return_index=True, return_counts=True)
    inside = Enclosure.of(0)
    for place, count in zip(first.tolist(), counts.tolist(), strict=True):
        inside = inside + count * lattice.pmf(*table.point(place))
    return 1 - inside


def _times(loss: Fraction, epsilon: Fraction) -> str:
    times = loss / epsilon
    return "exactly epsilon" if times == 1 else f"{float(times):.6g} epsilon"
