"""E8: the ratio of the errors of E7."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import charts, e7, sweeps
from .exhibit import Claim, Exhibit, Settings, Table, Tick, all_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]


def table(settings: Settings, tick: Tick) -> Table:
    """The staircase's error over the hourglass's."""
    return sweeps.ratios(e7.table(settings, tick), "hourglass")


def draw(table: Table) -> Figure:
    """A line over the number of records."""
    title = "Small data, ε = 4: error relative to hourglass"
    return charts.over_records(table, title, "ratio of mean squared errors", log=False)


def claims(table: Table) -> tuple[Claim, ...]:
    """Above one, always."""
    ratio = table.series("staircase / hourglass")
    return (
        Claim(
            "Hourglass beats the 2-d staircase at every size of the data.",
            "staircase / hourglass: "
            + ", ".join(f"{p.y:.2f}" for p in ratio)
            + f" for |D| = 1 to 64 (s.e. up to {max(p.se for p in ratio):.3f})",
            all_above(ratio, 1),
        ),
    )


EXHIBIT = Exhibit(
    "e8",
    "Small data: how much the hourglass saves",
    "The staircase's error of the figure before, over the hourglass's.",
    table,
    draw,
    claims,
)
