"""Charts that several exhibits share: measured points with error bars on closed-form lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .exhibit import Point, Table
from .style import LOOKS, Look, figure, label_ends, looks_of, plain_log_ticks
from .sweeps import BASELINE, BOUND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = [
    "EPSILON", "closed_forms", "draw_series", "legend", "marks", "over_epsilon", "over_means",
    "over_records",
]  # fmt: skip

EPSILON = "privacy parameter ε"
ERROR = "normalised error  n² ε² MSE / 2"


def marks(ax: Axes, points: Sequence[Point], look: Look, *, line: bool = True) -> None:
    """A series: marks with bars of two standard errors, joined by its line.

    On a log scale a bar never extends to zero.
    """
    log = ax.get_yscale() == "log"
    down = [min(2 * p.se, 0.9 * p.y) if log else 2 * p.se for p in points]
    ax.errorbar(
        [p.x for p in points],
        [p.y for p in points],
        yerr=[down, [2 * p.se for p in points]],
        color=look.colour,
        linestyle=look.dash if line and look.dash else "none",
        marker=look.mark or "none",
        markerfacecolor=look.colour if look.filled else "white",
        elinewidth=0.9,
        capsize=1.8,
        zorder=3,
    )


def closed_forms(ax: Axes, points: Sequence[Point], look: Look) -> None:
    """The line through the closed forms of a series, if it has a line."""
    if look.dash:
        x, form = [p.x for p in points], [p.closed_form for p in points]
        ax.plot(x, form, color=look.colour, linestyle=look.dash)


def draw_series(
    ax: Axes, table: Table, panel: str = "", looks: Mapping[str, Look] | None = None
) -> list[tuple[float, float, Look]]:
    """Draw every series of a panel; return where the lines end, for their labels."""
    ends = []
    looks = looks_of(table.series_names(panel)) if looks is None else looks
    for name in table.series_names(panel):
        points = table.series(name, panel)
        marks(ax, points, looks[name])
        ends.append((points[-1].x, points[-1].y, looks[name]))
    return ends


def over_epsilon(table: Table, title: str, *, log: bool, close: Sequence[str]) -> Figure:
    """The error over epsilon, and that of the best relative to the bound: E1 and E3."""
    drawn, (left, right) = figure(7.8, 3.9, 2, width_ratios=(1.25, 1))
    if log:
        left.set_yscale("log", nonpositive="mask")
        plain_log_ticks(left.yaxis, (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50))
    draw_series(left, table)
    if not log:
        left.set_ylim(0, max(4.4, 1.05 * max(p.y for p in table.points)))
    _relative(right, table, close)
    left.set(xlabel=EPSILON, ylabel=ERROR, title=title)
    right.set(xlabel=EPSILON, ylabel="error / lower bound", title="close up; lines: closed forms")
    names = table.series_names()
    looks = looks_of(names)
    legend(drawn, left, (looks[name] for name in names), 3 if len(names) > 4 else 4)
    return drawn


def _relative(ax: Axes, table: Table, close: Sequence[str]) -> None:
    """The measured errors relative to the bound, with marks slightly apart, and closed forms."""
    bound = {p.x: p for p in table.series(BOUND)}
    step = min(bound) / 10
    for i, name in enumerate(close):
        look, points = LOOKS[name], [p.over(bound[p.x]) for p in table.series(name)]
        closed_forms(ax, points, look)
        marks(ax, [replace(p, x=p.x + i * step) for p in points], look, line=False)
    ax.axhline(1, color=LOOKS[BOUND].colour)


def _handle(ax: Axes, look: Look) -> Line2D:
    """The legend entry of a series."""
    dash = look.dash or "none"
    (line,) = ax.plot([], [], color=look.colour, linestyle=dash, marker=look.mark or "none")
    line.set_label(look.label)
    return line


def legend(drawn: Figure, ax: Axes, looks: Iterable[Look], columns: int) -> None:
    """A legend above all panels."""
    handles = [_handle(ax, look) for look in looks]
    drawn.legend(handles=handles, loc="outside upper left", ncols=columns)


def over_means(table: Table, title: str, *, ticks: Sequence[float] = ()) -> Figure:
    """The error over the mean, and again close to zero: E2 and E4."""
    records = round(0.25 / min(p.x for p in table.points if p.x > 0))  # the first: a quarter record
    drawn, (near, whole) = figure(7.6, 3.7, 2, sharey=True, width_ratios=(1, 1.75))
    if ticks:
        near.set_yscale("log", nonpositive="mask")
        plain_log_ticks(near.yaxis, ticks)
    else:
        near.set_ylim(0, 1.08 * max(p.y for p in table.points))
    edge = Table(
        table.x,
        table.y,
        tuple(replace(p, x=p.x * records) for p in table.points if p.x * records <= 8.5),
    )
    draw_series(near, edge)
    ends = draw_series(whole, table)
    near.set(xlabel="sum of the data (records)", ylabel=ERROR, title="close to zero")
    whole.set(xlabel="mean of the data, as a share of the range", title=title, xlim=(-0.02, 1.02))
    label_ends(whole, ends)
    return drawn


def over_records(table: Table, title: str, *, ratio: bool = False) -> Figure:
    """The error, or a ratio of errors, over the number of records: E5 to E8."""
    drawn, ax = figure(6.6, 3.7)
    ax.set_xscale("log", base=2)
    plain_log_ticks(ax.xaxis, sorted({p.x for p in table.points}))
    if not ratio:
        ax.set_yscale("log", nonpositive="mask")
    looks = _ratio_looks(table) if ratio else looks_of(table.series_names())
    if BASELINE in looks and not ratio:
        looks[BASELINE] = replace(LOOKS[BASELINE], dash="-", label="lower bound (swap)")
    ends = draw_series(ax, table, looks=looks)
    if ratio:
        ax.axhline(1, color="#000000", linewidth=0.8)
        ax.set_ylim(bottom=0)
    label = "ratio of mean squared errors" if ratio else "error  ε² MSE / 2"
    ax.set(xlabel="records in the data |D|", ylabel=label, title=title)
    label_ends(ax, ends)
    return drawn


def _ratio_looks(table: Table) -> dict[str, Look]:
    """A ratio looks like its numerator."""
    pairs = {name: name.split(" / ") for name in table.series_names()}
    tops = looks_of(top for top, _ in pairs.values())
    return {
        name: replace(tops[top], label=f"{tops[top].label}\n/ {LOOKS[below].label}")
        for name, (top, below) in pairs.items()
    }
