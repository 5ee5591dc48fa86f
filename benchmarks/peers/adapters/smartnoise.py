"""SmartNoise SQL on a pandas frame."""

from __future__ import annotations

from typing import Any

from . import middle, ratios

TITLE = "SmartNoise SQL"
INSTALL = ["smartnoise-sql"]
DISTRIBUTION = "smartnoise-sql"
MODULE = "snsql"
CALL = (
    "`snsql.from_df(frame, privacy=Privacy(epsilon=e / 2, ...), metadata=...)` and "
    "`.execute('SELECT AVG(x) AS m FROM s.t')`"
)
RETURNS = "rows, the first of them the names of the columns"
NOTE = (
    "It charges epsilon for each noisy column, and AVG has two, a sum and a count "
    "(`get_privacy_cost` says 2 for `Privacy(epsilon=1)`): it is given e / 2, so that the whole "
    "costs e. The sum is not shifted, the ratio not clipped. Public keys cannot be passed: "
    "with `censor_dims` off, the groups of the data are answered, and an empty group is not."
)
ADJACENCY = "add-remove"
REPEATS = (
    "exact aggregates are passed as its `pre_aggregated`, one row per run, so that the rows are "
    "added up once and not once per run"
)
MEANS = "one query, `SELECT AVG(a), AVG(b), ... FROM s.t`, with `Privacy(epsilon=e / (2 d))`"
SUMS = "one query, `SELECT COUNT(*), SUM(a), ... FROM s.t`, with `Privacy(epsilon=e / (d + 1))`"
SAMPLER = "the `release` of its own Laplace mechanism on a list"

#: The runs of one query.
AT_ONCE = 4_000

QUERY = "SELECT AVG(x) AS m FROM s.t"
BY = "SELECT g, AVG(x) AS m FROM s.t GROUP BY g"


def _reader(frame: Any, bounds: Any, epsilon: float) -> Any:
    import snsql

    value: dict[str, Any] = {"type": "float"}
    if bounds is not None:
        value |= {"lower": float(bounds[0]), "upper": float(bounds[1])}
    table = {
        "row_privacy": True,
        "censor_dims": False,
        "g": {"type": "int"},
        "x": value,
    }
    privacy = snsql.Privacy(epsilon=epsilon / 2, delta=1e-9)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"s": {"t": table}}})


def column(values: list[float]) -> Any:
    return table([0] * len(values), values)


def release(column: Any, bounds: Any, epsilon: float) -> float:
    return float(_reader(column, bounds, epsilon).execute(QUERY)[1][0])


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    exact = column["x"].clip(*bounds)
    total, rows = float(exact.sum()), len(exact)
    handed: list[Any] = [("g", "sum_x", "count_x")]
    handed += [(run, total, rows) for run in range(min(runs, AT_ONCE))]
    reader = _reader(column.head(1), bounds, epsilon)
    return [float(row[1]) for row in reader.execute(BY, pre_aggregated=handed)[1:]]


def several(columns: list[list[float]]) -> Any:
    import pandas as pd

    return pd.DataFrame({"g": 0} | {f"c{i}": values for i, values in enumerate(columns)})


def repeat_means(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    names = list(data.columns[1:])
    query = ", ".join(f"AVG({name}) AS m{name}" for name in names)
    exact: dict[str, float] = {}
    for name in names:
        exact |= {f"sum_{name}": float(data[name].clip(*bounds).sum()), f"count_{name}": len(data)}
    return _together(data, query, exact, bounds, epsilon / (2 * len(names)), runs)


def repeat_sums(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    names, half = list(data.columns[1:]), (bounds[1] - bounds[0]) / 2
    query = "COUNT(*) AS n, " + ", ".join(f"SUM({name}) AS s{name}" for name in names)
    centred = {f"sum_{n}": float((data[n] - middle(bounds)).sum()) for n in names}
    exact = {"count_star": len(data)} | centred
    found = _together(data, query, exact, (-half, half), epsilon / (len(names) + 1), runs)
    return [ratios(row[1:], row[0], bounds) for row in found]


def _together(
    data: Any, query: str, exact: dict[str, float], bounds: Any, each: float, runs: int
) -> list[list[float]]:
    """All aggregates in one query, the exact ones handed over."""
    import snsql

    value = {"type": "float", "lower": float(bounds[0]), "upper": float(bounds[1])}
    table: dict[str, Any] = {"row_privacy": True, "censor_dims": False, "g": {"type": "int"}}
    table |= dict.fromkeys(data.columns[1:], value)
    reader = snsql.from_df(
        data.head(1),
        privacy=snsql.Privacy(epsilon=each, delta=1e-9),
        metadata={"": {"s": {"t": table}}},
    )
    handed: list[Any] = [("g", *exact)]
    handed += [(run, *exact.values()) for run in range(min(runs, AT_ONCE))]
    asked = f"SELECT g, {query} FROM s.t GROUP BY g"
    return [list(row[1:]) for row in reader.execute(asked, pre_aggregated=handed)[1:]]


def sampler(size: int) -> Any:
    from snsql.sql._mechanisms.laplace import Laplace

    law, zeros = Laplace(1.0, sensitivity=1.0), [0.0] * size
    return lambda: law.release(zeros)


def table(keys: list[int], values: list[float]) -> Any:
    import pandas as pd

    return pd.DataFrame({"g": keys, "x": [float(value) for value in values]})


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    return dict(_reader(table, bounds, epsilon).execute(BY)[1:])
