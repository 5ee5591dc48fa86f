"""Answers with means: of these records and, if asked for, of the population.

The records are then assumed to be a random sample of the population. The notes below a table or a
chart tell the intervals of these records from those of the population.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..errors import OptionError
from .hidden import counts_persons
from .presented import Presented
from .rendering import WIDTH, group_label, paragraphs

__all__ = ["BELOW", "Sampled", "population_figures"]

#: The label of the row below the mean of a group or a column; no longer than what is never wrapped.
BELOW: Final = "  population"
#: What the confidence of the interval rests on, by its kind.
_KINDS: Final = {
    "exact": "it is exact",
    "valid": "it holds for every population within the bounds, and is wider than necessary",
    "approximate": "it is approximate: correct for many records, not proven for few",
}
_MIXED: Final = (
    "it is exact for yes/no columns with few enough records; elsewhere it holds for every "
    "population within the bounds, and is wider than necessary"
)
#: The legend of a chart with both intervals.
_THICK_AND_THIN: Final = "Thick bar: of these records. Thin line: of the population."


class Sampled(Presented):
    """An answer with means: how it is printed and drawn, with or without the population's."""

    def _by_column(self) -> Mapping[str, Any]:
        """The answers for each column, by name; the answer itself, without a name, if one."""
        raise NotImplementedError

    @property
    def _drawn(self) -> str:
        """The label of the figure in a chart."""
        return "mean"

    def _chart_notes(self, confidence: float) -> list[str]:
        """The notes below a chart."""
        return [*self._promise(), *self._secret_names()]

    def text(
        self,
        confidence: float = 0.95,
        *,
        fewest: int = 1,
        population: bool = False,
        every: bool = False,
        width: int = WIDTH,
    ) -> str:
        """A printable table: figures with their intervals, and what is promised.

        A row is marked "too few records" if its number of records may be below ``fewest``, by
        the 95 % interval of the count. ``population`` adds the mean of the population that the
        records are a random sample of, as in ``interval(of="population")``. Of many groups only
        the first are shown, unless ``every`` one is asked for. Long names of groups are wrapped to
        lines of ``width`` characters.
        """
        if not population:
            return super().text(confidence, fewest=fewest, every=every, width=width)
        self._check_mean()
        head, rows = self._table(confidence, fewest, every)
        notes = [*self._marks(fewest), *self._notes(every)]
        notes += self._population_notes(confidence, self._groups_shown(every)) if rows else []
        notes += self._outside_notes(confidence)
        both = self._with_population(rows, confidence, fewest, every)
        table = self._printed_table(head, both, width)
        return f"{table}\n\n{paragraphs(notes)}"

    def plot(
        self: Any,
        path: Any,
        *,
        confidence: float = 0.95,
        title: str | None = None,
        fewest: int = 1,
        population: bool = False,
    ) -> None:
        """Draw the figures asked for with their exact intervals (needs the extra ``plot``).

        There is a line for each group, and a panel for each of several columns. Groups that may
        have fewer records than ``fewest`` are drawn hollow. ``population`` adds the intervals of
        the means of the population that the records are a random sample of, as thin lines.
        """
        from .plot import Panel, plot_means

        if population:
            self._check_mean()
        parts = self._by_column().items()
        plot_means(
            path,
            labels=[group_label(group) for group in self.groups] if self.by else [""],
            panels=[Panel.of(part, confidence, name, fewest, population) for name, part in parts],
            title=title or self._title,
            notes=[
                *self._chart_notes(confidence),
                *([_THICK_AND_THIN, *self._population_notes(confidence)] if population else []),
            ],
            confidence=confidence,
            figure=self._drawn,
        )

    def _check_mean(self: Any) -> None:
        if getattr(self, "asked", "mean") != "mean":
            raise OptionError(
                f"population=True is for means, and this answer is of a {self.asked}; ask with "
                'hg.mean, or use interval(of="population")'
            )

    def _with_population(
        self: Any, rows: Sequence[list[str]], confidence: float, fewest: int, every: bool
    ) -> list[list[str]]:
        """The rows of a table, with the population's mean below each mean."""
        parts, alone = self._by_column().values(), not self.by and len(self._by_column()) == 1
        few = np.atleast_1d(self.few(fewest))[: self._groups_shown(every)]
        ones = [(part._release(i), mark) for i, mark in enumerate(few) for part in parts]
        names, found = self._names, list[list[str]]()
        for row, (one, mark) in zip(rows, ones, strict=False):
            label = f"{row[0]} of the population" if alone else BELOW
            cells = one._printed(confidence, "population", mark)
            first = [f"{row[0]} of these records", *row[1:]] if alone else row
            below = [*[""] * (names - 1), label, *cells]
            found += [first, [*below, *[""] * (len(row) - len(below))]]
        return [*found, *rows[len(ones) :]]

    def _population_notes(self: Any, confidence: float, first: int | None = None) -> list[str]:
        """What the population's intervals rest on, of the ``first`` groups, and the others."""
        who = "persons" if counts_persons(self.unit) else "records"
        parts, groups = self._by_column().values(), range(len(self.groups[:first]))
        kinds = {part._release(i)._population_kind(confidence) for part in parts for i in groups}
        if not kinds:  # no group was published
            return []
        rests = _KINDS[kinds.pop()] if len(kinds) == 1 else _MIXED
        return [
            f"The {who} are assumed to be a random sample of the population. Its interval covers "
            f"noise and sampling error; {rests}. All other intervals are for these {who} and cover "
            "only the noise."
        ]


def population_figures(
    answer: Any, confidence: float | None, together: int, first: int | None = None
) -> dict[str, Any]:
    """The ends of the intervals for the population's means, and what they rest on.

    Of all groups, or of the ``first`` ones.
    """
    answer._check_mean()
    if confidence is None:
        raise OptionError(
            "population=True needs a confidence; give one, as in columns(0.95, population=True)"
        )
    found = [
        answer._release(place).interval(confidence, of="population", simultaneous=together > 1)
        for place in range(len(answer.groups[:first]))
    ]
    return {
        "population_low": np.array([one.low for one in found], dtype=np.float64),
        "population_high": np.array([one.high for one in found], dtype=np.float64),
        "population_kind": np.array([one.kind for one in found], dtype=object),
    }
