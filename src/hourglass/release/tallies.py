"""Totals and differences of counts by group, at no further cost.

The noises of groups are independent, even if a person is in several groups. All of this is
post-processing of what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..estimate.interval import Interval, check_confidence
from ..estimate.lines import count_reach
from ..estimate.outside import count_ends
from ..mechanisms.count import LaplaceCount
from .derived import IN_EACH, Derived, chosen_of, key_name, pair_of, places_of, plain_key, stored
from .rendering import NOT_PRIVATE, counted, in_several_groups, marked, number

if TYPE_CHECKING:
    from .counts import Counts

__all__ = ["CountDifference", "CountTotal", "count_difference", "count_total"]


@dataclass(frozen=True, repr=False)
class _Tally(Derived):
    """A figure of the counts of several groups. ``noisy`` is the same sum of the noisy counts.

    ``overlap`` is whether a person may be in several of the groups that are added up.
    """

    keys: tuple[Any, ...]
    value: int
    noisy: int
    what: str
    _algorithm: LaplaceCount
    private: bool = True
    overlap: bool = False

    #: The figure's name.
    _of: ClassVar[str]

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval for the true figure, from the law of the sum of the groups' noises."""
        check_confidence(confidence)
        low, high = self._ends(1.0 - float(confidence))
        ends = min(low, self.value), max(high, self.value)
        return Interval(*ends, float(confidence), self._of, "valid")

    def _ends(self, miss: float) -> tuple[int, int]:
        """The integers strictly within reach."""
        reach = count_reach(self._algorithm, miss, len(self.keys))
        return math.floor(self.noisy - reach) + 1, math.ceil(self.noisy + reach) - 1

    def _rows(self, confidence: float) -> list[list[str]]:
        values = self.value, *self.interval(confidence)
        return [[self._named, *(number(value, 0) for value in values)]]

    @property
    def _named(self) -> str:
        return self._subject

    def _notes(self, population: bool = False) -> list[str]:
        sampling = "Intervals cover the noise, not sampling error."
        return [
            *([IN_EACH] if self.overlap else []),
            sampling,
            *([] if self.private else [NOT_PRIVATE]),
        ]

    def to_dict(self, confidence: float = 0.95, *, fewest: int = 1) -> dict[str, Any]:
        """The figure and its interval as JSON values."""
        return {
            "groups": [plain_key(key) for key in self.keys],
            self._of: self.value,
            "few": self.few(fewest),
            "interval": stored(self.interval(confidence)),
            **marked(self.private),
        }


@dataclass(frozen=True, repr=False)
class CountTotal(_Tally):
    """The number of rows or persons of several groups; one in several groups counts in each."""

    _of: ClassVar[str] = "count"
    _shown: ClassVar[tuple[str, ...]] = ("count", "keys", "private")

    @property
    def count(self) -> int:
        """The number of rows or persons."""
        return self.value

    def interval(self, confidence: float = 0.95) -> Interval:
        """An interval for the true number; exact for one group, and for more slightly too wide."""
        if len(self.keys) > 1:
            return super().interval(confidence)
        low, high = count_ends(self.noisy, self._algorithm.epsilon, confidence)
        return Interval(int(low), int(high), float(confidence), self._of)

    def _sparse(self, fewest: int) -> list[str]:
        return ["The total"] if self.interval(0.95).low < fewest else []

    def _ends(self, miss: float) -> tuple[int, int]:
        low, high = super()._ends(miss)
        return max(0, low), max(0, high)

    @property
    def _subject(self) -> str:
        return f"total of {counted(len(self.keys), 'group')}"

    @property
    def _named(self) -> str:
        return self.what

    def _head(self, confidence: float) -> list[str]:
        return [self._subject, *super()._head(confidence)[1:]]


@dataclass(frozen=True, repr=False)
class CountDifference(_Tally):
    """The number of rows or persons of one group minus that of another.

    ``both`` are their noisy counts.
    """

    both: tuple[int, ...] = ()

    _of: ClassVar[str] = "difference"
    _shown: ClassVar[tuple[str, ...]] = ("difference", "keys", "private")

    @property
    def difference(self) -> int:
        """The first count minus the second."""
        return self.value

    def _sparse(self, fewest: int) -> list[str]:
        rate = self._algorithm.epsilon
        return [
            key_name(key)
            for key, noisy in zip(self.keys, self.both, strict=True)
            if count_ends(noisy, rate, 0.95)[0] < fewest
        ]

    @property
    def _subject(self) -> str:
        a, b = (f"{self.what} of {key_name(key)}" for key in self.keys)
        return f"{a} minus {b}"


def count_total(counts: Counts, keys: Sequence[Any] | None) -> CountTotal:
    """The total of the groups with these keys, or of all."""
    chosen = chosen_of(counts, keys)
    noisy = sum(int(counts.noisy_totals.counts[place]) for place in places_of(counts, chosen))
    overlap = len(chosen) > 1 and in_several_groups(counts.unit)
    return CountTotal(
        tuple(chosen),
        max(0, noisy),
        noisy,
        counts._what,
        counts._algorithm,
        counts.private,
        overlap,
    )


def count_difference(counts: Counts, a: Any, b: Any) -> CountDifference:
    """The count of one group minus that of another."""
    first, second = (int(counts.noisy_totals.counts[place]) for place in pair_of(counts, a, b))
    value = max(0, first) - max(0, second)
    return CountDifference(
        (a, b),
        value,
        first - second,
        counts._what,
        counts._algorithm,
        counts.private,
        both=(first, second),
    )
