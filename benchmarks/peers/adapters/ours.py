"""hourglass."""

from __future__ import annotations

from typing import Any

TITLE = "hourglass"
INSTALL = ["{root}"]
DISTRIBUTION = "hourglass-dp"
MODULE = "hourglass"
CALL = "`hg.mean(values, bounds=(l, u), epsilon=e)`"
RETURNS = "mean, sum, count, intervals, expected error, a statement of the promise"
NOTE = "Mean, sum and count come from one epsilon."
ADJACENCY = "add-remove"
REPEATS = (
    "the request is checked and the rows are added up once; the noise on the totals and the "
    "estimate are drawn and computed for many at once, by the functions that answer for groups"
)
MEANS = "`hg.mean(columns, bounds=(l, u), epsilon=e)`: all means and the one count together"
SUMS = ""
SAMPLER = "`hg.Hourglass(1, 2**32).sample(n)`: pairs of integers, the noise of a whole mean"

#: The runs that are computed at once.
AT_ONCE = 200_000

_TOTALS: dict[Any, Any] = {}


def column(values: list[float]) -> Any:
    import numpy as np

    whole = all(isinstance(value, int) for value in values) and bool(values)
    return np.array(values, dtype=np.int64 if whole else np.float64)


def release(column: Any, bounds: Any, epsilon: float) -> float:
    import hourglass as hg

    return hg.mean(column, bounds=bounds, epsilon=epsilon).mean


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> Any:
    from hourglass.estimate import point as estimate

    mechanism, noisy = _noisy(column, bounds, epsilon, min(runs, AT_ONCE))
    return estimate.mean(noisy, mechanism)


def repeat_small(column: Any, bounds: Any, epsilon: float, runs: int) -> Any:
    """``estimator="jeffreys"``."""
    from hourglass.estimate import point as estimate

    mechanism, noisy = _noisy(column, bounds, epsilon, min(runs, AT_ONCE))
    return estimate.mean(noisy, mechanism, "jeffreys")


def several(columns: list[list[float]]) -> Any:
    import numpy as np

    return np.array(columns, dtype=np.float64).T.copy()


def repeat_means(data: Any, bounds: Any, epsilon: float, runs: int) -> Any:
    import numpy as np

    from hourglass.estimate import point as estimate

    mechanism, noisy = _noisy(data, bounds, epsilon, min(runs, AT_ONCE // data.shape[1]))
    means = [
        estimate.mean(each, mechanism.column(number)) for number, each in enumerate(noisy.columns)
    ]
    return np.stack(means, axis=1).tolist()


def _noisy(column: Any, bounds: Any, epsilon: float, runs: int) -> tuple[Any, Any]:
    """The algorithm, and the totals with fresh noise, so many times."""
    from hourglass.ask.question import mean_question

    key = (id(column), bounds, epsilon)
    if key not in _TOTALS:
        request = mean_question(column, None, bounds=bounds, epsilon=epsilon)
        _TOTALS.clear()
        _TOTALS[key] = request, request.read().only, column  # held, so that its id stays its own
    request, totals, _ = _TOTALS[key]
    return request.mechanism, request.mechanism.noise(totals, size=runs)


def sampler(size: int) -> Any:
    import hourglass as hg

    law = hg.Hourglass(1, 2**32)
    return lambda: law.sample(size)


def table(keys: list[int], values: list[float]) -> Any:
    import duckdb
    import numpy as np

    data = {"g": np.array(keys, dtype=np.int64), "x": np.array(values, dtype=np.float64)}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT * FROM data")
    assert data
    return connection.table("t")


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    import hourglass as hg

    found = hg.mean(table, "x", bounds=bounds, epsilon=epsilon, by="g", keys=keys)
    return dict(zip(keys, found.means.tolist(), strict=True))
