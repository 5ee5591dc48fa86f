"""One answer, and answers by group: private means with their sums and counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..errors import one_of
from ..estimate.interval import Interval, check_confidence, interval
from ..estimate.point import error_at
from ..estimate.population import population, population_kind, studentised
from ..mechanisms.base import MeanMechanism
from .answer import Answer, stored_terms
from .combined import Total, total_of
from .compared import Difference, Ratio, SumDifference, compared
from .derived import stored
from .outside import Outside, outside_notes, share_cells, shares_notes
from .presented import SHOWN, TOO_FEW, UNKNOWN, group_names, no_such_key
from .rendering import (
    bound,
    check_sampled,
    counted,
    decimals_for,
    group_label,
    label,
    limited,
    number,
)  # fmt: skip

__all__ = ["Release", "Releases"]

Floats = npt.NDArray[np.float64]

#: What has an interval, in the order of the printed table; the last two only with the spread.
_PRINTED: Final = ("mean", "sum", "count", "std", "variance")
#: The fields of releases by group that are those of each group's release.
_SHARED: Final = (
    "epsilon", "delta", "estimator", "private", "_algorithm", "column", "where", "missing", "asked",
    "outside_epsilon", "as_real",
)  # fmt: skip
#: Below a table of groups, which has no room for the intervals of their spreads.
_ABOUT_STD: Final = (
    "The noise also affects std, and can make it zero; its intervals are in columns(0.95) and CSV "
    "files."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Answer):
    """A private mean, with the sum and the count that come with it at no further cost.

    ``mean`` lies within the bounds; ``sum`` is unbiased; ``count`` is a whole number, zero or more.
    ``epsilon`` and ``delta`` are the total price. ``expected_error`` is the root mean squared error
    of the mean caused by the noise, estimated from the noisy answer. ``private`` is False if the
    random bits were not secret; ``adjacency`` is "swap" if the number of records is not protected.
    """

    _by_group: ClassVar[bool] = False
    _shown: ClassVar[tuple[str, ...]] = (
        "mean", "sum", "count", "epsilon", "bounds", "grid", "algorithm", "estimator",
        "expected_error", "adjacency", "unit", "private", "delta",
    )  # fmt: skip

    @classmethod
    def of(
        cls,
        algorithm: MeanMechanism,
        noisy: NoisyTotals,
        *,
        epsilon: Fraction | None = None,
        **terms: Any,
    ) -> Release:
        """The release computed from noisy totals; ``terms`` are further fields.

        ``epsilon`` is what is charged, which is more than the epsilon of the noise if a unit has
        several records.
        """
        charged = algorithm.epsilon if epsilon is None else epsilon
        return cls(noisy_totals=noisy, epsilon=charged, _algorithm=algorithm, **terms)

    @property
    def mean(self) -> float:
        """The mean of the values, clamped to the bounds."""
        return float(self._mean)

    @property
    def sum(self) -> float:
        """The sum of the values, clamped to the bounds."""
        return float(self._sum)

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self._count)

    @property
    def variance(self) -> float:
        """The mean squared distance of the values from their mean; needs ``spread=True``."""
        return float(self._variance)

    @property
    def std(self) -> float:
        """The standard deviation of the values; needs ``spread=True``."""
        return float(self._std)

    @property
    def outside(self) -> Outside:
        """How many values lie outside the bounds; needs ``outside=``, such as "1/10"."""
        return Outside.of(self)

    @property
    def expected_error(self) -> float:
        """The expected root mean squared error of the mean, or of the sum if that was asked for.

        It is the error caused by the noise.
        """
        return float(self._error)

    def interval(
        self, confidence: float = 0.95, *, of: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """An interval for the data's mean (or, with ``of=``, its "sum" or "count").

        The default is what was asked for: the mean, or for ``hg.sum`` the sum.

        It is exact for every number of records: over the noise, at least a share ``confidence`` of
        such intervals contains the true value of the data, clamped to the bounds. With the spread,
        ``of`` may be "std" or "variance"; those intervals are approximate, exact to leading order
        in one over the number of records. If several columns were asked for together,
        ``simultaneous`` intervals of all columns hold jointly with that confidence.

        ``of="population"`` is for the mean of the population that the records are a random sample
        of, clamped to the bounds: it covers noise and sampling error. It is exact for yes/no
        columns unless there are many records; valid, but wider than necessary, otherwise; narrow
        and approximate with the spread. ``kind`` of the interval says which.
        """
        check_confidence(confidence)
        together, of = self._algorithm.columns if simultaneous else 1, of or self.asked
        if of == "population":
            return self._population(confidence, together)
        point = getattr(self, of) if of in self._with_interval else 0.0
        return interval(self._algorithm, self.noisy_totals, confidence, of, point, together)

    def _population(self, confidence: float, together: int) -> Interval:
        check_sampled(self.unit)
        if not self._spread:
            return population(self._algorithm, self.noisy_totals, confidence, self.mean, together)
        found = studentised(
            self.mean,
            self.variance,
            float(self.noisy_totals.size),
            noise=self._mean_error,
            confidence=confidence,
            bounds=(float(self.bounds.lower), float(self.bounds.upper)),
        )
        # It is approximate, and never narrower than the exact interval of the records.
        low, high = self.interval(confidence, of="mean")
        return replace(found, low=min(low, found.low), high=max(high, found.high))

    def _population_kind(self, confidence: float) -> str:
        """What the confidence of an interval for the population's mean rests on."""
        if self._spread:
            return "approximate"
        return population_kind(self._algorithm, self.noisy_totals, confidence)

    @property
    def _with_interval(self) -> tuple[str, ...]:
        return _PRINTED if self._spread else _PRINTED[:3]

    def _ends(self, confidence: float, together: int = 1) -> tuple[float, float]:
        low, high = self.interval(confidence, of=self.asked, simultaneous=together > 1)
        return low, high

    def to_dict(  # type: ignore[override]  # the intervals of one row are always there
        self, confidence: float = 0.95, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it.

        ``population`` adds the interval for the mean of the population.
        """
        wanted = (*self._with_interval, *(["population"] if population else []))
        asked = self.outside_epsilon is not None
        outside = {"outside": self.outside.to_dict(confidence)} if asked else {}
        return {
            **self._figures(),
            **outside,
            "few": bool(self.few(fewest)),
            "intervals": {of: stored(self.interval(confidence, of=of)) for of in wanted},
            **stored_terms(self),
        }

    def _printed(self, confidence: float, of: str, few: bool = False) -> list[str]:
        """A figure as text, with the two ends of its interval."""
        figure, ends = self._figure(confidence, of, few), self.interval(confidence, of=of)
        if figure != UNKNOWN or of == "std":
            return [figure, *(self._number(end, of) for end in ends)]
        return [figure, *(self._bound(end) or self._number(end, of) for end in ends)]

    def _bound(self, end: float) -> str:
        """A bound as it was given, whatever the error is; empty if it is another number."""
        if end not in map(float, self.bounds):
            return ""
        return f"{bound(100 * end)} %" if self._yes_or_no else bound(end)

    def _figure(self, confidence: float, of: str, few: bool) -> str:
        """A figure as text; with ``few`` records, a mean that is unknown is not printed."""
        if few and of in ("mean", "std", "population"):
            low, high = self.interval(confidence, of="mean" if of == "std" else of)
            found = {"count": self.count, "mean_low": low, "mean_high": high}
            if self._tells_nothing(found):
                return UNKNOWN
        return self._number(self.mean if of == "population" else getattr(self, of), of)

    def _number(self, value: float, of: str) -> str:
        """With as many decimals as are meaningful; the mean of a yes/no column in per cent."""
        if of == "count" or (of == "sum" and self._algorithm.grid.own):
            return number(value, 0)
        if of == "sum":
            # Digits below a thousandth of a record are not meaningful.
            least = to_double(self.bounds.width) / 1000
            low, high = self.interval(of="sum")
            return number(value, decimals_for(max((high - low) / 2, least)))
        error = self._mean_error
        if of == "population":
            low, high = self.interval(of="population")
            error = (high - low) / 4
        if of in ("mean", "population") and self._yes_or_no:
            return f"{number(100 * value, decimals_for(100 * error))} %"
        return number(value, decimals_for(error))

    def _expected_outside(self) -> list[str]:
        """What the search aimed to leave outside; it may have covered all groups or rows."""
        if self.bounds.leaves is None:
            return []
        if self.bounds.leaves == (None, None):
            return [f"{self._found}; the number of values outside is unknown."]
        below, above = self.bounds.leaves
        first = "an unknown number" if below is None else f"about {counted(below, 'record')}"
        second = "an unknown number" if above is None else f"about {above:,}"
        return [f"{self._found}, to leave {first} below and {second} above in the data searched."]

    def _further_notes(self, confidence: float) -> list[str]:
        return [] if self.outside_epsilon is None else outside_notes(self, confidence)

    @property
    def _mean_error(self) -> float:
        return error_at(self._algorithm, to_double(self.noisy_totals.size), self.mean)

    def _table(
        self, confidence: float, fewest: int, first: int = SHOWN
    ) -> tuple[list[str], list[list[str]]]:
        head = ["", "estimate", f"{100 * confidence:g} % from", "to"]
        asked = ("mean", "sum") if self.asked == "mean" else ("sum", "mean")
        shown = (*asked, "count", *(["std"] if self._spread else []))
        names = {"count": self._counted, "mean": "share" if self._yes_or_no else "mean"}
        few = bool(self.few(fewest))
        rows = [[names.get(of, of), *self._printed(confidence, of, few)] for of in shown]
        if few:
            head, rows = [*head, "note"], [[*row, ""] for row in rows]
            rows[0][-1] = TOO_FEW
        return head, rows

    def _chart_notes(self, confidence: float) -> list[str]:
        return [*self._promise(), *self._further_notes(confidence)]

    def _release(self, place: int) -> Release:
        """The release of the only row."""
        return self

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (
            self.noisy_totals, self.epsilon, self.delta, self.estimator, self.unit, self.private,
            self.algorithm, self._algorithm.epsilon, self.bounds, self.grid, self.asked,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


# --- by group -------------------------------------------------------------------------------------


class _Places(dict[Any, int]):
    """The position of each key. In a text file, a number can be looked up as text or as an int."""

    def __missing__(self, key: Any) -> int:
        place = super().get(_written(key))
        if place is None:
            raise no_such_key(key, self, "group")
        return place

    def get(self, key: Any, default: Any = None) -> Any:
        """The position of a key, or the default."""
        return super().get(key, super().get(_written(key), default))


def _written(key: Any) -> Any:
    """The key as an answer has it: numbers of text files as text, and midnight as its day."""
    if isinstance(key, tuple):
        return tuple(map(_written, key))
    if isinstance(key, np.datetime64):
        key = key.astype("datetime64[us]").item()
    if isinstance(key, datetime) and key.tzinfo is None and key.time() == time():
        return key.date()
    return str(key) if isinstance(key, int) and not isinstance(key, bool) else key


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Releases(Answer, Mapping[Any, Release]):
    """A private mean, sum and count for each group, at one price for all of them.

    A mapping from key to :class:`Release`: the key is the group's value, or a tuple if ``by`` names
    several columns. Public keys are in the order given, secret ones in the order of their values. A
    group with a secret name is published if its noisy count is ``threshold`` or more (None if the
    names are public).
    """

    _by_group: ClassVar[bool] = True
    _shown: ClassVar[tuple[str, ...]] = (
        "by", "epsilon", "delta", "threshold", "estimator", "unit", "private",
    )  # fmt: skip

    # --- a mapping --------------------------------------------------------------------------

    @cached_property
    def _places(self) -> _Places:
        return _Places(zip(group_names(self), range(len(self)), strict=True))

    def __getitem__(self, key: Any) -> Release:
        return self._release(self._places[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self.groups)

    def __contains__(self, key: object) -> bool:
        return self._places.get(key) is not None

    def _release(self, place: int) -> Release:
        shared = {name: getattr(self, name) for name in _SHARED}
        unit = limited(self.unit, by_group=True)
        return Release(noisy_totals=self.noisy_totals.take(place), unit=unit, **shared)

    if not TYPE_CHECKING:  # a type checker would then accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name in ("mean", "sum", "count", "std", "variance", "expected_error"):
                raise AttributeError(
                    f"this answer is by group and has no {name}; use answer[key].{name} for one "
                    f"group, or answer.{name}s for all"
                )
            return super().__getattr__(name)

    # --- columns ----------------------------------------------------------------------------

    @property
    def means(self) -> Floats:
        """The mean of each group."""
        return np.asarray(self._mean)

    @property
    def sums(self) -> Floats:
        """The sum of each group."""
        return np.asarray(self._sum)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The count of each group."""
        return np.asarray(self._count)

    @property
    def variances(self) -> Floats:
        """The variance of each group; needs ``spread=True``."""
        return np.asarray(self._variance)

    @property
    def stds(self) -> Floats:
        """The standard deviation of each group; needs ``spread=True``."""
        return np.asarray(self._std)

    @property
    def expected_errors(self) -> Floats:
        """The expected error of each group's mean."""
        return np.asarray(self._error)

    # --- derived figures, at no further cost -----------------------------------------------

    def total(self, keys: Sequence[Any] | None = None) -> Total:
        """The total of the groups with these keys, or of all; costs no epsilon.

        Its intervals come from the joint law of all their noises, and are far narrower than those
        of the groups added up.
        """
        return total_of(self, keys)

    def difference(self, a: Any, b: Any, *, of: str | None = None) -> Difference:
        """The figure of group ``a`` minus that of group ``b``, with an interval; costs no epsilon.

        The figure is ``of``, "mean" or "sum"; by default the one that was asked for.
        """
        one_of("of", of or self.asked, ("mean", "sum"))
        kind = SumDifference if (of or self.asked) == "sum" else Difference
        found: Difference = compared(kind, self, a, b)
        return found

    def ratio(self, a: Any, b: Any) -> Ratio:
        """The mean of group ``a`` over that of group ``b``, with an interval; costs no epsilon."""
        found: Ratio = compared(Ratio, self, a, b)
        return found

    # --- for people -------------------------------------------------------------------------

    def _expected_outside(self) -> list[str]:
        return [] if self.bounds.leaves is None else [f"{self._found}."]

    def _further_notes(self, confidence: float) -> list[str]:
        notes = [_ABOUT_STD] if self._spread and self.groups else []
        if self.outside_epsilon is not None and self.groups:
            notes += shares_notes(self, confidence)
        return notes

    def _marks(self, fewest: int) -> list[str]:
        marked = self.outside_epsilon is not None and np.any(self.few(fewest))
        return [f"* {TOO_FEW}"] if marked else []

    def _table(
        self, confidence: float, fewest: int, first: int = SHOWN
    ) -> tuple[list[str], list[list[str]]]:
        other = "sum" if self.asked == "mean" else "mean"
        sides = self.outside_epsilon is not None
        more = [*(["std"] if self._spread else []), *([] if sides else [other])]
        names = {"mean": "share"} if self._yes_or_no else {}
        head = [label(self.by), self._asked_word, f"{100 * confidence:g} % from", "to"]
        head += [*(names.get(of, of) for of in more), self._counted]
        rows, few = [], np.atleast_1d(self.few(fewest))[:first]
        ones = [self._release(place) for place in range(len(few))]
        for group, one, mark in zip(self.groups[: len(few)], ones, few, strict=True):
            figures = [one._figure(confidence, of, mark) for of in (*more, "count")]
            rows.append([group_label(group), *one._printed(confidence, self.asked, mark), *figures])
        if sides:  # in place of the other figure, because a line has 80 characters
            head += [f"below {bound(self.bounds.lower)}", f"above {bound(self.bounds.upper)}"]
            for row, mark, cells in zip(rows, few, share_cells(ones, confidence), strict=True):
                row[-1] += " *" if mark else ""
                row += cells
        elif few.any():
            head = [*head, "note"]
            rows = [[*row, TOO_FEW if mark else ""] for row, mark in zip(rows, few, strict=True)]
        return head, rows
