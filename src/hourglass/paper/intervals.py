"""Beyond the paper: width and coverage of the exact interval over the records and epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..estimate.interval import mean_ends
from ..estimate.point import mean
from ..mechanisms.base import make
from . import charts
from .data import UNIT, Data, Floats, data_set
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .style import DASHES, DOTS, INK, Look, figure, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

CONFIDENCE: Final = 0.95
MEAN: Final = 0.25
SIZES: Final = tuple(4**i for i in range(6))
EPSILONS: Final = (Fraction(1, 2), Fraction(1), Fraction(4))
#: An interval takes tens of times as long as its noise, so there are fewer runs.
SHARE: Final = 10
#: A share near one is skewed: eight standard errors below 0.95 there are what six are for a
#: normal value (binomial, 100 to 10,000 intervals: at most 1e-9 a point).
MARGIN: Final = 8.0
WIDTH, COVERAGE = "width", "coverage"
LOOKS: Final = {
    f"{float(epsilon):g}": Look(colour, dash, mark, f"ε = {float(epsilon):g}")
    for epsilon, colour, dash, mark in (
        (EPSILONS[0], "#5A2200", DOTS, "s"),
        (EPSILONS[1], "#D55E00", "-", "o"),
        (EPSILONS[2], "#F29B5C", DASHES, "^"),
    )
}


def table(settings: Settings, tick: Tick) -> Table:
    """The mean width of the 95 % interval, and how often it contains the data's mean."""
    return Table("records", "width_or_coverage", tuple(_points(settings.part(SHARE), tick)))


def _points(settings: Settings, tick: Tick) -> Iterator[Point]:
    runs = settings.runs
    for epsilon in EPSILONS:
        for records in SIZES:
            data = data_set(MEAN, records, settings.bits)
            widths, hits = _intervals(epsilon, data, settings)
            name = f"{float(epsilon):g}"
            se = float(widths.std(ddof=1)) / math.sqrt(runs)
            yield Point(name, records, float(widths.mean()), se, runs=runs, panel=WIDTH)
            # The standard error under the nominal coverage, which is meaningful even if none is
            # missed.
            se = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs)
            yield Point(name, records, float(hits.mean()), se, CONFIDENCE, runs, COVERAGE)
            tick()


def _intervals(
    epsilon: Fraction, data: Data, settings: Settings
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The widths of the intervals of all runs, and whether each contains the mean."""
    algorithm = make("hourglass", epsilon, UNIT)
    many = algorithm.noise(data.totals, bits=settings.bits, size=settings.runs)
    estimates = mean(many, algorithm)
    lows, highs = mean_ends(algorithm, many, CONFIDENCE, exact=False)
    lows, highs = np.minimum(lows, estimates), np.maximum(highs, estimates)
    return highs - lows, (lows <= data.mean) & (data.mean <= highs)


def draw(table: Table) -> Figure:
    """The widths on log scales; the coverage against the nominal line."""
    drawn, (left, right) = figure(7.6, 3.8, 2)
    right.axhline(CONFIDENCE, color=INK, linewidth=1)
    for ax, panel in ((left, WIDTH), (right, COVERAGE)):
        ax.set_xscale("log", base=2)
        plain_log_ticks(ax.xaxis, SIZES)
        for i, name in enumerate(LOOKS):
            apart = 2 ** (0.3 * (i - 1)) if panel == COVERAGE else 1
            points = [replace(p, x=p.x * apart) for p in table.series(name, panel)]
            charts.marks(ax, points, LOOKS[name], line=panel == WIDTH)
    left.set_xlabel("records in the data |D|")
    right.set_xlabel("records in the data |D|, marks set apart")
    left.set_yscale("log", nonpositive="mask")
    left.set(
        ylabel="mean width, as a share of the range",
        title=f"width of the 95 % interval, mean {MEAN:g}",
    )
    lowest = min(p.y - 2 * p.se for p in table.points if p.panel == COVERAGE)
    right.set_ylim(min(0.9, lowest - 0.01), 1.004)
    right.set(
        ylabel="share of intervals that hold the mean", title="coverage, ε = 0.5, 1, 4; line: 95 %"
    )
    charts.legend(drawn, left, LOOKS.values(), 3)
    return drawn


def claims(table: Table) -> tuple[Claim, ...]:
    """Coverage at every size, not far above the nominal one, and the width's fall."""
    coverage = [p for p in table.points if p.panel == COVERAGE]
    low, high = min(p.y for p in coverage), max(p.y for p in coverage)
    widest = [p for p in table.points if p.panel == WIDTH and p.x == SIZES[-1]]
    return (
        Claim(
            "The exact interval contains the data's mean as often as it says, for every number of "
            "records.",
            f"coverage of the 95 % interval: {low:.3f} to {high:.3f} (s.e. {coverage[0].se:.3f}); "
            f"mean width at {SIZES[-1]} records: "
            + ", ".join(f"{p.y:.4f} at ε = {p.series}" for p in widest),
            all(p.y >= CONFIDENCE - MARGIN * p.se for p in coverage),
        ),
    )


EXHIBIT = Exhibit(
    "intervals",
    "The exact interval, ε = 0.5, 1 and 4, mean 0.25",
    "95 % intervals for the data's mean from hourglass noise, one data set of mean 0.25 a point. "
    "Bars: two standard errors.",
    table,
    draw,
    claims,
    beyond=True,
)
