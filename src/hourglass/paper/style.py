"""The style of the figures: each algorithm has the same colour, line and mark everywhere.

The colours are those of Okabe and Ito, which are distinguishable with every kind of colour vision;
lines and marks differ too, so that figures can be read in grey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import OptionError, needs_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DASHDOT", "DASHES", "DOTS", "INK", "LOOKS", "Look", "figure", "house_style", "label_ends",
    "looks_of", "plain_log_ticks",
]  # fmt: skip

INK: Final = "#222222"
GRID: Final = "#D8D8D8"

Dash = str | tuple[int, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """The colour, line, mark and label of a series."""

    colour: str
    dash: Dash
    mark: str
    label: str
    filled: bool = True


DASHES: Final = (0, (5.0, 2.0))
DASHDOT: Final = (0, (6.0, 1.8, 1.2, 1.8))
DOTS: Final = (0, (1.3, 1.7))

LOOKS: Final[dict[str, Look]] = {
    "hourglass": Look("#D55E00", "-", "o", "hourglass"),
    "staircase": Look("#0072B2", DASHES, "D", "2-d staircase"),
    "laplace": Look("#009E73", DASHES, "o", "transformed Laplace"),
    "shifted": Look("#E69F00", DASHDOT, "^", "shifted Laplace"),
    "independent": Look("#CC79A7", DOTS, "s", "independent Laplace"),
    "swap": Look("#000000", "", "x", "swap staircase"),
    "lower bound": Look("#000000", "-", "", "lower bound"),
}
#: The looks of the user's algorithms, in order of appearance.
OTHERS: Final = (
    Look("#56B4E9", (0, (3.2, 1.2, 1.2, 1.2, 1.2, 1.2)), "v", ""),
    Look("#8A6D00", (0, (8.0, 2.0)), "P", ""),
    Look("#6A3D9A", (0, (2.6, 1.0)), "*", ""),
)


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """The looks of these series; a user's algorithm is labelled with its name."""
    others = [name for name in names if name not in LOOKS]
    own = {n: replace(look, label=n) for n, look in zip(others, OTHERS, strict=False)}
    return LOOKS | own


@contextmanager
def house_style() -> Iterator[None]:
    """A context for drawing and saving, with our fonts, spines and ticks."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(
        {
            "font.family": "DejaVu Sans",
            "font.size": 9.5,
            "axes.labelsize": 9.5,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.titlepad": 8,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": GRID,
            "grid.linewidth": 0.6,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "lines.linewidth": 1.5,
            "lines.markersize": 4.8,
            "legend.frameon": False,
            "legend.handlelength": 3.0,
            "svg.hashsalt": "hourglass",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,  # fonts that journals accept and that can be edited
        }
    ):
        yield


def figure(
    width: float, height: float, columns: int = 1, *, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """A figure of that many inches and its axes: one, a list of a row, or a list of rows."""
    _matplotlib()
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    return drawn, drawn.subplots(rows, columns, **options)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise OptionError(needs_extra("paper", "matplotlib", "plot")) from None
    return matplotlib


#: Between labels, as a fraction of the axes' height.
GAP: Final = 0.065


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, Look]]) -> None:
    """Label each line at its right end (x, y), moving labels apart if they would overlap."""
    heights = [_height(ax, y) for _, y, _ in ends]
    order = sorted(range(len(ends)), key=lambda i: heights[i])
    places = dict(zip(order, _apart([heights[i] for i in order], GAP), strict=True))
    for i, (x, y, look) in enumerate(ends):
        ax.annotate(
            look.label,
            xy=(x, max(y, ax.get_ylim()[0])),
            xytext=(1.03, places[i]),
            textcoords="axes fraction",
            color=look.colour,
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": look.colour, "linewidth": 0.6, "shrinkB": 4},
        )


def _height(ax: Axes, y: float) -> float:
    """y as a fraction of the axes' height; 0 for what a log scale cannot show."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        if y <= 0:
            return 0.0
        low, high, y = math.log(low), math.log(high), math.log(y)
    return (y - low) / (high - low)


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Move increasing positions apart until each is at least ``gap`` above the last."""
    groups: list[list[float]] = []  # [sum of wishes, size]
    for place in places:
        groups.append([place, 1])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            wish, size = groups.pop()
            groups[-1][0] += wish
            groups[-1][1] += size
    return [_bottom(group, gap) + gap * step for group in groups for step in range(int(group[1]))]


def _bottom(group: list[float], gap: float) -> float:
    return group[0] / group[1] - gap * (group[1] - 1) / 2


def _top(group: list[float], gap: float) -> float:
    return group[0] / group[1] + gap * (group[1] - 1) / 2


def plain_log_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """A log axis with these ticks, written as plain numbers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
