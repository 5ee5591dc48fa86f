"""The aggregate without any privacy: NumPy for a column, DuckDB for groups."""

from __future__ import annotations

from typing import Any

from .ours import column, table

__all__ = ["column", "groups", "release", "repeat", "sampler", "table"]

TITLE = "no privacy"
INSTALL = ["{root}"]
ENVIRONMENT = "ours"
DISTRIBUTION = "numpy"
MODULE = "numpy"
CALL = "`values.clip(l, u).mean()`; `SELECT g, avg(x) ... GROUP BY g`"
RETURNS = "the mean itself"
NOTE = "Protects nobody: the baseline for times."
ADJACENCY = "none"
REPEATS = ""
MEANS = SUMS = ""
SAMPLER = "`numpy.random.default_rng().laplace(size=n)`: no secure bits, no exact law"


def release(column: Any, bounds: Any, epsilon: float) -> float:
    return float(column.clip(*bounds).mean())


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    return [release(column, bounds, epsilon) for _ in range(runs)]


def sampler(size: int) -> Any:
    import numpy as np

    rng = np.random.default_rng()
    return lambda: rng.laplace(size=size)


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    lower, upper = bounds
    found = table.aggregate(f"g, avg(least(greatest(x, {lower}), {upper})) AS m", "g")
    columns = found.fetchnumpy()
    return dict(zip(columns["g"].tolist(), columns["m"].tolist(), strict=True))
