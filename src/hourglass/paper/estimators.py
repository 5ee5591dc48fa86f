"""Beyond the paper: projected, posterior and Jeffreys estimates against the paper's ratio."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from ..estimate.point import share
from ..estimate.posterior import posterior_shares
from ..mechanisms.base import HourglassMean
from . import charts
from .data import UNIT, data_sets
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .measure import error_of
from .style import DASHDOT, DASHES, DOTS, Look, figure, plain_log_ticks
from .sweeps import SIZES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

EPSILON: Final = Fraction(1)
MEANS: Final = (0.01, 0.25, 0.5)
#: A posterior takes a hundred times as long as the noise, so this study gets a tenth of the runs.
SHARE: Final = 10
LOOKS: Final = {
    "ratio": Look("#777777", DOTS, "s", "ratio (the paper's)"),
    "projected": Look("#D55E00", "-", "o", "projected"),
    "posterior": Look("#000000", DASHES, "^", "posterior"),
    "jeffreys": Look("#0072B2", DASHDOT, "D", "jeffreys"),
}


def table(settings: Settings, tick: Tick) -> Table:
    """The error of the four estimates of the same noisy totals."""
    return Table("records", "mse", tuple(_points(settings, tick)))


def _points(settings: Settings, tick: Tick) -> Iterator[Point]:
    study = settings.part(SHARE)
    algorithm = HourglassMean(EPSILON, UNIT)
    for mean in MEANS:
        for records in SIZES:
            data = data_sets(mean, records, study.runs, study.bits)
            noisy = algorithm.noise(data.totals, bits=study.bits)
            estimates = {
                "ratio": share(noisy, "ratio"),
                "projected": share(noisy, "projected"),
                "posterior": posterior_shares(noisy, algorithm.law),
                "jeffreys": posterior_shares(noisy, algorithm.law, "jeffreys"),
            }
            for name, estimate in estimates.items():
                yield error_of(estimate, data).point(name, records, panel=f"{mean:g}")
            tick()


def draw(table: Table) -> Figure:
    """A panel per mean, with logarithmic scales."""
    drawn, axes = figure(7.6, 3.6, len(MEANS), sharey=True)
    for ax, panel in zip(axes, table.panels, strict=True):
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", nonpositive="mask")
        plain_log_ticks(ax.xaxis, SIZES)
        charts.draw_series(ax, table, panel, LOOKS)
        ax.set(xlabel="records in the data |D|", title=f"ε = {float(EPSILON):g}, mean {panel}")
    axes[0].set_ylabel("mean squared error / range²")
    charts.legend(drawn, axes[0], LOOKS.values(), 4)
    return drawn


def claims(table: Table) -> tuple[Claim, ...]:
    """Where the projected estimate gains and loses, and the posterior."""
    projected = _over(table, "projected", "ratio")
    posterior = _over(table, "posterior", "projected")
    jeffreys = _over(table, "jeffreys", "projected")
    inside = [p for p in posterior if p.panel != "0.01"]
    return (
        Claim(
            "The projected estimate is never worse than the paper's ratio.",
            f"projected / ratio: {_extremes(projected)}",
            max(p.y for p in projected) <= 1 + 1e-9,
        ),
        Claim(
            "The two agree for 16 or more records.",
            f"projected / ratio: {_extremes([p for p in projected if p.x >= 16])}",
            all(abs(p.y - 1) <= 0.01 for p in projected if p.x >= 16),
        ),
        Claim(
            "Inside the range the posterior mean cuts the error of small groups to less than half.",
            f"posterior / projected: {_extremes(inside)}",
            min(p.y for p in inside) < 0.5,
        ),
        Claim(
            "It costs at most twice the projected estimate's error anywhere.",
            f"posterior / projected: {_extremes(posterior)}",
            max(p.y for p in posterior) <= 2,
        ),
        Claim(
            "The Jeffreys prior costs less than the other at the end of the range, and gains less "
            "in the middle.",
            f"jeffreys / projected: {_extremes(jeffreys)}",
            max(p.y for p in jeffreys) < max(p.y for p in posterior)
            and min(p.y for p in jeffreys) > min(p.y for p in posterior),
        ),
    )


def _over(table: Table, top: str, below: str) -> list[Point]:
    """The ratios, point by point; on the same draws, so their true errors are smaller."""
    points = (p for p in table.points if p.series == top)
    return [p.over(table.at(below, p.x, p.panel)) for p in points]


def _extremes(ratios: list[Point]) -> str:
    low, high = (f(ratios, key=lambda p: p.y) for f in (min, max))
    return ", ".join(f"{p.y:.2f} at mean {p.panel}, |D| = {p.x:g}" for p in (low, high))


EXHIBIT = Exhibit(
    "estimators",
    "Better estimates from the same noise, ε = 1, means 0.01, 0.25 and 0.5",
    "Mean squared error over the number of records at ε = 1, hourglass noise, a fresh data set "
    "in every run; the four estimates are made of the same noisy totals. The posterior means "
    "differ in their prior: jeffreys has Beta(1/2, 1/2), posterior expects means well inside the "
    "range.",
    table,
    draw,
    claims,
    beyond=True,
)
