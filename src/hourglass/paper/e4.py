"""E4: two-dimensional staircase and hourglass over the mean of the data, epsilon 4."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick, all_above
from .shape import edge_scale, m_shape

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

#: Rare draws make up much of the error at large epsilon: more runs than the paper's.
RUNS: Final = 10
ALGORITHMS: Final = ("staircase", "hourglass")
EPSILON: Final = Fraction(4)


def table(settings: Settings, tick: Tick) -> Table:
    """The error over the mean."""
    return sweeps.over_means(ALGORITHMS, EPSILON, settings.times(RUNS), tick)


def draw(table: Table) -> Figure:
    """Lines over the mean, and again close to zero."""
    title = "Staircase and hourglass over the mean, ε = 4"
    return charts.over_means(table, title, edge_scale(table))


def claims(table: Table) -> tuple[Claim, ...]:
    """The M, the bound as a ceiling, and the order of the two at every mean."""
    hourglass = table.series("hourglass")
    bound = table.series(sweeps.BOUND)[0].y
    ratio = [p.over(table.at("hourglass", p.x)) for p in table.series("staircase")]
    top = max(hourglass, key=lambda p: p.y)
    return (
        m_shape(table, "staircase"),
        m_shape(table, "hourglass"),
        Claim(
            "No mean takes the hourglass above the lower bound on the worst case.",
            f"largest error / bound: {top.y / bound:.3f} (s.e. {top.se / bound:.3f}), "
            f"at mean {top.x:.5g}",
            all(p.y <= bound + SIGMAS * p.se for p in hourglass),
        ),
        Claim(
            "Hourglass beats the 2-d staircase at every mean.",
            f"staircase / hourglass: {charts.spread(ratio)}",
            all_above(ratio, 1),
        ),
    )


EXHIBIT = Exhibit(
    "e4",
    "Weak privacy: the error over the mean",
    "Error over the mean at ε = 4, in units of 2/(nε)². Left: the same close to zero, where the "
    "data sum to a few records and clipping the estimate to the range removes error.",
    table,
    draw,
    claims,
)
