"""A mean with its spread: the hourglass of a triangle on the sums of cells and of squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Final

import numpy as np

from ..core.limits import Grid
from ..core.totals import MOST_SQUARE, NoisyTotals, Totals
from ..noise import HourglassTriangle
from ..noise.bits import SECURE, Bits
from .base import COARSE, MOST_PARTS, Moments, OnGrid, SecretKeys, addable, draws, make, register
from .lattice import Lattice, Part, Point, outer_edges, span
from .triangle_tails import TriangleTails

__all__ = ["FINEST", "HourglassSpread", "triangle_lattice"]

#: The finest grid: its square is the largest allowed term of a sum of squares.
FINEST: Final = int(MOST_SQUARE**0.5)
#: A smaller triangle is scaled up, since its tails would be too coarse in points.
_LEAST_WHOLE: Final = 64
#: A triangle of at most this size is audited at every point.
_FULL_SIZE: Final = 9


@register
@dataclass(frozen=True)
class HourglassSpread(SecretKeys, OnGrid):
    """The totals of (G-q)^2, 2q(G-q) and q^2 with the noise of the hourglass of a triangle.

    A record of cell q adds three nonnegative integers that add up to W = G^2, so their noisy totals
    give the count, the sum and the sum of squares. If W is small, each is multiplied by ``fold``,
    so that the centre of the noise can be close to its optimal width.
    """

    stored_law: tuple[int, int] | None = None

    name: ClassVar[str] = "hourglass"
    words: ClassVar[str] = (
        "hourglass mechanism of a triangle (a mean and its spread, with a secret number of records)"
    )
    statistic: ClassVar[str] = "spread"

    @cached_property
    def law(self) -> HourglassTriangle:
        """The joint law of the noise on the three totals."""
        if self.stored_law is not None:
            return HourglassTriangle(self.epsilon, *self.stored_law)
        whole = self.grid.cells**2
        if whole > COARSE:
            return HourglassTriangle(self.epsilon, whole)
        fewest = -(-_LEAST_WHOLE // whole)
        folds = range(fewest, fewest + MOST_PARTS)
        laws = [HourglassTriangle(self.epsilon, fold * whole) for fold in folds]
        least = min(float(law.mean_error[0]) for law in laws)
        return next(law for law in laws if float(law.mean_error[0]) <= 1.001 * least)

    @property
    def fold(self) -> int:
        """The factor for a record's three numbers."""
        return self.law.whole // self.grid.cells**2

    @property
    def parts(self) -> int:
        """The parts of a cell in which U1 + 2 U2 is the sum; a record adds up to 2 W."""
        return 2 * self.fold * self.grid.cells

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """The three noisy totals as S', G N' - S' in parts of a cell, and the sum of squares."""
        G, fold = self.grid.cells, self.fold
        u, _ = self.law.sample(draws(totals, size), bits=bits)
        u = tuple(u[:, i] for i in range(3)) if isinstance(u, np.ndarray) else u
        u0, u1, u2 = addable(u, totals, 2 * self.law.whole)
        cells, squares = totals.sums
        u0 = u0 + fold * (G * G * totals.count - 2 * G * cells + squares)
        u1 = u1 + fold * 2 * (G * cells - squares)
        u2 = u2 + fold * squares
        return NoisyTotals(u1 + 2 * u2, 2 * u0 + u1, G, self.parts, u2)

    @cached_property
    def alike(self) -> HourglassSpread:
        """The same for all bounds with as many cells."""
        law = self.law.whole, self.law.centre
        return replace(self, grid=self.grid.unit, stored_law=law)

    @cached_property
    def moments(self) -> Moments:
        """Of S' and G N' - S': equal variances, by symmetry.  [B8]"""
        on_bound, middle = self.law.mean_error
        return Moments(on_bound, on_bound, on_bound - 2 * middle)

    @cached_property
    def tails(self) -> TriangleTails:
        """Of U1 + 2 U2, and K."""
        return TriangleTails(self.law)

    def lattice(self) -> Lattice:
        """(U0, U1, U2), which a record moves by ((G-q)^2, 2q(G-q), q^2)."""
        G, fold = self.grid.cells, self.fold
        some = range(G + 1) if G <= _FULL_SIZE else (0, 1, G // 3, G // 2, G - 1, G)
        moves: list[Point] = [
            (fold * (G - q) ** 2, fold * 2 * q * (G - q), fold * q * q) for q in some
        ]
        return triangle_lattice(self.law, moves)

    def stored(self) -> dict[str, Any]:
        """The size of the triangle and its centre."""
        triangle = {"whole": self.law.whole, "centre": self.law.centre}
        return {"statistic": self.statistic, "triangle": triangle}

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> HourglassSpread:
        """The mechanism with the law that the stored noise was drawn from."""
        law = stored["triangle"]["whole"], stored["triangle"]["centre"]
        today: HourglassSpread = make(cls.name, epsilon, grid, cls.statistic)
        same = (today.law.whole, today.law.centre) == law
        return today if same else cls(epsilon, grid, law)


def triangle_lattice(
    law: HourglassTriangle, moves: Sequence[Point] | None = None, *, level: Any = None
) -> Lattice:
    """The law with the moves of a record; a mutant has a wrong level or wrong moves.

    The points are (u0, u2, k), and u1 = W k - u0 - u2.
    """
    W, c = law.whole, law.centre
    if moves is None:
        moves = [(i, j, W - i - j) for i, j in product(range(W + 1), repeat=2) if i + j <= W]
    small = W <= _FULL_SIZE

    def own(u0: int, u2: int, k: int) -> int:
        return law.level((u0, W * k - u0 - u2, u2))

    return Lattice(
        f"{HourglassSpread.name} with spread",
        law.epsilon,
        (Part(level, law.epsilon) if level else Part(own, law.epsilon, law.levels_at),),
        tuple((u0, u2, (u0 + u1 + u2) // W) for u0, u1, u2 in moves),
        (
            span(c + 2 * W + 1) if small else (),
            span(c + 2 * W + 1) if small else (),
            span(3),
        ),
        (lambda u0, u2, k: law.pmf((u0, W * k - u0 - u2, u2))) if level is None else None,
        None if small else (outer_edges(W, c), outer_edges(W, c), ()),
    )
