"""E5: the Laplace algorithms on small data, |D| = 2^0 to 2^6, epsilon 1."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import Claim, Exhibit, Settings, Table, Tick, all_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT", "table"]

ALGORITHMS: Final = ("independent", "shifted", "laplace")
EPSILON: Final = Fraction(1)


@lru_cache(maxsize=1)
def table(settings: Settings, tick: Tick) -> Table:
    """The error over the number of records; kept, as E6 shows the ratios of these values."""
    return sweeps.over_records(ALGORITHMS, EPSILON, settings, tick)


def draw(table: Table) -> Figure:
    """Lines over the number of records, both scales logarithmic."""
    return charts.over_records(
        table, "Laplace algorithms on small data, ε = 1", "error  ε² MSE / 2", log=True
    )


def claims(table: Table) -> tuple[Claim, ...]:
    """From two records on the transformed noise is the best of the three."""
    ratio = [
        p.over(table.at("laplace", p.x))
        for name in ("independent", "shifted")
        for p in table.series(name)
    ]
    one, more = [p for p in ratio if p.x == 1], [p for p in ratio if p.x > 1]
    return (
        Claim(
            "From two records on transformed Laplace is the best of the three on small data too.",
            f"others / transformed for |D| = 2 to 64: {charts.spread(more)}; for one record "
            f"independent / transformed {one[0].y:.2f}, shifted / transformed {one[1].y:.2f}",
            all_above(more, 1),
        ),
    )


EXHIBIT = Exhibit(
    "e5",
    "Small data: the Laplace algorithms",
    "Mean squared error times ε²/2 over the number of records, at ε = 1, data of mean 0.01, a "
    "fresh data set in every run.",
    table,
    draw,
    claims,
)
