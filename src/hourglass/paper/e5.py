"""E5: the Laplace algorithms on small data, |D| = 2^0 to 2^6, epsilon 1."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick

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
    """From which size on the transformed noise is the best of the three."""
    sizes = [p.x for p in table.series("laplace")]
    best = [
        x
        for x in sizes
        if all(
            table.at(name, x).over(table.at("laplace", x)).y > 1
            for name in ("independent", "shifted")
        )
    ]
    ratio = [p.over(table.at("laplace", p.x)) for p in table.series("shifted")]
    return (
        Claim(
            "Transformed Laplace is better than shifted Laplace on small data too.",
            f"shifted / transformed: {charts.spread(ratio)}; best of all three for |D| = "
            + ", ".join(f"{x:g}" for x in best),
            all(p.y + SIGMAS * p.se > 1 for p in ratio) and set(sizes[2:]) <= set(best),
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
