"""OpenDP, through the Context of its Polars interface."""

from __future__ import annotations

from typing import Any

from . import middle, ratios

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
    "Half of epsilon each for the sum and the count. A public `max_length` is required: here it "
    "is the true n, the most favourable choice. The ratio is not clipped to the bounds."
)
ADJACENCY = "add-remove"
REPEATS = (
    "one query over many groups, each a copy of the data and each with `max_length` n; it is built "
    "once and called many times. The scale of its noise, as given by `summarize()`, is that of the "
    "call, up to a slack of less than 0.01 % for how sums are rounded"
)
MEANS = (
    "one query, `.select([pl.col(c).dp.mean((l, u)) for c in columns])`: e over 2 d for each noise"
)
SUMS = "one query, `.select(dp.len(), *[pl.col(c).dp.sum((l, u)) for c in columns])`: e over d + 1"
SAMPLER = "`dp.m.make_laplace` on a vector of integers, scale 1"

#: The rows of one query, copies included; and the groups.
COPIED, AT_ONCE = 10_000_000, 10_000
FIRST = 1_000

_BUILT: dict[Any, Any] = {}


def _query(frame: Any, epsilon: float, margin: dict[str, Any]) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=float(epsilon)),
        split_evenly_over=1,
        margins=[dp.polars.Margin(**margin)],
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
    query = _query(frame, epsilon, {"max_length": max(rows, 1)}).select(_mean(bounds))
    return float(query.release().collect().item())


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    import polars as pl

    frame, rows = column
    copies = max(min(AT_ONCE, COPIED // rows), 1)
    key = (id(frame), bounds, epsilon)
    if key not in _BUILT:
        keys = pl.LazyFrame({"g": pl.int_range(copies, eager=True)})
        copied = keys.join(frame, how="cross")
        margin = {"by": ["g"], "max_length": rows, "max_groups": copies}
        query = _query(copied, epsilon, margin).group_by("g").agg(_mean(bounds))
        _BUILT.clear()
        _BUILT[key] = query.with_keys(keys).resolve(), copied, frame
    measurement, copied, _ = _BUILT[key]
    found: list[float] = measurement(copied).collect()["x"].to_list()
    return found


def several(columns: list[list[float]]) -> Any:
    import polars as pl

    return pl.LazyFrame({f"c{i}": pl.Series(values) for i, values in enumerate(columns)})


def repeat_means(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    import opendp.prelude as dp  # it gives expressions their `.dp`

    dp.enable_features("contrib")
    names, ends = data.collect_schema().names(), tuple(map(float, bounds))
    means = [_column(name).dp.mean(ends) for name in names]
    return _together(data, means, epsilon, names)


def repeat_sums(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    import opendp.prelude as dp
    import polars as pl

    names, half = data.collect_schema().names(), (bounds[1] - bounds[0]) / 2
    centred = data.select(pl.all() - middle(bounds))
    sums = [_column(name).dp.sum((-half, half)) for name in names]
    found = _together(centred, [dp.len(), *sums], epsilon, ["len", *names], data)
    return [ratios(row[1:], row[0], bounds) for row in found]


def _column(name: str) -> Any:
    import polars as pl

    return pl.col(name).fill_nan(0.0).fill_null(0.0)


def _together(
    frame: Any, asked: list[Any], epsilon: float, names: list[str], held: Any = None
) -> list[list[float]]:
    """All aggregates in one query over many copies of the data, each a group."""
    import polars as pl

    key = (id(frame if held is None else held), len(asked), epsilon)
    if key not in _BUILT:
        rows = frame.select(pl.len()).collect().item()
        copies = max(min(AT_ONCE, COPIED // (4 * rows * len(names))), 1)
        keys = pl.LazyFrame({"g": pl.int_range(copies, eager=True)})
        copied = keys.join(frame, how="cross")
        margin = {"by": ["g"], "max_length": rows, "max_groups": copies}
        query = _query(copied, epsilon, margin).group_by("g").agg(asked)
        _BUILT.clear()
        _BUILT[key] = query.with_keys(keys).resolve(), copied, frame if held is None else held
    measurement, copied, _ = _BUILT[key]
    found: list[list[float]] = measurement(copied).collect().select(names).rows()
    return found


def sampler(size: int) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    law, zeros = dp.m.make_laplace(*space, scale=1.0), [0] * size
    return lambda: law(zeros)


def table(keys: list[int], values: list[float]) -> Any:
    import polars as pl

    return pl.LazyFrame({"g": keys, "x": values}), len(keys)


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    import polars as pl

    frame, rows = table
    query = _query(frame, epsilon, {"max_length": max(rows, 1)}).group_by("g").agg(_mean(bounds))
    found = query.with_keys(pl.LazyFrame({"g": keys})).release().collect()
    return dict(zip(found["g"].to_list(), found["x"].to_list(), strict=True))
