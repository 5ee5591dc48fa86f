"""E2: the three Laplace algorithms over the mean of the data, epsilon 1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick, all_above
from .shape import edge_scale, m_shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

ALGORITHMS: Final = ("independent", "shifted", "laplace")
EPSILON: Final = Fraction(1)


def table(settings: Settings, tick: Tick) -> Table:
    """The error over the mean."""
    return sweeps.over_means(ALGORITHMS, EPSILON, settings, tick)


def draw(table: Table) -> Figure:
    """Lines over the mean, and again close to zero."""
    ticks = (0.25, 0.5, 1, 2, 4, 8)
    title = "Laplace algorithms over the mean, ε = 1"
    return charts.over_means(table, title, edge_scale(table), ticks=ticks)


def claims(table: Table) -> tuple[Claim, ...]:
    """Two at every mean, and the dip at both ends."""
    below = {p.x: p for p in table.series("laplace")}
    inner = [p for p in table.series("shifted") if 0.01 <= p.x <= 0.99]
    shifted = [p.over(below[p.x]) for p in inner]
    independent = [p.over(below[p.x]) for p in table.series("independent")]
    return (
        Claim(
            "Transformed Laplace has half the error of shifted Laplace at every mean.",
            f"shifted / transformed, means 0.01 to 0.99: {charts.spread(shifted)}",
            all(abs(p.y - 2) <= 0.02 + SIGMAS * p.se for p in shifted),
        ),
        Claim(
            "Independent Laplace is worse than either at every mean.",
            f"independent / transformed: {charts.spread(independent)}",
            all_above(independent, 2),
        ),
        m_shape(table, "laplace"),
    )


EXHIBIT = Exhibit(
    "e2",
    "Strong privacy: the error over the mean",
    "Error over the mean at ε = 1, in units of 2/(nε)². Left: the same close to zero, where the "
    "data sum to a few records and clipping the estimate to the range removes error.",
    table,
    draw,
    claims,
)
