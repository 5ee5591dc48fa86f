"""The interface of mechanisms, and their registry.

A mechanism adds noise to the totals of one statistic. It is one class in one module that defines
all of it: the law, how noise is added to totals, its moments, its tails, how one record can change
the totals, and its name in statements. No other code depends on which mechanism it is; optional
capabilities are declared as attributes.

The mechanisms for means are the algorithms of Kulesza, Suresh, Wang 2024 (Sections 3 and 4 for
those with Laplace noise, 5 for the rest). They work on the same integer lattice, where a record
adds (q, 1) to (S, N), q in 0..G, and all return the two noisy transformed sums, so that the
estimators are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol, TypeVar, overload

import numpy as np

from ..core.exact import Enclosure
from ..core.limits import Grid
from ..core.totals import NoisyTotals, Totals, Wide
from ..errors import not_one_of
from ..noise.bits import SECURE, Bits
from .lattice import Lattice
from .tails import Tails

__all__ = [
    "ALGORITHMS", "MeanMechanism", "Mechanism", "Moments", "OnGrid", "addable", "draws", "find",
    "make", "names_with", "register", "remade",
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


# --- the registry ---------------------------------------------------------------------------

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


def names_with(capability: str, statistic: str = "mean") -> str:
    """The names of the mechanisms that declare a capability, for an error message."""
    kinds = _REGISTRY[statistic].items()
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


# --- shared by noise methods --------------------------------------------------------------------


def draws(totals: Totals, size: int | None) -> int | None:
    """The number of draws for totals: one per group, or as many as were asked for."""
    return len(totals.count) if isinstance(totals.count, np.ndarray | Wide) else size


def addable(noise: tuple[Any, ...], totals: Totals, most: int) -> tuple[Any, ...]:
    """The noise in a form that can be added: Python integers if int64 could overflow.

    ``most`` is the most that one record adds.
    """
    if isinstance(totals.count, Wide):
        return noise
    if isinstance(totals.count, np.ndarray) or (most * (totals.count + 1)).bit_length() > 60:
        return tuple(z.astype(object) if isinstance(z, np.ndarray) else z for z in noise)
    return noise
