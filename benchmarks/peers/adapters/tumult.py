"""Tumult Analytics on a local Spark."""

from __future__ import annotations

from typing import Any

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
REPEATS = "one query over many groups, each a copy of the data"
SAMPLER = "`tmlt.core`'s `AddLaplaceNoise` in a loop, outside of Spark"

#: The rows of one query, copies included; and the groups.
COPIED, AT_ONCE = 200_000, 4_000
FIRST = AT_ONCE

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
    from pyspark.sql import functions as sf

    copies = min(runs, AT_ONCE, max(COPIED // column.count(), 1))
    numbers = _spark().range(copies).select(sf.col("id").alias("g"))
    frame = column.select("x").crossJoin(numbers)
    return list(groups(frame, list(range(copies)), bounds, epsilon).values())


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
    import warnings

    from tmlt.analytics import AddOneRow, PureDPBudget, Session

    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(epsilon),
        source_id="t",
        dataframe=frame,
        protected_change=AddOneRow(),
    )
    lower, upper = (None, None) if bounds is None else bounds
    asked = query.average("x", low=lower, high=upper, name="m")
    with warnings.catch_warnings():  # Spark's advice to the library, of no use to its user
        warnings.filterwarnings("ignore", message="In Python 3.6")
        return session.evaluate(asked, privacy_budget=PureDPBudget(epsilon)).collect()
