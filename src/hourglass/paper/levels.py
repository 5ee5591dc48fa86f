"""Picture: the levels of the noise for two columns, and what one record does to them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from ..noise import HourglassBox
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .style import INK, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

CELLS: Final = 10**6
#: Two columns at epsilon 1, with the centre that is best for them.
LAW: Final = HourglassBox(1, (CELLS, CELLS))
HALF: Final = LAW.centres[0] / CELLS
#: The noise of each column is shown up to the end of its second stair.
STAIRS: Final = 2
REACH: Final = HALF + STAIRS
COUNTS: Final = (-1, 0, 1, 2)
#: Those that are drawn, and a point from which a record leads from the first to the second.
DRAWN: Final = (0, 1)
START: Final = (-1.5, 0.45)

#: (from, to) of both columns, and the level there.
Patch = tuple[float, float, float, float, int]


def table(settings: Settings, tick: Tick) -> Table:
    """For each count the patches of equal level: where they begin in both columns, their level.

    The levels are those of the law that is sampled.
    """
    edges = sorted(side * (HALF + i) for i in range(STAIRS + 1) for side in (-1, 1))
    points = []
    for count in COUNTS:
        for low, high in itertools.pairwise(edges):
            for left, right in itertools.pairwise(edges):
                cell = (round((left + right) / 2 * CELLS), round((low + high) / 2 * CELLS))
                level = LAW.level(cell, count)
                points.append(Point(f"{low:.6f}", left, level, panel=f"K = {count}"))
        tick()
    return Table("first_sum_noise_records", "level", tuple(points))


def _patches(table: Table, count: int) -> list[Patch]:
    panel = f"K = {count}"
    rows = [float(name) for name in table.series_names(panel)]
    found = []
    for name, (low, high) in zip(
        table.series_names(panel), itertools.pairwise([*rows, REACH]), strict=True
    ):
        row = table.series(name, panel)
        ends = [*(p.x for p in row[1:]), REACH]
        found += [(p.x, end, low, high, int(p.y)) for p, end in zip(row, ends, strict=True)]
    return found


def draw(table: Table) -> Figure:
    """A map of the levels for two counts: dark where the density is high."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    drawn, axes = figure(7.8, 4.7, len(DRAWN), sharex=True, sharey=True)
    deepest = max(int(p.y) for p in table.points)
    shades = colormaps["cividis"].resampled(deepest + 1)
    for ax, count in zip(axes, DRAWN, strict=True):
        patches = _patches(table, count)
        for left, right, low, high, level in patches:
            shade = shades(level)
            ax.add_patch(Rectangle((left, low), right - left, high - low, facecolor=shade,
                                   edgecolor=shade, linewidth=0.4))  # fmt: skip
            tone = "white" if level < 0.55 * deepest else "black"
            ax.text((left + right) / 2, (low + high) / 2, f"{level}", color=tone, ha="center",
                    va="center")  # fmt: skip
        _borders(ax, patches)
        ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), aspect="equal")
        ax.set_xlabel("noise on the first sum X₁ (records)")
        ax.grid(visible=False)
    drawn.suptitle("Levels for two columns, ε = 1, every mean", x=0.01, ha="left", fontsize=10)
    axes[0].set_title(f"noise on the count K = {DRAWN[0]}: a draw")
    axes[1].set_title(f"K = {DRAWN[1]}: where one record more takes it")
    axes[0].set_ylabel("noise on the second sum X₂ (records)")
    _record(*axes)
    return drawn


def _borders(ax: Axes, patches: list[Patch]) -> None:
    """White lines where the level changes."""
    line: Any = {"color": "white", "linewidth": 1.6, "solid_capstyle": "projecting"}
    levels = {(left, low): level for left, _, low, _, level in patches}
    for left, right, low, high, level in patches:
        if levels.get((right, low), level) != level:
            ax.plot([right, right], [low, high], **line)
        if levels.get((left, high), level) != level:
            ax.plot([left, right], [high, high], **line)


def _record(before: Axes, after: Axes) -> None:
    """A point, and the square of points that a record takes it to."""
    from matplotlib.patches import Rectangle

    before.plot(*START, marker="o", markersize=7, color="white", markeredgecolor=INK)
    for colour, width in ((INK, 3.2), ("white", 1.6)):
        square = Rectangle(START, 1, 1, fill=False, edgecolor=colour, linewidth=width, zorder=4)
        after.add_patch(square)


def claims(table: Table) -> tuple[Claim, ...]:
    """A record moves the level by exactly one, whatever its values in the two columns."""
    steps = {
        there - here
        for count in COUNTS[:-1]
        for left, right, low, high, here in _patches(table, count)
        for to_left, to_right, to_low, to_high, there in _patches(table, count + 1)
        # Some (q, r) in [0, 1]² leads there; the margin is for the last digit of the edges.
        if _reached(left, right, to_left, to_right) and _reached(low, high, to_low, to_high)
    }
    return (
        Claim(
            "Adding a record of any two values changes the level by exactly one.",
            f"steps of the level met from K = -1 to 2: "
            f"{', '.join(f'{step:+d}' for step in sorted(steps))}",
            steps == {-1, 1},
        ),
    )


def _reached(left: float, right: float, to_left: float, to_right: float) -> bool:
    return to_left < right + 1 - 1e-6 and to_right > left + 1e-6


EXHIBIT = Exhibit(
    "levels",
    "The levels for two columns, ε = 1, every mean",
    "The noise on two sums and the count that they share, ε = 1: how many factors e^-ε the density "
    "lies below its top, where the noise on the count is 0 (left) and 1 (right). A record takes "
    "the dot on the left to a point of the square on the right, by its two values; every level in "
    "there is one more or one less.",
    table,
    draw,
    claims,
    beyond=True,
)
