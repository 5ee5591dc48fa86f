"""Differences and ratios of two groups, at no further cost.

The noises of groups are independent, even if a person is in several groups. All of this is
post-processing of what was released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..errors import OptionError, shown
from ..estimate import pairs
from ..estimate.differences import difference
from ..estimate.interval import Interval, _records, check_confidence, interval
from ..estimate.lines import sums_reach
from ..estimate.point import count, exact_sum, least_count
from ..estimate.population import Seen
from ..mechanisms.base import MeanMechanism
from .derived import Derived, finite, key_name, pair_of, plain_key, stored
from .presented import BELOW, UNKNOWN
from .rendering import check_sampled, decimals_for, marked, number

if TYPE_CHECKING:
    from .release import Releases

__all__ = ["Difference", "Ratio", "SumDifference", "compared"]


@dataclass(frozen=True, repr=False)
class _Pair(Derived):
    """Two groups of one answer, compared."""

    keys: tuple[Any, Any]
    means: tuple[float, float]
    noisy_totals: tuple[NoisyTotals, NoisyTotals]
    _algorithm: MeanMechanism
    private: bool = True
    unit: str = "row"

    #: The figure's name in JSON.
    _figure: ClassVar[str]

    def _seen(self, confidence: float, of: str) -> tuple[Seen, Seen]:
        check_confidence(confidence)
        if of not in ("mean", "population"):
            raise OptionError(f"of={shown(of)} is not one of mean, population")
        if of == "population":
            check_sampled(self.unit, groups=2)
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

    def _rows(self, confidence: float) -> list[list[str]]:
        return [[self._subject, *self._cells("mean", confidence)]]

    def _rows_of_both(self, confidence: float) -> list[list[str]]:
        below = [BELOW, *self._cells("population", confidence)]
        return [*self._rows(confidence), below]

    def _cells(self, of: str, confidence: float) -> list[str]:
        """The figure with the ends of its interval, of these records or of the population."""
        low, high = self.interval(confidence, of=of)
        finite = high - low if math.isfinite(high - low) else self.value
        places = decimals_for(abs(finite) / 4)
        cells = [self._printed(v, places) for v in (self.value, low, high)]
        known = all(map(self._is_known, self.noisy_totals, self.means))
        return [cells[0] if known else UNKNOWN, *cells[1:]]

    def _is_known(self, noisy: NoisyTotals, mean: float) -> bool:
        """Whether a group has records, and anything is known about their mean."""
        bounds = self._algorithm.grid.bounds
        low, high = interval(self._algorithm, noisy, 0.95, "mean", mean)
        return bool(count(noisy)) and not (low <= bounds.lower and bounds.upper <= high)

    def _printed(self, value: float, places: int) -> str:
        return number(value, places)

    def _sparse(self, fewest: int) -> list[str]:
        return [
            key_name(key)
            for key, noisy in zip(self.keys, self.noisy_totals, strict=True)
            if least_count(self._algorithm, noisy, 0.95) < fewest
        ]

    def to_dict(
        self, confidence: float = 0.95, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The figure and its interval as JSON values; what is not a finite number is None."""
        both = {"population": self.interval(confidence, of="population")} if population else {}
        return {
            "groups": [plain_key(key) for key in self.keys],
            self._figure: finite(self.value),
            "few": self.few(fewest),
            "interval": stored(self.interval(confidence)),
            **{name: stored(found) for name, found in both.items()},
            **self._bounds,
            **marked(self.private),
        }


@dataclass(frozen=True, repr=False)
class Difference(_Pair):
    """The mean of one group minus the mean of another."""

    _figure: ClassVar[str] = "difference"
    _shown: ClassVar[tuple[str, ...]] = ("difference", "keys", "private")

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

    @property
    def _subject(self) -> str:
        a, b = (f"{self._mean_word} of {key_name(key)}" for key in self.keys)
        return f"{a} minus {b}"

    def _printed(self, value: float, places: int) -> str:
        return self._number(value, places, "pp")

    def _notes(self, population: bool = False) -> list[str]:
        points = ["pp: percentage points."] if self._algorithm.grid.yes_or_no else []
        return [*points, *super()._notes(population)]


@dataclass(frozen=True, repr=False)
class SumDifference(Difference):
    """The sum of one group minus the sum of another."""

    @property
    def difference(self) -> float:
        """The first sum minus the second."""
        return to_double(self._exact)

    @property
    def _exact(self) -> Fraction:
        first, second = (exact_sum(noisy, self._algorithm.grid) for noisy in self.noisy_totals)
        return first - second

    def interval(self, confidence: float = 0.95, *, of: str = "sum") -> Interval:
        """An interval for the difference of the two sums of these records.

        Valid for every number of records; from the law of the difference of both groups' noises.
        """
        check_confidence(confidence)
        if of != "sum":
            raise OptionError(
                f"of={shown(of)} is not offered for a difference of sums, whose interval is for "
                'these records; difference(a, b, of="mean") compares the means'
            )
        reach = sums_reach(self._algorithm, self.noisy_totals, 1.0 - float(confidence), 2)
        low, high = to_double(self._exact - reach), to_double(self._exact + reach)
        return Interval(low, high, float(confidence), of, "valid")

    def _rows(self, confidence: float) -> list[list[str]]:
        low, high = self.interval(confidence)
        places = 0 if self._algorithm.grid.own else decimals_for((high - low) / 4)
        return [[self._subject, *(number(v, places) for v in (self.value, low, high))]]

    @property
    def _subject(self) -> str:
        a, b = (f"sum of {key_name(key)}" for key in self.keys)
        return f"{a} minus {b}"

    def _rows_of_both(self, confidence: float) -> list[list[str]]:
        return Derived._rows_of_both(self, confidence)

    def _notes(self, population: bool = False) -> list[str]:
        return Derived._notes(self)


@dataclass(frozen=True, repr=False)
class Ratio(_Pair):
    """The mean of one group divided by the mean of another."""

    _figure: ClassVar[str] = "ratio"
    _shown: ClassVar[tuple[str, ...]] = ("ratio", "keys", "private")

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
            edges = pairs.cut(seen[1], of == "population")[1]
            least = min(abs(lower + width * edge) for edge in (edges[0], edges[-1]))
            low, high = _rounded(low, high, least, to_double(grid.slack))
        value = self.ratio
        if not math.isnan(value):
            low, high = min(low, value), max(high, value)
        return Interval(low, high, float(confidence), of, "valid")

    @property
    def _subject(self) -> str:
        a, b = (f"{self._mean_word} of {key_name(key)}" for key in self.keys)
        return f"{a} / {b}"


def _rounded(low: float, high: float, least: float, slack: float) -> tuple[float, float]:
    """Widen the interval of a ratio r by the most that rounding to the grid can have moved it.

    It moved each mean by at most the slack, and the second one, b, was ``least`` or more away from
    zero after it: r moved by at most slack (1 + |r|) / (|b| - slack).
    """
    if slack >= least:
        return -math.inf, math.inf
    more = 1.000001 * slack * (1 + max(abs(low), abs(high))) / (least - slack)
    return low - more, high + more


def compared(kind: Any, releases: Releases, a: Any, b: Any) -> Any:
    """The difference or the ratio of two groups."""
    pair_of(releases, a, b)
    first, second = releases[a], releases[b]
    return kind(
        (a, b),
        (first.mean, second.mean),
        (first.noisy_totals, second.noisy_totals),
        releases._algorithm,
        releases.private,
        releases.unit,
    )
