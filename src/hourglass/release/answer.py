"""The base of a release and of releases by group: everything but how they are indexed.

An answer is a table. Its rows are keyed by the columns of ``by``: a release is the table without
key columns and with one row, releases by group have a row for each group. Figures, intervals,
notes, statement, tables, frames and the stored form are computed here for both.

The stored form, of JSON values, is printed by ``--format json`` and stored in a ledger. In the rows
of an answer by group, a key has the name of its ``by`` column, whatever that name is; a figure
whose name is taken gets another (:func:`figure_names`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from ..core.exact import to_double
from ..core.keys import NAMELESS, KeyColumn, Keys
from ..core.limits import Bounds, Grid, one_or_more
from ..core.totals import NoisyTotals
from ..errors import OptionError
from ..estimate import point
from ..estimate.interval import mean_ends, std_ends, sum_ends
from ..estimate.outside import count_ends
from ..estimate.point import error_at, least_count, sum_error
from ..estimate.spread import variance
from ..mechanisms.base import MeanMechanism, remade
from .presented import Sampled, population_figures
from .rendering import Range, clamped, counts_persons, grouped, named, replaced, rounded
from .statement import Statement, stated

__all__ = [
    "Answer", "check_stored", "figure_names", "keys_from", "named_keys", "stored_rows",
    "stored_terms",
]  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Answer(Sampled):
    """A frozen answer: noisy totals, and the terms on which they were released.

    ``noisy_totals`` holds integers in an answer of one row, and arrays in an answer by group.
    ``column`` is the name of the column, None if the data itself was a column; ``where`` is the
    filter on the rows, None if there was none; ``asked`` is the figure that was asked for, "mean"
    or "sum", which is shown first. ``outside_epsilon`` is the rate of the noise on the numbers of
    values outside the bounds, None if they were not asked for. ``as_real`` says that a column of
    whole numbers was treated as real ones because its bounds, 1 apart, have decimal points.
    """

    noisy_totals: NoisyTotals
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    estimator: str
    unit: str = "row"
    private: bool
    _algorithm: MeanMechanism
    by: tuple[str, ...] = ()
    groups: Sequence[tuple[Any, ...]] = NAMELESS
    threshold: int | None = None
    column: str | None = None
    where: str | None = None
    missing: int | float | None = None
    asked: str = "mean"
    outside_epsilon: Fraction | None = None
    as_real: bool = False

    #: Whether the rows are groups.
    _by_group: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.by:
            object.__setattr__(self, "groups", Keys.of(self.groups, len(self.by)))

    @property
    def bounds(self) -> Bounds:
        """The public range that values were clamped to."""
        return self._algorithm.grid.bounds

    @property
    def grid(self) -> int:
        """The number of steps that the range is divided into."""
        return self._algorithm.grid.cells

    # --- figures: numbers if there is one row, arrays by group ---------------------------

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
            raise AttributeError(
                "this answer has no variance and no standard deviation; ask with spread=True"
            )
        return variance(self.noisy_totals, self._algorithm)  # type: ignore[arg-type]

    @cached_property
    def _std(self) -> Any:
        return np.sqrt(self._variance)

    @cached_property
    def _error(self) -> Any:
        noisy, unit = self.noisy_totals, self.noisy_totals.parts * self.noisy_totals.grid
        by_group = isinstance(noisy.cells, np.ndarray)
        size = noisy.weight.astype(np.float64) / unit if by_group else to_double(noisy.size)
        if self.asked == "sum":
            error = sum_error(self._algorithm)
            return np.full_like(size, error) if by_group else error
        return error_at(self._algorithm, size, self._mean)

    def _figures(
        self, confidence: float | None = None, together: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The figures by name, with intervals if wanted: of the one asked for, and of the std."""
        found = {"mean": self._mean, "sum": self._sum, "count": self._count}
        if self._spread:
            plain = isinstance(self._variance, float)
            found["std"] = float(self._std) if plain else self._std
            found["variance"] = self._variance
        if confidence is not None:
            low, high = self._ends(confidence, together)
            found |= {f"{self.asked}_low": low, f"{self.asked}_high": high}
            found |= self._std_ends(confidence) if self._spread else {}
        if population:
            found |= population_figures(self, confidence, together)
        return found | self._outside_figures(confidence) | {"expected_error": self._error}

    def _std_ends(self, confidence: float) -> dict[str, Any]:
        low, high = std_ends(self._algorithm, self.noisy_totals, confidence)
        return {"std_low": np.minimum(low, self._std), "std_high": np.maximum(high, self._std)}

    def _outside_figures(self, confidence: float | None) -> dict[str, Any]:
        """The numbers of values outside the bounds, with their intervals if wanted."""
        rate, found = self.outside_epsilon, dict[str, Any]()
        if rate is None:
            return found
        for name in ("below", "above"):
            noisy = getattr(self.noisy_totals, name)
            ends = () if confidence is None else count_ends(noisy, rate, confidence)
            columns = zip((name, f"{name}_low", f"{name}_high"), (noisy, *ends), strict=False)
            for column, part in columns:
                whole = np.maximum(part, 0)
                found[column] = whole.astype(np.int64) if self._by_group else int(whole)
        return found

    def _ends(self, confidence: float, together: int = 1) -> tuple[Any, Any]:
        """The two ends of the interval of the figure asked for, which always contains that figure.

        ``together`` is the number of intervals that hold jointly with that confidence.
        """
        exact = len(self.groups) <= point.EXACT
        if self.asked == "sum":
            low, high = sum_ends(self._algorithm, self.noisy_totals, confidence, exact=exact)
            return np.minimum(low, self._sum), np.maximum(high, self._sum)
        low, high = mean_ends(
            self._algorithm, self.noisy_totals, confidence, exact=exact, together=together
        )
        return np.minimum(low, self._mean), np.maximum(high, self._mean)

    # --- as a table -------------------------------------------------------------------------

    def columns(
        self, confidence: float | None = None, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The answer as columns: the keys, then mean, sum, count and expected_error.

        If ``outside`` was given, below and above are the numbers of values outside the bounds. The
        last column, few, marks rows whose number of records may be below ``fewest``, by the 95 %
        interval of the count.

        With a ``confidence``, mean_low and mean_high are the ends of the interval of the mean; for
        an answer to ``hg.sum``, sum_low and sum_high those of the sum. With the spread, std_low and
        std_high are those of the standard deviation; their squares, those of the variance. The
        intervals of many groups take a few seconds together, and are computed only if asked for.
        ``population`` adds population_low, population_high and population_kind: the interval for
        the mean of the population that the records are a random sample of, which takes about 10 ms
        for each group.

        A column of ``by`` keeps its name. If that is also the name of a figure, the figure's
        column is called private_mean (private_count, ...) instead.
        """
        keys = named_keys(self)
        found = self._figures(confidence, population=population) | {"few": self.few(fewest)}
        names = figure_names(self.by, list(found))
        return keys | {names[name]: np.atleast_1d(column) for name, column in found.items()}

    def _terms(self, rows: int) -> dict[str, list[Any]]:
        told = {} if self.column is None else {"column": [self.column] * rows}
        ends = {"lower": self.bounds.lower, "upper": self.bounds.upper}
        ends |= {} if self.missing is None else {"missing": self.missing}
        return told | super()._terms(rows) | {name: [end] * rows for name, end in ends.items()}

    def to_dict(
        self, confidence: float | None = None, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it.

        ``groups`` has a row for each group, in the columns of :meth:`columns`.
        """
        columns = self.columns(confidence, fewest=fewest, population=population)
        return stored_rows(self, columns, confidence) | stored_terms(self)

    @classmethod
    def from_dict(cls, answer: dict[str, Any]) -> Self:
        """Restore the answer that ``to_dict`` returned: the same noise, the same figures."""
        check_stored(answer, "Releases" if cls._by_group else "Release")
        return cls(**terms_from(answer), **keys_from(answer))

    # --- for people -------------------------------------------------------------------------

    @property
    def _subject(self) -> str:
        of = f" of {named(self.column)}" if self.column else ""
        return f"private {self.asked}{of}{grouped(self.by)}"

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim in plain English (``print`` it) and for the registry (``.yaml``).

        ``budget`` adds the total cost of all releases charged to it. ``name``, ``curator`` and
        ``purpose`` are details that only the publisher knows.
        """
        return stated(self, [self._range], self._algorithm, budget, **details)

    def _missing(self) -> list[str]:
        return [*replaced([self._range]), *rounded([self._range])]

    @property
    def _range(self) -> Range:
        return Range(self.column, self.bounds, self.grid, self.missing, self.as_real)

    @property
    def _clamped(self) -> str:
        what = named(self.column) if self.column else "the values"
        return f"{self.asked.capitalize()} of {what}, clamped to {clamped(self.bounds)}"

    @property
    def _yes_or_no(self) -> bool:
        """Whether means are shares, which are printed in per cent."""
        return self._algorithm.grid.yes_or_no

    @property
    def _found(self) -> str:
        """How bounds were found that were searched for."""
        seeded = "NOT PRIVATELY" in self.bounds.origin
        return f"The bounds were found {'with seeded bits' if seeded else 'privately'}"

    @property
    def _asked_word(self) -> str:
        """The label of the figure asked for: "share" if that is what the mean is."""
        return "share" if self.asked == "mean" and self._yes_or_no else self.asked

    def _by_column(self) -> Mapping[str, Any]:
        return {"": self}

    @property
    def _drawn(self) -> str:
        return self._asked_word

    @property
    def _counted(self) -> str:
        """The label of the count: "persons" if persons are counted."""
        return "persons" if counts_persons(self.unit) else "count"

    def _tells_nothing(self, found: Mapping[str, Any]) -> Any:
        """Whether a mean is of no records, or its interval covers the whole range."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        everything = (found["mean_low"] <= lower) & (upper <= found["mean_high"])
        return (found["count"] == 0) | everything

    def few(self, fewest: int = 1) -> Any:
        """Whether there may be fewer than ``fewest`` records, by the 95 % interval of the count."""
        one_or_more("fewest", fewest)
        return least_count(self._algorithm, self.noisy_totals, 0.95) < fewest


# --- the stored form ------------------------------------------------------------------------------

_KINDS: Final = {bool: "boolean", int: "integer", date: "date"}


def check_stored(answer: Any, wanted: str) -> None:
    """Raise an error unless this is a stored answer, of the class of that name."""
    kind = _stored_class(answer)
    if kind is None:
        raise OptionError(
            f"answer, of type {type(answer).__name__}, is not a stored answer; give the dict that "
            "to_dict() returned, or the parsed JSON of --format json"
        )
    if kind != wanted:
        raise OptionError(f"answer: read this one with hg.{kind}.from_dict")


def _stored_class(answer: Any) -> str | None:
    if not isinstance(answer, Mapping):
        return None
    if "scans" in answer:
        return "FoundBounds"
    if "columns" in answer:
        return "Columns"
    noisy = answer.get("noisy_totals")
    if not isinstance(noisy, Mapping):
        return None
    return ("Count" if "count" in noisy else "Release") + ("s" if "by" in answer else "")


def stored_terms(answer: Answer) -> dict[str, Any]:
    """What every answer has: what was asked and promised, and the noisy totals."""
    noisy, bounds, rate = answer.noisy_totals, answer.bounds, answer.outside_epsilon
    return {
        "epsilon": str(answer.epsilon),
        "delta": str(answer.delta),
        "noise_epsilon": str(answer._algorithm.epsilon),
        "bounds": [bounds.lower, bounds.upper],
        "bounds_origin": bounds.origin,
        **({} if bounds.leaves is None else {"bounds_leave": list(bounds.leaves)}),
        "grid": answer.grid,
        "own_grid": answer._algorithm.grid.own,
        "algorithm": answer._algorithm.name,
        "estimator": answer.estimator,
        "adjacency": answer._algorithm.adjacency,
        "unit": answer.unit,
        "column": answer.column,
        **({} if answer.where is None else {"where": answer.where}),
        **({} if answer.missing is None else {"missing": answer.missing}),
        **({} if answer.asked == "mean" else {"asked": answer.asked}),
        **({"as_real": True} if answer.as_real else {}),
        "private": answer.private,
        "noisy_totals": {
            "cells": _integers(noisy.cells),
            "rest": _integers(noisy.rest),
            "parts": noisy.parts,
            **({} if noisy.squares is None else {"squares": _integers(noisy.squares)}),
            **({} if noisy.below is None else {"below": _integers(noisy.below)}),
            **({} if noisy.above is None else {"above": _integers(noisy.above)}),
        },
        **({} if rate is None else {"outside_epsilon": str(rate)}),
        **answer._algorithm.stored(),
    }


def terms_from(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that restore an answer, except its keys."""
    left = stored.get("bounds_leave")
    leaves = (left[0], left[1]) if left else None
    bounds = Bounds(*stored["bounds"], origin=stored["bounds_origin"], leaves=leaves)
    grid = Grid(bounds, stored["grid"], stored["own_grid"])
    noisy = stored["noisy_totals"]
    return {
        "noisy_totals": NoisyTotals(
            _totals(noisy["cells"]),
            _totals(noisy["rest"]),
            grid.cells,
            noisy["parts"],
            *(_totals(noisy.get(part)) for part in ("squares", "below", "above")),
        ),
        "outside_epsilon": Fraction(rate) if (rate := stored.get("outside_epsilon")) else None,
        "epsilon": Fraction(stored["epsilon"]),
        "delta": Fraction(stored["delta"]),
        "estimator": stored["estimator"],
        "unit": stored["unit"],
        "column": stored.get("column"),
        "where": stored.get("where"),
        "missing": stored.get("missing"),
        "asked": stored.get("asked", "mean"),
        "as_real": stored.get("as_real", False),
        "private": stored["private"],
        # The parts of a cell are those of the stored noise, even if others would be chosen now.
        "_algorithm": remade(grid, stored),
    }


def named_keys(answer: Any) -> dict[str, list[Any]]:
    """The columns of ``by`` with the keys of the groups, as plain values."""
    return dict(zip(answer.by, answer.groups.lists(), strict=True))


def figure_names(by: Sequence[str], figures: Sequence[str]) -> dict[str, str]:
    """The name of each figure's column: its own, unless ``by`` has a column of that name.

    Then "private_" is prepended, repeatedly if needed. Names that differ only in case count as
    equal, as they do for many readers of tables.
    """
    taken = {name.casefold() for name in by}
    names = {}
    for figure in figures:
        name = figure
        while name.casefold() in taken:
            name = f"private_{name}"
        names[figure] = name
    return names


def stored_rows(
    answer: Any, columns: Mapping[str, Any], confidence: float | None
) -> dict[str, Any]:
    """The keys and figures of an answer by group, one row per group, from its columns."""
    plain = {name: _plain(column) for name, column in columns.items()}
    return {
        "by": list(answer.by),
        "by_kinds": [_kind(columns[name]) for name in answer.by],
        "groups": [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)],
        "confidence": confidence,
        "threshold": answer.threshold,
    }


def keys_from(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that name the groups of an answer by group; none for a single release."""
    if "by" not in stored:
        return {}
    by, rows = tuple(stored["by"]), stored["groups"]
    kinds = stored.get("by_kinds")
    if kinds is None:  # written by version 0.1, which stored dates as text
        _check_overwritten(by, stored)
        kinds = ["text"] * len(by)
    columns = [
        KeyColumn.of([_value(row[name], kind) for row in rows])
        for name, kind in zip(by, kinds, strict=True)
    ]
    return {
        "by": by,
        "groups": Keys(columns),
        "threshold": stored["threshold"],
    }


def _check_overwritten(by: Sequence[str], stored: Mapping[str, Any]) -> None:
    """Raise an error if version 0.1 overwrote the keys with figures."""
    figures = ["mean", "sum", "count", "expected_error"]
    if stored["confidence"] is not None:
        figures += ["mean_low", "mean_high"]
    lost = [name for name in by if name in figures]
    if lost:
        raise OptionError(
            f"this answer was stored by hourglass 0.1 with by={lost[0]!r}, whose group names that "
            f"version overwrote with the answer's own column {lost[0]!r}: the names are lost. The "
            'figures are intact, in the order of the keys, under "groups" of the stored JSON; to '
            "have them with names, ask again under another request key, at a charge"
        )


def _kind(column: Sequence[Any]) -> str:
    found = next((type(value) for value in column if value is not None), str)
    return _KINDS.get(found, "text")


def _value(value: Any, kind: str) -> Any:
    return date.fromisoformat(value) if kind == "date" and value is not None else value


def _plain(column: Any) -> list[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [value.isoformat() if isinstance(value, date) else value for value in values]


def _integers(totals: Any) -> Any:
    return [int(total) for total in totals] if isinstance(totals, np.ndarray) else int(totals)


def _totals(stored: Any) -> Any:
    return np.array(stored, dtype=object) if isinstance(stored, list) else stored
