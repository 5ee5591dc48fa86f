"""The question behind ``hg.mean``: of one column, or of several that share one epsilon."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.grid import DEFAULT_GRID
from ..core.keys import sort_key
from ..core.numbers import exact_epsilon
from ..core.totals import Groups, Sum, Totals
from ..core.unit import Unit, as_unit
from ..estimate.point import check_estimator
from ..mechanisms.base import make
from ..mechanisms.spread import FINEST
from ..mechanisms.threshold import threshold
from ..noise.bits import Bits, SeededBits
from ..read.engines.base import Source, value_field
from ..read.keys import PublicKeys, public_keys
from ..read.open import columns_in_memory, open_source, place_of
from ..read.sql.expression.given import Expression
from ..read.sql.query import Query, Value
from ..release.columns import Columns
from ..release.release import Release
from ..release.releases import Releases
from .conditions import Conditions, by_name, check_tables
from .options import (
    asked_columns,
    asked_statistic,
    bounds_of_each,
    check_algorithm,
    check_parse,
    epsilon_per_record,
    exact_delta_of,
    missing_cell,
    names_of,
    of_each,
)

__all__ = ["ColumnsQuestion", "MeanQuestion", "mean_question"]


@dataclass(frozen=True)
class MeanQuestion:
    """A mean that can be asked: everything is checked, no row has been read.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at the part of
    epsilon that each record of a unit gets.
    """

    epsilon: Fraction
    delta: Fraction
    sql: str | None = field(repr=False)
    columns: tuple[str | None, ...]
    mechanism: Any
    estimator: str
    unit: Unit
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)
    where: str | None = None

    @property
    def text(self) -> str:
        """Everything that makes this question this one. The SQL does not: engines make up names."""
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "estimator": self.estimator,
            "unit": str(self.unit),
        }
        return json.dumps(facts | self._ranges() | self.place, sort_keys=True)

    def _ranges(self) -> dict[str, Any]:
        grid = self.mechanism.grid
        return {"bounds": [repr(end) for end in grid.bounds], "grid": [grid.cells, grid.own]}

    @property
    def subject(self) -> str:
        """The question in a few public words."""
        names = ", ".join(name or "a column in memory" for name in self.columns)
        where = f" where {self.where}" if self.where else ""
        return f"mean of {names}" + (f" by {', '.join(self.by)}" if self.by else "") + where

    def read(self) -> Groups:
        """The exact totals of each group; of one group without a name where none are asked."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, Any]:
        """The keys that are published, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self.mechanism.noise(self.keys.pick(secret), bits=bits)
        if not self.by:
            return (), self.mechanism.noise(secret.only, bits=bits)
        # A group all of whose values are missing has no records: it is never published.
        rows = np.flatnonzero(np.asarray(secret.count > 0, dtype=bool))
        noisy = self.mechanism.noise(secret.take(rows), bits=bits)
        kept = np.flatnonzero(np.asarray(noisy.sizes >= self.threshold, dtype=bool)).tolist()
        keys = {i: secret.key(rows[i]) for i in kept}
        order = sorted(kept, key=lambda i: sort_key(keys[i]))  # never in the data's order
        return tuple(keys[i] for i in order), noisy.take(order)

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The release that the noisy totals lead to."""
        keys, totals = noisy
        return self._answer(keys, totals, self.mechanism, self.columns[0], private)

    def _answer(
        self, keys: Any, totals: Any, mechanism: Any, column: str | None, private: bool
    ) -> Release | Releases:
        terms: dict[str, Any] = {
            "noisy_totals": totals,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "estimator": self.estimator,
            "unit": str(self.unit),
            "private": private,
            "column": column,
            "where": self.where,
            "_algorithm": mechanism,
        }
        if not self.by:
            return Release(**terms)
        return Releases(by=self.by, groups=keys, threshold=self.threshold, **terms)

    def rehearse(self) -> None:
        """Noise and write down one record, so that the law and the figures are known to work."""
        nothing: Any = np.array([0], dtype=object) if self.by else 0
        one = Totals(nothing, nothing + 1, (nothing,) * (len(self.query.sums) - 1))
        keys = (((None,) * len(self.by)),) if self.by else ()
        noisy = self.mechanism.noise(one, bits=SeededBits(0))
        self.answer((keys, noisy), private=False).to_dict()

    def restore(self, stored: Mapping[str, Any]) -> Any:
        """The stored answer."""
        return (Releases if "by" in stored else Release).from_dict(dict(stored))


@dataclass(frozen=True)
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
                str(name): self._answer(keys, part, self.mechanism.column(i), name, private)
                for i, (name, part) in enumerate(each)
            }
        )

    def restore(self, stored: Mapping[str, Any]) -> Columns:
        """The stored answer."""
        return Columns.from_dict(stored)


def mean_question(
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
    engine: str | None = None,
) -> MeanQuestion:
    """The question that the options of :func:`mean` ask, or an error that says why not."""
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
    each = epsilon_per_record(price, whose, bool(names))
    plain = [name for name, tree in zip(columns, conditions.trees, strict=True) if tree is None]
    read = [*plain, *names, whose.person, *conditions.columns]
    source = open_source(data, tuple(n for n in dict.fromkeys(read) if n is not None), engine)
    schema = source.schema()
    if several:
        schema.check_listed(tuple(plain), "column")
    if not isinstance(by, str):
        schema.check_listed(names, "by")
    ranges = bounds_of_each(by_name(bounds), columns, several)
    fills = of_each("missing", by_name(missing), columns, several, "drop")
    rules = of_each("parse", by_name(parse), columns, several)
    cuts = of_each("grid", by_name(grid), columns, several)
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
        unit=whose,
        person=person,
        sums=(Sum(), Sum(power=2)) if spread else (),
        asked=conditions.asked(inputs, read),
    )
    place: dict[str, Any] = {"missing": [str(fill) for fill in fills] if several else str(missing)}
    if column is not None or several:
        place |= {"parse": rules if several else parse, "data": place_of(data), "by": names}
        written = [conditions.written(i, name) for i, name in enumerate(columns)]
        place |= {"column": written if several else written[0]}
        place["keys"] = public.written() if public else None
    if conditions.where is not None:
        place["where"] = conditions.text
    if spread:
        place["spread"] = True
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
        threshold=threshold(mechanism, exact, whose.records, whose.groups) if exact else None,
        place=place,
        where=conditions.text,
    )
