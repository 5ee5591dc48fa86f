"""The expected accuracy of an answer before it is asked for, never computed from real data.

The analyst gives an assumed number of records and mean; the rest follows from the law of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final
from zlib import crc32

from ..core.totals import NoisyTotals, Totals
from ..estimate.interval import fresh_interval
from ..estimate.point import each
from ..ledger import Amount
from ..mechanisms.base import MeanMechanism
from ..noise.bits import SeededBits
from ..release.release import Release
from .accounts import Standing
from .catalogue import Person
from .failures import Failure
from .service import Asked, State

__all__ = ["SIMULATED", "Preview", "Worth", "worth"]

#: How many possible answers are shown.
SIMULATED: Final = 20
_MOST: Final = 10**12


@dataclass(frozen=True)
class Preview:
    """For one column: possible answers, and the half-width of the 95 % interval."""

    column: str
    mean: float
    records: int
    margin: float
    answers: tuple[float, ...]
    share: bool = False


@dataclass(frozen=True)
class Worth:
    """The price of a question and the expected accuracy of its answer.

    If the names of groups are secret, ``threshold`` is the noisy count from which on a group is
    shown, and ``chance`` the probability that a group of the assumed size is shown.
    """

    asked: Asked
    standing: Standing
    previews: tuple[Preview, ...]
    groups: int
    threshold: int | None = None
    chance: float | None = None

    @property
    def affordable(self) -> bool:
        """Whether the person who asks can pay for it."""
        return self.standing.affords(self.asked.price)

    @property
    def questions_left(self) -> int:
        """How many such questions they can pay for."""
        return self.standing.questions_left(self.asked.price)

    @property
    def after(self) -> Amount:
        """What they have left after an affordable question, of a budget that adds up."""
        return self.standing.remaining - self.asked.price


def worth(
    state: State, person: Person, asked: Asked, records: Any = None, mean: Any = None
) -> Worth:
    """The preview of a question for a person, for assumed data; no data is read."""
    holding = state.holdings[asked.dataset.name]
    question = holding.question(asked.choice, asked.epsilon)
    groups = holding.groups(asked.choice.grouping)
    size = _records(asked.dataset.records if records in (None, "") else records)
    size = max(1, size // groups)
    return Worth(
        asked=asked,
        standing=state.account(person, asked.dataset.budget).standing(),
        previews=tuple(_previews(person.name, asked, question.mechanism, size, mean)),
        groups=groups,
        threshold=question.threshold,
        chance=_chance(person.name, question.mechanism, question.threshold, size),
    )


# Previews are kept for the person who asked for them. If they were kept for all, the time of one
# would reveal which questions others are about to ask.


@lru_cache(maxsize=2048)
def _chance(person: str, mechanism: Any, threshold: int | None, size: int) -> float | None:
    """P(size + K >= threshold), rounded down."""
    if threshold is None:
        return None
    return float(max(Fraction(0), mechanism.count_tail(threshold - size, bits=64).low))


def _previews(person: str, asked: Asked, mechanism: Any, size: int, mean: Any) -> list[Preview]:
    """A preview for each column; by group, of one group of the size."""
    centres = []
    for place, name in enumerate(asked.choice.columns):
        column = asked.dataset.columns[name]
        low, high = column.bounds
        usual = column.typical if column.typical is not None else (low + high) / 2
        centres.append(_mean(usual if mean in (None, "") or place else mean, low, high))
    laws = _laws(mechanism, len(centres))
    simulated = _simulated(person, mechanism, laws, size, tuple(centres))
    return [
        Preview(name, centre, size, margin, answers, law.grid.yes_or_no)
        for name, centre, law, (margin, answers) in zip(
            asked.choice.columns, centres, laws, simulated, strict=True
        )
    ]


def _laws(mechanism: Any, columns: int) -> tuple[MeanMechanism, ...]:
    """The law of each column."""
    return tuple(map(mechanism.column, range(columns))) if columns > 1 else (mechanism,)


@lru_cache(maxsize=2048)
def _simulated(
    person: str,
    mechanism: Any,
    laws: tuple[MeanMechanism, ...],
    records: int,
    means: tuple[float, ...],
) -> list[tuple[float, tuple[float, ...]]]:
    """For each column, the half-width of the 95 % interval, and simulated noisy means."""
    cells = [_cells(law, records, mean) for law, mean in zip(laws, means, strict=True)]
    first, *more = cells
    if mechanism.statistic == "spread":
        more = [_squares(laws[0], first, records)]
    # Equal questions have equal previews, and different questions different ones.
    bits = SeededBits(crc32(f"{mechanism.epsilon} {records} {means}".encode()))
    noisy = mechanism.noise(Totals(first, records, tuple(more)), bits=bits, size=SIMULATED)
    found = []
    for place, (law, mean) in enumerate(zip(laws, means, strict=True)):
        drawn = noisy.columns[place] if len(laws) > 1 else noisy
        answers = [
            Release.of(law, one, estimator="projected", private=False).mean for one in each(drawn)
        ]
        grid, parts = law.grid.cells, law.parts
        exact = NoisyTotals(
            cells[place] * parts, (grid * records - cells[place]) * parts, grid, parts
        )
        ends = fresh_interval(law, exact, 0.95, "mean", mean)
        found.append((max(ends.high - mean, mean - ends.low), tuple(answers)))
    return found


def _cells(law: MeanMechanism, records: int, mean: float) -> int:
    """The sum of the cells of this many records with this mean."""
    lower, upper = law.grid.bounds
    share = (Fraction(mean) - Fraction(lower)) / (Fraction(upper) - Fraction(lower))
    return round(share * law.grid.cells * records)


def _squares(law: MeanMechanism, cells: int, records: int) -> int:
    """A sum of squares: the deviation is a sixth of the range, or less if the mean is extreme."""
    grid, mean = law.grid.cells, Fraction(cells, records)
    variance = min(Fraction(grid * grid, 36), mean * (grid - mean))
    return round(records * (mean * mean + variance))


def _records(records: Any) -> int:
    try:
        found = int(records)
    except (TypeError, ValueError, OverflowError):
        found = 0
    if isinstance(records, bool) or not 1 <= found <= _MOST:
        raise _assumption("records", f"takes a whole number from 1 to {_MOST:,}")
    return found


def _mean(mean: Any, low: float, high: float) -> float:
    try:
        found = float(mean)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or not low <= found <= high:
        raise _assumption("mean", f"takes a number between the bounds, {low} and {high}")
    return found


def _assumption(argument: str, words: str) -> Failure:
    return Failure("bad_assumption", words=f"{argument}: {words}.", argument=argument)
