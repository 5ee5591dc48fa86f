"""Charts of answers: means with their intervals, one line per group, one panel per column."""

from __future__ import annotations

import math
import os
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import OptionError, needs_extra
from .fonts import families_for
from .presented import population_figures
from .rendering import NONE_PUBLISHED, number, unbroken, width_of, wrapped

__all__ = ["Panel", "check_picture", "plot_means"]

#: More groups than this do not fit on a page; the first ones are drawn.
MOST: Final = 200
#: The most panels side by side.
ACROSS: Final = 3
#: The most characters on a line of a label; an East Asian character counts as two.
_WIDTH: Final = 32
_ENDINGS: Final = (".png", ".svg", ".pdf")
_INK, _DOT, _LINE, _PALE = "#222222", "#1f5a96", "#7fa6d1", "#e6e6e6"


def check_picture(path: Any) -> Path:
    """Check that a chart can be written to the path, by its extension."""
    found = Path(path)
    if found.suffix.lower() not in _ENDINGS:
        raise OptionError(f"plot={str(path)!r} must end in one of {', '.join(_ENDINGS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise OptionError(needs_extra("plot", "matplotlib", "plot")) from None
    return found


@dataclass(frozen=True)
class Panel:
    """The means of one column with the ends of their intervals, one for each label."""

    name: str
    means: Any
    lows: Any
    highs: Any
    bounds: tuple[float, float]
    few: Any = None
    share: bool = False
    #: Whether the axis has room for the figures of few records, too: not for means, whose intervals
    #: are as wide as the bounds.
    every: bool = False
    #: Where the figure is unknown: only the interval is drawn.
    unknown: Any = None
    #: The ends of wider intervals, those of the population, if they are drawn.
    wide_lows: Any = None
    wide_highs: Any = None

    @classmethod
    def of(
        cls,
        answer: Any,
        confidence: float,
        name: str = "",
        fewest: int = 1,
        population: bool = False,
    ) -> Panel:
        """A panel of a release, or of releases by group.

        The population's intervals, which are slow, are those of the groups that are drawn.
        """
        found = answer._figures(confidence)
        if population:
            found |= population_figures(answer, confidence, 1, MOST)
        asked = answer.asked
        means, lows, highs = (
            np.atleast_1d(found[key]) for key in (asked, f"{asked}_low", f"{asked}_high")
        )
        ends = float(answer.bounds.lower), float(answer.bounds.upper)
        if asked == "sum":  # a count has no bounds
            ends = float(min(lows, default=0.0)), float(max(highs, default=1.0))
        few = np.atleast_1d(answer.few(fewest))
        share = asked == "mean" and answer._yes_or_no
        unknown = few & answer._tells_nothing(found) if asked == "mean" else None
        wide = (found.get("population_low"), found.get("population_high"))
        return cls(name, means, lows, highs, ends, few, share, asked == "sum", unknown, *wide)

    @property
    def hollow(self) -> Any:
        """Which means are of too few records."""
        return np.zeros(len(self.means), dtype=bool) if self.few is None else self.few

    @property
    def dots(self) -> Any:
        """The figures that are drawn; NaN for unknown ones."""
        return self.means if self.unknown is None else np.where(self.unknown, np.nan, self.means)

    @property
    def axis(self) -> tuple[float, float]:
        """The range of the axis, which the intervals of few records may exceed."""
        full = slice(None) if self.every or self.hollow.all() else ~self.hollow
        return _reach(self.least[full], self.most[full], self.bounds)

    @property
    def least(self) -> Any:
        """The lowest ends that are drawn."""
        return self.lows if self.wide_lows is None else np.minimum(self.lows, self.wide_lows)

    @property
    def most(self) -> Any:
        """The highest ends that are drawn."""
        return self.highs if self.wide_highs is None else np.maximum(self.highs, self.wide_highs)

    def first(self, shown: int) -> Panel:
        """The first lines of the panel."""
        parts = ("means", "lows", "highs", "few", "unknown", "wide_lows", "wide_highs")
        kept = {part: getattr(self, part) for part in parts}
        return replace(self, **{k: v[:shown] for k, v in kept.items() if v is not None})


def plot_means(
    path: Any,
    *,
    labels: Sequence[str],
    panels: Sequence[Panel],
    title: str,
    notes: Sequence[str] = (),
    confidence: float = 0.95,
    figure: str = "mean",
) -> None:
    """One line per group: the interval, with the figure as a dot; a panel for each column.

    ``figure`` is the label of what is drawn.
    """
    picture = check_picture(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = min(len(labels), MOST)
    names = [_two_lines(label) or "(empty)" for label in labels[:shown]]
    named = any(labels)
    panels = [panel.first(shown) for panel in panels]
    foot = [part for note in (*notes, *_legend(panels)) for part in _lines(note, 96)]
    if not labels:
        foot.insert(0, NONE_PUBLISHED)
    if shown < len(labels):
        foot.insert(0, f"The first {shown} of {len(labels):,} groups.")
    heading = _lines(title, 62)
    families, complete = families_for([*names, *heading, *foot, *(each.name for each in panels)])
    as_text = not complete and picture.suffix.lower() == ".svg"
    if not complete and not as_text:
        foot.append("A box stands for a character that no font on this computer has.")
    # Four panels are arranged two by two, not three and one.
    across = (2 if len(panels) == 4 else min(len(panels), ACROSS)) if named else 1
    down = -(-len(panels) // across)
    tall = any("\n" in name for name in names)
    line = (0.40 if tall else 0.30) if shown <= 20 else (0.30 if tall else 0.21)
    above, below, axis = (
        0.32 + 0.20 * len(heading),
        0.20 + 0.17 * len(foot),
        0.42 + (0.26 if len(panels) > 1 else 0.0),
    )
    each = line * max(shown, 3 if named else 1) + axis
    width, height = 8.0 + 2.4 * (across - 1), above + below + down * each
    canvas = Figure(figsize=(width, height))
    FigureCanvasAgg(canvas)
    widest = max([width_of(part) for name in names for part in name.split("\n")], default=0)
    left = 0.4 + 0.084 * widest if named else 0.4
    room = (width - 0.28 - left - 0.50 * (across - 1)) / across
    for place, panel in enumerate(panels):
        row, column = divmod(place, across)
        bottom = height - above - (row + 1) * each + 0.42
        x = left + column * (room + 0.50)
        axes = canvas.add_axes((x / width, bottom / height, room / width, (each - axis) / height))
        _draw(axes, panel, names if column == 0 and named else [""] * shown, room, families)
        if len(panels) > 1:
            axes.set_title(
                panel.name, fontsize=10, color=_INK, loc="left", family=families, parse_math=False
            )
        if row == down - 1 or place + across >= len(panels):
            both = "" if panel.wide_lows is None else "s"
            word = "share" if all(each.share for each in panels[column::across]) else figure
            text = f"{word}, with its {100 * confidence:g} % interval{both}"
            axes.set_xlabel(text, fontsize=9, color=_INK)
    canvas.text(
        0.16 / width, 1.0 - 0.16 / height, "\n".join(heading), fontsize=12, fontweight="bold",
        color=_INK, va="top", family=families, parse_math=False,
    )  # fmt: skip
    for i, text in enumerate(reversed(foot)):
        corner = (0.16 / width, (0.08 + 0.17 * i) / height)
        canvas.text(*corner, text, fontsize=7.5, color="#666666", family=families, parse_math=False)
    _save(canvas, picture, path, as_text=as_text)


def _legend(panels: Sequence[Panel]) -> list[str]:
    """What the lines of few records mean, if there are any."""
    hollow = np.concatenate([panel.hollow for panel in panels])
    dots = np.concatenate([panel.dots for panel in panels])
    found = []
    if np.any(hollow & ~np.isnan(dots)):
        found.append("Grey bar, open marker: too few records.")
    if np.any(np.isnan(dots)):
        found.append("Grey bar without a marker: too few records for a mean.")
    beyond = [(p.least < p.axis[0]) | (p.most > p.axis[1]) for p in panels]
    if np.any(np.concatenate(beyond) & hollow):
        found.append("Grey bars may extend beyond the axis.")
    return [" ".join(found)] if found else []


def _draw(
    axes: Any, panel: Panel, names: Sequence[str], room: float, families: Sequence[str]
) -> None:
    shown, rows = len(names), list(range(len(names)))
    colours = [_PALE if few else _LINE for few in panel.hollow]
    axes.hlines(rows, panel.lows, panel.highs, colors=colours, linewidth=3.0, zorder=2)
    if panel.wide_lows is not None:
        axes.hlines(
            rows, panel.wide_lows, panel.wide_highs, colors=colours, linewidth=1.0, zorder=2
        )
    faces = ["white" if few else _DOT for few in panel.hollow]
    axes.scatter(panel.dots, rows, s=25, c=faces, edgecolors=_DOT, zorder=3)
    size = 9 if shown <= 20 else 7.5
    axes.set_yticks(rows, names, fontsize=size, family=families, parse_math=False)
    axes.set_ylim(max(shown, 1) - 0.4, -0.6)
    ends = panel.axis
    axes.set_xlim(*ends)
    axes.set_xticks(*_ticks(*ends, panel.share, room))
    axes.tick_params(axis="x", labelsize=9, colors=_INK)
    axes.tick_params(axis="y", length=0, colors=_INK)
    axes.grid(axis="x", color=_PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#999999")


def _lines(text: str, width: int) -> list[str]:
    """The lines of a text; a range in brackets stays on one."""
    return wrapped(unbroken(text), width)


def _two_lines(label: str) -> str:
    """A label on at most two lines; of a longer one, the beginning and the end."""
    lines = wrapped(label, _WIDTH)
    if len(lines) > 2:
        room = _WIDTH * len(label) // width_of(label)
        backwards = textwrap.shorten(label[::-1], room, placeholder=" …")
        end = backwards[::-1] if len(backwards) > 1 else f"… {label[2 - room :]}"
        lines = [lines[0], end]
    return "\n".join(lines)


def _ticks(low: float, high: float, share: bool, room: float) -> tuple[list[float], list[str]]:
    """Places on an axis of ``room`` inches, with labels that do not overlap.

    With a power of ten, if numbers written out have no room for two of them.
    """
    from matplotlib.ticker import MaxNLocator

    times, sign = (100.0, " %") if share else (1.0, "")
    low, high = times * low, times * high
    if not 0 < high - low < 1e300 or high - low < 1e-9 * max(abs(low), abs(high)):
        return [], []  # doubles are too coarse to divide it
    kept: list[float] = []
    for write, most in product((_plain, _powers), range(8, 1, -1)):
        found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        step = float(found[1] - found[0])
        labels = {float(v): f"{write(float(v), step)}{sign}" for v in found}
        wide = 0.08 * max(map(len, labels.values()))
        if step / (high - low) * room <= wide + 0.1:
            continue
        # A label may extend a little beyond the axis, by half the gap between two panels.
        inches = {v: (v - low) / (high - low) * room for v in labels if low <= v <= high}
        beyond = {v: 0.04 * len(labels[v]) - 0.25 for v in inches}
        kept = [v for v, x in inches.items() if beyond[v] <= x <= room - beyond[v]]
        if len(kept) > 1 and len({labels[v] for v in kept}) == len(kept):
            break
    return [v / times for v in kept], [labels[v] for v in kept]


def _plain(value: float, step: float) -> str:
    """A number with as many decimals as the step has."""
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10.0**digits, 6) % 1 > 0  # a step of 2.5
    return number(value, min(digits, 15))


def _powers(value: float, step: float) -> str:
    """A number with a power of ten, and as many digits as the step needs: 4.75e-10."""
    if abs(value) < step / 2:
        return "0"
    digits = max(0, math.floor(math.log10(abs(value))) - math.floor(math.log10(step) + 1e-9))
    digits += round(step / 10.0 ** math.floor(math.log10(step) + 1e-9), 6) % 1 > 0
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _save(figure: Any, picture: Path, path: Any, *, as_text: bool) -> None:
    """Write the chart; ``as_text`` leaves the letters of an SVG to the fonts of its viewer."""
    from matplotlib import rc_context

    letters: Any = {"svg.fonttype": "none"} if as_text else {}
    with warnings.catch_warnings(), rc_context(letters):
        warnings.simplefilter("ignore")  # a glyph that no font has is drawn as a box
        try:
            figure.savefig(picture, dpi=150, facecolor="white")
            return
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else type(error).__name__
    raise OptionError(f"plot={str(path)!r} cannot be written: {reason}; name another path")


def _reach(lows: Any, highs: Any, bounds: tuple[float, float]) -> tuple[float, float]:
    """The range of the axis: the intervals with a margin, within the bounds."""
    if len(lows) == 0:
        return bounds
    low, high = float(min(lows)), float(max(highs))
    room = 0.04 * (high - low) or 0.04 * (bounds[1] - bounds[0])
    edge = 0.01 * (bounds[1] - bounds[0])
    ends = max(low - room, bounds[0] - edge), min(high + room, bounds[1] + edge)
    return ends if ends[0] < ends[1] else (ends[0] - 1, ends[1] + 1)
