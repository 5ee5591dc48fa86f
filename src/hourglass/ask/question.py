"""Questions about totals: their base, and that behind ``hg.mean``.

The base reads groups, adds noise and chooses what to publish. The question for a mean is about one
column, or about several that share one epsilon.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, Self

import numpy as np

from ..core.exact import exact_epsilon
from ..core.keys import NAMELESS, Keys
from ..core.limits import DEFAULT_GRID, Grid, Unit, as_unit
from ..core.totals import Groups, Sum, Totals, Wide, joined
from ..estimate.point import check_estimator
from ..mechanisms.base import make
from ..mechanisms.outside import OutsideCounts
from ..mechanisms.spread import FINEST
from ..mechanisms.threshold import threshold
from ..noise.bits import BLOCK, Bits, SeededBits
from ..read.column import Column
from ..read.open import (
    PublicKeys,
    columns_in_memory,
    lone_column,
    open_source,
    place_of,
    public_keys,
)
from ..read.source import Source, value_field
from ..read.sql.expression.given import Expression
from ..read.sql.query import Query, Value
from ..release.columns import Columns
from ..release.release import Release, Releases
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

__all__ = ["ColumnsQuestion", "MeanQuestion", "TotalsQuestion", "mean_question"]


@dataclass(frozen=True, kw_only=True)
class TotalsQuestion:
    """A checked question about totals; no row has been read yet.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at epsilon divided by the
    records of a unit. ``outside`` counts values outside the bounds, with noise of its own; None if
    that was not asked for. ``place`` holds what distinguishes the question from others.
    """

    epsilon: Fraction
    delta: Fraction
    sql: str | None = field(repr=False)
    mechanism: Any
    unit: Unit
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    outside: OutsideCounts | None = None
    where: str | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)

    def about(self, source: Source) -> Self:
        """The same question, about other data of the same kind."""
        question = object.__new__(type(self))
        question.__dict__.update(self.__dict__, source=source)  # dataclasses.replace takes 6 us
        return question

    @property
    def text(self) -> str:
        """The question as canonical text. It leaves out the SQL, in which engines make up names."""
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "unit": str(self.unit),
        }
        facts |= self._facts() | self.place
        return json.dumps(facts, sort_keys=True, default=PublicKeys.written)

    def _facts(self) -> dict[str, Any]:
        """Further facts that distinguish this statistic's question from others."""
        return {}

    def read(self) -> Groups:
        """The exact totals of each group; of one unnamed group if there is no ``by``."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, Any]:
        """The keys to publish, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self._noised_groups(self.keys.padded(secret), bits)
        if not self.by:
            return NAMELESS, self._noised(secret.only, bits)
        noisy = self._noised_groups(secret, bits)
        # A group without records (all its values are missing) is never published, whether the
        # engine returns it or not.
        kept = np.flatnonzero((noisy.sizes >= self.threshold) & (secret.count > 0))
        kept = kept[secret.keys.take(kept).order()]  # the order of the data is not published
        return secret.keys.take(kept), noisy.take(kept)

    def _noised_groups(self, groups: Groups, bits: Bits) -> Any:
        """Add noise to the totals of groups, in blocks that stay in the cache."""
        return joined([self._noised(totals, bits) for totals in groups.blocks(BLOCK)])

    def _noised(self, totals: Totals, bits: Bits) -> Any:
        """Add noise to the totals of one group or of many."""
        if self.outside is None:
            return self.mechanism.noise(totals, bits=bits)
        asked = len(self.outside.sums)
        plain = Totals(totals.cells, totals.count, totals.more[:-asked])
        noisy = self.mechanism.noise(plain, bits=bits)
        return self.outside.noise(noisy, totals.more[-asked:], bits=bits)

    @property
    def _of_which(self) -> str:
        """The groups and the rows that the question is about, for its description."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return by + (f" where {self.where}" if self.where else "")

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The answer, computed from the noisy totals."""
        raise NotImplementedError

    def _terms(self, keys: Any, totals: Any, mechanism: Any, private: bool) -> dict[str, Any]:
        """What every answer consists of."""
        terms: dict[str, Any] = {
            "noisy_totals": totals,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "unit": str(self.unit),
            "private": private,
            "where": self.where,
            "_algorithm": mechanism,
        }
        grouped = {"by": self.by, "groups": keys, "threshold": self.threshold}
        return terms | grouped if self.by else terms

    def rehearse(self) -> None:
        """Answer the totals of one made-up record, so that failures happen before the charge."""
        nothing: Any = Wide.of(np.zeros(1, dtype=np.int64)) if self.by else 0
        one = Totals(nothing, nothing + 1, (nothing,) * (len(self.query.sums) - 1))
        keys = Keys.of([(None,) * len(self.by)], len(self.by))
        noisy = self._noised(one, SeededBits(0))
        json.dumps(self.answer((keys, noisy), private=False).to_dict(), allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class MeanQuestion(TotalsQuestion):
    """A checked question for a mean, with the sum and the count."""

    columns: tuple[str | None, ...]
    estimator: str
    asked: str = "mean"
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
        return f"{self.asked} of {names}{self._of_which}"

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The release, computed from the noisy totals."""
        keys, totals = noisy
        return self._answer(keys, totals, self.mechanism, 0, private)

    def _answer(
        self, keys: Any, totals: Any, mechanism: Any, place: int, private: bool
    ) -> Release | Releases:
        return (Releases if self.by else Release)(
            **self._terms(keys, totals, mechanism, private),
            estimator=self.estimator,
            column=self.columns[place],
            missing=self.missing[place],
            asked=self.asked,
            outside_epsilon=self.outside.rate if self.outside else None,
            as_real=self._as_real(place, mechanism.grid),
        )

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
    """Check the options of :func:`hourglass.mean`, and make the question."""
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
    sums = tuple(Sum(column=i) for i in range(len(columns))) + ((Sum(power=2),) if spread else ())
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
        sums=sums + (beside.sums if beside else ()),
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


_checked.__qualname__ = "mean"  # the name in errors about keyword arguments


@wraps(_checked, assigned=())
def mean_question(
    data: Any,
    column: str | Expression | Sequence[str | Expression] | None = None,
    **options: Any,
) -> MeanQuestion:
    """Check the options of :func:`hourglass.mean` and turn them into a question.

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
