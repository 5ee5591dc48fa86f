"""OpenDP, through the Context of its Polars interface."""

from __future__ import annotations

from typing import Any

TITLE = "OpenDP"
INSTALL = ["opendp[polars]"]
DISTRIBUTION = "opendp"
MODULE = "opendp.prelude"
CALL = (
    "`dp.Context.compositor(data=frame, ..., margins=[dp.polars.Margin(max_length=n)])` and "
    "`.query().select(pl.col(x).fill_nan(m).fill_null(m).dp.mean((l, u))).release()`"
)
RETURNS = "a frame with the mean; `summarize()` gives the scales of the noise"
NOTE = (
    "Half of epsilon each for the sum and the count. A public `max_length` is asked for: here it "
    "is the true n, the kindest choice. The ratio is not clipped to the bounds."
)
ADJACENCY = "add-remove"
REPEATS = "the query is built once, the finished measurement is called many times"


def _query(frame: Any, bounds: Any, epsilon: float, rows: int) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=float(epsilon)),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=max(rows, 1))],
    )
    return context.query()


def _mean(bounds: Any) -> Any:
    import polars as pl

    values: Any = pl.col("x")
    if bounds is None:
        return values.dp.mean()
    lower, upper = (float(end) for end in bounds)
    middle = (lower + upper) / 2
    return values.fill_nan(middle).fill_null(middle).dp.mean((lower, upper))


def column(values: list[float]) -> Any:
    import polars as pl

    series = pl.Series("x", [float(value) for value in values], dtype=pl.Float64)
    return pl.LazyFrame({"x": series}), len(values)


def release(column: Any, bounds: Any, epsilon: float) -> float:
    frame, rows = column
    query = _query(frame, bounds, epsilon, rows).select(_mean(bounds))
    return float(query.release().collect().item())


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    frame, rows = column
    key = (tuple(bounds), epsilon, rows)
    if key not in _BUILT:
        _BUILT[key] = _query(frame, bounds, epsilon, rows).select(_mean(bounds)).resolve()
    measurement = _BUILT[key]
    return [float(measurement(frame).collect().item()) for _ in range(runs)]


_BUILT: dict[Any, Any] = {}


def table(keys: list[int], values: list[float]) -> Any:
    import polars as pl

    return pl.LazyFrame({"g": keys, "x": values}), len(keys)


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    import polars as pl

    frame, rows = table
    query = _query(frame, bounds, epsilon, rows).group_by("g").agg(_mean(bounds))
    found = query.with_keys(pl.LazyFrame({"g": keys})).release().collect()
    return dict(zip(found["g"].to_list(), found["x"].to_list(), strict=True))
