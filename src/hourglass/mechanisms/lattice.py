"""A law on a lattice and the moves of one record, in the form that the exact audit needs.

Every law here has P(point) proportional to exp(-(sum of rate * level)) with integer levels. A
neighbour moves the point, so the privacy loss of a move is an integer combination of rates: a
rational that can be compared with epsilon exactly. (Enclosures could never show that two numbers
e^epsilon are *equal*.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy.typing as npt

from ..core.exact import Enclosure
from ..noise import DiscreteLaplace

__all__ = [
    "FULL_GRID",
    "Lattice",
    "Level",
    "Part",
    "Point",
    "landmarks",
    "outer_edges",
    "product_lattice",
    "some_cells",
    "span",
]

Point = tuple[int, ...]
#: The level of a point, as a function of its coordinates.
Level = Callable[..., int]

#: Up to this grid every point and every move is tried; beyond it, only the critical ones.
FULL_GRID = 128


@dataclass(frozen=True)
class Part:
    """A factor exp(-rate * level) of a law.

    ``levels``, if a law has it, takes arrays of coordinates that broadcast instead of numbers.
    """

    level: Level
    rate: Fraction
    levels: Callable[..., npt.NDArray[Any]] | None = None


@dataclass(frozen=True)
class Lattice:
    """A law on tuples of integers, and the moves that a neighbour can make.

    ``pmf`` is None if only the levels are known (for a mutant). ``window`` holds the values of each
    coordinate that are tried, in all combinations. ``edges`` are, for each coordinate, the values
    at which a level can change: if the grid is too fine to try all points, those on both sides of
    each edge are tried, before and after each move.
    """

    name: str
    epsilon: Fraction
    parts: tuple[Part, ...]
    moves: tuple[Point, ...]
    window: tuple[Sequence[int], ...]
    pmf: Callable[..., Enclosure] | None
    edges: tuple[Sequence[int], ...] | None = None

    @property
    def full(self) -> bool:
        """Whether every point of the window is tried."""
        return self.edges is None


def product_lattice(
    name: str,
    epsilon: Fraction,
    first: DiscreteLaplace,
    second: DiscreteLaplace,
    moves: Sequence[Point],
) -> Lattice:
    """Independent noise on two coordinates; the only edge of |x| is at zero."""
    reach = max(abs(end) for move in moves for end in move) + 1
    tried = span(reach) if reach <= FULL_GRID else landmarks(reach - 1, 0)

    def in_x(x: Any, _: Any) -> Any:
        return abs(x)

    def in_y(_: Any, y: Any) -> Any:
        return abs(y)

    return Lattice(
        name,
        epsilon,
        (Part(in_x, first.rate, in_x), Part(in_y, second.rate, in_y)),
        tuple(moves),
        (tried, tried),
        lambda x, y: first.pmf(x) * second.pmf(y),
        None if reach <= FULL_GRID else ((0,), ()),
    )


def some_cells(G: int, c: int = 0, *, full: int = FULL_GRID) -> Sequence[int]:
    """All cells of a record, or on a grid above ``full`` the critical ones.

    The stairs (j, j') before and after a move q are fixed by where x and x+q lie against the edges.
    A pair of stairs is reached by an interval of q, whose ends are differences of edges clipped to
    0..G. This returns them, each with its two neighbours. A centre may be wider than the grid;
    edges lie G apart, so the differences are taken modulo G.
    """
    if full >= G:
        return range(G + 1)
    ends = (0, c % G, (2 * c + 1) % G, -(2 * c + 1) % G, -c % G, G // 2, G)
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return sorted(q for q in near if 0 <= q <= G)


def outer_edges(
    G: int, c: int, stairs: Sequence[int] = (0, 1, 2, 3, 100, 1_000_003)
) -> tuple[int, ...]:
    """The last cells of the first stairs on either side, and of some stairs far out."""
    right = [c + i * G for i in stairs]
    return tuple(sorted({0, *right, *(-x for x in right)}))


def span(reach: int) -> Sequence[int]:
    """All integers up to ``reach`` on either side."""
    return range(-reach, reach + 1)


def landmarks(G: int, c: int) -> Sequence[int]:
    """The integers around which stairs of width G with a centre of c begin and end."""
    ends = (0, c, G - c, G, G + c, 2 * G + c)
    return sorted({s * (end + d) for end in ends for d in (-1, 0, 1) for s in (1, -1)})
