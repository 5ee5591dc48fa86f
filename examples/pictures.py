"""The pictures of docs/clamping.md, spread.md, population.md and arithmetic.md.

python examples/pictures.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow

import hourglass as hg
from hourglass.estimate.population import margin

HERE = Path(__file__).parent
PICTURES = HERE.parent / "docs" / "pictures"
INK, BIAS, NOISE = "#222222", "#b8442a", "#1f5a96"


def axes_of(title: str) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.10, 0.17, 0.87, 0.68))
    axes.set_title(title, fontsize=11, loc="left", color=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color="#e6e6e6", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def clamping(visits: Any) -> None:
    """The bias of clamping beside the error of the noise, over the upper bound."""
    uppers = np.array([2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80])
    truth = visits.mean()
    bias = [truth - np.minimum(visits, upper).mean() for upper in uppers]
    noise = [hg.accuracy.expected_error(len(visits), (0, int(u)), 1, grid=int(u)) for u in uppers]
    figure, axes = axes_of("Visits to a physician, 20,190 person-years, epsilon 1")
    some = np.array(bias) > 0  # at 80 no value is clamped
    axes.plot(
        uppers[some], np.array(bias)[some], color=BIAS, marker="o", label="too low by clamping"
    )
    axes.plot(uppers, noise, color=NOISE, marker="o", label="expected error of the noise")
    axes.set_yscale("log")
    axes.set_xlabel("upper bound (visits)", fontsize=9)
    axes.set_ylabel("error of the mean (visits)", fontsize=9)
    axes.set_ylim(5e-5, 3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(PICTURES / "clamping.png", dpi=150, facecolor="white")


def spread(visits: Any) -> None:
    """What the spread costs: the error of the mean with it over the error without."""
    epsilons = np.geomspace(0.05, 8, 40)
    ratio = []
    for epsilon in epsilons:
        text = f"{epsilon:.4f}"
        with_it = hg.HourglassTriangle(text, 2**46).mean_error[0]
        ratio.append(float(with_it) / hg.accuracy.leading_error(text))
    figure, axes = axes_of("Squared error of the mean when its spread is asked for as well")
    axes.plot(epsilons, ratio, color=NOISE, linewidth=2)
    axes.set_xscale("log")
    axes.set_xlabel("epsilon", fontsize=9)
    axes.set_ylabel("times the error of the mean alone", fontsize=9)
    axes.set_ylim(1, 2.4)
    figure.savefig(PICTURES / "spread.png", dpi=150, facecolor="white")


def margins(records: int, column: Any) -> float:
    """How far the interval of a population's mean of 0.1 reaches, for a column of that type."""
    law = hg.mean(column, bounds=(0, 1), epsilon=1)._algorithm
    return margin(law, records, 0.1, 0.95)


def population() -> None:
    """Intervals of the records and of the population, over the number of records."""
    sizes = np.unique(np.geomspace(30, 1e6, 24).astype(int)).tolist()
    noise = [1.96 * hg.accuracy.expected_error(n, (0.0, 1.0), 1, mean=0.1) for n in sizes]
    figure, axes = axes_of("95 % intervals of a mean of 0.1 between bounds 0 and 1, epsilon 1")
    yes_no = [margins(n, np.array([0, 1])) for n in sizes]
    other = [margins(n, np.array([0.0, 1.0])) for n in sizes]
    axes.plot(sizes, other, color=BIAS, linewidth=2, label="of the population: any column")
    axes.plot(sizes, yes_no, color=BIAS, linestyle="--", label="of the population: yes/no column")
    axes.plot(sizes, noise, color=NOISE, linewidth=2, label="of these records")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("records", fontsize=9)
    axes.set_ylabel("half-width", fontsize=9)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(PICTURES / "population.png", dpi=150, facecolor="white")


def arithmetic() -> None:
    """The interval of a total beside the intervals of its groups added up."""
    numbers, apart, together = [1, 2, 3, 5, 8, 12, 20, 30, 50], [], []
    data = {"group": np.repeat(np.arange(50), 200), "x": np.full(10_000, 0.5)}
    table = duckdb.from_arrow(pyarrow.table(data))
    found = hg.mean(
        table, "x", bounds=(0.0, 1.0), epsilon=1, by="group", keys=range(50), bits=hg.SeededBits(1)
    )
    for groups in numbers:
        low, high = found.total(range(groups)).interval(of="sum")
        together.append((high - low) / 2)
        ends = [found[key].interval(of="sum") for key in range(groups)]
        apart.append(sum(end.high - end.low for end in ends) / 2)
    figure, axes = axes_of("95 % interval of a sum over groups, epsilon 1, bounds 0 and 1")
    axes.plot(numbers, apart, color=BIAS, marker="o", label="the groups' half-widths added up")
    axes.plot(numbers, together, color=NOISE, marker="o", label="total()")
    axes.set_xlabel("groups", fontsize=9)
    axes.set_ylabel("half-width of the sum", fontsize=9)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(PICTURES / "arithmetic.png", dpi=150, facecolor="white")


def main() -> None:
    path = str(HERE / "visits.parquet")
    visits = duckdb.read_parquet(path).fetchnumpy()["visits"]
    values = np.asarray(np.ma.filled(visits, 0), dtype=float)
    clamping(values)
    spread(values)
    population()
    arithmetic()


if __name__ == "__main__":
    main()
