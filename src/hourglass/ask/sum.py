"""``hg.sum``: a differentially private sum, with the same noise as the mean.

The noisy totals of a mean give the sum as lower * N' + step * S'. So a sum is the question for a
mean, presented as a sum; the mean and the count come with it at no further cost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ..core.unit import Unit, as_unit
from ..errors import DataError, OptionError
from ..noise.bits import SECURE, Bits
from ..read.open import columns_in_memory
from ..read.sql.expression.given import Expression
from ..release.release import Release
from ..release.releases import Releases
from .keywords import SumKeywords, with_options
from .question import MeanQuestion, mean_question
from .run import explained, run

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["sum_", "sum_question"]


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
    """Check the options of :func:`sum_` and turn them into a question."""
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


@overload
def sum_(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: None = None,
    explain: Literal[False] = False,
    **options: Unpack[SumKeywords],
) -> Release: ...
@overload
def sum_(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: Any,
    explain: Literal[False] = False,
    **options: Unpack[SumKeywords],
) -> Releases: ...
@overload
def sum_(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: Any = None,
    explain: Literal[True],
    **options: Unpack[SumKeywords],
) -> str: ...
@with_options(sum_question)
def sum_(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: Any = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Any,
) -> Release | Releases | str:
    """The differentially private sum of a column, with its mean and count.

    Values are clamped to the bounds before they are added up, and missing values add nothing. The
    parameters are those of :func:`mean`: ``data``, ``column``, ``bounds``, ``epsilon``, ``where``,
    ``by``, ``keys``, ``delta``, ``unit``, ``grid``, ``missing``, ``parse``, ``outside``,
    ``engine``, ``budget``, ``request``, ``explain`` and ``bits``.

    ``hg.per_person("id")`` without ``rows`` is refused, because a person would count with the mean
    of their rows. ``hg.per_person("id", rows=k)`` uses up to k rows of each person.

    Returns
    -------
    Release
        Or :class:`Releases` with ``by``. Its table, its chart and ``interval()`` show the sum.
    """
    question = sum_question(data, column, by=by, **options)
    return explained(question) if explain else run(question, budget, request, bits=bits)
