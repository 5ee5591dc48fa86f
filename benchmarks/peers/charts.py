"""The two pictures of the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from .environments import adapter
from .measure import CELLS, EPSILONS, SPEEDS

COLOURS: Final = {
    "ours": "#1f5a96",
    "plain": "#999999",
    "opendp": "#c8553d",
    "pydp": "#2a9d5c",
    "pipelinedp": "#8a5fbf",
    "smartnoise": "#d99a1c",
    "tumult": "#4bb3c6",
}

#: A point with a larger relative standard error than this is not drawn.
MOST: Final = 0.3


def _axes(columns: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * columns, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for each in axes:
        each.grid(color="#e6e6e6", linewidth=0.8)
        each.set_axisbelow(True)
        for side in ("top", "right"):
            each.spines[side].set_visible(False)
    return figure, axes


def error_over_epsilon(found: dict[str, Any], path: Path) -> None:
    """The large data: mean 0.1, mean 0.5, and bounds far from zero."""
    shown = (CELLS[0], CELLS[2], CELLS[4])
    figure, axes = _axes(len(shown))
    for cell, each in zip(shown, axes, strict=True):
        for name, colour in COLOURS.items():
            points = found.get(name, {})
            known = {e: points[cell.title, e] for e in EPSILONS if (cell.title, e) in points}
            xs = [e for e, point in known.items() if point.spread < MOST]
            if xs:
                ys = [known[e].value for e in xs]
                bars = [known[e].error for e in xs]
                each.errorbar(
                    xs, ys, yerr=bars, color=colour, marker="o", markersize=4,
                    linewidth=2.4 if name == "ours" else 1.4, label=adapter(name).TITLE,
                )  # fmt: skip
        each.axhline(1.0, color="#666666", linewidth=0.8, linestyle="--")
        each.set_xscale("log")
        each.set_yscale("log")
        each.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        each.minorticks_off()
        each.set_title(cell.title, fontsize=9)
        each.set_xlabel("epsilon")
    axes[0].set_ylabel("normalised MSE over sigma²")
    axes[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)


def time_over_groups(results: dict[str, Any], path: Path) -> None:
    """A million rows: in one group, in a thousand, in a hundred thousand."""
    figure, (axes,) = _axes(1)
    for name, colour in COLOURS.items():
        times = results["speed"].get(name, {})
        points = [
            (max(groups, 1), times[title])
            for title, rows, groups in SPEEDS
            if rows == 1_000_000 and isinstance(times.get(title), float)
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True), color=colour, marker="o", markersize=4,
                linewidth=2.4 if name == "ours" else 1.4, label=adapter(name).TITLE,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("groups, of a million rows in all")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=110)
