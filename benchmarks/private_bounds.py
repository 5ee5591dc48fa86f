"""Private bounds against the best fixed bounds: ``python -m benchmarks.private_bounds``.

For each distribution and size, many data sets; on each, bounds found privately for 0.3 and
the mean released within them for 0.7. The error of such a release is the clamping bias of
this very data set and the hourglass noise, MSE = bias^2 + w^2 sigma^2 ((1-a)^2 + a^2) / n^2
(its leading order, exact to well below one per cent here). It is divided by the error of the
hourglass with the whole epsilon = 1 and the best fixed bounds, chosen twice:

* "distribution": the pair of quantiles with the least MSE on average over data sets, for one
  who knows the distribution. The bias of one end may make up for that of the other.
* "data": the pair of order statistics with the least error on this very data set. Here the
  two biases must be added up: were they allowed to cancel, bounds shrunk onto the mean would
  have no error at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

import hourglass as hg

Array = npt.NDArray[np.float64]
EPSILON, ON_BOUNDS, ON_MEAN = "1", "0.3", "0.7"
SIGMA2 = {epsilon: hg.accuracy.sigma2(epsilon) for epsilon in (EPSILON, ON_MEAN)}


def normal(p: Array, s: Array) -> Array:
    """The quantile at p = 1 - s; both are given, so that neither tail loses digits."""
    return np.asarray(np.where(p < 0.5, ndtri(p), -ndtri(s)))


DISTRIBUTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "normal(0, 1)": normal,
    "normal(100, 15)": lambda p, s: 100 + 15 * normal(p, s),
    "exponential(1)": lambda p, s: -np.log(s),
    "log-normal(0, 1)": lambda p, s: np.exp(normal(p, s)),
    "Pareto(2.5)": lambda p, s: s**-0.4,
}


def noise_mse(mean: Array, lower: Array, upper: Array, records: int, epsilon: str) -> Array:
    width = upper - lower
    a = (mean - lower) / width
    return width**2 * SIGMA2[epsilon] * ((1 - a) ** 2 + a**2) / records**2


def best_for_distribution(quantile: Callable[[Array, Array], Array], records: int) -> float:
    """The least expected MSE over quantile pairs, by quadrature on the logistic scale."""
    t = np.arange(-120, 120, 0.01)
    p, s = 1 / (1 + np.exp(-t)), 1 / (1 + np.exp(t))
    weight, x = 0.01 * p * s, quantile(p, s)
    ends = x[::8]
    lower = ends[(p[::8] > 1e-12) & (p[::8] < 0.5)][:, None]
    upper = ends[(s[::8] > 1e-12) & (s[::8] < 0.5)][:, None]
    cut_below, cut_above = np.maximum(lower - x, 0), np.maximum(x - upper, 0)
    bias = (cut_below @ weight)[:, None] - (cut_above @ weight)
    square = (cut_below**2 @ weight)[:, None] + (cut_above**2 @ weight)
    mse = bias**2 + (square - bias**2) / records
    mse += noise_mse(x @ weight + bias, lower, upper[:, 0], records, EPSILON)
    return float(mse.min())


@dataclass
class Data:
    """One data set, sorted, with its cumulated sums."""

    values: Array

    def __post_init__(self) -> None:
        self.values.sort()
        self.sums = np.concatenate([[0.0], np.cumsum(self.values)])
        self.records, self.mean = len(self.values), float(self.sums[-1] / len(self.values))

    def mse(self, lower: float, upper: float) -> float:
        """The error of a release within these bounds, for what epsilon is left."""
        i, j = np.searchsorted(self.values, [lower, upper])
        inside = self.sums[j] - self.sums[i]
        mean = np.asarray((i * lower + inside + (self.records - j) * upper) / self.records)
        noise = noise_mse(mean, np.asarray(lower), np.asarray(upper), self.records, ON_MEAN)
        return float((mean - self.mean) ** 2 + noise)

    def best(self) -> float:
        """The least error over pairs of order statistics, the two biases added up."""
        n = self.records
        k = np.unique(np.concatenate([np.arange(80), np.geomspace(80, n // 4, 80).astype(int)]))
        lower, upper = self.values[k], self.values[n - 1 - k]
        below = ((k * lower - self.sums[k]) / n)[:, None]
        above = (self.sums[n] - self.sums[n - k] - k * upper) / n
        mean = self.mean + below - above
        noise = noise_mse(mean, lower[:, None], upper, n, EPSILON)
        return float(((below + above) ** 2 + noise).min())


def ratios(name: str, records: int, sets: int, runs: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(20240721)
    quantile = DISTRIBUTIONS[name]
    fixed = best_for_distribution(quantile, records)
    to_distribution, to_data = [], []
    for _ in range(sets):
        uniform = rng.uniform(size=records)
        data = Data(quantile(uniform, 1 - uniform))
        best = data.best()
        for _ in range(runs):
            found = hg.find_bounds(data.values, epsilon=ON_BOUNDS)
            error = data.mse(float(found.lower), float(found.upper))
            to_distribution.append(error / fixed)
            to_data.append(error / best)
    return np.array(to_distribution), np.array(to_data)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=40, help="data sets of each kind and size")
    parser.add_argument(
        "--runs", type=int, default=50, help="releases on each (a quarter at a million)"
    )
    parser.add_argument("--small", action="store_true", help="leave out the million records")
    asked = parser.parse_args(arguments)
    sizes = [(1_000, asked.sets, asked.runs), (10_000, asked.sets, asked.runs)]
    if not asked.small:
        sizes.append((1_000_000, asked.sets, -(-asked.runs // 4)))
    print("MSE over that of the best fixed bounds  best for the distribution   best for the data")
    print(f"{'':28}{'n':>10}  {'median':>10}{'95th':>8}{'99th':>10}{'median':>11}{'95th':>8}")
    for records, sets, runs in sizes:
        for name in DISTRIBUTIONS:
            first, second = ratios(name, records, sets, runs)
            print(
                f"{name:28}{records:>10,}  {np.median(first):>10.2f}"
                f"{np.quantile(first, 0.95):>8.1f}{np.quantile(first, 0.99):>10.1f}"
                f"{np.median(second):>11.2f}{np.quantile(second, 0.95):>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
