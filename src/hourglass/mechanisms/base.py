"""The interface of mechanisms, their registry, and the default mechanism: the hourglass.

A mechanism adds noise to the totals of one statistic. It is one class in one module that defines
all of it: the law, how noise is added to totals, its moments, its tails, how one record can change
the totals, and its name in statements. No other code depends on which mechanism it is; optional
capabilities are declared as attributes.

The mechanisms for means are the algorithms of Kulesza, Suresh, Wang 2024 (Sections 3 and 4 for
those with Laplace noise, 5 for the rest). They work on the same integer lattice, where a record
adds (q, 1) to (S, N), q in 0..G, and all return the two noisy transformed sums, so that the
estimators are the same for all. The default, the hourglass, is defined here and serves as the
example of the interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Final, Protocol, TypeVar, overload

import numpy as np

from ..core.exact import DEFAULT_BITS, Enclosure
from ..core.limits import Grid
from ..core.totals import NoisyTotals, Totals, Wide
from ..errors import not_one_of
from ..noise import Hourglass
from ..noise.bits import SECURE, Bits
from .lattice import FULL_GRID, Lattice, Level, Part, Point, outer_edges, some_cells, span
from .tails import (
    FAR,
    SLACK,
    TOUCH,
    Floats,
    Line,
    Tails,
    blocks,
    distinct,
    halves,
    laplace_upper,
    merged,
    row_share,
    summed,
    summed_above,
    summed_rows,
    table_block,
)  # fmt: skip

__all__ = [
    "ALGORITHMS", "COARSE", "MOST_PARTS", "HourglassMean", "MeanMechanism", "Mechanism", "Moments",
    "OnGrid", "SecretKeys", "addable", "draws", "fewest_parts", "find", "hourglass_lattice", "make",
    "names_with", "register", "remade",
]  # fmt: skip


@dataclass(frozen=True)
class Moments:
    """Second moments of the noise on (S', G N' - S') in units of one record.

    The leading error of the mean at alpha in [0, 1], times n^2 / width^2, is
    (1-alpha)^2 cells + alpha^2 rest - 2 alpha (1-alpha) both.
    """

    cells: Enclosure
    rest: Enclosure
    both: Enclosure


class Mechanism(Protocol):
    """Adds noise to the totals of a statistic."""

    #: The statistic: "mean" is a count and one sum.
    statistic: ClassVar[str]
    #: Its name in the option ``algorithm=``.
    name: ClassVar[str]
    #: Its name in a statement, after "The noise is the".
    words: ClassVar[str]
    #: "add-remove", or "swap" if the number of records is public.
    adjacency: ClassVar[str]
    #: Whether it can answer by group, where the number of records of every group is secret.
    by_group: ClassVar[bool]
    #: Whether a privacy unit may consist of several records.
    several_records: ClassVar[bool]
    #: Whether it has a ``count_tail``, from which the threshold for secret keys is computed.
    secret_keys: ClassVar[bool]
    #: Whether its ``law`` has a posterior mean (``estimate/posterior.py``).
    posterior: ClassVar[bool]

    @property
    def epsilon(self) -> Fraction:
        """The privacy parameter, exactly."""

    def noise(self, totals: Any, *, bits: Bits = SECURE, size: int | None = None) -> Any:
        """The totals with fresh noise, independent for each group; ``size`` draws for a study."""

    def lattice(self) -> Lattice:
        """The law and the moves of one record, in the form that the exact audit needs."""


class MeanMechanism(Mechanism, Protocol):
    """A mechanism for a count and one sum."""

    @property
    def grid(self) -> Grid:
        """The grid of the totals."""

    @property
    def parts(self) -> int:
        """The number of parts of a cell; the noise is an integer number of parts."""

    @property
    def columns(self) -> int:
        """How many columns are answered together."""

    @property
    def moments(self) -> Moments:
        """The second moments of the noise."""

    @property
    def tails(self) -> Tails:
        """The tail probabilities of the noise."""

    @property
    def alike(self) -> MeanMechanism:
        """One with the same noise, which shares what is computed from the noise alone."""

    def __hash__(self) -> int:
        """Equal mechanisms share cached results."""

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """The totals with fresh noise, independent for each group; ``size`` draws for a study."""

    def stored(self) -> dict[str, Any]:
        """What a stored answer records about the law besides name, epsilon, grid and parts."""

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> MeanMechanism:
        """The mechanism that a stored answer was drawn with."""


@dataclass(frozen=True)
class OnGrid:
    """The base of the mechanisms for means: an epsilon, a grid, and default capabilities."""

    epsilon: Fraction
    grid: Grid

    name: ClassVar[str]
    statistic: ClassVar[str] = "mean"
    adjacency: ClassVar[str] = "add-remove"
    by_group: ClassVar[bool] = True
    several_records: ClassVar[bool] = True
    secret_keys: ClassVar[bool] = False
    posterior: ClassVar[bool] = False

    @property
    def parts(self) -> int:
        """Whole cells."""
        return 1

    @property
    def columns(self) -> int:
        """One."""
        return 1

    @property
    def alike(self) -> Any:
        """Itself, for noise that depends on the bounds."""
        return self

    @property
    def unit(self) -> int:
        """The square of the most that one record can add to the sum, in parts of a cell."""
        return (self.parts * self.grid.cells) ** 2

    def stored(self) -> dict[str, Any]:
        """Nothing: the law follows from epsilon and grid."""
        return {}

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> Any:
        """The mechanism as it is constructed now."""
        return make(cls.name, epsilon, grid, cls.statistic)


class SecretKeys:
    """For mechanisms whose law knows the tail of the noise on the count."""

    law: Any
    secret_keys: ClassVar[bool] = True

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k), for the threshold of secret keys."""
        found: Enclosure = self.law.count_tail(k, bits=bits)
        return found


# --- the registry ---------------------------------------------------------------------------------

_REGISTRY: Final[dict[str, dict[str, type[Any]]]] = {"mean": {}}
#: The mechanisms for means by name: the values of ``algorithm=``.
ALGORITHMS: Final = _REGISTRY["mean"]

Kind = TypeVar("Kind", bound=type[Any])


def register(kind: Kind) -> Kind:
    """Class decorator that registers a mechanism under its name and statistic."""
    names = _REGISTRY.setdefault(kind.statistic, {})
    if kind.name in names:
        raise ValueError(f"{kind.statistic} already has a mechanism named {kind.name!r}")
    names[kind.name] = kind
    return kind


def find(name: str, statistic: str = "mean") -> type[Any]:
    """The mechanism of that name; an error lists all names."""
    names = _REGISTRY.get(statistic, {})
    if not isinstance(name, str) or name not in names:
        raise not_one_of("algorithm", name, names)
    return names[name]


def names_with(capability: str) -> str:
    """The names of the mechanisms of a mean that declare a capability, for an error message."""
    kinds = ALGORITHMS.items()
    return " or ".join(f"algorithm={name!r}" for name, kind in kinds if getattr(kind, capability))


@overload
def make(name: str, epsilon: Fraction, grid: Grid) -> MeanMechanism: ...
@overload
def make(name: str, epsilon: Fraction, grid: Any, statistic: str) -> Any: ...
def make(name: str, epsilon: Fraction, grid: Any, statistic: str = "mean") -> Any:
    """The mechanism of that name on a grid; the tables of its laws are cached."""
    kind: Any = find(name, statistic)
    return _made(kind, epsilon, grid, _spelled(grid))


def remade(grid: Grid, stored: Mapping[str, Any]) -> MeanMechanism:
    """The mechanism that produced the noisy totals of a stored answer."""
    kind = find(stored["algorithm"], stored.get("statistic", "mean"))
    made: MeanMechanism = kind.restored(Fraction(stored["noise_epsilon"]), grid, stored)
    return made


@lru_cache(maxsize=256)
def _made(kind: type[Any], epsilon: Fraction, grid: Any, _: tuple[Any, ...]) -> Any:
    return kind(epsilon, grid)


def _spelled(grid: Any) -> tuple[Any, ...]:
    """What distinguishes equal grids: 0, 0.0 and -0.0 as a bound, and the origin of the bounds.

    A mechanism passes its grid to answers and statements, so a cached one may be reused only for a
    grid that is written the same way.
    """
    grids = grid if isinstance(grid, tuple) else (grid,)
    return tuple(
        (*map(repr, each.bounds), each.bounds.origin, each.bounds.leaves)
        for each in grids
        if each is not None
    )


# --- shared by noise methods ----------------------------------------------------------------------


def draws(totals: Totals, size: int | None) -> int | None:
    """The number of draws for totals: one per group, or as many as were asked for."""
    return len(totals.count) if isinstance(totals.count, np.ndarray | Wide) else size


#: The noise on a count exceeds this with a chance below exp(-200), at any epsilon.
_MOST_NOISE: Final = 1 << 29


def addable(noise: tuple[Any, ...], totals: Totals, most: int) -> tuple[Any, ...]:
    """The noise in a form that can be added: Python integers if int64 could overflow.

    ``most`` is the most that one record adds.
    """
    if isinstance(totals.count, Wide):
        return noise
    if isinstance(totals.count, np.ndarray) or most * (totals.count + _MOST_NOISE) >= 1 << 62:
        return tuple(z.astype(object) if isinstance(z, np.ndarray) else z for z in noise)
    return noise


# --- the hourglass --------------------------------------------------------------------------------

#: With more cells than this the centre is fine enough: parts of a cell would gain under 0.1 % up to
#: epsilon 8 (docs/decisions/parts-of-a-cell.md).
COARSE: Final = 256
#: The most parts of a cell.
MOST_PARTS: Final = 8
#: The approximate limit on the points in the window of an exact audit.
WINDOW: Final = 20_000


def fewest_parts(grid: Grid, variance: Callable[[int], Enclosure]) -> int:
    """The fewest parts of a cell with nearly the least variance, which is that in parts."""
    if not grid.own or grid.cells > COARSE:
        return 1
    errors = [float(variance(i * grid.cells) / i**2) for i in range(1, MOST_PARTS + 1)]
    return next(i for i, error in enumerate(errors, 1) if error <= 1.001 * min(errors))


@register
@dataclass(frozen=True)
class HourglassMean(SecretKeys, OnGrid):
    """(S + X, N + K) with hourglass noise.

    The centre of the noise is a whole number of cells wide. On a small grid of whole numbers, no
    such width may be close to the optimum, so S is in parts of a cell. A record still adds whole
    cells, which is a subset of what the proof allows on the finer grid.

    ``stored_parts`` are the parts of the noise in a stored answer.
    """

    stored_parts: int | None = None

    name: ClassVar[str] = "hourglass"
    words: ClassVar[str] = "hourglass mechanism (optimal for means with a secret number of records)"
    posterior: ClassVar[bool] = True

    @cached_property
    def parts(self) -> int:
        """The number of parts of a cell: the fewest with nearly the least error."""
        if self.stored_parts is not None:
            return self.stored_parts
        return fewest_parts(self.grid, self._variance)

    def _variance(self, cells: int) -> Enclosure:
        """The variance of X on a grid of this many cells."""
        return Hourglass(self.epsilon, cells).marginal_x.variance

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> HourglassMean:
        """Uses the stored number of parts, since an earlier version may have chosen another."""
        today, parts = make(cls.name, epsilon, grid), stored["noisy_totals"]["parts"]
        return today if parts == today.parts else cls(epsilon, grid, parts)  # type: ignore[return-value]

    @cached_property
    def law(self) -> Hourglass:
        """The joint law of the noise on S, in parts of a cell, and N."""
        return Hourglass(self.epsilon, self.parts * self.grid.cells)

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """(S + X, G (N + K) - (S + X)), in parts of a cell."""
        G, parts = self.grid.cells, self.parts
        x, k = addable(self.law.sample(draws(totals, size), bits=bits), totals, parts * G)
        cells = parts * totals.cells + x
        return NoisyTotals(cells, parts * G * (totals.count + k) - cells, G, parts)

    @cached_property
    def alike(self) -> HourglassMean:
        """The same for all bounds with as many cells."""
        return replace(self, grid=self.grid.unit, stored_parts=self.parts)

    @cached_property
    def moments(self) -> Moments:
        """Equal variances, whatever the centre."""
        variance = self.law.variance[0] / self.unit
        return Moments(variance, variance, self.law.covariance / self.unit)

    @cached_property
    def tails(self) -> HourglassTails:
        """Of X in parts of a cell, and K."""
        return HourglassTails(self.law)

    def lattice(self) -> Lattice:
        """(X, K), which a record moves by (q, 1)."""
        return hourglass_lattice(self.law)


def hourglass_lattice(
    law: Hourglass, *, level: Level | None = None, moves: Sequence[Point] | None = None
) -> Lattice:
    """The law with the moves of a record; a mutant has a wrong level or wrong moves."""
    G, c = law.grid, law.c
    stairs, fine = _stairs_shown(law.epsilon, G), G > FULL_GRID
    return Lattice(
        HourglassMean.name,
        law.epsilon,
        (Part(level, law.epsilon) if level else Part(law.level, law.epsilon, law.levels),),
        tuple(moves) if moves is not None else tuple((q, 1) for q in some_cells(G, c)),
        (() if fine else span(c + stairs * G + 1), span(stairs + 3)),
        law.pmf if level is None else None,
        (outer_edges(G, c), ()) if fine else None,
    )


def _stairs_shown(epsilon: Fraction, G: int) -> int:
    """Three stairs cover every case; more are added until the tail is small or the window large."""
    stairs = 3
    while G <= FULL_GRID and stairs * epsilon < 21 and 4 * (stairs + 2) * G * (stairs + 4) < WINDOW:
        stairs += 1
    return stairs


class HourglassTails:
    """The error of the sum is X / G in widths of the range, that of the count K."""

    def __init__(self, law: Hourglass) -> None:
        self.law, self.grid, self.centre = law, float(law.grid), float(law.c)
        self.epsilon = float(law.epsilon)
        b = math.exp(-self.epsilon)
        self.normaliser = 2 * self.centre + 1 + 2 * self.grid / math.expm1(self.epsilon)
        self.top = (1 - b) / (1 + b) / self.normaliser
        self.far = self.grid * (3 * FAR / self.epsilon + 3)  # beyond this the mass is negligible
        self.twice = 1 / math.expm1(2 * self.epsilon)  # b^2 / (1 - b^2)

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """A sum over K; if its blocks would be too coarse, over the stairs of X."""
        if not first.sum:  # the closed form of K's own law
            k = np.ceil(reach * (1 - TOUCH) / np.abs([float(first.count)]))
            return min(1.0, 2 * float(self._count(k)[0]) + SLACK)
        lines, block = distinct(first, second), blocks(self.epsilon)[1]
        if block > 1 and max(abs(line.count) / line.sum for line in lines) > 1:
            return min(1.0, sum(self._over_stairs(line, reach) for line in lines))
        # Moving K by one and X by up to a record costs one epsilon (that is the privacy), moving
        # X the other way costs two more for the stair that X and K are then further apart.
        together = all(line.count >= 0 for line in lines)
        weight = merged(block, self.epsilon * (1 if together else 3))
        pairs = [(float(line.sum) / self.grid, -float(line.count)) for line in lines]
        return summed(self.epsilon, weight, pairs, reach, self.upper)

    @property
    def row_share(self) -> float:
        """How long a row of :meth:`misses` takes, compared with :meth:`miss`."""
        return row_share(self.epsilon)

    def misses(self, first: Floats, last: Floats, reaches: Floats) -> Floats:
        """The same for x - first y and x - last y at many reaches."""
        weight = merged(blocks(self.epsilon)[1], self.epsilon)
        one = 1.0 / self.grid
        return summed_rows(self.epsilon, weight, one, (first, last), reaches, self._near)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach; the same sum over K for one side."""
        if not line.sum:
            counts = reaches / abs(float(line.count))
            k = np.ceil(counts - TOUCH * np.abs(counts))
            tail = np.where(k >= 1, self._count(np.abs(k)), 1 - self._count(np.abs(1 - k)))
            return np.minimum(1.0, tail + SLACK)
        block = table_block(self.epsilon)
        if block > 1 and not 0 <= line.count <= line.sum:
            return halves(self, line, reaches)
        pair = float(line.sum) / self.grid, -float(line.count)
        return summed_above(self.epsilon, merged(block, self.epsilon), pair, reaches, self._near)

    def _near(self, y: Floats, x0: Floats) -> Floats:
        """``upper`` for values in any order."""
        return self.upper(y, np.clip(x0, -self.far, self.far))

    def _count(self, k: Floats) -> Floats:
        """P(K >= k) for k >= 1, the closed form of the law's ``count_tail``."""
        b = math.exp(-self.epsilon)
        cells = k + 1 / math.expm1(self.epsilon) + 2 * self.twice
        cells = 2 * self.centre + 1 + self.grid * cells
        tail: Floats = self._power(k) * cells / (1 + b) / self.normaliser
        return tail

    def upper(self, y: Floats, x0: Floats) -> Floats:
        """P(K = y, X >= x0): the cells of the first stair from x0 on, and all stairs above it."""
        G, c = self.grid, self.centre
        if abs(x0[-1]) > self.far:
            x0 = np.clip(x0, -self.far, self.far)
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

    def _over_stairs(self, line: Line, reach: float) -> float:
        """P(|s X / G - n K| >= reach) for |n| >= s, as a sum over the stairs j of X.

        K is j + T, T two-sided geometric. Across the G cells of a stair the least K that
        counts moves by one at most: it takes two values, on cells that can be counted. (The
        centre is wider; it is cut in two at 0.) From a stair to the next, the weight of the
        stair changes by one epsilon and what is asked of T by two at most.
        """
        G, c, size = self.grid, self.centre, abs(float(line.count))
        slope = float(line.sum / abs(line.count)) / G  # how far K moves for one cell of X
        sign = -1.0 if line.count > 0 else 1.0
        j, block = blocks(self.epsilon)
        total = 0.0
        for side in (1.0, -1.0):
            inner = np.where(j == 0, 0.0 if side > 0 else 1.0, c + 1 + (j - 1) * G)
            outer = c + j * G
            cells = outer - inner + 1
            least = reach / size - slope * (outer if side > 0 else -inner)  # at the topmost cell
            touch = 1e-9 + 2.0**-44 * np.abs(least)
            whole = np.ceil(least - touch)
            room = whole - least + touch
            with np.errstate(over="ignore"):  # all cells, then
                easy = np.minimum(cells, np.floor(np.abs(room) / slope) + 1)
            easy = np.where(room < 0, cells, easy)  # by rounding: which cells count is not known
            asked = whole - sign * side * j
            tail = easy * laplace_upper(asked, self.epsilon)
            tail += (cells - easy) * laplace_upper(asked + 1, self.epsilon)
            tail *= self._power(j) / self.normaliser
            total += float(tail[0]) + merged(block, 3 * self.epsilon) * float(tail[1:].sum())
        return min(1.0, 2 * total + SLACK)
