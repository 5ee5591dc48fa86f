"""Totals of groups, at no further cost.

The noises of groups are independent, even if a person is in several groups. All of this is
post-processing of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..errors import OptionError, shown
from ..estimate import point
from ..estimate.interval import (
    Interval,
    _records,
    _values,
    check_confidence,
    interval,
    possible_sums,
)
from ..estimate.lines import count_reach, sums_reach
from ..estimate.population import Seen, population, records_mean
from ..mechanisms.base import MeanMechanism
from .derived import IN_EACH, Derived, chosen_of, places_of, plain_key, stored
from .presented import UNKNOWN
from .rendering import check_sampled, counted, decimals_for, in_several_groups, marked, number

if TYPE_CHECKING:
    from .release import Releases

__all__ = ["Total", "total_of"]


@dataclass(frozen=True, repr=False)
class Total(Derived):
    """Several groups combined: the mean, the sum and the count of all their records.

    Each noisy total is the sum of those of the groups.
    """

    keys: tuple[Any, ...]
    noisy_totals: NoisyTotals
    _algorithm: MeanMechanism
    private: bool = True
    asked: str = "mean"
    unit: str = "row"
    estimator: str = "projected"

    _shown: ClassVar[tuple[str, ...]] = ("mean", "sum", "count", "keys", "private")
    _assumed: ClassVar[str] = (
        "For the total, intervals for the population assume that the records of all these groups "
        "together are one random sample."
    )

    @property
    def mean(self) -> float:
        """The mean of the values, clamped to the bounds.

        Of one group, by the estimator of the answer. A posterior is known for one draw of the noise
        only, so that of several groups is the projected mean.
        """
        estimator = self.estimator if len(self.keys) == 1 else "projected"
        return float(point.mean(self.noisy_totals, self._algorithm, estimator))

    @property
    def sum(self) -> float:
        """The sum of the values, clamped to the bounds."""
        return float(point.sum_(self.noisy_totals, self._algorithm.grid))

    @property
    def count(self) -> int:
        """The number of records."""
        return int(point.count(self.noisy_totals))

    def interval(self, confidence: float = 0.95, *, of: str | None = None) -> Interval:
        """An interval for the "mean", "sum" or "count" of these records, or the "population".

        By default for the figure that was asked for.

        Computed from the law of the sum of all groups' noises. The noise of a group is first
        rounded up to a fine grid, so for several groups the interval is slightly wider than
        necessary: its kind is "valid". Of thousands of groups, at a confidence that leaves less
        than a probability of about 1e-8 for each, it is far wider, up to all of the range.
        """
        check_confidence(confidence)
        of = of or self.asked
        copies, algorithm, noisy = len(self.keys), self._algorithm, self.noisy_totals
        if of == "population":
            check_sampled(self.unit, groups=copies)
            found = population(algorithm, noisy, confidence, self.mean, copies=copies)
            return found if copies == 1 else replace(found, kind="valid")
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
        noisy = self.noisy_totals
        reach = sums_reach(self._algorithm, [noisy], miss, len(self.keys))
        grid = self._algorithm.grid
        middle = point.exact_sum(noisy, grid)
        return possible_sums(grid, to_double(middle - reach), to_double(middle + reach))

    @property
    def _subject(self) -> str:
        return f"total of {counted(len(self.keys), 'group')}"

    def _head(self, confidence: float) -> list[str]:
        return [self._subject, *super()._head(confidence)[1:]]

    def _notes(self, population: bool = False) -> list[str]:
        overlap = len(self.keys) > 1 and in_several_groups(self.unit)
        return [*([IN_EACH] if overlap else []), *super()._notes(population)]

    def _rows(self, confidence: float) -> list[list[str]]:
        rows = [[self._mean_word, *self._mean_cells("mean", confidence)]]
        for of in ("sum", "count"):
            low, high = self._ends(of, confidence)
            whole = of == "count" or self._algorithm.grid.own
            places = 0 if whole else decimals_for((high - low) / 4)
            rows.append([of, *(number(v, places) for v in (getattr(self, of), low, high))])
        return rows

    def _rows_of_both(self, confidence: float) -> list[list[str]]:
        (word, *cells), *others = self._rows(confidence)
        below = [f"{word} of the population", *self._mean_cells("population", confidence)]
        return [[f"{word} of these records", *cells], below, *others]

    def _mean_cells(self, of: str, confidence: float) -> list[str]:
        """The mean with the ends of its interval, of these records or of the population."""
        low, high = self._ends(of, confidence)
        places = decimals_for((high - low) / 4)
        cells = [self._number(v, places, "%") for v in (self.mean, low, high)]
        bounds = self._algorithm.grid.bounds
        anything = low <= bounds.lower and bounds.upper <= high
        return [UNKNOWN if anything or not self.count else cells[0], *cells[1:]]

    def _ends(self, of: str, confidence: float) -> tuple[float, float]:
        found = self.interval(confidence, of=of)
        return found.low, found.high

    def _sparse(self, fewest: int) -> list[str]:
        low, _ = self.interval(0.95, of="count")
        return ["The total"] if low < fewest else []

    def to_dict(
        self, confidence: float = 0.95, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The figures and their intervals as JSON values."""
        parts = ("mean", "sum", "count")
        wanted = (*parts, *(["population"] if population else []))
        return {
            "groups": [plain_key(key) for key in self.keys],
            **{of: getattr(self, of) for of in parts},
            "few": self.few(fewest),
            "intervals": {of: stored(self.interval(confidence, of=of)) for of in wanted},
            **self._bounds,
            **marked(self.private),
        }


def total_of(releases: Releases, keys: Sequence[Any] | None) -> Total:
    """The total of the groups with these keys, or of all."""
    chosen = chosen_of(releases, keys)
    noisy = releases.noisy_totals.take(np.array(places_of(releases, chosen)))
    cells, rest = (sum(int(v) for v in part) for part in (noisy.cells, noisy.rest))
    whole = NoisyTotals(cells, rest, noisy.grid, noisy.parts)
    return Total(
        tuple(chosen), whole, releases._algorithm, releases.private, releases.asked, releases.unit,
        releases.estimator,
    )  # fmt: skip
