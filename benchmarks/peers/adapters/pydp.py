"""Google's differential privacy library through PyDP."""

from __future__ import annotations

from typing import Any

from . import middle, ratios

TITLE = "PyDP (Google)"
INSTALL = ["python-dp"]
DISTRIBUTION = "python-dp"
MODULE = "pydp"
CALL = '`BoundedMean(epsilon=e, lower_bound=l, upper_bound=u, dtype="float").quick_result(values)`'
RETURNS = "a float"
NOTE = (
    "Half of epsilon each for the shifted sum and the count. It has no groups: the loop over "
    "keys is ours, one object per key."
)
ADJACENCY = "add-remove"
REPEATS = ""
MEANS = "a `BoundedMean` for each column, at e over d"
SUMS = "a `BoundedSum` for each column and one `Count`, at e over d + 1"
SAMPLER = "`LaplaceMechanism(epsilon=1, sensitivity=1).add_noise(0.0)` in a loop"


def column(values: list[float]) -> list[float]:
    return [float(value) for value in values]


def release(column: list[float], bounds: Any, epsilon: float) -> float:
    from pydp.algorithms.laplacian import BoundedMean

    if bounds is None:
        return float(BoundedMean(epsilon=epsilon, dtype="float").quick_result(column))
    lower, upper = (float(end) for end in bounds)
    mean = BoundedMean(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="float")
    return float(mean.quick_result(column))


def repeat(column: list[float], bounds: Any, epsilon: float, runs: int) -> list[float]:
    return [release(column, bounds, epsilon) for _ in range(runs)]


def several(columns: list[list[float]]) -> Any:
    return columns


def repeat_sums(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    from pydp.algorithms.laplacian import BoundedSum, Count

    part, half = epsilon / (len(data) + 1), (bounds[1] - bounds[0]) / 2
    centred = [[value - middle(bounds) for value in column] for column in data]

    def answer() -> list[float]:
        sums = [
            BoundedSum(epsilon=part, lower_bound=-half, upper_bound=half, dtype="float")
            .quick_result(column)
            for column in centred
        ]  # fmt: skip
        count = Count(epsilon=part, dtype="float").quick_result(centred[0])
        return ratios(sums, count, bounds)

    return [answer() for _ in range(runs)]


def sampler(size: int) -> Any:
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    law = LaplaceMechanism(epsilon=1, sensitivity=1)
    return lambda: [law.add_noise(0.0) for _ in range(size)]


def table(keys: list[int], values: list[float]) -> Any:
    return list(zip(keys, values, strict=True))


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    held: dict[int, list[float]] = {key: [] for key in keys}
    for key, value in table:
        if key in held:
            held[key].append(value)
    return {key: release(values, bounds, epsilon) for key, values in held.items()}
