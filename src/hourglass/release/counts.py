"""Answers of ``hg.count``: one number of records, or one for each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.keys import NAMELESS, Keys
from ..core.limits import one_or_more
from ..core.totals import NoisyCounts
from ..estimate.interval import Interval
from ..estimate.outside import count_ends
from ..mechanisms.base import make
from ..mechanisms.count import LaplaceCount
from .answer import check_stored, figure_names, keys_from, named_keys, stored_rows
from .derived import stored
from .presented import SHOWN, TOO_FEW, Presented, group_names, no_such_key
from .rendering import counts_persons, group_label, grouped, hidden, label, limited, number
from .statement import Statement, stated
from .tallies import CountDifference, CountTotal, count_difference, count_total

__all__ = ["Count", "Counts"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Counted(Presented):
    """The base of one count and of counts by group: everything but how they are indexed.

    ``noisy_totals`` holds one integer, or an array with one for each group.
    """

    noisy_totals: NoisyCounts
    epsilon: Fraction
    delta: Fraction
    unit: str
    private: bool
    _algorithm: LaplaceCount
    by: tuple[str, ...] = ()
    groups: Sequence[tuple[Any, ...]] = NAMELESS
    threshold: int | None = None
    where: str | None = None

    _by_group: ClassVar[bool]
    _usual: ClassVar[str] = LaplaceCount.name

    @property
    def expected_error(self) -> float:
        """The root mean squared error of a count, which does not depend on the data."""
        return float(np.sqrt(to_double(self._algorithm.law.variance)))

    @property
    def _count(self) -> Any:
        return np.maximum(self.noisy_totals.counts, 0)

    def _ends(self, confidence: float) -> tuple[Any, Any]:
        """The ends of the intervals: nonnegative integers."""
        return count_ends(self.noisy_totals.counts, self._algorithm.epsilon, confidence)

    def few(self, fewest: int = 1) -> Any:
        """Whether there may be fewer than ``fewest`` records, by the 95 % interval of the count."""
        one_or_more("fewest", fewest)
        return np.asarray(self._ends(0.95)[0] < fewest, dtype=bool)

    def columns(self, confidence: float | None = None, *, fewest: int = 1) -> dict[str, Any]:
        """The answer as columns: the keys, count and expected_error.

        With a ``confidence``, count_low and count_high are the ends of the interval. The last
        column, few, marks groups whose number of records may be below ``fewest``, by the 95 %
        interval. A figure whose name is that of a column of ``by`` is called private_count instead.
        """
        found: dict[str, Any] = {"count": self._count}
        if confidence is not None:
            found["count_low"], found["count_high"] = self._ends(confidence)
        found = {name: _whole(column) for name, column in found.items()}
        found["expected_error"] = np.full(len(self.groups), self.expected_error)
        found["few"] = np.atleast_1d(self.few(fewest))
        names = figure_names(self.by, list(found))
        return named_keys(self) | {names[name]: column for name, column in found.items()}

    def _stored(self) -> dict[str, Any]:
        counts = self.noisy_totals.counts
        return {
            "statistic": self._algorithm.statistic,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "noise_epsilon": str(self._algorithm.epsilon),
            "algorithm": self.algorithm,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "private": self.private,
            **({} if self.where is None else {"where": self.where}),
            "noisy_totals": {
                "count": [int(c) for c in counts] if self._by_group else int(counts),
            },
        }

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Self:
        """Restore the answer that ``to_dict`` returned: the same noise, the same figures."""
        check_stored(answer, "Counts" if cls._by_group else "Count")
        counts = answer["noisy_totals"]["count"]
        return cls(
            noisy_totals=NoisyCounts(
                np.array(counts, dtype=object) if isinstance(counts, list) else counts
            ),
            epsilon=Fraction(answer["epsilon"]),
            delta=Fraction(answer["delta"]),
            unit=answer["unit"],
            private=answer["private"],
            where=answer.get("where"),
            _algorithm=make(
                answer["algorithm"], Fraction(answer["noise_epsilon"]), None, answer["statistic"]
            ),
            **keys_from(answer),
        )

    # --- for people -------------------------------------------------------------------------

    @property
    def _what(self) -> str:
        return "persons" if counts_persons(self.unit) else "count"

    @property
    def _hidden(self) -> str:
        return hidden(self.unit, averaged=False, by_group=bool(self.by))

    @property
    def _clamped(self) -> str:
        if not counts_persons(self.unit):
            return "Number of rows"
        once = limited(self.unit, by_group=bool(self.by)).endswith(" in one group)")
        return f"Number of persons{', each in one of their groups' if once else ''}"

    @property
    def _subject(self) -> str:
        what = "persons" if counts_persons(self.unit) else "rows"
        return f"private number of {what}{grouped(self.by)}"

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim in plain English (``print`` it) and for the registry (``.yaml``).

        ``budget`` adds the total cost of all releases charged to it. ``name``, ``curator`` and
        ``purpose`` are details that only the publisher knows.
        """
        return stated(self, [], self._algorithm, budget, **details)

    def _table(
        self, confidence: float, fewest: int, first: int = SHOWN
    ) -> tuple[list[str], list[list[str]]]:
        head = ["", "estimate"] if not self.by else [label(self.by), self._what]
        head += [f"{100 * confidence:g} % from", "to"]
        shown_ = slice(None, first)
        names = [group_label(group) for group in self.groups[shown_]] if self.by else [self._what]
        columns = [_whole(c)[shown_] for c in (self._count, *self._ends(confidence))]
        rows = [
            [name, *(number(int(value), 0) for value in row)]
            for name, *row in zip(names, *columns, strict=True)
        ]
        few = np.atleast_1d(self.few(fewest))[shown_]
        if few.any():
            head = [*head, "note"]
            rows = [[*row, TOO_FEW if mark else ""] for row, mark in zip(rows, few, strict=True)]
        return head, rows

    def plot(
        self,
        path: Any,
        *,
        confidence: float = 0.95,
        title: str | None = None,
        fewest: int = 1,
    ) -> None:
        """Draw a chart of the counts with their exact intervals (needs the extra ``plot``).

        Groups that may have fewer records than ``fewest`` are drawn hollow.
        """
        from .plot import Panel, plot_means

        figures = [_whole(c).astype(np.float64) for c in (self._count, *self._ends(confidence))]
        ends = 0.0, max(1.0, *(float(column.max(initial=0.0)) for column in figures))
        few = np.atleast_1d(self.few(fewest))
        panel = Panel("", figures[0], figures[1], figures[2], ends, few, every=True)
        plot_means(
            path,
            labels=[group_label(group) for group in self.groups] if self.by else [""],
            panels=[panel],
            title=title or self._title,
            notes=[*self._promise(), *self._secret_names()],
            confidence=confidence,
            figure=self._what,
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Count(_Counted):
    """A private number of rows, or of persons if the unit counts each person once.

    ``count`` is a whole number, zero or more. ``epsilon`` and ``delta`` are the total price, and
    ``private`` is False if the random bits were not secret.
    """

    _by_group: ClassVar[bool] = False
    _shown: ClassVar[tuple[str, ...]] = ("count", "epsilon", "unit", "private")

    @property
    def count(self) -> int:
        """The number of rows or persons."""
        return int(self._count)

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval for the true count, exact for every number of records."""
        low, high = self._ends(confidence)
        return Interval(int(low), int(high), float(confidence), "count")

    def to_dict(self, confidence: float = 0.95, *, fewest: int = 1) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it."""
        return {
            "count": self.count,
            "expected_error": self.expected_error,
            "few": bool(self.few(fewest)),
            "intervals": {"count": stored(self.interval(confidence))},
            **self._stored(),
        }

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (
            self.noisy_totals, self.epsilon, self.delta, self.unit, self.private, self._algorithm,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(_Counted, Mapping[Any, Count]):
    """A private number of rows or persons for each group, at one price for all of them.

    A mapping from key to :class:`Count`: the key is the group's value, or a tuple if ``by`` names
    several columns. A group with a secret name is published if its noisy count is ``threshold`` or
    more (None if the names are public).
    """

    _by_group: ClassVar[bool] = True
    _shown: ClassVar[tuple[str, ...]] = ("by", "epsilon", "delta", "threshold", "unit", "private")

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", Keys.of(self.groups, len(self.by)))

    @cached_property
    def _places(self) -> dict[Any, int]:
        return dict(zip(group_names(self), range(len(self)), strict=True))

    def __getitem__(self, key: Any) -> Count:
        place = self._places.get(key)
        if place is None:
            raise no_such_key(key, self._places, "group")
        return Count(
            noisy_totals=self.noisy_totals.take(place),
            epsilon=self.epsilon,
            delta=self.delta,
            unit=limited(self.unit, by_group=True),
            private=self.private,
            where=self.where,
            _algorithm=self._algorithm,
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self.groups)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The count of each group."""
        return _whole(self._count)

    def total(self, keys: Sequence[Any] | None = None) -> CountTotal:
        """The total of these groups, or of all, with an interval; costs no epsilon."""
        return count_total(self, keys)

    def difference(self, a: Any, b: Any) -> CountDifference:
        """The count of group ``a`` minus that of ``b``, with an interval; costs no epsilon."""
        return count_difference(self, a, b)

    def to_dict(self, confidence: float | None = None, *, fewest: int = 1) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it."""
        columns = self.columns(confidence, fewest=fewest)
        return stored_rows(self, columns, confidence) | self._stored()


def _whole(column: Any) -> npt.NDArray[np.int64]:
    return np.atleast_1d(np.asarray(column, dtype=np.int64))
