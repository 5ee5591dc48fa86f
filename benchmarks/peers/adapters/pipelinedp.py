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
REPEATS = (
    "its combiner is made once and adds the rows up once (`create_accumulator`), then it is asked "
    "for the noisy mean many times (`compute_metrics`)"
)
SAMPLER = "`dp_computations.LaplaceMechanism.create_from_epsilon(1, 1).add_noise(0.0)` in a loop"

#: The runs between two looks at the clock.
AT_ONCE = 50_000

_COMBINED: dict[Any, Any] = {}


def column(values: list[float]) -> Any:
    return [(0, float(value)) for value in values]


def release(column: Any, bounds: Any, epsilon: float) -> float:
    return groups(column, [0], bounds, epsilon)[0]


def repeat(column: Any, bounds: Any, epsilon: float, runs: int) -> list[float]:
    import numpy as np
    from pipeline_dp import combiners

    key = (id(column), bounds, epsilon)
    if key not in _COMBINED:
        accountant = _accountant(epsilon)
        combiner = combiners.create_compound_combiner(_params(bounds), accountant)
        accountant.compute_budgets()
        accumulated = combiner.create_accumulator(np.array([value for _, value in column]))
        _COMBINED.clear()
        _COMBINED[key] = combiner, accumulated, column  # held, so that its id stays its own
    combiner, accumulated, _ = _COMBINED[key]
    return [combiner.compute_metrics(accumulated).mean for _ in range(min(runs, AT_ONCE))]


def sampler(size: int) -> Any:
    from pipeline_dp.dp_computations import LaplaceMechanism

    law = LaplaceMechanism.create_from_epsilon(1, 1)
    return lambda: [law.add_noise(0.0) for _ in range(size)]


def table(keys: list[int], values: list[float]) -> Any:
    return list(zip(keys, values, strict=True))


def groups(table: Any, keys: list[int], bounds: Any, epsilon: float) -> dict[int, float]:
    import pipeline_dp

    accountant = _accountant(epsilon)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=lambda row: row[0], value_extractor=lambda row: row[1]
    )
    found = engine.aggregate(table, _params(bounds), extractors, public_partitions=keys)
    accountant.compute_budgets()
    return {key: metrics.mean for key, metrics in found}


def _accountant(epsilon: float) -> Any:
    import pipeline_dp

    return pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-12)


def _params(bounds: Any) -> Any:
    import pipeline_dp

    lower, upper = (None, None) if bounds is None else bounds
    return pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.MEAN],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=lower,
        max_value=upper,
        contribution_bounds_already_enforced=True,
    )
