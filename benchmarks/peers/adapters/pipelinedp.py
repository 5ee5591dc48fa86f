"""PipelineDP on its local backend."""

from __future__ import annotations

from typing import Any

from . import middle, ratios

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
    "that the bounds on contributions hold already. A total delta above zero is required but "
    "not used."
)
ADJACENCY = "add-remove"
REPEATS = (
    "its combiner is made once and adds the rows up once (`create_accumulator`), then it is asked "
    "for the noisy mean many times (`compute_metrics`)"
)
MEANS = "an `aggregate(...)` with `metrics=[MEAN]` for each column, at e over d"
SUMS = (
    "`metrics=[VECTOR_SUM]` with `vector_norm_kind=NormKind.Linf` and `budget_weight=d`, and "
    "`metrics=[COUNT]`, under one accountant: e over d + 1 for each coordinate and the count"
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


def several(columns: list[list[float]]) -> Any:
    return columns


def repeat_sums(data: Any, bounds: Any, epsilon: float, runs: int) -> list[list[float]]:
    key = (id(data), bounds, epsilon)
    if key not in _COMBINED:
        _COMBINED.clear()
        _COMBINED[key] = *_vector_sum(data, bounds, epsilon), data
    (sums, vectors), (counter, rows), _ = _COMBINED[key]
    return [
        ratios(
            sums.compute_metrics(vectors).vector_sum, counter.compute_metrics(rows).count, bounds
        )
        for _ in range(min(runs, AT_ONCE))
    ]


def _vector_sum(data: Any, bounds: Any, epsilon: float) -> Any:
    """Its combiners for the vector sum and for the count, each with the rows added up once."""
    import numpy as np
    import pipeline_dp
    from pipeline_dp import combiners
    from pipeline_dp.aggregate_params import NormKind

    accountant, kind = _accountant(epsilon), pipeline_dp.NoiseKind.LAPLACE
    once = {"max_partitions_contributed": 1, "max_contributions_per_partition": 1}
    vector = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.VECTOR_SUM], noise_kind=kind, budget_weight=len(data),
        vector_norm_kind=NormKind.Linf, vector_max_norm=(bounds[1] - bounds[0]) / 2,
        vector_size=len(data), **once,
    )  # fmt: skip
    count = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT], noise_kind=kind, **once
    )
    sums = combiners.create_compound_combiner(vector, accountant)
    counter = combiners.create_compound_combiner(count, accountant)
    accountant.compute_budgets()
    centred = np.array(data).T - middle(bounds)
    added, rows = (made.create_accumulator([centred[0].copy()]) for made in (sums, counter))
    for row in centred[1:]:
        added = sums.merge_accumulators(added, sums.create_accumulator([row.copy()]))
        rows = counter.merge_accumulators(rows, counter.create_accumulator([row]))
    return (sums, added), (counter, rows)


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
