"""Picture: the levels of the hourglass density on [-4, 4]^2 for gamma = 0.4."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from ..noise import Hourglass
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .style import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

REACH: Final = 4
CELLS: Final = 10**6
#: (2c+1)/(2G) = 0.4 to six digits.
LAW: Final = Hourglass(1, CELLS, 2 * CELLS // 5)


def table(settings: Settings, tick: Tick) -> Table:
    """For each count the intervals of equal level: where each begins, and its level.

    The levels are those of the law that is sampled; they do not depend on epsilon.
    """
    half = LAW.c / CELLS
    stairs = [side * (half + i) for i in range(REACH) for side in (-1, 1)]
    edges = sorted([-REACH, *stairs, REACH])
    points = []
    for count in range(-REACH, REACH + 1):
        for left, right in itertools.pairwise(edges):
            cell = round((left + right) / 2 * CELLS)
            points.append(Point(f"K = {count}", left, LAW.level(cell, count)))
        points.append(Point(f"K = {count}", REACH, points[-1].y))
        tick()
    return Table("sum_noise_records", "level", tuple(points))


def _rows(table: Table) -> list[tuple[int, list[tuple[float, float, int]]]]:
    """Each count with its intervals (from, to, level)."""
    rows = []
    for name in table.series_names():
        pairs = itertools.pairwise(table.series(name))
        stretches = [(a.x, b.x, int(a.y)) for a, b in pairs]
        rows.append((int(name.removeprefix("K = ")), stretches))
    return rows


def draw(table: Table) -> Figure:
    """A bar per interval, dark where the density is high, labelled with the level."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    drawn, ax = figure(5.4, 5.5)
    deepest = max(int(p.y) for p in table.points)
    shades = colormaps["cividis"].resampled(deepest + 1)
    for count, stretches in _rows(table):
        for left, right, level in stretches:
            box = Rectangle(
                (left, count - 0.42), right - left, 0.84, facecolor=shades(level), edgecolor="white"
            )
            ax.add_patch(box)
            tone = "white" if level < 0.55 * deepest else "black"
            ax.text((left + right) / 2, count, f"{level}", color=tone, ha="center", va="center",
                    fontsize=9)  # fmt: skip
    ax.set(xlim=(-REACH, REACH), ylim=(-REACH - 0.5, REACH + 0.5), aspect="equal")
    ax.set(xlabel="noise on the sum X (records)", ylabel="noise on the count K (records)")
    ax.set_title("Levels of the hourglass density, γ = 0.4,\nfor every ε and mean")
    ax.grid(visible=False)
    return drawn


def claims(table: Table) -> tuple[Claim, ...]:
    """A neighbour changes the level by exactly one, whatever its value."""
    rows = dict(_rows(table))
    steps = {
        there - here
        for count in range(-REACH, REACH)
        for left, right, here in rows[count]
        for to_left, to_right, there in rows[count + 1]
        # Some q in [0, 1] leads there; the margin is for the last digit of the edges.
        if to_left < right + 1 - 1e-9 and to_right > left + 1e-9
    }
    return (
        Claim(
            "Adding a record of any value changes the level by exactly one: the likelihood ratio "
            "of neighbours is e^ε or e^-ε and nothing between.",
            f"steps of the level met on [-4, 4]²: {', '.join(f'{s:+d}' for s in sorted(steps))}",
            steps == {-1, 1},
        ),
    )


EXHIBIT = Exhibit(
    "density",
    "The hourglass density, for every ε and mean",
    "The noise on the count is a whole number, so the density lives on horizontal lines; each "
    "number is how many factors e^-ε the density lies below its top.",
    table,
    draw,
    claims,
)
