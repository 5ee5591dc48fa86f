"""Laws in the form that the exact audit reads: levels, their rates, and a neighbour's moves.

Every law of the house has P(point) proportional to exp(-(sum of rate * level)), the levels
whole numbers. A neighbour moves the point, so the privacy loss of a move is a whole-number
combination of rates: a rational, compared with epsilon exactly. (That two numbers e^epsilon
are *equal* no enclosure could ever show.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..core.exact import Enclosure
from ..mechanisms.base import (
    Algorithm,
    HourglassMean,
    LaplaceMean,
    StaircaseMean,
    SumAndCount,
    SwapMean,
)
from ..noise import DiscreteLaplace, Hourglass, Staircase2D
from ..noise.staircase import stair

__all__ = ["Lattice", "Part", "hourglass_lattice", "lattice_of", "outer_edges"]

Point = tuple[int, int]
Level = Callable[[int, int], int]

#: Up to this grid every point and every move is tried; past it, those that matter.
FULL_GRID = 128
#: About as many points as a window may have.
WINDOW = 20_000


@dataclass(frozen=True)
class Part:
    """A factor exp(-rate * level) of a law."""

    level: Level
    rate: Fraction


@dataclass(frozen=True)
class Lattice:
    """A law on pairs of integers, and what a neighbour may do to them.

    ``pmf`` is None where only the levels are known (a mutant's). ``window`` holds the
    coordinates that are tried, every one of them with every other. ``edges`` are the first
    coordinates at which a level can change: where the grid is too fine to try all, points
    are taken on both sides of each, before and after each move.
    """

    name: str
    epsilon: Fraction
    parts: tuple[Part, ...]
    moves: tuple[Point, ...]
    window: tuple[Sequence[int], Sequence[int]]
    pmf: Callable[[int, int], Enclosure] | None
    edges: tuple[int, ...] | None = None

    @property
    def full(self) -> bool:
        """Whether every point of the window is tried."""
        return self.edges is None


def lattice_of(algorithm: Algorithm) -> Lattice:
    """The law that an algorithm adds to its totals, with the moves of a record."""
    G, epsilon = algorithm.grid.cells, algorithm.epsilon
    if isinstance(algorithm, HourglassMean):
        return hourglass_lattice(algorithm.law, name=algorithm.name)
    if isinstance(algorithm, StaircaseMean):
        return _staircase_2d(algorithm.law, algorithm.name)
    if isinstance(algorithm, LaplaceMean):
        law = algorithm.law
        moves = tuple((q, G - q) for q in some_cells(G))
        return _product(algorithm.name, epsilon, law, law, moves)
    if isinstance(algorithm, SumAndCount):
        steps = (algorithm.parts * q + algorithm.offset for q in some_cells(G))
        moves = tuple((step, 1) for step in steps)
        return _product(algorithm.name, epsilon, algorithm.sum_law, algorithm.count_law, moves)
    assert isinstance(algorithm, SwapMean)
    staircase = algorithm.law
    cells = some_cells(G)
    return Lattice(
        algorithm.name,
        epsilon,
        (Part(lambda x, _: abs(stair(x, G, staircase.c)), epsilon),),
        tuple((sign * q, 0) for q in cells for sign in (1, -1)),
        (_span(staircase.c + 3 * G + 1, G), (0,)),
        lambda x, _: staircase.pmf(x),
        outer_edges(G, staircase.c) if G > FULL_GRID else None,
    )


def hourglass_lattice(
    law: Hourglass,
    *,
    name: str = "hourglass",
    level: Level | None = None,
    moves: Sequence[Point] | None = None,
) -> Lattice:
    """The hourglass; a mutant gives another level, or moves that no record may make."""
    G, c = law.grid, law.c
    stairs = _stairs_shown(law.epsilon, G)
    return Lattice(
        name,
        law.epsilon,
        (Part(level or law.level, law.epsilon),),
        tuple(moves) if moves is not None else tuple((q, 1) for q in some_cells(G, c)),
        (_span(c + stairs * G + 1, G), range(-stairs - 3, stairs + 4)),
        law.pmf if level is None else None,
        outer_edges(G, c) if G > FULL_GRID else None,
    )


def _stairs_shown(epsilon: Fraction, G: int) -> int:
    """Three stairs hold every pattern; more, until the tail is small or the window large."""
    if G > FULL_GRID:
        return 3
    stairs = 3
    while stairs * epsilon < 21 and 4 * (stairs + 2) * G * (stairs + 4) < WINDOW:
        stairs += 1
    return stairs


def _staircase_2d(law: Staircase2D, name: str) -> Lattice:
    G, c = law.grid, law.c
    reach = c + 2 * G + 1
    span = _span(reach, G) if G <= FULL_GRID // 2 else _landmarks(G, c)
    return Lattice(
        name,
        law.epsilon,
        (Part(law.level, law.epsilon),),
        tuple((q, G - q) for q in some_cells(G, c)),
        (span, span),
        law.pmf,
        None if G <= FULL_GRID // 2 else outer_edges(G, c),
    )


def _product(
    name: str,
    epsilon: Fraction,
    first: DiscreteLaplace,
    second: DiscreteLaplace,
    moves: tuple[Point, ...],
) -> Lattice:
    """Independent noise on two coordinates; |x| turns at zero, so that is where to look."""
    reach = max(abs(end) for move in moves for end in move) + 1
    span = _span(reach, reach) if reach <= FULL_GRID else _landmarks(reach - 1, 0)
    return Lattice(
        name,
        epsilon,
        (Part(lambda x, _: abs(x), first.rate), Part(lambda _, y: abs(y), second.rate)),
        moves,
        (span, span),
        lambda x, y: first.pmf(x) * second.pmf(y),
        None if reach <= FULL_GRID else (0,),
    )


def some_cells(G: int, c: int = 0) -> Sequence[int]:
    """All cells of a record, or on a fine grid those around which anything can happen.

    The stairs (j, j') before and after a move q are fixed by where x and x+q lie against the
    edges. A pair of stairs is reached by an interval of q, whose ends are differences of edges
    cut off at 0 and G: here they are, each with its two neighbours.
    """
    if G <= FULL_GRID:
        return range(G + 1)
    ends = (0, c, 2 * c + 1, G - 2 * c - 1, G - c, G // 2, G)
    near = {end + step for end in ends for step in (-1, 0, 1)}
    return sorted(q for q in near if 0 <= q <= G)


def outer_edges(G: int, c: int) -> tuple[int, ...]:
    """The last cells of the first three stairs on either side, and of stairs far out."""
    stairs = (0, 1, 2, 3, 100, 1_000_003)
    right = [c + i * G for i in stairs]
    return tuple(sorted({0, *right, *(-x for x in right)}))


def _span(reach: int, G: int) -> Sequence[int]:
    return range(-reach, reach + 1) if G <= FULL_GRID else ()


def _landmarks(G: int, c: int) -> Sequence[int]:
    ends = (0, c, G - c, G, G + c, 2 * G + c)
    return sorted({s * (end + d) for end in ends for d in (-1, 0, 1) for s in (1, -1)})
