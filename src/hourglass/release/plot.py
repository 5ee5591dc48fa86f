"""Pictures of answers: means with their intervals, one line a group."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import OptionError

__all__ = ["check_picture", "plot_groups"]

#: More groups than this do not fit on a page; the first ones are drawn.
MOST: Final = 200
_ENDINGS: Final = (".png", ".svg", ".pdf")
_INK, _DOT, _LINE, _PALE = "#222222", "#1f5a96", "#7fa6d1", "#e6e6e6"


def check_picture(path: Any) -> Path:
    """The path if a picture can be written as its ending says, or an error."""
    found = Path(path)
    if found.suffix.lower() not in _ENDINGS:
        raise OptionError(f"plot={str(path)!r} ends in none of {', '.join(_ENDINGS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        installed = False
    else:
        installed = True
    if not installed:
        raise OptionError(
            "plot needs the package matplotlib; install it with: pip install 'hourglass-dp[plot]'"
        )
    return found


def plot_groups(
    path: Any,
    *,
    labels: Sequence[str],
    means: Any,
    lows: Any,
    highs: Any,
    bounds: tuple[float, float],
    title: str,
    notes: Sequence[str] = (),
    confidence: float = 0.95,
) -> None:
    """One line a group: the interval, and the mean as a dot upon it."""
    picture = check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = min(len(labels), MOST)
    names = [textwrap.shorten(label, 28, placeholder="…") or "(empty)" for label in labels[:shown]]
    rows = list(range(shown))
    line = 0.30 if shown <= 20 else 0.21
    foot = [part for note in notes for part in textwrap.wrap(note, 96)]
    if shown < len(labels):
        foot.insert(0, f"The first {shown} of {len(labels):,} groups.")
    below, above = 0.62 + 0.17 * len(foot), 0.52
    height = above + below + line * max(shown, 3)
    figure = Figure(figsize=(8.0, height))
    FigureCanvasAgg(figure)
    widest = max([len(name) for name in names], default=0)
    left = min(0.34, 0.05 + 0.0105 * widest)
    axes = figure.add_axes((left, below / height, 0.965 - left, 1.0 - (above + below) / height))
    axes.hlines(rows, lows[:shown], highs[:shown], color=_LINE, linewidth=3.0, zorder=2)
    axes.plot(means[:shown], rows, "o", color=_DOT, markersize=5.0, zorder=3)
    axes.set_yticks(rows, names, fontsize=9 if shown <= 20 else 7.5, parse_math=False)
    axes.set_ylim(max(shown, 1) - 0.4, -0.6)
    axes.set_xlim(*_reach(lows[:shown], highs[:shown], bounds))
    axes.set_xlabel(f"mean, with its {100 * confidence:g} % interval", fontsize=9, color=_INK)
    axes.tick_params(axis="x", labelsize=9, colors=_INK)
    axes.tick_params(axis="y", length=0, colors=_INK)
    axes.grid(axis="x", color=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#999999")
    figure.text(
        0.02, 1.0 - 0.16 / height, title, fontsize=12, fontweight="bold", color=_INK, va="top",
        parse_math=False,
    )  # fmt: skip
    for i, text in enumerate(reversed(foot)):
        place = (0.02, (0.08 + 0.17 * i) / height)
        figure.text(*place, text, fontsize=7.5, color="#666666", parse_math=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that the font lacks is drawn as a box
        try:
            figure.savefig(picture, dpi=150, facecolor="white")
            return
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
    raise OptionError(f"plot={str(path)!r} cannot be written: {reason}; name another path")


def _reach(lows: Any, highs: Any, bounds: tuple[float, float]) -> tuple[float, float]:
    """The intervals with a little room, as far as the bounds go."""
    if len(lows) == 0:
        return bounds
    low, high = float(min(lows)), float(max(highs))
    room = 0.04 * (high - low) or 0.04 * (bounds[1] - bounds[0])
    edge = 0.01 * (bounds[1] - bounds[0])
    return max(low - room, bounds[0] - edge), min(high + room, bounds[1] + edge)
