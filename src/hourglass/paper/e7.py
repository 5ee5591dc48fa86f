"""E7: two-dimensional staircase and hourglass on small data, |D| = 2^0 to 2^6, epsilon 4."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import Claim, Exhibit, Settings, Table, Tick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT", "table"]

ALGORITHMS: Final = ("staircase", "hourglass")
EPSILON: Final = Fraction(4)


@lru_cache(maxsize=1)
def table(settings: Settings, tick: Tick) -> Table:
    """The error over the number of records; kept, as E8 shows the ratios of these values."""
    return sweeps.over_records(ALGORITHMS, EPSILON, settings, tick)


def draw(table: Table) -> Figure:
    """Lines over the number of records, both scales logarithmic."""
    return charts.over_records(
        table, "Staircase and hourglass on small data, ε = 4", "error  ε² MSE / 2", log=True
    )


def claims(table: Table) -> tuple[Claim, ...]:
    """None of its own: E8 judges the ratio."""
    return ()


EXHIBIT = Exhibit(
    "e7",
    "Small data: staircase and hourglass",
    "Mean squared error times ε²/2 over the number of records, at ε = 4, data of mean 0.01, a "
    "fresh data set in every run.",
    table,
    draw,
    claims,
)
