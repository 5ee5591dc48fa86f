"""Totals, differences and ratios of groups, at no further cost.

The noises of groups are independent, even if a person is in several groups. All of this is
post-processing of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..errors import OptionError, shown
from ..estimate import pairs, point
from ..estimate.differences import difference
from ..estimate.interval import Interval, _records, _values, check_confidence, interval
from ..estimate.lines import count_reach, tail
from ..estimate.population import Seen, population, records_mean
from ..mechanisms.base import MeanMechanism
from ..mechanisms.tails import Line
from .rendering import (
    NOT_PRIVATE,
    counted,
    decimals_for,
    label,
    marked,
    number,
    paragraphs,
    text_table,
)

if TYPE_CHECKING:
    from .releases import Releases

__all__ = ["Difference", "Ratio", "Total", "compared", "total_of"]

#: What the printed intervals cover.
_OF_RECORDS: Final = "Intervals are of these records, clamped to the bounds: noise, not sampling."


@dataclass(frozen=True)
class Total:
    """Several groups combined: the mean, the sum and the count of all their records.

    Each noisy total is the sum of those of the groups. A record in several groups counts in each.
    """

    keys: tuple[Any, ...]
    noisy_totals: NoisyTotals
    _algorithm: MeanMechanism
    private: bool = True

    @property
    def mean(self) -> float:
        """The mean of the values, clamped to the bounds."""
        return float(point.mean(self.noisy_totals, self._algorithm, "projected"))

    @property
    def sum(self) -> float:
        """The sum of the values, clamped to the bounds."""
        return float(point.sum_(self.noisy_totals, self._algorithm.grid))

    @property
    def count(self) -> int:
        """The number of records."""
        return int(point.count(self.noisy_totals))

    def interval(self, confidence: float = 0.95, *, of: str = "mean") -> Interval:
        """An interval for the mean of these records, their "sum" or "count", or the "population".

        Computed from the law of the sum of all groups' noises. The noise of a group is first
        rounded up to a fine grid, so for several groups the interval is slightly wider than
        necessary: its kind is "valid".
        """
        check_confidence(confidence)
        copies, algorithm, noisy = len(self.keys), self._algorithm, self.noisy_totals
        if of == "population":
            found = population(algorithm, noisy, confidence, self.mean, copies=copies)
            return found if copies == 1 else _valid(found.low, found.high, found)
        if of not in ("mean", "sum", "count"):
            raise OptionError(f"of={shown(of)} is not one of mean, sum, count, population")
        value = getattr(self, of)
        if copies == 1:
            return interval(algorithm, noisy, confidence, of, value)
        low, high = getattr(self, f"_{of}")(1.0 - float(confidence))
        return Interval(min(low, value), max(high, value), float(confidence), of, "valid")

    def _mean(self, miss: float) -> tuple[float, float]:
        seen = Seen(self._algorithm, *_records(self.noisy_totals), 1.0 - miss, len(self.keys))
        return _values(self._algorithm.grid, *records_mean(seen))

    def _count(self, miss: float) -> tuple[int, int]:
        reach = count_reach(self._algorithm, miss, len(self.keys))
        size = to_double(self.noisy_totals.size)
        return max(0, math.floor(size - reach) + 1), max(0, math.ceil(size + reach) - 1)

    def _sum(self, miss: float) -> tuple[float, float]:
        """Width times the error of the cells, and the lower bound times that of the count."""
        grid, noisy = self._algorithm.grid, self.noisy_totals
        lower, width = Fraction(grid.bounds.lower), grid.bounds.width
        largest = max(abs(lower), abs(lower + width))
        line = Line(width / largest, -lower / largest)
        reach = largest * Fraction(tail(self._algorithm, line, len(self.keys)).reach(miss / 2))
        if grid.slack:  # rounding moved a record by at most the slack
            reach += grid.slack * max(1, self._count(miss / 50)[1])
        middle = lower * noisy.size + grid.step * Fraction(noisy.cells, noisy.parts)
        return to_double(middle - reach), to_double(middle + reach)

    def text(self, confidence: float = 0.95) -> str:
        """A printable table."""
        places = {"mean": 0, "sum": 0, "count": 0}
        for of in ("mean", "sum"):
            low, high = self.interval(confidence, of=of)
            places[of] = decimals_for((high - low) / 4)
        rows = [
            [of, *(number(v, places[of]) for v in (getattr(self, of), *self._ends(of, confidence)))]
            for of in places
        ]
        head = [f"total of {counted(len(self.keys), 'group')}", "private", *_percent(confidence)]
        return f"{text_table(head, rows)}\n\n{_notes(self.private)}"

    def _ends(self, of: str, confidence: float) -> tuple[float, float]:
        found = self.interval(confidence, of=of)
        return found.low, found.high

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The figures and their intervals as JSON values."""
        parts = ("mean", "sum", "count")
        return {
            "groups": [_plain(key) for key in self.keys],
            **{of: getattr(self, of) for of in parts},
            "intervals": {of: stored(self.interval(confidence, of=of)) for of in parts},
            **marked(self.private),
        }


@dataclass(frozen=True)
class _Pair:
    """Two groups of one answer, compared."""

    keys: tuple[Any, Any]
    means: tuple[float, float]
    noisy_totals: tuple[NoisyTotals, NoisyTotals]
    _algorithm: MeanMechanism
    private: bool = True

    def _seen(self, confidence: float, of: str) -> tuple[Seen, Seen]:
        check_confidence(confidence)
        if of not in ("mean", "population"):
            raise OptionError(f"of={shown(of)} is not one of mean, population")
        first, second = (
            Seen(self._algorithm, *_records(noisy), float(confidence))
            for noisy in self.noisy_totals
        )
        return first, second

    @property
    def value(self) -> float:
        """The figure itself."""
        raise NotImplementedError

    def interval(self, confidence: float = 0.95, *, of: str = "mean") -> Interval:
        """An interval for the two groups' own records, or ``of="population"`` for theirs."""
        raise NotImplementedError

    def _named(self) -> str:
        raise NotImplementedError

    def text(self, confidence: float = 0.95) -> str:
        """A printable table."""
        found = self.interval(confidence)
        finite = found.high - found.low if math.isfinite(found.high - found.low) else self.value
        places = decimals_for(abs(finite) / 4)
        row = [self._named(), *(number(v, places) for v in (self.value, found.low, found.high))]
        table = text_table(["", "private", *_percent(confidence)], [row])
        return f"{table}\n\n{_notes(self.private)}"

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The figure and its interval as JSON values; an infinite end is None."""
        return {
            "groups": [_plain(key) for key in self.keys],
            type(self).__name__.lower(): self.value,
            "interval": stored(self.interval(confidence)),
            **marked(self.private),
        }


@dataclass(frozen=True)
class Difference(_Pair):
    """The mean of one group minus the mean of another."""

    @property
    def value(self) -> float:
        """The same as :attr:`difference`."""
        return self.difference

    @property
    def difference(self) -> float:
        """The first mean minus the second."""
        return self.means[0] - self.means[1]

    def interval(self, confidence: float = 0.95, *, of: str = "mean") -> Interval:
        """An interval for the difference of the two means, of these records or of populations.

        Valid for every number of records; uses the joint law of both groups' noises.
        """
        seen = self._seen(confidence, of)
        low, high = difference(*seen, of == "population")
        grid = self._algorithm.grid
        width, slack = to_double(grid.bounds.width), 2 * to_double(grid.slack)
        low, high = max(-width, low * width - slack), min(width, high * width + slack)
        value = self.difference
        return Interval(min(low, value), max(high, value), float(confidence), of, "valid")

    def _named(self) -> str:
        return f"mean of {_name(self.keys[0])} less that of {_name(self.keys[1])}"


@dataclass(frozen=True)
class Ratio(_Pair):
    """The mean of one group divided by the mean of another."""

    @property
    def value(self) -> float:
        """The same as :attr:`ratio`."""
        return self.ratio

    @property
    def ratio(self) -> float:
        """The first mean divided by the second; NaN if that is zero."""
        return self.means[0] / self.means[1] if self.means[1] else math.nan

    def interval(self, confidence: float = 0.95, *, of: str = "mean") -> Interval:
        """An interval for the ratio of the two means, of these records or of populations.

        Valid for every number of records. It is unbounded if the second mean may be zero.
        """
        seen = self._seen(confidence, of)
        grid = self._algorithm.grid
        lower, width = float(grid.bounds.lower), to_double(grid.bounds.width)
        low, high = pairs.ratio(*seen, of == "population", lower, width)
        if grid.slack and math.isfinite(low):
            low, high = self._rounded(low, high, to_double(grid.slack))
        value = self.ratio
        if not math.isnan(value):
            low, high = min(low, value), max(high, value)
        return Interval(low, high, float(confidence), of, "valid")

    def _rounded(self, low: float, high: float, slack: float) -> tuple[float, float]:
        """Widen the interval by the most that rounding to the grid can move the two means."""
        least = abs(self.means[1]) / 2
        if slack > least / 8:
            return -math.inf, math.inf
        more = slack * (1 + max(abs(low), abs(high))) / least * 2
        return low - more, high + more

    def _named(self) -> str:
        return f"mean of {_name(self.keys[0])} over that of {_name(self.keys[1])}"


def total_of(releases: Releases, keys: Sequence[Any] | None) -> Total:
    """The total of the groups with these keys, or of all."""
    chosen = list(releases) if keys is None else list(keys)
    if not chosen:
        raise OptionError("keys: name at least one group to add up")
    if len(set(chosen)) < len(chosen):
        raise OptionError("keys: a group is named twice; its records would count twice")
    places = [_place(releases, key) for key in chosen]
    noisy = releases.noisy_totals.take(np.array(places))
    cells, rest = (sum(int(v) for v in part) for part in (noisy.cells, noisy.rest))
    whole = NoisyTotals(cells, rest, noisy.grid, noisy.parts)
    return Total(tuple(chosen), whole, releases._algorithm, releases.private)


def compared(kind: Any, releases: Releases, a: Any, b: Any) -> Any:
    """The difference or the ratio of two groups."""
    places = _place(releases, a), _place(releases, b)
    if places[0] == places[1]:
        raise OptionError(
            f"a={shown(a)} and b={shown(b)} are the same group; name two different groups"
        )
    first, second = releases[a], releases[b]
    return kind(
        (a, b),
        (first.mean, second.mean),
        (first.noisy_totals, second.noisy_totals),
        releases._algorithm,
        releases.private,
    )


def _place(releases: Releases, key: Any) -> int:
    if key not in releases:
        raise OptionError(f"{shown(key)} is not a group of this answer; keys() lists its groups")
    return releases._places[key]


def _valid(low: float, high: float, like: Interval) -> Interval:
    return Interval(low, high, like.confidence, like.of, "valid")


def stored(found: Interval) -> dict[str, Any]:
    """An interval as JSON values."""
    ends = [end if math.isfinite(end) else None for end in (found.low, found.high)]
    return {"confidence": found.confidence, "low": ends[0], "high": ends[1], "kind": found.kind}


def _notes(private: bool) -> str:
    return paragraphs([_OF_RECORDS, *([] if private else [NOT_PRIVATE])])


def _percent(confidence: float) -> list[str]:
    return [f"{100 * confidence:g} % from", "to"]


def _plain(key: Any) -> Any:
    if isinstance(key, tuple):
        return [_plain(part) for part in key]
    return key.isoformat() if hasattr(key, "isoformat") else key


def _name(key: Any) -> str:
    """The name of a group in tables, whether it is keyed by one column or several."""
    return label(key if isinstance(key, tuple) else (key,))
