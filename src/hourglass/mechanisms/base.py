"""What a mechanism is, and the registry of all mechanisms.

A mechanism adds noise to the totals of one statistic. It is one class in one file that owns all
of it: the law, how the law is added to totals, its moments, its tails, what one record can do
to the totals, and its name in words. Nothing outside asks which mechanism it is; what only some
of them can do is declared as an attribute.

The mechanisms for means are the algorithms of Kulesza, Suresh, Wang 2024 (Sections 3 and 4 for
those with Laplace noise, 5 for the rest). They work on the same integer lattice, where a record
adds (q, 1) to (S, N), q in 0..G, and all return the two noisy transformed sums, so that what
comes after is the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Protocol, TypeVar, overload

import numpy as np

from ..core.exact import Enclosure
from ..core.grid import Grid
from ..core.totals import NoisyTotals, Totals
from ..core.wide import Wide
from ..errors import one_of
from ..noise.bits import SECURE, Bits
from .lattice import Lattice
from .tails import Tails

__all__ = [
    "ALGORITHMS",
    "MeanMechanism",
    "Mechanism",
    "Moments",
    "OnGrid",
    "addable",
    "draws",
    "find",
    "make",
    "names_with",
    "register",
    "remade",
]


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
    """How the totals of a statistic are noised. Totals and noisy totals are the statistic's."""

    #: What is noised: "mean" is a count and one sum.
    statistic: ClassVar[str]
    #: What users call it.
    name: ClassVar[str]
    #: What a statement calls it, after "The noise is the".
    words: ClassVar[str]
    #: "add-remove", or "swap" where the number of records is public.
    adjacency: ClassVar[str]
    #: Whether it answers by group, where every group's number of records is secret.
    by_group: ClassVar[bool]
    #: Whether a privacy unit may consist of several records.
    several_records: ClassVar[bool]
    #: Whether it has a ``count_tail``, from which a threshold for secret keys is computed.
    secret_keys: ClassVar[bool]
    #: Whether its ``law`` has a posterior mean (``estimate/posterior.py``).
    posterior: ClassVar[bool]

    @property
    def epsilon(self) -> Fraction:
        """The privacy parameter, exactly."""

    def noise(self, totals: Any, *, bits: Bits = SECURE, size: int | None = None) -> Any:
        """The totals with fresh noise; for groups one each; ``size`` times over for a study."""

    def lattice(self) -> Lattice:
        """The law and the moves of one record, as the exact audit reads them."""


class MeanMechanism(Mechanism, Protocol):
    """A mechanism for a count and one sum."""

    @property
    def grid(self) -> Grid:
        """The lattice that the totals live on."""

    @property
    def parts(self) -> int:
        """Into how many parts a cell is cut, so that the noise is an integer."""

    @property
    def columns(self) -> int:
        """How many columns are answered together."""

    @property
    def moments(self) -> Moments:
        """The second moments of the noise."""

    @property
    def tails(self) -> Tails:
        """The tail probabilities of the noise."""

    def __hash__(self) -> int:
        """Equal mechanisms share what is computed from their numbers."""

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        """The totals with fresh noise; for groups one each; ``size`` times over for a study."""

    def stored(self) -> dict[str, Any]:
        """What a stored answer keeps of the law besides name, epsilon, grid and parts."""

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> MeanMechanism:
        """The mechanism that a stored answer was drawn with."""


@dataclass(frozen=True)
class OnGrid:
    """What the mechanisms for means share: an epsilon, a grid, and the usual capabilities."""

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
        """One alone."""
        return 1

    @property
    def unit(self) -> int:
        """The square of what one record can add to the sum, in parts of a cell."""
        return (self.parts * self.grid.cells) ** 2

    def stored(self) -> dict[str, Any]:
        """Nothing: the law follows from epsilon and grid."""
        return {}

    @classmethod
    def restored(cls, epsilon: Fraction, grid: Grid, stored: Mapping[str, Any]) -> Any:
        """The mechanism as it is made today."""
        return make(cls.name, epsilon, grid, cls.statistic)


# --- the registry ---------------------------------------------------------------------------

_REGISTRY: Final[dict[str, dict[str, type[Any]]]] = {"mean": {}}
#: The mechanisms for means by name: what ``algorithm=`` takes.
ALGORITHMS: Final = _REGISTRY["mean"]

Kind = TypeVar("Kind", bound=type[Any])


def register(kind: Kind) -> Kind:
    """Class decorator: the mechanism is offered under its name, for its statistic."""
    names = _REGISTRY.setdefault(kind.statistic, {})
    if kind.name in names:
        raise ValueError(f"{kind.statistic} has a mechanism named {kind.name!r} already")
    names[kind.name] = kind
    return kind


def find(name: str, statistic: str = "mean") -> type[Any]:
    """The mechanism of that name, or an error that lists what there is."""
    names = _REGISTRY.get(statistic, {})
    one_of("algorithm", name, names)
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
    """The mechanism of that name on a grid; the tables of its laws are kept for the next call."""
    kind: Any = find(name, statistic)
    return _made(kind, epsilon, grid, _spelled(grid))


def remade(grid: Grid, stored: Mapping[str, Any]) -> MeanMechanism:
    """The mechanism that the noisy totals of a stored answer were drawn with."""
    kind = find(stored["algorithm"], stored.get("statistic", "mean"))
    made: MeanMechanism = kind.restored(Fraction(stored["noise_epsilon"]), grid, stored)
    return made


@lru_cache(maxsize=256)
def _made(kind: type[Any], epsilon: Fraction, grid: Any, _: tuple[Any, ...]) -> Any:
    return kind(epsilon, grid)


def _spelled(grid: Any) -> tuple[Any, ...]:
    """What tells equal grids apart: 0, 0.0 and -0.0 as a bound, and where the bounds come from.

    A mechanism carries its grid into answers and statements, so a kept one may stand in only for
    a grid that is written the same way.
    """
    grids = grid if isinstance(grid, tuple) else (grid,)
    return tuple(
        (*map(repr, each.bounds), each.bounds.origin, each.bounds.leaves)
        for each in grids
        if each is not None
    )


# --- what noising shares --------------------------------------------------------------------


def draws(totals: Totals, size: int | None) -> int | None:
    """How many draws totals take: one a group, or as many as were asked for."""
    return len(totals.count) if isinstance(totals.count, np.ndarray | Wide) else size


def addable(noise: tuple[Any, ...], totals: Totals, most: int) -> tuple[Any, ...]:
    """The noise in a form that can be added: Python integers wherever int64 could wrap.

    ``most`` is the most that one record adds.
    """
    if isinstance(totals.count, Wide):
        return noise
    if isinstance(totals.count, np.ndarray) or (most * (totals.count + 1)).bit_length() > 60:
        return tuple(z.astype(object) if isinstance(z, np.ndarray) else z for z in noise)
    return noise
