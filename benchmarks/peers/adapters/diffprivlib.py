"""diffprivlib, whose number of records is public."""

from __future__ import annotations

from typing import Any

TITLE = "diffprivlib"
INSTALL = ["diffprivlib", "scikit-learn<1.8"]
DISTRIBUTION = "diffprivlib"
MODULE = "diffprivlib.tools"
CALL = "`diffprivlib.tools.mean(values, epsilon=e, bounds=(l, u))`"
RETURNS = "a float"
NOTE = "**Not comparable:** the number of records is public, a weaker promise. It has no groups."
ADJACENCY = "swap"
REPEATS = ""
MEANS = (
    "`diffprivlib.tools.mean(array, epsilon=e, bounds=(l, u), axis=0)`: e over d for each column"
)
SUMS = ""
SAMPLER = "`mechanisms.Laplace(epsilon=1, sensitivity=1).randomise(0.0)` in a loop"


def column(values: list[float]) -> Any:
    import numpy as np

    return np.array(values, dtype=float)


def release(column: Any, bounds: Any, epsilon: float) -> float:
    from diffprivlib.tools import mean

    return float(mean(column, epsilon=float(epsilon), bounds=bounds))


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    return [release(column, bounds, epsilon) for _ in range(runs)]


def several(columns: list[list[float]]) -> Any:
    import numpy as np

    return np.array(columns, dtype=float).T.copy()


def repeat_means(data: Any, bounds: Any, epsilon: float, runs: int) -> Any:
    from diffprivlib.tools import mean

    return [mean(data, epsilon=float(epsilon), bounds=bounds, axis=0) for _ in range(runs)]


def sampler(size: int) -> Any:
    from diffprivlib.mechanisms import Laplace

    law = Laplace(epsilon=1, sensitivity=1)
    return lambda: [law.randomise(0.0) for _ in range(size)]
