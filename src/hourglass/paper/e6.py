"""E6: the ratios of the errors of E5 to that of the transformed Laplace noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import charts, e5, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]


def table(settings: Settings, tick: Tick) -> Table:
    """Each algorithm's error over the transformed one's."""
    return sweeps.ratios(e5.table(settings, tick), "laplace")


def draw(table: Table) -> Figure:
    """Lines over the number of records."""
    title = "Small data, ε = 1: error relative to transformed Laplace"
    return charts.over_records(table, title, "ratio of mean squared errors", log=False)


def claims(table: Table) -> tuple[Claim, ...]:
    """About two from sixteen records on."""
    large = [p for p in table.series("shifted / laplace") if p.x >= 16]
    return (
        Claim(
            "From 16 records on shifted Laplace has about twice the error of the transformed.",
            "shifted / transformed: "
            + ", ".join(f"{p.y:.2f} at |D| = {p.x:g}" for p in large)
            + f" (s.e. up to {max(p.se for p in large):.3f})",
            all(abs(p.y - 2) <= 0.2 + SIGMAS * p.se for p in large),
        ),
    )


EXHIBIT = Exhibit(
    "e6",
    "Small data: how much the transformed noise saves",
    "The errors of the figure before, over that of transformed Laplace.",
    table,
    draw,
    claims,
)
