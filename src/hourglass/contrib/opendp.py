"""The hourglass mean as an OpenDP measurement.

    import opendp.prelude as dp
    from hourglass.contrib.opendp import then_hourglass_mean

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()
    meas = space >> then_hourglass_mean(bounds=(0.0, 120.0), epsilon=1)
    meas.map(1)                  # what one record costs: 1.0
    meas(ages)                   # a Release: mean, sum, count, intervals

It can be chained after transformations and composed like any other measurement. OpenDP requires
"honest-but-curious" because it cannot check a mechanism that is defined outside of it; the proof is
in ``hourglass.proof.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ..ask.question import mean_question
from ..ask.run import mean
from ..core.exact import exact_epsilon
from ..core.limits import Bounds
from ..errors import OptionError

try:
    import opendp.prelude as dp
    from opendp.mod import _PartialConstructor
except ImportError as error:  # pragma: no cover - the message is the remedy
    raise ImportError(
        "hourglass.contrib.opendp needs the package opendp; install it with: pip install opendp"
    ) from error

__all__ = ["make_hourglass_mean", "then_hourglass_mean"]

#: The allowed types of the elements of a vector, and the type that determines the grid.
_TYPES: Final = {
    "Vec<f64>": np.float64,
    "Vec<f32>": np.float32,
    "Vec<i64>": np.int64,
    "Vec<i32>": np.int32,
    "Vec<bool>": np.bool_,
}
#: Metrics whose distance counts records added and records removed.
_METRICS: Final = ("SymmetricDistance", "InsertDeleteDistance")


def make_hourglass_mean(
    input_domain: Any,
    input_metric: Any,
    *,
    bounds: Any,
    epsilon: Any,
    estimator: str = "projected",
    grid: int | None = None,
) -> Any:
    """A measurement from a vector of numbers to a :class:`~hourglass.Release`.

    Under the symmetric or the insert-delete distance, ``map(d_in)`` is d_in * epsilon, rounded
    up: the release is epsilon-DP for one record added or removed, and the cost of d_in of them
    is d_in times as much. Replacing a record is a distance of two.
    """
    carrier, metric = str(input_domain.carrier_type), str(input_metric.type)
    if carrier not in _TYPES:
        raise OptionError(
            f"input_domain holds {carrier}, not a vector of numbers; "
            "give dp.vector_domain(dp.atom_domain(T=float))"
        )
    if metric not in _METRICS:
        raise OptionError(
            f"input_metric={metric} does not count records added or removed; "
            "give dp.symmetric_distance() or dp.insert_delete_distance()"
        )
    kind, amount, public = _TYPES[carrier], exact_epsilon(epsilon), Bounds.of(bounds)
    options: dict[str, Any] = {
        "bounds": public,
        "epsilon": amount,
        "estimator": estimator,
        "grid": grid,
    }
    # This raises errors now, not when the measurement is called.
    mean_question(np.zeros(0, dtype=kind), None, **options)

    def function(values: Any) -> Any:
        return mean(np.asarray(values, dtype=kind), **options)

    def privacy_map(d_in: int) -> float:
        return _double_up(d_in * amount)

    return dp.m.make_user_measurement(
        input_domain,
        input_metric,
        output_measure=dp.max_divergence(),
        function=function,
        privacy_map=privacy_map,
    )


def then_hourglass_mean(**options: Any) -> Any:
    """:func:`make_hourglass_mean` as a partial for the right side of ``>>``."""
    return _PartialConstructor(
        lambda input_domain, input_metric: make_hourglass_mean(
            input_domain, input_metric, **options
        )
    )


def _double_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
