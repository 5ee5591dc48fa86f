"""Answers by group: columns inside, a mapping from key to release outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.grid import Bounds, Grid
from ..core.totals import NoisyTotals
from ..estimate import point as estimate
from ..estimate.accuracy import errors_at
from ..estimate.interval import mean_ends
from ..estimate.posterior import posterior_shares
from ..mechanisms.base import Algorithm, remade
from .release import Release, promise
from .rendering import decimals_for, html_table, number, text_table
from .statement import Statement, stated

__all__ = ["Releases"]

#: Up to so many groups every figure is rounded once from exact integers; beyond, in doubles.
EXACT_GROUPS: Final = 10_000
#: So many groups are printed; the rest is counted.
SHOWN: Final = 60


@dataclass(frozen=True, eq=False)
class Releases(Mapping[Any, Release]):
    """A private mean, sum and count for each group, at one price for all of them.

    A mapping from key to :class:`Release`: the key is the group's value, or a tuple where
    ``by`` names several columns. Public keys stand in the order given, secret ones in the
    order of their values. ``threshold`` is the noisy count from which on a group with a
    secret name is published (None where the names are public).
    """

    by: tuple[str, ...]
    groups: tuple[tuple[Any, ...], ...] = field(repr=False)
    noisy_totals: NoisyTotals = field(repr=False)
    epsilon: Fraction
    delta: Fraction
    threshold: int | None
    estimator: str
    unit: str
    private: bool
    _algorithm: Algorithm = field(repr=False)

    # --- a mapping --------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[Any, int]:
        single = len(self.by) == 1
        return {(group[0] if single else group): i for i, group in enumerate(self.groups)}

    def __getitem__(self, key: Any) -> Release:
        return self._release(self._places[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self.groups)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def _one(self, place: int) -> NoisyTotals:
        noisy = self.noisy_totals
        return NoisyTotals(int(noisy.cells[place]), int(noisy.rest[place]), noisy.grid, noisy.parts)

    def _singly(self) -> Iterator[NoisyTotals]:
        return map(self._one, range(len(self)))

    def _release(self, place: int) -> Release:
        return Release.of(
            self._algorithm,
            self._one(place),
            estimator=self.estimator,
            private=self.private,
            unit=self.unit,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    # --- columns ----------------------------------------------------------------------------

    @property
    def bounds(self) -> Bounds:
        """The public range."""
        return self._algorithm.grid.bounds

    @property
    def grid(self) -> int:
        """The number of cells of the range."""
        return self._algorithm.grid.cells

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self._algorithm.name

    @property
    def adjacency(self) -> str:
        """What is hidden: a record added or removed."""
        return self._algorithm.adjacency

    @cached_property
    def means(self) -> npt.NDArray[np.float64]:
        """The mean of each group."""
        grid = self._algorithm.grid
        if self.estimator in estimate.BAYESIAN:
            law = self._algorithm.law  # type: ignore[attr-defined]
            shares = posterior_shares(self.noisy_totals, law, self.estimator)
            return grid.lower * (1.0 - shares) + grid.upper * shares
        if len(self) <= EXACT_GROUPS:
            exact = (estimate.mean(one, grid, self.estimator) for one in self._singly())
            return np.fromiter(exact, np.float64, len(self))
        return estimate.means(self.noisy_totals, grid, self.estimator)

    @cached_property
    def sums(self) -> npt.NDArray[np.float64]:
        """The sum of each group."""
        if len(self) <= EXACT_GROUPS:
            exact = (estimate.sum_(one, self._algorithm.grid) for one in self._singly())
            return np.fromiter(exact, np.float64, len(self))
        return estimate.sums(self.noisy_totals, self._algorithm.grid)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """The count of each group."""
        return estimate.counts(self.noisy_totals)

    @cached_property
    def expected_errors(self) -> npt.NDArray[np.float64]:
        """The expected error of each group's mean."""
        noisy = self.noisy_totals
        sizes = np.asarray(noisy.weight, dtype=np.float64) / (noisy.parts * noisy.grid)
        return errors_at(self._algorithm, sizes, self.means)

    def columns(self, confidence: float | None = None) -> dict[str, Any]:
        """The answer as columns; with a confidence, the interval of the mean beside it.

        Those of many groups share one to three seconds of work, and take a moment each beyond
        that; none is computed unless asked for.
        """
        found: dict[str, Any] = {
            name: [group[i] for group in self.groups] for i, name in enumerate(self.by)
        }
        found |= {"mean": self.means, "sum": self.sums, "count": self.counts}
        if confidence is not None:
            exact = len(self) <= EXACT_GROUPS
            low, high = mean_ends(self._algorithm, self.noisy_totals, confidence, exact=exact)
            found["mean_low"] = np.minimum(low, self.means)
            found["mean_high"] = np.maximum(high, self.means)
        found["expected_error"] = self.expected_errors
        return found

    # --- out --------------------------------------------------------------------------------

    def to_pandas(self, confidence: float | None = None) -> Any:
        """A pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.columns(confidence))

    def to_polars(self, confidence: float | None = None) -> Any:
        """A Polars DataFrame."""
        import polars

        return polars.DataFrame(self.columns(confidence))

    def to_arrow(self, confidence: float | None = None) -> Any:
        """A PyArrow table."""
        import pyarrow

        return pyarrow.table(self.columns(confidence))

    def to_dict(self, confidence: float | None = None) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        columns = {name: _plain(column) for name, column in self.columns(confidence).items()}
        noisy, grid = self.noisy_totals, self._algorithm.grid
        return {
            "by": list(self.by),
            "groups": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
            "confidence": confidence,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "noise_epsilon": str(self._algorithm.epsilon),
            "threshold": self.threshold,
            "bounds": [self.bounds.lower, self.bounds.upper],
            "bounds_origin": self.bounds.origin,
            "grid": self.grid,
            "own_grid": grid.own,
            "algorithm": self.algorithm,
            "estimator": self.estimator,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "private": self.private,
            "noisy_totals": {
                "cells": [int(cells) for cells in noisy.cells],
                "rest": [int(rest) for rest in noisy.rest],
                "parts": noisy.parts,
            },
        }

    @classmethod
    def from_dict(cls, answer: dict[str, Any]) -> Releases:
        """The releases that :meth:`to_dict` wrote down: the same noise, the same answer.

        Dates among the keys come back as the text that JSON holds.
        """
        bounds = Bounds(*answer["bounds"], origin=answer["bounds_origin"])
        grid = Grid(bounds, answer["grid"], answer["own_grid"])
        noisy = answer["noisy_totals"]
        by = tuple(answer["by"])
        return cls(
            by=by,
            groups=tuple(tuple(group[name] for name in by) for group in answer["groups"]),
            noisy_totals=NoisyTotals(
                np.array(noisy["cells"], dtype=object),
                np.array(noisy["rest"], dtype=object),
                grid.cells,
                noisy["parts"],
            ),
            epsilon=Fraction(answer["epsilon"]),
            delta=Fraction(answer["delta"]),
            threshold=answer["threshold"],
            estimator=answer["estimator"],
            unit=answer["unit"],
            private=answer["private"],
            _algorithm=remade(
                answer["algorithm"], Fraction(answer["noise_epsilon"]), grid, noisy["parts"]
            ),
        )

    def plot(self, path: Any, *, confidence: float = 0.95, title: str | None = None) -> None:
        """A picture of the means with their exact intervals (needs the extra ``plot``)."""
        from .plot import plot_groups

        columns = self.columns(confidence)
        labels = [label(group) for group in self.groups]
        plot_groups(
            path,
            labels=labels,
            means=columns["mean"],
            lows=columns["mean_low"],
            highs=columns["mean_high"],
            bounds=(float(self.bounds.lower), float(self.bounds.upper)),
            title=title or f"Private mean by {', '.join(self.by)}",
            notes=promise(self),
            confidence=confidence,
        )

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim of all groups together: see :meth:`Release.statement`."""
        return stated(self, self._algorithm.epsilon, budget, **details)

    def text(self, confidence: float = 0.95) -> str:
        """A table for people: each group's mean with its interval, and what is promised."""
        if not len(self):
            return "\n".join(["No group's noisy count reached the threshold.", "", *self._notes()])
        head, rows = self._table(confidence)
        return "\n".join([text_table(head, rows), "", *self._notes()])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        head, rows = self._table()
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return html_table(head, rows, f"private mean by {', '.join(self.by)}") + notes

    def _table(self, confidence: float = 0.95) -> tuple[list[str], list[list[str]]]:
        shown = [self._release(i) for i in range(min(SHOWN, len(self)))]
        rows = []
        for group, release in zip(self.groups, shown, strict=False):
            places = decimals_for(release.expected_error)
            low, high = release.interval(confidence)
            rows.append(
                [
                    label(group),
                    *(number(value, places) for value in (release.mean, low, high)),
                    number(
                        release.sum, decimals_for(release.interval(of="sum").high - release.sum)
                    ),
                    number(release.count, 0),
                ]
            )
        return [
            ", ".join(self.by),
            "mean",
            f"{100 * confidence:g} % from",
            "to",
            "sum",
            "count",
        ], rows

    def _notes(self) -> list[str]:
        notes = promise(self)
        if len(self) > SHOWN:
            notes.insert(
                0,
                f"... and {len(self) - SHOWN:,} more groups: columns() and --format csv have them",
            )
        if self.threshold is not None:
            notes.append(
                f"Secret group names: a group shows if its noisy count is {self.threshold} or more."
            )
        return notes


def label(group: tuple[Any, ...]) -> str:
    """A group's key as people read it, on one line and without a terminal's control codes."""
    text = ", ".join("(missing)" if part is None else str(part) for part in group)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _plain(column: Any) -> list[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [v.isoformat() if hasattr(v, "isoformat") else v for v in values]
