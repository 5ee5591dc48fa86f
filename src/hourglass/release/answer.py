"""What one release and releases by group have in common: all but how they are indexed.

An answer is a table. Its rows are keyed by the columns of ``by``: a release is the table without
key columns and with one row, releases by group have a row for each group. Everything that an
answer says (figures, intervals, notes, statement, tables, frames, the stored form) is computed
here, for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..core.exact import to_double
from ..core.grid import Bounds
from ..core.totals import NoisyTotals
from ..core.unit import counts_persons
from ..errors import OptionError, shown
from ..estimate import point
from ..estimate.accuracy import error_at
from ..estimate.interval import least_count, mean_ends
from ..estimate.spread import variance
from ..mechanisms.base import MeanMechanism
from .presented import Presented
from .rendering import label
from .statement import Range, Statement, stated
from .stored import keys_from, terms_from

__all__ = ["Answer", "figure_names"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answer(Presented):
    """A frozen answer: noisy totals, and the terms on which they were released.

    ``noisy_totals`` holds integers in an answer of one row, and arrays in one by group.
    ``column`` is the name of the column, None where the data was a column itself; ``where`` the
    filter that rows had to pass, None where all of them counted.
    """

    noisy_totals: NoisyTotals
    epsilon: Fraction
    delta: Fraction
    estimator: str
    unit: str
    private: bool
    _algorithm: MeanMechanism
    by: tuple[str, ...] = ()
    groups: tuple[tuple[Any, ...], ...] = ((),)
    threshold: int | None = None
    column: str | None = None
    where: str | None = None

    #: Whether the rows are groups.
    _by_group: ClassVar[bool]
    #: The attributes that repr() shows.
    _shown: ClassVar[tuple[str, ...]]

    @property
    def bounds(self) -> Bounds:
        """The public range that values were clamped to."""
        return self._algorithm.grid.bounds

    @property
    def grid(self) -> int:
        """The number of cells that the range is cut into."""
        return self._algorithm.grid.cells

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self._algorithm.name

    @property
    def adjacency(self) -> str:
        """ "add-remove", or "swap" where the number of records is not protected."""
        return self._algorithm.adjacency

    # --- figures: numbers where there is one row, arrays by group ---------------------------

    @cached_property
    def _mean(self) -> Any:
        return point.mean(self.noisy_totals, self._algorithm, self.estimator)

    @cached_property
    def _sum(self) -> Any:
        return point.sum_(self.noisy_totals, self._algorithm.grid)

    @cached_property
    def _count(self) -> Any:
        return point.count(self.noisy_totals)

    @property
    def _spread(self) -> bool:
        """Whether the spread was asked for."""
        return self.noisy_totals.squares is not None

    @cached_property
    def _variance(self) -> Any:
        if not self._spread:
            raise AttributeError("this answer has no variance; ask with spread=True")
        return variance(self.noisy_totals, self._algorithm)  # type: ignore[arg-type]

    @cached_property
    def _std(self) -> Any:
        return np.sqrt(self._variance)

    @cached_property
    def _error(self) -> Any:
        noisy, unit = self.noisy_totals, self.noisy_totals.parts * self.noisy_totals.grid
        by_group = isinstance(noisy.cells, np.ndarray)
        size = noisy.weight.astype(np.float64) / unit if by_group else to_double(noisy.size)
        return error_at(self._algorithm, size, self._mean)

    def _figures(self, confidence: float | None = None, together: int = 1) -> dict[str, Any]:
        """The figures under their own names; the interval of the mean if asked for."""
        found = {"mean": self._mean, "sum": self._sum, "count": self._count}
        if self._spread:
            plain = isinstance(self._variance, float)
            found["std"] = float(self._std) if plain else self._std
            found["variance"] = self._variance
        if confidence is not None:
            found["mean_low"], found["mean_high"] = self._ends(confidence, together)
        return found | {"expected_error": self._error}

    def _ends(self, confidence: float, together: int = 1) -> tuple[Any, Any]:
        """The two ends of the interval of the mean, which always holds the mean.

        ``together`` so many hold at once with that confidence.
        """
        exact = len(self.groups) <= point.EXACT
        low, high = mean_ends(
            self._algorithm, self.noisy_totals, confidence, exact=exact, together=together
        )
        return np.minimum(low, self._mean), np.maximum(high, self._mean)

    # --- as a table -------------------------------------------------------------------------

    def columns(self, confidence: float | None = None, *, fewest: int = 1) -> dict[str, Any]:
        """The answer as columns: the keys, then mean, sum, count and expected_error.

        The last column, few, marks rows whose number of records may be below ``fewest``, by the
        95 % interval of the count.

        With a ``confidence``, the interval of the mean stands in mean_low and mean_high. The
        intervals of many groups share one to three seconds of work; none is computed unless
        asked for.

        A column of ``by`` keeps its name. Where that is the name of a figure, the figure's
        column is called private_mean (private_count, ...) instead.
        """
        keys = {name: [group[i] for group in self.groups] for i, name in enumerate(self.by)}
        found = self._figures(confidence) | {"few": self.few(fewest)}
        names = figure_names(self.by, list(found))
        return keys | {names[name]: np.atleast_1d(column) for name, column in found.items()}

    @classmethod
    def from_dict(cls, answer: dict[str, Any]) -> Self:
        """The answer that ``to_dict`` wrote down: the same noise, the same figures."""
        if ("by" in answer) is not cls._by_group:
            other = "Releases" if "by" in answer else "Release"
            raise OptionError(f"answer: read this one with hg.{other}.from_dict")
        return cls(**terms_from(answer), **keys_from(answer))

    # --- for people -------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        return f"private mean{f' of {self.column}' if self.column else ''}" + (
            f" by {', '.join(self.by)}" if self.by else ""
        )

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim in plain words (``print`` it) and for the registry (``.yaml``).

        ``budget`` adds what all releases charged to it have cost. ``name``, ``curator`` and
        ``purpose`` fill in what only the publisher knows.
        """
        return stated(self, [self._range], self._algorithm, budget, **details)

    @property
    def _range(self) -> Range:
        return Range(self.column, self.bounds, self.grid)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({shown})"

    @property
    def _clamped(self) -> str:
        what = f"Mean of {label([self.column])}" if self.column else "Mean of the values"
        return f"{what}, clamped to {self.bounds.lower} to {self.bounds.upper}"

    @property
    def _counted(self) -> str:
        """What the count is called: persons where they are what is counted."""
        return "persons" if counts_persons(self.unit) else "count"

    def few(self, fewest: int = 1) -> Any:
        """Whether there may be fewer records than that, by the 95 % interval of the count."""
        if isinstance(fewest, bool) or not isinstance(fewest, int) or fewest < 1:
            raise OptionError(f"fewest={shown(fewest)} is not a whole number of 1 or more")
        return least_count(self._algorithm, self.noisy_totals, 0.95) < fewest


def figure_names(by: Sequence[str], figures: Sequence[str]) -> dict[str, str]:
    """The column that each figure is in: of its own name, unless ``by`` has a column of that name.

    Then "private_" is put before it, as often as it takes. Names that differ in case alone are
    taken to be the same, as many readers of tables take them.
    """
    taken = {name.casefold() for name in by}
    names = {}
    for figure in figures:
        name = figure
        while name.casefold() in taken:
            name = f"private_{name}"
        names[figure] = name
    return names
