"""Answers for several columns: a release for each, and one shared count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimate.interval import Interval
from .answer import Answer, check_stored, figure_names, named_keys
from .presented import SHOWN, TOO_FEW, Sampled, no_such_key
from .release import Release, Releases
from .rendering import clamped, group_label, grouped, label, listed, named, replaced, rounded
from .statement import Statement, stated

__all__ = ["Columns"]


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Sampled, Mapping[Any, Any]):
    """Private means and sums of several columns, with one shared count, from one epsilon.

    Without groups it maps the name of each column to its :class:`Release`: ``r["delay"].mean``.
    By group it maps the key of each group to such a mapping: ``r["UA"]["delay"].mean``. Use
    :meth:`column` for one column of all groups.
    """

    _parts: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in the order asked."""
        return tuple(self._parts)

    @property
    def _first(self) -> Answer:
        first: Answer = next(iter(self._parts.values()))
        return first

    @property
    def _keyed(self) -> Mapping[Any, Any]:
        """What this is a mapping like: the releases of a column by group, or the columns."""
        found: Mapping[Any, Any] = next(iter(self._parts.values())) if self.by else self._parts
        return found

    # --- what all columns share -------------------------------------------------------------

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that the whole answer costs."""
        return self._first.epsilon

    @property
    def delta(self) -> Fraction:
        """The delta that it costs; 0 for pure epsilon-DP."""
        return self._first.delta

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that the answer is grouped by."""
        return self._first.by

    @property
    def groups(self) -> Sequence[tuple[Any, ...]]:
        """The keys of the groups; a single empty key if the answer is not by group."""
        return self._first.groups

    @property
    def threshold(self) -> int | None:
        """The noisy count from which a group with a secret name is published."""
        return self._first.threshold

    @property
    def estimator(self) -> str:
        """How means are computed from the noisy totals."""
        return self._first.estimator

    @property
    def unit(self) -> str:
        """Whose presence is hidden."""
        return self._first.unit

    @property
    def _algorithm(self) -> Any:
        return self._first._algorithm

    @property
    def outside_epsilon(self) -> Fraction | None:
        """The rate of the noise on each number of values outside the bounds, if asked."""
        return self._first.outside_epsilon

    @property
    def private(self) -> bool:
        """False if the random bits were not secret."""
        return self._first.private

    @property
    def where(self) -> str | None:
        """The filter on the rows; None if there was none."""
        return self._first.where

    @property
    def bounds(self) -> dict[str, Any]:
        """The public range that the values of each column were clamped to."""
        return {name: part.bounds for name, part in self._parts.items()}

    @property
    def count(self) -> Any:
        """The number of records, shared by all columns; by group, an array with one for each."""
        return self._first._count

    # --- a mapping --------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if not self.by:
            return self.column(key)
        if key in self._parts and key not in self._keyed:
            raise KeyError(f"{key!r} is a column, not a group; see column({key!r})")
        return Columns({name: part[key] for name, part in self._parts.items()})

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keyed)

    def __len__(self) -> int:
        return len(self._keyed)

    def __contains__(self, key: object) -> bool:
        return key in self._keyed

    def column(self, name: str) -> Any:
        """The release of one column; by group, its :class:`Releases`."""
        if name not in self._parts:
            raise no_such_key(name, self._parts, "column")
        return self._parts[name]

    if not TYPE_CHECKING:  # a type checker would then accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name in ("mean", "sum", "std", "variance", "expected_error", "interval"):
                one = f"answer[key][{self.names[0]!r}]" if self.by else f"answer[{self.names[0]!r}]"
                raise AttributeError(
                    f"this answer is for several columns and has no {name}; use {one}.{name}"
                )
            return super().__getattr__(name)

    def intervals(
        self, confidence: float = 0.95, *, of: str = "mean", simultaneous: bool = False
    ) -> dict[str, Interval]:
        """The interval of each column's mean (or its "sum", or the "count"), by name.

        Each interval holds individually with this confidence. With ``simultaneous=True`` they are
        wider and hold jointly.
        """
        if self.by:
            raise TypeError("the answer is by group; ask one group, as in r[key].intervals()")
        return {
            name: part.interval(confidence, of=of, simultaneous=simultaneous)
            for name, part in self._parts.items()
        }

    def few(self, fewest: int = 1) -> Any:
        """Whether there may be fewer than ``fewest`` records, by the 95 % interval of the count."""
        return self._first.few(fewest)

    # --- as a table -------------------------------------------------------------------------

    def columns(
        self,
        confidence: float | None = None,
        *,
        simultaneous: bool = False,
        fewest: int = 1,
        population: bool = False,
    ) -> dict[str, Any]:
        """The answer as columns, with a row for each group and column.

        The keys come first, then "column", mean, sum, count and expected_error. With a
        ``confidence``, mean_low and mean_high are the ends of the interval of the mean. With
        ``simultaneous=True`` the intervals of a group's columns hold jointly. ``population`` adds
        population_low, population_high and population_kind. The last column, few, marks rows whose
        number of records may be below ``fewest``.
        """
        together = len(self.names) if simultaneous else 1
        figures = [
            part._figures(confidence, together, population) | {"few": part.few(fewest)}
            for part in self._parts.values()
        ]
        names = figure_names(self.by, ["column", *figures[0]])
        rows = len(self.groups)
        found: dict[str, Any] = {
            name: [key for key in column for _ in self.names]
            for name, column in named_keys(self).items()
        }
        found[names["column"]] = list(self.names) * rows
        for figure in figures[0]:
            each = [np.atleast_1d(part[figure]) for part in figures]
            found[names[figure]] = np.stack(each, axis=1).reshape(-1)
        return found

    def _terms(self, rows: int) -> dict[str, list[Any]]:
        ranges = [part._range for part in self._parts.values()] * len(self.groups)
        lower, upper = zip(*(each.bounds for each in ranges), strict=True)
        found = super()._terms(rows) | {"lower": [*lower], "upper": [*upper]}
        missing = {"missing": [each.missing for each in ranges]}
        return found | (missing if replaced(ranges) else {})

    def _missing(self) -> list[str]:
        ranges = [part._range for part in self._parts.values()]
        return [*replaced(ranges), *rounded(ranges)]

    def to_dict(
        self, confidence: float | None = None, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it."""
        given = () if confidence is None else (confidence,)
        return {
            "columns": {
                name: part.to_dict(*given, fewest=fewest, population=population)
                for name, part in self._parts.items()
            },
            "count": self.count.tolist() if self.by else self.count,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "unit": self.unit,
            "private": self.private,
        }

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Columns:
        """Restore the answer that ``to_dict`` returned: the same noise, the same figures."""
        check_stored(answer, "Columns")
        parts: dict[str, Any] = {}
        for name, stored in answer["columns"].items():
            kind: Any = Releases if "by" in stored else Release
            parts[name] = kind.from_dict(stored)
        return cls(parts)

    # --- for people -------------------------------------------------------------------------

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim in plain English (``print`` it) and for the registry (``.yaml``).

        ``budget`` adds the total cost of all releases charged to it. ``name``, ``curator`` and
        ``purpose`` are details that only the publisher knows.
        """
        ranges = [part._range for part in self._parts.values()]
        return stated(self, ranges, self._algorithm, budget, **details)

    def _by_column(self) -> Mapping[str, Any]:
        return self._parts

    @property
    def _subject(self) -> str:
        names = listed([named(name) for name in self.names])
        return f"private means of {names}{grouped(self.by)}"

    @property
    def _names(self) -> int:
        return 2 if self.by else 1

    def _table(
        self, confidence: float, fewest: int, first: int = SHOWN
    ) -> tuple[list[str], list[list[str]]]:
        head = ["column", "mean", f"{100 * confidence:g} % from", "to", "sum"]
        if all(part._yes_or_no for part in self._parts.values()):
            head[1] = "share"
        few = np.atleast_1d(self.few(fewest))
        if not self.by:
            rows = [
                [
                    label([name]), *one._printed(confidence, "mean", few[0]),
                    one._number(one.sum, "sum"),
                ]
                for name, one in self._parts.items()
            ]  # fmt: skip
            shared: Any = self._first
            count = shared._printed(confidence, "count")
            rows.append([f"{shared._counted} (shared)", *count, ""])
            if few[0]:
                head, rows = [*head, "note"], [[*row, ""] for row in rows]
                rows[-1][-1] = TOO_FEW
            return head, rows
        head = [label(self.by), *head, self._first._counted]
        rows = []
        for place, group in enumerate(self.groups[:first]):
            for number, (name, part) in enumerate(self._parts.items()):
                one, top = part._release(place), number == 0
                rows.append([
                    group_label(group) if top else "", label([name]),
                    *one._printed(confidence, "mean", few[place]), one._number(one.sum, "sum"),
                    one._number(one.count, "count") + (" *" if few[place] else "") if top else "",
                ])  # fmt: skip
        return head, rows

    def _further_notes(self, confidence: float) -> list[str]:
        if self.by:
            told = (
                "The numbers of values below and above the bounds are in columns() and CSV files."
            )
            return [] if self.outside_epsilon is None else [told]
        return self._of_each(lambda part: part._further_notes(confidence))

    def _expected_outside(self) -> list[str]:
        return self._of_each(lambda part: part._expected_outside())

    def _of_each(self, notes: Callable[[Any], list[str]]) -> list[str]:
        """The notes of each column, with its name."""
        return [
            f"{label([name])}: {note}" for name, part in self._parts.items() for note in notes(part)
        ]

    def _marks(self, fewest: int) -> list[str]:
        return [f"* {TOO_FEW}"] if self.by and self.few(fewest).any() else []

    def _groups_shown(self, every: bool) -> int:
        return len(self.groups) if every else max(1, SHOWN // len(self.names))

    @property
    def _clamped(self) -> str:
        ends = {named(name): clamped(each) for name, each in self.bounds.items()}
        if len(set(ends.values())) == 1:
            return f"Means of {listed(list(ends))}, clamped to {next(iter(ends.values()))}"
        each = [f"{name} clamped to {text}" for name, text in ends.items()]
        return f"Means of {listed(each)}"

    def __repr__(self) -> str:
        names = ", ".join(self.names)
        by = f", by={self.by!r}" if self.by else ""
        return f"Columns({names}{by}, epsilon={self.epsilon!r}, private={self.private})"
