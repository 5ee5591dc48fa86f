"""``hg.mean``: the differentially private mean, with the sum and the count.

ask      mean_question   options are checked, the mechanism and the query are prepared
charge   run             a budget is charged
read     MeanQuestion    exact totals, for each group
noise                    the mechanism adds noise to them
answer                   a Release, Releases by group, or Columns for several columns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ..noise.bits import SECURE, Bits
from ..read.sql.expression.given import Expression
from ..release.columns import Columns
from ..release.release import Release
from ..release.releases import Releases
from .keywords import MeanKeywords, with_options
from .question import mean_question
from .run import explained, run

if TYPE_CHECKING:
    from ..ledger import Budget


__all__ = ["mean"]


@overload
def mean(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: None = None,
    explain: Literal[False] = False,
    **options: Unpack[MeanKeywords],
) -> Release: ...
@overload
def mean(
    data: Any,
    column: str | Expression | None = None,
    *,
    by: Any,
    explain: Literal[False] = False,
    **options: Unpack[MeanKeywords],
) -> Releases: ...
@overload
def mean(
    data: Any,
    column: Sequence[str | Expression],
    *,
    by: Any = None,
    explain: Literal[False] = False,
    **options: Unpack[MeanKeywords],
) -> Columns: ...
@overload
def mean(
    data: Any,
    column: str | Expression | Sequence[str | Expression] | None = None,
    *,
    by: Any = None,
    explain: Literal[True],
    **options: Unpack[MeanKeywords],
) -> str: ...
@with_options(mean_question)
def mean(
    data: Any,
    column: str | Expression | Sequence[str | Expression] | None = None,
    *,
    by: Any = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Any,
) -> Release | Releases | Columns | str:
    """The differentially private means of one or several columns, with sums and a count.

    Parameters
    ----------
    data
        A column of numbers (list, NumPy array, Series, Arrow array, iterator), several of them (an
        array with two dimensions, a list of arrays), or a table: a pandas, Polars or PyArrow frame,
        a DuckDB relation, a Spark DataFrame, a path or glob (Parquet, CSV, TSV, JSON lines, Arrow),
        or ``hg.sql(url, table)``. The engine that holds the table computes the totals.
    column
        If ``data`` is a table, the name of the column to average, or a list of names: several
        columns then share one epsilon and one count. ``hg.expression("dep_delay > 15")`` in place
        of a name is a computed column. The columns of a two-dimensional array, or of a list of
        arrays, are named "0", "1", ...; by default all are averaged.
    bounds
        The public range of the values, to which they are clamped. There is no default. For
        several columns, a pair for all of them, or a dict with a pair for each.
    epsilon
        The privacy parameter; smaller is more private. There is no default.
    where
        A filter on the rows of a table: ``where="month = 12 AND origin = 'JFK'"``. It is applied
        before anything else. The language is that of :func:`hourglass.expression`.
    by
        One or more columns to group by, with one of ``keys`` and ``delta``.
    keys
        The public names of the groups; each of them gets an answer. A list, a file, or
        ``hg.public(...)`` around a public frame, Series or array.
    delta
        Set this if the names of the groups are secret: a group is published only if its noisy count
        reaches a threshold.
    unit
        Whose presence is hidden: ``hg.per_row()`` (the default) or ``hg.per_person("id")``.
    algorithm
        "hourglass", the optimal one; for comparison "staircase", "laplace", "shifted",
        "independent" or "swap".
    estimator
        "projected", "ratio" or, for small groups, "jeffreys" (if means may lie close to a bound) or
        "posterior" (if they lie well inside).
    grid
        The number of cells that the range is divided into. By default a column of integers with
        integer bounds has its own grid, and everything else gets 2^32 cells (2^23 with ``spread``).
        For several columns, a number for all of them, or a dict.
    missing
        "drop", or the value that replaces a missing one. For several columns, one of these for
        all of them, or a dict. A row is left out of all columns if a value is missing in one
        that has no replacement.
    parse
        How a column of text is read: "real" or "integer". Text that is not such a number is
        missing. It is refused for a column of another type. For several columns, one value for
        those of text, or a dict.
    spread
        Also estimate the variance and the standard deviation of the values, from the same epsilon;
        this raises the squared error of the mean by about a fifth. One column only.
    outside
        A share of epsilon, such as "1/10", to spend on how many values lie outside the bounds:
        ``r.outside.below`` and ``r.outside.above``, each with an interval. A person who counts once
        is counted on the side where more of their rows lie. With several columns the share is
        divided between them.
    engine
        The engine for files: "duckdb" (the default), "spark" or "datafusion".
    budget
        An :class:`hourglass.Budget`, charged before the data is read; it refuses a charge that
        exceeds what remains.
    request
        A key for the question in the budget; asking it again under the same key returns the stored
        answer at no charge.
    explain
        Return the SQL without running it.
    bits
        The source of randomness, for tests: a release made with seeded bits has ``private=False``.

    Returns
    -------
    Release
        Or :class:`Releases` with ``by``, or :class:`Columns` for several columns.
    """
    question = mean_question(data, column, by=by, **options)
    return explained(question) if explain else run(question, budget, request, bits=bits)
