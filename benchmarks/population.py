"""Intervals that people rely on, measured: python -m benchmarks.population [--samples 400]

Half-widths for a population's mean, how often these intervals hold, and how often those of the
standard deviation do on columns of real data.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.exact import to_double
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.data import PENGUINS
from hourglass.estimate.population import population
from hourglass.mechanisms.base import make

Values = npt.NDArray[np.float64]
VISITS = Path(__file__).parents[1] / "examples" / "visits.parquet"
#: Epsilon, mean, and the half-width of the best exact test of yes/no data at 10,000 records.
CASES = (("1", 0.1, 0.0059), ("1/10", 0.1, 0.0064), ("1/10", 0.5, 0.0100))
DRAWS: dict[str, tuple[float, bool, Callable[[np.random.Generator, int], Any]]] = {
    "yes/no .02": (0.02, True, lambda rng, n: rng.random(n) < 0.02),
    "yes/no .5": (0.5, True, lambda rng, n: rng.random(n) < 0.5),
    "uniform": (0.5, False, lambda rng, n: rng.random(n)),
    "beta(2, 8)": (0.2, False, lambda rng, n: rng.beta(2, 8, n)),
    "two points": (0.41, False, lambda rng, n: np.where(rng.random(n) < 0.3, 0.9, 0.2)),
    "heavy at 0": (0.025, False, lambda rng, n: np.maximum(0, 1 - 20 * rng.random(n))),
}
#: Real columns: where they are, their bounds, and how their text is read.
COLUMNS = (
    (VISITS, "visits", (0, 80), None),
    (PENGUINS, "body_mass_g", (2500, 6500), "real"),
    (PENGUINS, "flipper_length_mm", (170, 240), "real"),
    (PENGUINS, "bill_length_mm", (30, 60), "real"),
)


def half_width(grid: Grid, epsilon: str, mean: float, n: int = 10_000) -> float:
    """Of the 95 % interval of the population's mean, where the noise happens to be zero."""
    mechanism = make("hourglass", Fraction(epsilon), grid)
    unit = mechanism.parts * grid.cells
    cells = round(n * mean * unit)
    noisy = NoisyTotals(cells, n * unit - cells, grid.cells, mechanism.parts)
    low, high = population(mechanism, noisy, 0.95, mean)
    return float(high - low) / 2


def chernoff(epsilon: str, mean: float, n: int = 10_000) -> float:
    """Chernoff's bound for yes/no data of that mean, with normal noise of the same variance."""
    law = make("hourglass", Fraction(epsilon), Grid(Bounds(0.0, 1.0), 2**32)).moments
    V1, V2, C = (to_double(part) for part in (law.cells, law.rest, law.both))
    noise = (1 - mean) ** 2 * V1 + mean**2 * V2 - 2 * mean * (1 - mean) * C
    t = np.geomspace(1e-4, 2, 4000)
    log_mgf = n * (np.log1p(mean * np.expm1(t)) - t * mean) + t * t * noise / 2
    return float(np.min((log_mgf + math.log(2 / 0.05)) / t)) / n


def print_widths() -> None:
    yes_no, real = Grid(Bounds(0, 1), 1, True), Grid(Bounds(0.0, 1.0), 2**32)
    print("95 % half-widths for a population's mean, n = 10,000, range 1")
    print(f"{'epsilon':>8}{'mean':>6}{'yes/no':>9}{'at most':>9}{'bounded':>9}{'Chernoff':>10}")
    for epsilon, mean, wanted in CASES:
        found = half_width(yes_no, epsilon, mean), half_width(real, epsilon, mean)
        print(
            f"{epsilon:>8}{mean:>6}{found[0]:>9.5f}{1.1 * wanted:>9.5f}{found[1]:>9.5f}"
            f"{chernoff(epsilon, mean):>10.5f}"
        )


def held(name: str, n: int, epsilon: str, samples: int, *, spread: bool) -> float:
    """How often the interval held the population's mean, each time of a fresh sample."""
    mu, whole, draw = DRAWS[name]
    rng, count = np.random.default_rng(), 0
    for _ in range(samples):
        values = draw(rng, n)
        data = values.astype(np.int64) if whole else values
        found = hg.mean(data, bounds=(0, 1), epsilon=epsilon, spread=spread)
        count += mu in found.interval(of="population")
    return count / samples


def print_coverage(samples: int, spread: bool, sizes: Sequence[int]) -> None:
    kind = "studentised, with spread" if spread else "exact and valid"
    print(f"\nhow often the 95 % interval of the population held, of {samples} samples ({kind})")
    print(
        f"{'population':<12}{'n':>7}" + "".join(f"{f'epsilon {e}':>13}" for e in ("1/10", "1", "4"))
    )
    for n in sizes:
        for name in DRAWS:
            row = [held(name, n, e, samples, spread=spread) for e in ("1/10", "1", "4")]
            print(f"{name:<12}{n:>7}" + "".join(f"{share:>13.4f}" for share in row), flush=True)


def print_columns(samples: int) -> None:
    print(f"\nhow often the 95 % interval of the standard deviation held, of {samples} answers")
    print(f"{'column':<20}{'n':>7}" + "".join(f"{f'epsilon {e}':>13}" for e in ("1/10", "1", "4")))
    for path, column, bounds, parse in COLUMNS:
        row, n = [], 0
        for epsilon in ("1/10", "1", "4"):
            ask: dict[str, Any] = {"bounds": bounds, "epsilon": epsilon, "parse": parse}
            question = mean_question(path, column, spread=True, **ask)
            secret = question.read()
            totals, grid = secret.only, question.mechanism.grid
            n, step = totals.count, float(grid.step)
            true = step * math.sqrt(
                totals.more[0] / totals.count - (totals.cells / totals.count) ** 2
            )
            answers = (
                question.answer(question.noise(secret, hg.SecureBits()), private=True)
                for _ in range(samples)
            )
            row.append(sum(true in answer.interval(of="std") for answer in answers) / samples)
        print(f"{column:<20}{n:>7}" + "".join(f"{share:>13.4f}" for share in row), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.population", description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 200, 10_000])
    parser.add_argument("--only", choices=["widths", "columns", "exact", "studentised"])
    given = parser.parse_args(arguments)
    work: dict[str, Callable[[], None]] = {
        "widths": print_widths,
        "columns": lambda: print_columns(given.samples),
        "studentised": lambda: print_coverage(given.samples, True, given.sizes),
        "exact": lambda: print_coverage(given.samples, False, given.sizes),
    }
    for name, printed in work.items():
        if given.only in (None, name):
            printed()


if __name__ == "__main__":
    main()
