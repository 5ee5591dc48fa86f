"""What users call, and :func:`run`, which answers every question.

mean, sum, count, find_bounds   ask      a question is checked; no row has been read
run                             charge   its price is charged to a budget
                                read     exact, secret totals
                                noise    which makes them safe to publish
                                answer   estimated, stored and returned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, Unpack, overload

from ..errors import BudgetError, OptionError, SourceError, shown
from ..noise.bits import SECURE, Bits
from ..read.sql.expression.given import Expression
from ..release.columns import Columns
from ..release.counts import Count, Counts
from ..release.found import FoundBounds
from ..release.release import Release, Releases
from .count import check_rows_only, count_question
from .keywords import CountKeywords, FindKeywords, MeanKeywords, SumKeywords, misfit, with_options
from .question import mean_question
from .search import bounds_question
from .sum import sum_question

if TYPE_CHECKING:
    from ..ledger import Budget, Reservation


__all__ = [
    "Answer", "Question", "count", "explained", "find_bounds", "is_failure", "mean", "run", "sum_",
]  # fmt: skip


# --- the public calls ----------------------------------------------------------------------------


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
    *unnamed: Any,
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
        The number of steps that the range is divided into. By default a column of integers with
        integer bounds has its own grid, and everything else gets 2^32 steps (2^23 with ``spread``).
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
        A share of epsilon, such as "1/10", to spend on counting the values outside the bounds:
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
    if unnamed or not options.keys() <= MeanKeywords.__optional_keys__:
        raise misfit(mean, unnamed, options)
    question = mean_question(data, column, by=by, **options)
    return _answered(question, budget, request, explain, bits)


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
    *unnamed: Any,
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
    if unnamed or not options.keys() <= SumKeywords.__optional_keys__:
        raise misfit(sum_, unnamed, options)
    question = sum_question(data, column, by=by, **options)
    return _answered(question, budget, request, explain, bits)


@overload
def count(
    data: Any, *, by: None = None, explain: Literal[False] = False, **options: Unpack[CountKeywords]
) -> Count: ...
@overload
def count(
    data: Any, *, by: Any, explain: Literal[False] = False, **options: Unpack[CountKeywords]
) -> Counts: ...
@overload
def count(
    data: Any, *, by: Any = None, explain: Literal[True], **options: Unpack[CountKeywords]
) -> str: ...
@with_options(count_question)
def count(
    data: Any,
    *column: Any,
    by: Any = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Any,
) -> Count | Counts | str:
    """The differentially private number of rows or persons, optionally by group.

    Every row counts, whatever its cells contain. The noise has a discrete Laplace distribution,
    which is optimal for a count.

    Parameters
    ----------
    data
        A table as for :func:`mean`, or rows in memory: a list, an array, an iterator. Each element
        of a list is a row, even if it is an array.
    epsilon
        The privacy parameter; smaller is more private. There is no default.
    where
        A filter on the rows, as for :func:`mean`.
    by
        One or more columns to group by, with one of ``keys`` and ``delta``.
    keys
        The public names of the groups; each of them gets an answer. A list, a file, or
        ``hg.public(...)`` around a public frame, Series or array.
    delta
        Set this if the names of the groups are secret: a group is published only if its noisy count
        reaches a threshold.
    unit
        Whose presence is hidden: ``hg.per_row()`` (the default) counts rows,
        ``hg.per_person("id")`` counts persons, each once, and ``hg.per_person("id", rows=k)`` up
        to k rows of each person.
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
        The source of randomness, for tests: an answer made with seeded bits has ``private=False``.

    Returns
    -------
    Count
        Or :class:`Counts` with ``by``.
    """
    check_rows_only(column, options)
    if not options.keys() <= CountKeywords.__optional_keys__:
        raise misfit(count, (), options)
    question = count_question(data, by=by, **options)
    return _answered(question, budget, request, explain, bits)


@overload
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *,
    explain: Literal[False] = False,
    **options: Unpack[FindKeywords],
) -> FoundBounds: ...
@overload
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *,
    explain: Literal[True],
    **options: Unpack[FindKeywords],
) -> str: ...
@with_options(bounds_question)
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *unnamed: Any,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Any,
) -> FoundBounds | str:
    """Find bounds for a column of numbers with epsilon-DP (one unit added or removed).

    Pass the result to :func:`hourglass.mean` as ``bounds=``; the two epsilons add up. Bounds
    known from the domain cost nothing and are better.

    Parameters
    ----------
    data, column
        What :func:`hourglass.mean` takes: a column of numbers, or a table and the name of its
        column (or an ``hg.expression``).
    epsilon
        The price. There is no default.
    scale
        A public list of candidate bounds in increasing order. By default 0 and ±2^(k/4) from
        2^-64 to 2^64, rounded for a column of integers.
    share
        The share of epsilon reserved for the end nearer to zero, which matters if all values lie on
        one side of it.
    unit
        Whose presence is hidden: ``hg.per_row()`` (the default), or ``hg.per_person("id")``,
        where one row of each person counts, chosen by a hash of the person's id; with
        ``rows=k`` up to k of them count, and epsilon is divided by k.
    where, parse, engine, budget, request, explain, bits
        As in :func:`hourglass.mean`.
    """
    if unnamed or not options.keys() <= FindKeywords.__optional_keys__:
        raise misfit(find_bounds, unnamed, options)
    question = bounds_question(data, column, **options)
    return _answered(question, budget, request, explain, bits)


def _answered(
    question: Question[Found_co],
    budget: Budget | None,
    request: str | None,
    explain: bool,
    bits: Bits,
) -> Found_co | str:
    """The answer or, with ``explain``, the SQL. Options that are no such thing cost nothing."""
    if not isinstance(explain, bool):
        raise OptionError(f"explain={shown(explain)} is neither True nor False")
    if not callable(getattr(bits, "words", None)):
        raise OptionError(
            f"bits={shown(bits)} is not a source of randomness; leave it out, or give "
            "hg.SeededBits(1) for a test"
        )
    return explained(question) if explain else run(question, budget, request, bits=bits)


# --- the spine ------------------------------------------------------------------------------------

#: Stored in place of an answer that could not be completed.
_FAILED: Final = "failed"


class Answer(Protocol):
    """An answer: plain values, safe to publish."""

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, which is what a budget stores."""


Found_co = TypeVar("Found_co", bound=Answer, covariant=True)


class Question(Protocol[Found_co]):
    """A question, checked in full; no row has been read yet."""

    @property
    def epsilon(self) -> Fraction:
        """Its price in epsilon."""

    @property
    def delta(self) -> Fraction:
        """Its price in delta; 0 for pure epsilon-DP."""

    @property
    def sql(self) -> str | None:
        """The SQL that will run; None for data in memory."""

    @property
    def text(self) -> str:
        """The question as canonical text: equal for equal questions, in every process."""

    @property
    def subject(self) -> str:
        """A short public description of the question."""

    def read(self) -> Any:
        """Read the data once and return the exact, secret totals."""

    def noise(self, secret: Any, bits: Bits) -> Any:
        """Add noise to the totals; the result is safe to publish."""

    def rehearse(self) -> None:
        """Answer made-up totals and store nothing, so that failures happen before the charge."""

    def answer(self, noisy: Any, *, private: bool) -> Found_co:
        """Estimate the answer from the noisy totals alone."""

    def restore(self, stored: Mapping[str, Any]) -> Found_co:
        """Rebuild an answer that was stored by :meth:`Answer.to_dict`."""


def run(
    question: Question[Found_co],
    budget: Budget | None = None,
    request: str | None = None,
    *,
    bits: Bits = SECURE,
) -> Found_co:
    """Answer a question: charge the budget, read the data, add the noise, store the answer.

    The same question under the same ``request`` key costs nothing and returns the stored answer. If
    the data cannot be read, the charge stands, and a note on the error names the key under which
    the question can be asked again at no further cost. A failure after the noise was drawn is
    stored, and the key stays closed.
    """
    reservation = _reserved(question, budget, request)
    if reservation is None:
        return question.answer(question.noise(question.read(), bits), private=bits.private)
    if reservation.answer is not None:
        return _restored(question, reservation.answer)
    try:
        return _settled(question, question.read(), bits, reservation)
    except BaseException as error:
        if not is_failure(reservation.answer or {}):
            error.add_note(
                f"The charge stands. The same question with request={reservation.request!r} "
                "costs nothing more."
            )
        raise


def _settled(
    question: Question[Found_co], secret: Any, bits: Bits, reservation: Reservation
) -> Found_co:
    """The answer, stored.

    A failure here may depend on the noise. If the question could be asked again, it would be
    answered with new noise, and the number of failures would reveal something about the data at no
    charge. So the failure is stored in place of the answer, unless it is the ledger's own.
    """
    try:
        found = question.answer(question.noise(secret, bits), private=bits.private)
        written = found.to_dict()
        stored = reservation.settle(written)
    except BudgetError:
        raise
    except Exception:
        reservation.settle({_FAILED: True})
        raise
    # If another process stored an answer to the same request first, return that answer.
    return found if stored == written else _restored(question, stored)


def is_failure(stored: Mapping[str, Any]) -> bool:
    """Whether a failure is stored in place of an answer."""
    return _FAILED in stored


def _restored(question: Question[Found_co], stored: Mapping[str, Any]) -> Found_co:
    if is_failure(stored):
        raise SourceError(
            "request: this question failed after its noise was drawn, so it can never be answered "
            "under this key, and the charge stands; ask again under another key, at a new charge"
        )
    return question.restore(stored)


def explained(question: Question[Any]) -> str:
    """The SQL that would run, formatted for reading."""
    return question.sql or "-- numbers in memory: no SQL runs, NumPy aggregates them\n"


def _reserved(
    question: Question[Any], budget: Budget | None, request: str | None
) -> Reservation | None:
    """Make the charge, durably; None if there is no budget."""
    if budget is None:
        if request is not None:
            raise OptionError(
                f"request={shown(request)} needs a budget to store the answer in; give budget= "
                "as well"
            )
        return None
    if not hasattr(budget, "reserve"):
        raise OptionError(
            f"budget= takes an hg.Budget, not a {type(budget).__name__}; open one with "
            "hg.Budget(ledger, name), where ledger is a file or the URL of a database"
        )
    from ..ledger.entries import short_text

    question.rehearse()
    return budget.reserve(
        question.epsilon,
        question.delta,
        question=question.text,
        request=request,
        description=short_text(question.subject),
    )
