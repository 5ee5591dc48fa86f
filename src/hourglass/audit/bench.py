"""The set-up for mutants: a small grid, the correct noise, and the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ..core.limits import Bounds, Grid
from ..core.totals import Totals
from ..mechanisms.base import HourglassMean
from ..noise import Hourglass
from .empirical import Sampler, empirical_finding, lower_bound
from .finding import Finding
from .greybox import Path, greybox_finding, neighbours
from .paths import path_of_totals, sampler_of

__all__ = ["NO_MUTANT", "REAL", "Bench", "Check", "Mutant", "MutantRow"]

REAL: Final = "none: the real one"
#: The prefix of the names of all rows that are not mutants.
NO_MUTANT: Final = "none: "
Check = Callable[[], Finding]


@dataclass(frozen=True)
class Bench:
    """The set-up for mutants: a small grid, on which a wrong cell is not rare."""

    epsilon: Fraction = Fraction(1)
    grid: int = 4
    samples: int = 400_000

    @property
    def law(self) -> Hourglass:
        """The right noise."""
        return Hourglass(self.epsilon, self.grid)

    @property
    def algorithm(self) -> HourglassMean:
        """The right algorithm, for values in [0, 1]."""
        return HourglassMean(self.epsilon, Grid(Bounds(0.0, 1.0), self.grid))

    def sampled(self, name: str, sampler: Sampler, *pairs: tuple[Any, Any]) -> Check:
        """The empirical check, on the pair that is likely to be the worst."""

        def check() -> Finding:
            bounds = [lower_bound(sampler, *pair, samples=self.samples) for pair in pairs]
            worst = max(bounds, key=lambda bound: bound.epsilon)
            return empirical_finding(name, self.epsilon, worst)

        return check

    def moved(self, name: str, *moves: tuple[int, int]) -> Check:
        """The empirical check with the correct noise, on totals that differ by a wrong move."""
        return self.sampled(name, sampler_of(self.algorithm), *(((0, 0), move) for move in moves))

    def walked(self, path: Path) -> Check:
        """The grey box, on all pairs."""
        return lambda: greybox_finding(path, list(neighbours(0.0, 1.0)))

    def aggregated(self, name: str, totals: Callable[[Sequence[Any]], Totals]) -> Check:
        """The grey box over a wrong aggregation."""
        return self.walked(path_of_totals(name, self.algorithm, totals))


@dataclass(frozen=True)
class Mutant:
    """A mistake by name, and the checks that can be tried on it."""

    name: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class MutantRow:
    """The results of the checks on a mutant, by the name of the check."""

    name: str
    findings: Mapping[str, Finding]

    @property
    def caught(self) -> bool:
        """Whether a check caught it."""
        return any(not finding.holds for finding in self.findings.values())

    @property
    def right(self) -> bool:
        """Whether the result is as expected: mutants are caught, the unmodified library is not."""
        return self.caught != self.name.startswith(NO_MUTANT)
