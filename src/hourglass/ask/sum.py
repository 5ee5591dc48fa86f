"""``hg.sum``: a differentially private sum, with the same noise as the mean.

The noisy totals of a mean give the sum as lower * N' + step * S'. So a sum is the question for a
mean, presented as a sum; the mean and the count come with it at no further cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..core.limits import Unit, as_unit
from ..errors import DataError, OptionError
from ..read.open import columns_in_memory
from ..read.sql.expression.given import Expression
from .question import MeanQuestion, mean_question

__all__ = ["sum_question"]


def sum_question(
    data: Any,
    column: str | Expression | None = None,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    where: Any = None,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    grid: Any = None,
    missing: Any = "drop",
    parse: Any = None,
    outside: Any = None,
    engine: str | None = None,
) -> MeanQuestion:
    """Check the options of :func:`sum` and turn them into a question."""
    whose = as_unit(unit)
    if isinstance(column, list | tuple) or (column is None and columns_in_memory(data)):
        raise DataError(
            "column: sum takes one column; hg.mean with a list of columns returns the sum of each"
        )
    if whose.person is not None and whose.rows is None:
        raise OptionError(
            f"unit: per_person({whose.person!r}) counts each person once, with the mean of their "
            "rows, and those means do not add up to the sum of the column; add rows=, the most "
            "rows of a person that count"
        )
    asked = mean_question(
        data, column, bounds=bounds, epsilon=epsilon, where=where, by=by, keys=keys, delta=delta,
        unit=unit, grid=grid, missing=missing, parse=parse, outside=outside, engine=engine,
    )  # fmt: skip
    return replace(asked, asked="sum", place=asked.place | {"statistic": "sum"})


sum_question.__qualname__ = "sum"  # which is what an error about a keyword should name
