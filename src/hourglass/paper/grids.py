"""Beyond the paper: whole numbers on their own grid do better than the bound for real values."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ..core.limits import Bounds, Grid
from ..estimate.accuracy import leading_error, sigma2
from ..mechanisms.base import make
from . import charts
from .data import UNIT, data_set, grid_data_set
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick, furthest
from .measure import measure
from .style import DASHDOT, DASHES, DOTS, Look, figure, label_ends, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

#: The position of the data's mean in the range.
MEAN: Final = 0.1
EPSILONS: Final = tuple(Fraction(i, 2) for i in (1, 2, 4, 6, 8, 10, 12, 14, 16))
#: On a coarse grid the noise is mostly zero, so more runs are needed.
RUNS: Final = 10
GRIDS: Final = {
    "yes/no": Grid(Bounds(0, 1), 1, own=True),
    "ratings 1 to 5": Grid(Bounds(1, 5), 4, own=True),
    "ages 0 to 120": Grid(Bounds(0, 120), 120, own=True),
    "real values": UNIT,
}
LOOKS: Final = {
    "yes/no": Look("#7A2E00", "-", "s", "yes/no (1 cell)"),
    "ratings 1 to 5": Look("#B04A00", DASHES, "^", "ratings 1–5 (4 cells)"),
    "ages 0 to 120": Look("#D55E00", DASHDOT, "D", "ages 0–120 (120 cells)"),
    "real values": Look("#555555", DOTS, "o", "real values (2³² cells)"),
}


def table(settings: Settings, tick: Tick) -> Table:
    """n^2 MSE over that of the best noise for real values at the same mean."""
    points = []
    for epsilon in EPSILONS:
        for name, grid in GRIDS.items():
            make_data = grid_data_set if grid.own else data_set
            data = make_data(MEAN, settings.records, settings.bits, grid)
            error = measure(make("hourglass", epsilon, grid), data, settings.times(RUNS))
            a = data.mean
            real = sigma2(epsilon) * ((1 - a) ** 2 + a**2)
            unit = settings.records**2 / real
            place = grid.lower + a * (grid.upper - grid.lower)
            lead = leading_error(epsilon, mean=place, bounds=grid.bounds, grid=grid.cells) / real
            points.append(error.point(name, float(epsilon), unit, lead))
            tick()
    return Table("epsilon", "mse_over_real_valued_optimum", tuple(points))


def draw(table: Table) -> Figure:
    """Lines over epsilon."""
    drawn, ax = figure(6.9, 3.9)
    ax.set_yscale("log", nonpositive="mask")
    plain_log_ticks(ax.yaxis, (0.05, 0.1, 0.2, 0.5, 1))
    ends = charts.draw_series(ax, table, looks=LOOKS)
    ax.set(xlabel=charts.EPSILON, ylabel="error / optimum for real values")
    ax.set_title(f"Whole numbers on their own grid, ε = 0.5 to 8, mean {MEAN:g}")
    label_ends(ax, ends)
    return drawn


def claims(table: Table) -> tuple[Claim, ...]:
    """The gain, and that it is as predicted."""
    yes_no = {e: table.at("yes/no", e) for e in (4, 8)}
    off = furthest(table.points)
    return (
        Claim(
            "Yes/no data on their own grid have 0.585 of the error that real values must have at "
            "ε = 4, and 0.199 at ε = 8.",
            ", ".join(f"{p.y:.3f} ± {p.se:.3f} at ε = {e}" for e, p in yes_no.items()),
            all(abs(p.deviation) <= SIGMAS for p in yes_no.values()),
        ),
        Claim(
            "Every grid's error is the one predicted from its exact moments.",
            f"furthest of {len(table.points)} points: {off:.1f} standard errors",
            off <= SIGMAS,
        ),
    )


EXHIBIT = Exhibit(
    "grids",
    "Whole numbers on their own grid, ε = 0.5 to 8, mean 0.1",
    "Error of the hourglass over σ²((1-a)² + a²), the optimum for real values, for data whose "
    "mean lies at a = 0.1 of the range. The bound binds real values alone, and whole numbers can "
    "do much better. With few cells there are epsilons, here 3 with ratings, where no whole number "
    "of cells makes a good centre; the noise is then drawn in parts of a cell.",
    table,
    draw,
    claims,
    beyond=True,
)
