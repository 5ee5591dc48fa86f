"""PipelineDP on its local backend."""

from __future__ import annotations

from typing import Any

TITLE = "PipelineDP"
INSTALL = ["pipeline-dp"]
DISTRIBUTION = "pipeline-dp"
MODULE = "pipeline_dp"
CALL = (
    "`DPEngine(accountant, LocalBackend()).aggregate(rows, AggregateParams(metrics=[MEAN], ...))`"
)
RETURNS = "pairs of key and a tuple with the mean"
NOTE = (
    "Half of epsilon each for the shifted sum and the count. A row is the unit, so it is told "
    "that the bounds on contributions hold already. A total delta above zero is asked for and "
    "not used."
)
ADJACENCY = "add-remove"
REPEATS = ""


def column(values: list[float]) -> Any:
    return [(0, float(value)) for value in values]


def release(column: Any, bounds: Any, epsilon: float) -> float:
    return groups(column, [0], bounds, epsilon)[0]


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    return [release(column, bounds, epsilon) for _ in range(runs)]


def table(keys: list[int], values: list[float]) -> Any:
    return list(zip(keys, values, strict=True))


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    import pipeline_dp

    lower, upper = (None, None) if bounds is None else bounds
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-12)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=lower,
        max_value=upper,
        contribution_bounds_already_enforced=True,
    )
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=lambda row: row[0], value_extractor=lambda row: row[1]
    )
    found = engine.aggregate(table, params, extractors, public_partitions=keys)
    accountant.compute_budgets()
    return {key: metrics.mean for key, metrics in found}
