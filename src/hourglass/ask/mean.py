"""``hg.mean``: the differentially private mean, with the sum and the count.

For one column, or for several that share one epsilon.

ask      mean_question   options are checked, the mechanism and the query are prepared
charge   run             a budget is charged
read     MeanQuestion    exact totals, for each group
noise                    the mechanism adds noise to them
answer                   a Release, Releases by group, or Columns for several columns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ..core.exact import exact_epsilon
from ..core.grid import DEFAULT_GRID, Grid
from ..core.totals import Sum
from ..core.unit import Unit, as_unit
from ..estimate.point import check_estimator
from ..mechanisms.base import make
from ..mechanisms.outside import OutsideCounts
from ..mechanisms.spread import FINEST
from ..mechanisms.threshold import threshold
from ..noise.bits import SECURE, Bits
from ..read.column import Column
from ..read.open import columns_in_memory, lone_column, open_source, place_of, public_keys
from ..read.source import value_field
from ..read.sql.expression.given import Expression
from ..read.sql.query import Query, Value
from ..release.columns import Columns
from ..release.release import Release
from ..release.releases import Releases
from .keywords import MeanKeywords, with_options
from .options import (
    Conditions,
    WrittenOptions,
    asked_columns,
    asked_statistic,
    bounds_of_each,
    by_name,
    check_algorithm,
    check_parse,
    check_parsed,
    check_tables,
    check_width,
    epsilon_per_record,
    exact_delta_of,
    missing_cell,
    names_of,
    of_each,
    outside_share,
    written_options,
)
from .run import TotalsQuestion, explained, run

if TYPE_CHECKING:
    from ..ledger import Budget


__all__ = [
    "ColumnsQuestion",
    "MeanQuestion",
    "mean",
    "mean_question",
]


@dataclass(frozen=True, kw_only=True)
class MeanQuestion(TotalsQuestion):
    """A checked question for a mean, with the sum and the count."""

    columns: tuple[str | None, ...]
    estimator: str
    asked: str = "mean"
    where: str | None = None
    missing: tuple[int | float | None, ...] = ()

    def _facts(self) -> dict[str, Any]:
        return {"estimator": self.estimator} | self._ranges()

    def _ranges(self) -> dict[str, Any]:
        grid = self.mechanism.grid
        return {"bounds": [repr(end) for end in grid.bounds], "grid": [grid.cells, grid.own]}

    @property
    def subject(self) -> str:
        """A short public description of the question."""
        names = ", ".join(name or "a column in memory" for name in self.columns)
        where = f" where {self.where}" if self.where else ""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"{self.asked} of {names}{by}{where}"

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The release, computed from the noisy totals."""
        keys, totals = noisy
        return self._answer(keys, totals, self.mechanism, 0, private)

    def _answer(
        self, keys: Any, totals: Any, mechanism: Any, place: int, private: bool
    ) -> Release | Releases:
        terms: dict[str, Any] = {
            "noisy_totals": totals,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "estimator": self.estimator,
            "unit": str(self.unit),
            "private": private,
            "column": self.columns[place],
            "where": self.where,
            "missing": self.missing[place],
            "asked": self.asked,
            "outside_epsilon": self.outside.rate if self.outside else None,
            "as_real": self._as_real(place, mechanism.grid),
            "_algorithm": mechanism,
        }
        if not self.by:
            return Release(**terms)
        return Releases(by=self.by, groups=keys, threshold=self.threshold, **terms)

    def _as_real(self, place: int, grid: Grid) -> bool:
        """Whether whole numbers count as real ones only because of how the bounds are written.

        That matters if the bounds are 1 apart. On a wider grid the errors hardly differ.
        """
        lower, upper = grid.bounds
        averaged = self.unit.person is not None and self.unit.rows is None
        as_written = not grid.bounds.whole and lower == int(lower) and upper == lower + 1
        default = grid.cells in (DEFAULT_GRID, FINEST)
        return self.query.values[place].field.whole and not averaged and as_written and default

    def restore(self, stored: Mapping[str, Any]) -> Any:
        """Rebuild a stored answer."""
        return (Releases if "by" in stored else Release).from_dict(dict(stored))


@dataclass(frozen=True, kw_only=True)
class ColumnsQuestion(MeanQuestion):
    """The means of several columns, answered together."""

    def _ranges(self) -> dict[str, Any]:
        grids = self.mechanism.grids
        return {
            "bounds": [[repr(end) for end in grid.bounds] for grid in grids],
            "grid": [[grid.cells, grid.own] for grid in grids],
        }

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Columns:
        """A release for each column."""
        keys, totals = noisy
        each = zip(self.columns, totals.columns, strict=True)
        return Columns(
            {
                str(name): self._answer(keys, part, self.mechanism.column(i), i, private)
                for i, (name, part) in enumerate(each)
            }
        )

    def restore(self, stored: Mapping[str, Any]) -> Columns:
        """Rebuild a stored answer."""
        return Columns.from_dict(stored)


def _checked(
    data: Any,
    column: str | Expression | Sequence[str | Expression] | None = None,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    where: Any = None,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    grid: Any = None,
    missing: Any = "drop",
    parse: Any = None,
    spread: bool = False,
    outside: Any = None,
    engine: str | None = None,
) -> MeanQuestion:
    """Check the options of :func:`mean`, and make the question."""
    price, whose, names = exact_epsilon(epsilon), as_unit(unit), names_of(by)
    exact = exact_delta_of(names, keys, delta)
    filtered = Conditions.of(where, ()).where is not None
    given, several = asked_columns(
        data, column, by=names, unit=whose.person, parse=parse, engine=engine, where=filtered
    )
    conditions = Conditions.of(where, given)
    columns = tuple(str(each) if isinstance(each, Expression) else each for each in given)
    statistic = asked_statistic(several, spread)
    check_estimator(estimator, algorithm, statistic)
    check_algorithm(algorithm, names, exact, whose, statistic)
    check_tables(conditions, columns_in_memory(data) is not None)
    share = outside_share(outside, algorithm)
    each = epsilon_per_record(price, whose, bool(names), share, len(columns))
    beside = None if share is None else OutsideCounts(each * share, len(columns))
    each -= beside.epsilon if beside else 0
    plain = [name for name, tree in zip(columns, conditions.trees, strict=True) if tree is None]
    read = [*plain, *names, whose.person, *conditions.columns]
    source = open_source(data, tuple(n for n in dict.fromkeys(read) if n is not None), engine)
    schema = source.schema()
    if several:
        schema.check_listed(tuple(plain), "column")
    if not isinstance(by, str):
        schema.check_listed(names, "by")
    ranges = bounds_of_each(
        by_name(bounds), columns, several, where=conditions.text, named=column is not None
    )
    if spread:
        check_width(ranges[0])
    fills = of_each("missing", by_name(missing), columns, "drop")
    rules = of_each("parse", by_name(parse), columns)
    cuts = of_each("grid", by_name(grid), columns)
    for rule in rules:
        check_parse(rule)
    groups = tuple(schema.key(name) for name in names)
    person = schema.person(whose.person) if whose.person else None
    averaged = person is not None and whose.rows is None
    inputs = conditions.fields(source, schema, plain)
    fields = [
        conditions.value(i, inputs, name) or value_field(source, schema, name or "", rule)
        for i, (name, rule) in enumerate(zip(columns, rules, strict=True))
    ]
    check_parsed(parse, rules, fields)
    grids = [
        each_field.grid(range_, cut, averaged=averaged, finest=FINEST if spread else DEFAULT_GRID)
        for each_field, range_, cut in zip(fields, ranges, cuts, strict=True)
    ]
    mechanism = make(algorithm, each, tuple(grids) if several else grids[0], statistic)
    public = public_keys(keys, groups, data) if keys is not None else None
    query = Query(
        tuple(
            Value(conditions.named(i, each_field), cells, missing_cell(fill, cells), tree)
            for i, (each_field, cells, fill, tree) in enumerate(
                zip(fields, grids, fills, conditions.trees, strict=True)
            )
        ),
        by=groups,
        allowed=public.allowed() if public else (),
        nulls=public.nulls() if public else (),
        places=public.places if public else None,
        unit=whose,
        person=person,
        sums=_sums(len(columns), spread, beside),
        asked=conditions.asked(inputs, read),
    )
    place: dict[str, Any] = {"missing": [str(fill) for fill in fills] if several else str(fills[0])}
    if column is not None or several:
        place |= {"parse": rules if several else rules[0], "data": place_of(data), "by": names}
        written = [conditions.written(i, name) for i, name in enumerate(columns)]
        place |= {"column": written if several else written[0]}
        place["keys"] = public
    if conditions.where is not None:
        place["where"] = conditions.text
    if spread:
        place["spread"] = True
    if share is not None:
        place["outside"] = str(share)
    return (ColumnsQuestion if several else MeanQuestion)(
        epsilon=price,
        delta=exact,
        sql=source.sql(query, ranges[0]),
        columns=columns,
        mechanism=mechanism,
        estimator=estimator,
        unit=whose,
        source=source,
        query=query,
        by=names,
        keys=public,
        outside=beside,
        threshold=threshold(mechanism, exact, whose.records, whose.groups) if exact else None,
        place=place,
        where=conditions.text,
        missing=tuple(None if fill == "drop" else fill for fill in fills),
    )


def _sums(columns: int, spread: bool, outside: OutsideCounts | None) -> tuple[Sum, ...]:
    """The sums that the question needs: of cells, of squares, and counts outside the bounds."""
    found = tuple(Sum(column=i) for i in range(columns))
    found += (Sum(power=2),) if spread else ()
    return found + (outside.sums if outside else ())


_checked.__qualname__ = "mean"  # which is what an error about a keyword should name


@wraps(_checked, assigned=())
def mean_question(
    data: Any,
    column: str | Expression | Sequence[str | Expression] | None = None,
    **options: Any,
) -> MeanQuestion:
    """Check the options of :func:`mean` and turn them into a question.

    A question about a column in memory depends only on the options and on the column's declared
    kind, so it is cached and asked of the next column.
    """
    lone = lone_column(data) if column is None else None
    written = None if lone is None else written_options(options)
    if lone is None or written is None:
        return _checked(lone or data, column, **options)
    return _of_column(written, lone.kind).about(lone)


@lru_cache(maxsize=256)
def _of_column(written: WrittenOptions, kind: str) -> MeanQuestion:
    return _checked(Column(kind), **written.options)


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
