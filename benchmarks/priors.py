"""Priors of the posterior estimators, by their gain over the ratio: python -m benchmarks.priors"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import stats

from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.estimate import point as estimate
from hourglass.mechanisms.base import HourglassMean

PLACES = [
    *[(n, 0.0) for n in (2, 4, 8, 32)],
    *[(n, 0.1) for n in (2, 4, 8, 16, 32)],
    *[(n, 0.25) for n in (8, 32)],
    *[(n, 0.5) for n in (2, 4, 8, 16)],
]
RUNS = 6000

Floats = npt.NDArray[np.float64]


def densities(alpha: Floats) -> dict[str, Floats]:
    arcsine, middle = stats.beta(0.5, 0.5).pdf(alpha), stats.beta(7.5, 7.5).pdf(alpha)
    return {
        "jeffreys": arcsine,
        "flat": np.ones_like(alpha),
        "Beta(2,2)": stats.beta(2, 2).pdf(alpha),
        "posterior": 0.5 * arcsine + 0.5 * middle,
    }


def gains(n: int, mean: float) -> dict[str, float]:
    """MSE of the ratio over MSE of the posterior mean, by plain summation over 400 alphas."""
    grid = Grid.choose(Bounds(0.0, 1.0))
    mechanism = HourglassMean(Fraction(1), grid)
    noisy = mechanism.noise(Totals(int(mean * n * grid.cells), n), size=RUNS)
    cells = np.asarray(noisy.cells, dtype=float)[:, None] / grid.cells
    sizes = np.asarray(noisy.weight, dtype=float)[:, None] / grid.cells
    alpha = np.sin((np.arange(400) + 0.5) / 400 * np.pi / 2) ** 2
    weights = {name: d / stats.beta(0.5, 0.5).pdf(alpha) for name, d in densities(alpha).items()}
    edge = (mechanism.law.c + 0.5) / grid.cells
    mass = {name: np.zeros(RUNS) for name in weights}
    moment = {name: np.zeros(RUNS) for name in weights}
    for size in range(1, 100):
        x = cells - alpha * size
        j = np.sign(x) * np.maximum(0, np.ceil(np.abs(x) - edge))
        likelihood = np.exp(-(np.abs(j) + np.abs(sizes - size - j))) / size
        for name, weight in weights.items():
            mass[name] += likelihood @ weight
            moment[name] += likelihood @ (weight * alpha)
    ratio, projected = (
        ((estimate.share(noisy, name) - mean) ** 2).mean() for name in ("ratio", "projected")
    )
    found = {name: ratio / ((moment[name] / mass[name] - mean) ** 2).mean() for name in weights}
    return {"projected": ratio / projected, **found}


def main() -> None:
    rows = {place: gains(*place) for place in PLACES}
    names = list(next(iter(rows.values())))
    print("| n, mean | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for (n, mean), found in rows.items():
        print(f"| {n}, {mean:g} | " + " | ".join(f"{found[name]:.2f}" for name in names) + " |")


if __name__ == "__main__":
    main()
