"""Figure: the hourglass, all changes of the sum and the count by one record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..core.limits import Bounds, Grid
from ..core.totals import Totals
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .style import INK, LOOKS, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

#: A coarse grid, so that its cells are visible.
GRID: Final = Grid(Bounds(0, 1), 8)
#: Text along a line.
_ALONG: Final[dict[str, Any]] = {"rotation_mode": "anchor", "ha": "center"}
PLAIN, TRANSFORMED = "sum and count", "the two transformed sums"


def table(settings: Settings, tick: Tick) -> Table:
    """The changes of the totals when a record in each cell is added or removed."""
    points = []
    for value in range(GRID.cells + 1):
        record = Totals(GRID.cell(value / GRID.cells), 1)
        for series, sign in (("add", 1), ("remove", -1)):
            total, count = sign * record.cells / GRID.cells, sign * record.count
            points.append(Point(series, total, count, panel=PLAIN))
            points.append(Point(series, total, count - total, panel=TRANSFORMED))
        tick()
    return Table("first_coordinate", "second_coordinate", tuple(points))


def draw(table: Table) -> Figure:
    """The moves in both coordinates, the hourglass they span and their convex hull."""
    drawn, (left, right) = figure(7.4, 3.9, 2)
    for ax, panel in ((left, PLAIN), (right, TRANSFORMED)):
        _moves(ax, table, panel)
        ax.set(aspect="equal", xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), title=panel)
        ax.set_xticks((-1, 0, 1))
        ax.set_yticks((-1, 0, 1))
    drawn.suptitle("What a record can do, for every ε and mean", x=0.01, ha="left", fontsize=10)
    left.set(xlabel="change of the sum (records)", ylabel="change of the count (records)")
    right.set(
        xlabel="change of s₁, toward the upper bound", ylabel="change of s₂, toward the lower bound"
    )
    left.text(0.5, 1.1, "add a record", ha="center", va="bottom")
    left.text(-0.5, -1.1, "remove a record", ha="center", va="top")
    left.text(-0.56, 0.06, "convex hull", rotation=63.4, **_ALONG, va="bottom")
    right.text(0.56, 0.56, "add a record", rotation=-45, **_ALONG, va="bottom")
    right.text(-0.56, -0.56, "remove a record", rotation=-45, **_ALONG, va="top")
    for sign in (1, -1):
        right.text(0.3 * sign, -0.3 * sign, "never\nreached", ha="center", va="center")
    return drawn


def _moves(ax: Axes, table: Table, panel: str) -> None:
    colour = LOOKS["hourglass"].colour
    ends = []
    for name in ("add", "remove"):
        moves = table.series(name, panel)
        xs, ys = [p.x for p in moves], [p.y for p in moves]
        ax.fill([0, *xs], [0, *ys], color=colour, alpha=0.30, linewidth=0)
        ax.plot(xs, ys, color=colour, marker="o", markersize=4, linewidth=2)
        ends += [(xs[0], ys[0]), (xs[-1], ys[-1])]
    hull = [ends[0], ends[1], ends[2], ends[3], ends[0]]
    look = LOOKS["laplace"]
    ax.plot(*zip(*hull, strict=True), color=look.colour, linestyle=look.dash, zorder=1)
    ax.plot(0, 0, marker="o", markersize=4, color=INK)


def claims(table: Table) -> tuple[Claim, ...]:
    """A record changes both transformed sums in the same direction, by one record in total."""
    moves = [p for p in table.points if p.panel == TRANSFORMED]
    return (
        Claim(
            "A record moves the two transformed sums in the same direction, by one in all: half "
            "of their convex hull is never reached.",
            f"{len(moves)} moves, |Δs₁ + Δs₂| = {min(abs(p.x + p.y) for p in moves):g} to "
            f"{max(abs(p.x + p.y) for p in moves):g}, Δs₁ Δs₂ ≥ {min(p.x * p.y for p in moves):g}",
            all(abs(p.x + p.y) == 1 and p.x * p.y >= 0 for p in moves),
        ),
    )


EXHIBIT = Exhibit(
    "space",
    "The hourglass, for every ε and mean",
    "All that adding or removing one record can do (dots: a grid of 8 cells), joined to the "
    "origin: the shape that gives the mechanism its name. Dashed: the convex hull, the ball of "
    "the transformed Laplace noise, half of which no record reaches.",
    table,
    draw,
    claims,
)
