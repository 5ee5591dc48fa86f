"""How often the intervals of a mean with its spread hold: python -m benchmarks.spread"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import hourglass as hg
from hourglass.ask.question import mean_question

RUNS = 200


def held(values: npt.NDArray[np.float64], epsilon: float) -> tuple[float, float]:
    """The parts of the 95 % intervals that held the mean and the standard deviation."""
    question = mean_question(values, bounds=(0.0, 1.0), epsilon=epsilon, spread=True)
    secret, clamped = question.read(), values.clip(0.0, 1.0)
    mean = std = 0
    for _ in range(RUNS):
        release = question.answer(question.noise(secret, hg.SecureBits()), private=True)
        mean += clamped.mean() in release.interval()
        std += clamped.std() in release.interval(of="std")
    return mean / RUNS, std / RUNS


def main() -> None:
    rng = np.random.default_rng()
    print(f"{'data':<12}{'n':>7}{'epsilon':>9}{'mean':>8}{'std':>8}")
    for n in (20, 200, 5000):
        data = {
            "beta(2, 8)": rng.beta(2, 8, n),
            "uniform": rng.random(n),
            "normal, 2 %": rng.normal(0.5, 0.02, n),
            "mostly zero": np.where(rng.random(n) < 0.9, 0.0, rng.random(n)),
        }
        for epsilon in (0.1, 1, 4):
            for name, values in data.items():
                mean, std = held(values, epsilon)
                print(f"{name:<12}{n:>7}{epsilon:>9}{mean:>8.3f}{std:>8.3f}")


if __name__ == "__main__":
    main()
