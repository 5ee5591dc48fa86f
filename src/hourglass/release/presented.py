"""An answer printed, in a notebook, or as a frame; with means, also those of the population.

The records are then assumed to be a random sample of the population. The notes below a table or a
chart distinguish the intervals of these records from those of the population.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from ..core.exact import decimal
from ..errors import OptionError, shown
from ..estimate.interval import check_confidence
from .rendering import (
    NONE_PUBLISHED,
    NOT_PRIVATE,
    WIDTH,
    counted,
    counts_persons,
    group_label,
    hidden,
    html_paragraphs,
    html_table,
    label,
    marked,
    paragraphs,
    text_table,
)  # fmt: skip

__all__ = [
    "BELOW", "SHOWN", "TOO_FEW", "UNKNOWN", "Presented", "Sampled", "group_names", "no_such_key",
    "not_among", "population_figures",
]  # fmt: skip

#: The most rows that are printed, besides those of the population; of further groups only the
#: number is shown.
SHOWN: Final = 60
#: The mark of a row that may have no records, or fewer than ``fewest``.
TOO_FEW: Final = "too few records"
#: In place of a mean of which nothing is known.
UNKNOWN: Final = "–"
#: The most keys among which the nearest to a wrong one is looked for.
_SEARCHED: Final = 1_000
#: What combines the groups of an answer that is by group.
_OF_GROUPS: Final = ("total", "difference", "ratio")
#: What one group has, by the names that people try for all groups.
_OF_ONE: Final = ("interval", "intervals")
#: How neighbouring tables differ.
_CHANGED: Final = {"add-remove": "added or removed", "swap": "replaced"}
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
_THICK_AND_THIN: Final = "Thick bar: for these records. Thin line: for the population."


def _library(name: str) -> Any:
    """A library of frames, which is not installed with hourglass."""
    try:
        return import_module(name)
    except ImportError:
        raise OptionError(
            f"to_{name.removeprefix('py')} needs the package {name}; install it with: "
            f"pip install {name}"
        ) from None


def no_such_key(key: Any, known: Collection[Any], what: str) -> KeyError:
    """The error for a key that an answer does not have."""
    return KeyError(not_among(key, known, what))


def not_among(key: Any, known: Collection[Any], what: str) -> str:
    """The message for a key that an answer does not have, with the nearest that it has.

    Keys of an answer are public. Among very many of them the nearest is not looked for.
    """
    told = f"{shown(key)} is not a {what} of this answer"
    if len(known) > _SEARCHED:
        return f"{told}; it has {len(known):,}"
    texts = {str(each): each for each in known}
    near = get_close_matches(str(key) if isinstance(key, str | int | tuple) else "", texts, n=1)
    if not near:
        some = ", ".join(repr(each) for each in islice(known, 12))
        return f"{told}; it has {some}{', ...' if len(known) > 12 else ''}"
    found = texts[near[0]]
    kind = f", of type {type(found).__name__}" if type(found) is not type(key) else ""
    return f"{told}; did you mean {found!r}{kind}?"


class Presented:
    """Text, HTML and frames of an answer, from its columns, its table and its terms."""

    #: The attributes that repr() shows.
    _shown: ClassVar[tuple[str, ...]]
    #: The budget that a service charged for this answer, None if it was not asked there.
    charged_to: str | None = None
    _algorithm: Any

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return str(self._algorithm.name)

    @property
    def adjacency(self) -> str:
        """ "add-remove", or "swap" if the number of records is not protected."""
        return str(self._algorithm.adjacency)

    if not TYPE_CHECKING:  # a type checker would then accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name in _OF_GROUPS:
                raise AttributeError(_no_groups(self, name))
            if name in _OF_ONE and self.by:
                raise AttributeError(
                    f"this answer is by group and has no {name}; use "
                    "answer[key].interval(confidence) for one group, or "
                    "answer.columns(confidence) for all"
                )
            return object.__getattribute__(self, name)  # raises the error of a property

    def columns(self, confidence: float | None = None, *, fewest: int = 1) -> dict[str, Any]:
        """The answer as columns."""
        raise NotImplementedError

    def terms(
        self, columns: Mapping[str, Sequence[Any]], confidence: float | None = None
    ) -> dict[str, list[Any]]:
        """Further columns: the confidence of intervals, and the terms of the release."""
        from .answer import figure_names  # that module is built on this class

        rows = len(next(iter(columns.values())))
        terms = {} if confidence is None else {"confidence": [confidence] * rows}
        terms |= self._terms(rows)
        names = figure_names(list(columns), list(terms))
        return {names[name]: column for name, column in terms.items()}

    def _terms(self: Any, rows: int) -> dict[str, list[Any]]:
        told = {"unit": self.unit, "epsilon": str(self.epsilon), "delta": str(self.delta)}
        told |= {} if self.where is None else {"where": self.where}
        told |= marked(self.private)
        return {name: [term] * rows for name, term in told.items()}

    @property
    def _subject(self) -> str:
        """A short description of the question."""
        raise NotImplementedError

    @property
    def _title(self) -> str:
        """The subject as the title of a chart."""
        return self._subject[:1].upper() + self._subject[1:]

    @property
    def _names(self) -> int:
        """How many columns of the printed table are names."""
        return 1

    def _table(
        self, confidence: float, fewest: int, first: int = SHOWN
    ) -> tuple[list[str], list[list[str]]]:
        """The head and the rows of the table that is printed, of the ``first`` groups."""
        raise NotImplementedError

    @property
    def _clamped(self) -> str:
        """What the mean is of, and what values were clamped to."""
        raise NotImplementedError

    @property
    def _hidden(self: Any) -> str:
        """Whose presence is hidden, in words."""
        return hidden(self.unit, by_group=bool(self.by))

    #: The default algorithm, which is not mentioned.
    _usual: ClassVar[str] = "hourglass"

    def _groups_shown(self: Any, every: bool) -> int:
        """How many groups the printed table has."""
        return len(self.groups) if every else SHOWN

    def _promise(self: Any) -> list[str]:
        """Sentences on what was answered, what is promised, and what is not."""
        delta = f", delta {decimal(self.delta)}" if self.delta else ""
        other = f", {self.algorithm}" if self.algorithm != self._usual else ""
        notes = [
            f"{self._clamped}.",
            f"epsilon {decimal(self.epsilon)}{delta}{other}, {self._hidden} "
            f"{_CHANGED[self.adjacency]}.",
        ]
        notes[1:1] = self._missing()
        if self.where is not None:
            notes.insert(1, f"Rows where {label([self.where])}.")
        notes += self._expected_outside()
        if self.adjacency == "swap":
            notes.append(
                "The number of records is PUBLIC here: the count is exact and not protected."
            )
        if not self.private:
            notes.append(NOT_PRIVATE)
        return notes

    def _notes(self: Any, every: bool = False) -> list[str]:
        """The notes below the printed table."""
        notes: list[str] = self._promise()
        left = len(self.groups) - self._groups_shown(every)
        if left > 0:
            more = counted(left, "more group")
            notes.insert(0, f"... and {more}: text(every=True) and columns() have them all")
        return [*notes, *self._secret_names()]

    def _secret_names(self: Any) -> list[str]:
        """Which groups are shown, if their names are secret."""
        told = "Group names are secret: a group is shown only if its noisy count is"
        if self.threshold is None:
            return []
        return [f"{told} {self.threshold:,} or more. Intervals do not account for this selection."]

    def _marks(self, fewest: int) -> list[str]:
        """The meaning of the marks in the table, if it has any."""
        return []

    def _missing(self) -> list[str]:
        """What replaced missing values, if anything did."""
        return []

    def _expected_outside(self) -> list[str]:
        """What a private search for bounds aimed to leave outside."""
        return []

    def _further_notes(self, confidence: float) -> list[str]:
        """Notes on further figures, if they were asked for: values outside the bounds, spreads."""
        return []

    def to_pandas(self, confidence: float | None = None, *, fewest: int = 1, **more: Any) -> Any:
        """A pandas DataFrame of :meth:`columns`, with the same options."""
        return _library("pandas").DataFrame(self.columns(confidence, fewest=fewest, **more))

    def to_polars(self, confidence: float | None = None, *, fewest: int = 1, **more: Any) -> Any:
        """A Polars DataFrame of :meth:`columns`, with the same options."""
        return _library("polars").DataFrame(self.columns(confidence, fewest=fewest, **more))

    def to_arrow(self, confidence: float | None = None, *, fewest: int = 1, **more: Any) -> Any:
        """A PyArrow table of :meth:`columns`, with the same options."""
        return _library("pyarrow").table(self.columns(confidence, fewest=fewest, **more))

    def text(
        self,
        confidence: float = 0.95,
        *,
        fewest: int = 1,
        every: bool = False,
        width: int = WIDTH,
    ) -> str:
        """A printable table: figures with their intervals, and what is promised.

        A row is marked "too few records" if its number of records may be below ``fewest``, by
        the 95 % interval of the count. Of many groups only the first are shown, unless ``every``
        one is asked for. Long names of groups are wrapped to lines of ``width`` characters.
        """
        check_confidence(confidence)
        table = self._printed_table(
            *self._table(confidence, fewest, self._groups_shown(every)), width
        )
        notes = [*self._marks(fewest), *self._notes(every), *self._further_notes(confidence)]
        return f"{table}\n\n{paragraphs(notes)}"

    def _printed_table(self, head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
        if not rows:
            return NONE_PUBLISHED
        return text_table(head, rows, self._names, width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self: Any) -> str:
        head, rows = self._table(0.95, 1, self._groups_shown(False))
        all_notes = [*self._marks(1), *self._notes(), *self._further_notes(0.95)]
        caption = f"{self._subject}, epsilon = {decimal(self.epsilon)}"
        return html_table(head, rows, caption, self._names) + html_paragraphs(all_notes)


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
        check_confidence(confidence)
        first = self._groups_shown(every)
        head, rows = self._table(confidence, fewest, first)
        notes = [*self._marks(fewest), *self._notes(every)]
        notes += self._population_notes(confidence, first) if rows else []
        notes += self._further_notes(confidence)
        both = self._with_population(rows, confidence, fewest, first)
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
        self: Any, rows: Sequence[list[str]], confidence: float, fewest: int, first: int
    ) -> list[list[str]]:
        """The rows of a table, with the population's mean below each mean."""
        parts, alone = self._by_column().values(), not self.by and len(self._by_column()) == 1
        few = np.atleast_1d(self.few(fewest))[:first]
        ones = [(part._release(i), mark) for i, mark in enumerate(few) for part in parts]
        names, found = self._names, list[list[str]]()
        for row, (one, mark) in zip(rows, ones, strict=False):
            name = f"{row[0]} of the population" if alone else BELOW
            cells = one._printed(confidence, "population", mark)
            own = [f"{row[0]} of these records", *row[1:]] if alone else row
            below = [*[""] * (names - 1), name, *cells]
            found += [own, [*below, *[""] * (len(row) - len(below))]]
        return [*found, *rows[len(ones) :]]

    def _population_notes(self: Any, confidence: float, first: int | None = None) -> list[str]:
        """What the population's intervals of the ``first`` groups rest on; what others cover."""
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


def _no_groups(answer: Any, name: str) -> str:
    if not answer.by:
        return f"this answer is not by group and has no {name}; answers with by= have it"
    if names := getattr(answer, "names", ()):
        one = f"answer.column({names[0]!r}).{name}"
        return f"this answer is for several columns and has no {name}; use {one}"
    return f"counts have no {name}; they have total and difference"


def group_names(answer: Any) -> Iterable[Any]:
    """The names of the groups: values of the column of ``by``, or tuples of several."""
    groups = answer.groups
    names: Iterable[Any] = groups.lists()[0] if len(answer.by) == 1 else groups
    return names
