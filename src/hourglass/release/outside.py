"""The numbers of values outside the bounds, from ``outside=``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..core.totals import NoisyTotals
from ..estimate.interval import Interval
from ..estimate.outside import share_of, side_interval
from ..mechanisms.base import MeanMechanism
from .presented import UNKNOWN
from .rendering import bound, counts_persons, decimals_for, number

if TYPE_CHECKING:
    from .release import Release, Releases

__all__ = ["Outside", "Side", "outside_notes", "share_cells", "shares_notes"]


class Side(int):
    """A private number of values beyond one bound: a whole number, zero or more.

    ``share`` is that number divided by the number of records.
    """

    noisy: int
    _epsilon: Fraction
    _totals: NoisyTotals
    _algorithm: MeanMechanism

    def __new__(
        cls, noisy: int, epsilon: Fraction, totals: NoisyTotals, algorithm: MeanMechanism
    ) -> Side:
        """From the noisy count, the rate of its noise, and the rest of the release."""
        found = super().__new__(cls, max(noisy, 0))
        found.noisy, found._epsilon = noisy, epsilon
        found._totals, found._algorithm = totals, algorithm
        return found

    def __reduce__(self) -> Any:
        return Side, (self.noisy, self._epsilon, self._totals, self._algorithm)

    @property
    def count(self) -> int:
        """The number itself."""
        return int(self)

    @property
    def share(self) -> float:
        """The share of all records, from 0 to 1; NaN if the count of records is zero."""
        return share_of(self.noisy, self._totals)

    def interval(self, confidence: float = 0.95, *, of: str = "count") -> Interval:
        """An exact interval for the true count or, with ``of="share"``, one for the share.

        That of the share is valid for every number of records, and slightly wider than necessary.
        """
        return side_interval(
            self.noisy, self._epsilon, self._totals, self._algorithm, confidence, of
        )

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Count, share and interval as JSON values."""
        low, high = self.interval(confidence)
        share = None if math.isnan(self.share) else self.share
        return {
            "count": int(self), "share": share, "confidence": confidence, "low": low, "high": high,
        }  # fmt: skip


@dataclass(frozen=True)
class Outside:
    """How many values lie below the lower bound, and how many above the upper one."""

    below: Side
    above: Side

    @classmethod
    def of(cls, release: Release) -> Outside:
        """The numbers of values outside the bounds of a release."""
        if release.outside_epsilon is None:
            raise AttributeError(
                'this answer has no numbers of values outside the bounds; ask with outside="1/10"'
            )
        noisy, rate = release.noisy_totals, release.outside_epsilon
        sides = (Side(part, rate, noisy, release._algorithm) for part in (noisy.below, noisy.above))
        return cls(*sides)

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Both sides as JSON values."""
        return {"below": self.below.to_dict(confidence), "above": self.above.to_dict(confidence)}


def outside_notes(release: Release, confidence: float) -> list[str]:
    """The notes below a table: the shares, and the direction in which clamping moves the figure."""
    lower, upper = map(bound, release.bounds)
    outside = release.outside
    notes = [
        _note(release, outside.below, f"below {lower}", f"above {upper}", "high", confidence),
        _note(release, outside.above, f"above {upper}", f"below {lower}", "low", confidence),
    ]
    if all(side.interval(confidence).low > 0 for side in (outside.below, outside.above)):
        notes.append("Which of the two weighs more is not known.")
    return notes


def share_cells(releases: Sequence[Release], confidence: float) -> list[list[str]]:
    """The intervals of the shares below and above the bounds, in a row for each release.

    All have the same number of decimals, and are rounded outwards.
    """
    found = [
        [side.interval(confidence, of="share") for side in (outside.below, outside.above)]
        for outside in (release.outside for release in releases)
    ]
    widths = [100 * (high - low) for row in found for low, high in row if low < high]
    places = min(2, max(0, -math.floor(math.log10(min(widths, default=1.0)))))
    return [
        [_cell(low, high, places) if release.count else UNKNOWN for low, high in row]
        for release, row in zip(releases, found, strict=True)
    ]


def _cell(low: float, high: float, places: int) -> str:
    if (low, high) == (0.0, 1.0):
        return UNKNOWN
    least, most = _percent(low, high, places)
    end = f"{number(most, places)} %"
    return f"{number(least, places)}–{end}" if least else f"≤ {end}"


def _percent(low: float, high: float, places: int) -> tuple[float, float]:
    """An interval in per cent, rounded outwards: what is said to be at most so much must be."""
    unit = 10**places
    least, most = round(100 * low * unit, 9), round(100 * high * unit, 9)
    return math.floor(least) / unit, math.ceil(most) / unit


def shares_notes(releases: Releases, confidence: float) -> list[str]:
    """The notes below a table by group: what the shares are, and how clamping moves the figure."""
    what = "the values that lie there"
    if counts_persons(releases.unit):
        what = "the persons who have more values there than beyond the other bound"
    return [
        f"Below and above: {100 * confidence:g} % intervals of the share of {what}. Values below "
        f"make the clamped {releases.asked} too high, values above make it too low."
    ]


def _note(
    release: Release, side: Side, where: str, other: str, moved: str, confidence: float
) -> str:
    low, high = side.interval(confidence, of="share")
    places = decimals_for(50 * (high - low)) if high else 0
    least, upper = _percent(low, high, places)
    most = f"{number(upper, places)} %"
    what = f"the values lie {where}"
    if counts_persons(release.unit):
        what = f"the persons have more values {where} than {other}"
    if not release.count:
        return f"What share of {what} cannot be estimated: there are too few records."
    if side.interval(confidence).low == 0:
        return f"At most {most} of {what}, with {100 * confidence:g} % confidence."
    interval = f"{100 * confidence:g} % interval {number(least, places)} to {most}"
    return (
        f"About {number(100 * side.share, places)} % of {what} "
        f"({interval}), which makes the clamped {release.asked} too {moved}."
    )
