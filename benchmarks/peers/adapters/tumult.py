"""Tumult Analytics on a local Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from . import middle, ratios

TITLE = "Tumult Analytics"
INSTALL = ["tmlt.analytics"]
DISTRIBUTION = "tmlt.analytics"
MODULE = "tmlt.analytics"
CALL = (
    "`Session.from_dataframe(PureDPBudget(e), ..., AddOneRow())` and "
    "`.evaluate(QueryBuilder(t).groupby(keys).average(x, low=l, high=u), PureDPBudget(e))`"
)
RETURNS = "a Spark frame with the mean, computed when it is collected"
NOTE = (
    "Half of epsilon each for the shifted sum and the count. The ratio is not clipped. The shift "
    "is a Python function called row by row. Needs Java, and `PYSPARK_PYTHON` set to the "
    "interpreter."
)
ADJACENCY = "add-remove"
REPEATS = (
    "one query over many groups, each with the same rows; the sum and the count that it asks "
    "Spark for are computed once and passed to every group; its noise and its ratio are its own"
)
MEANS = "an `average` for each column, at e over d"
SUMS = "a `sum` for each column and one `count`, at e over d + 1"
SAMPLER = "`tmlt.core`'s `AddLaplaceNoise` in a loop, outside of Spark"

#: The groups of one query.
FIRST = AT_ONCE = 4_000

_STATE: dict[str, Any] = {}


def _spark() -> Any:
    if "spark" not in _STATE:
        import os
        import shutil
        import sys

        kept = os.path.join(sys.prefix, "warehouse")  # it writes every answer to disk first
        shutil.rmtree(kept, ignore_errors=True)
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "2")
        builder = builder.config("spark.sql.warehouse.dir", kept)
        builder = builder.config("spark.driver.memory", "2g")
        _STATE["spark"] = builder.getOrCreate()
    return _STATE["spark"]


def column(values: list[float]) -> Any:
    return table([0] * len(values), values)


def release(column: Any, bounds: Any, epsilon: float) -> float:
    from tmlt.analytics import QueryBuilder

    return float(_asked(column, QueryBuilder("t"), bounds, epsilon)[0]["m"])


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    with _added_up_once((column, bounds)):
        found = groups(column, list(range(min(runs, AT_ONCE))), bounds, epsilon)
    return list(found.values())


def several(columns: list[list[float]]) -> Any:
    return columns


def repeat_sums(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    """Of the first column: the others are asked for in the same way."""
    from tmlt.analytics import KeySet, QueryBuilder

    key, part, half = (id(data), bounds), epsilon / (len(data) + 1), (bounds[1] - bounds[0]) / 2
    if _STATE.get("centred", (None,))[0] != key:
        values = [value - middle(bounds) for value in data[0]]
        _STATE["centred"] = key, table([0] * len(values), values), data
    frame = _STATE["centred"][1]
    query = QueryBuilder("t").groupby(KeySet.from_dict({"g": list(range(min(runs, AT_ONCE)))}))
    with _added_up_once((frame, (-half, half))):
        sums = _evaluated(frame, query.sum("x", low=-half, high=half, name="m"), part)
        counts = {row["g"]: row["m"] for row in _evaluated(frame, query.count(name="m"), part)}
    return [ratios([row["m"]], counts[row["g"]], bounds) for row in sums]


@contextlib.contextmanager
def _added_up_once(asked: tuple[Any, Any]) -> Iterator[None]:
    """Each group has the totals of group 0: Spark is asked once for a column and its bounds."""
    from pyspark.sql import functions as sf
    from tmlt.core.utils.grouped_dataframe import GroupedDataFrame

    original = GroupedDataFrame.agg
    if _STATE.get("asked") != asked:
        _STATE["asked"], _STATE["totals"] = asked, {}
    totals = _STATE["totals"]

    def agg(self: Any, func: Any, fill_value: Any) -> Any:
        if str(func) not in totals:
            only = GroupedDataFrame(self.dataframe, self.group_keys.where("g = 0"))
            found = original(only, func, fill_value).drop("g")
            totals[str(func)] = found.schema[0], found.collect()[0][0]
        field, total = totals[str(func)]
        known = sf.lit(total).cast(field.dataType).alias(field.name)
        return self.group_keys.select("g", known)

    GroupedDataFrame.agg = agg
    try:
        yield
    finally:
        GroupedDataFrame.agg = original


def sampler(size: int) -> Any:
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddLaplaceNoise

    law = AddLaplaceNoise(NumpyFloatDomain(), 1)
    return lambda: [law(0.0) for _ in range(size)]


def table(keys: list[int], values: list[float]) -> Any:
    import pandas as pd
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    kinds = StructType([StructField("g", LongType()), StructField("x", DoubleType())])
    pairs = pd.DataFrame({"g": keys, "x": [float(value) for value in values]})
    if not len(pairs):
        return _spark().createDataFrame([], kinds)
    return _spark().createDataFrame(pairs, kinds)


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    from tmlt.analytics import KeySet, QueryBuilder

    known = KeySet.from_dict({"g": keys})
    found = _asked(table, QueryBuilder("t").groupby(known), bounds, epsilon)
    return {row["g"]: row["m"] for row in found}


def _asked(frame: Any, query: Any, bounds: Any, epsilon: float) -> Any:
    lower, upper = (None, None) if bounds is None else bounds
    return _evaluated(frame, query.average("x", low=lower, high=upper, name="m"), epsilon)


def _evaluated(frame: Any, query: Any, epsilon: float) -> Any:
    import warnings

    from tmlt.analytics import AddOneRow, PureDPBudget, Session

    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(epsilon),
        source_id="t",
        dataframe=frame,
        protected_change=AddOneRow(),
    )
    with warnings.catch_warnings():  # Spark's advice to the library, of no use to its user
        warnings.filterwarnings("ignore", message="In Python 3.6")
        return session.evaluate(query, privacy_budget=PureDPBudget(epsilon)).collect()
