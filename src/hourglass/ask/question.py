"""Questions about totals: their base, and that behind ``hg.mean``.

The base reads groups, adds noise and chooses what to publish. The question for a mean is about one
column, or about several that share one epsilon.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, Final, Self

import numpy as np

from ..core.exact import exact_epsilon
from ..core.keys import NAMELESS, Keys
from ..core.limits import DEFAULT_GRID, Grid, Unit, as_unit
from ..core.totals import Groups, Sum, Totals, Wide, joined
from ..estimate.point import check_estimator
from ..mechanisms.base import make
from ..mechanisms.outside import OutsideCounts
from ..mechanisms.spread import FINEST
from ..noise.bits import BLOCK, Bits, SeededBits
from ..read.column import Column
from ..read.open import PublicKeys, columns_in_memory, lone_column, open_source, public_keys
from ..read.source import Source
from ..read.sql.expression.given import Expression
from ..read.sql.query import Query
from ..release.columns import Columns
from ..release.release import Release, Releases
from .options import (
    Conditions,
    Rows,
    asked_columns,
    asked_statistic,
    bounds_of_each,
    by_name,
    check_algorithm,
    check_parsed,
    check_tables,
    check_width,
    epsilon_per_record,
    exact_delta_of,
    names_of,
    of_each,
    outside_share,
    parse_of_each,
)

__all__ = ["ColumnsQuestion", "MeanQuestion", "TotalsQuestion", "mean_question"]

#: Values of these types, but not of subclasses, are distinguished by how they are written.
_PLAIN: Final = frozenset({type(None), bool, int, float, str, Fraction, Decimal})


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
    per_record = epsilon_per_record(price, whose, bool(names), share, len(columns))
    beside = None if share is None else OutsideCounts(per_record * share, len(columns))

    plain = [name for name, tree in zip(columns, conditions.trees, strict=True) if tree is None]
    source = open_source(data, conditions.read(plain, names, whose), engine)
    rows = Rows.of(source, whose, conditions, plain, by)
    if several:
        rows.schema.check_listed(tuple(plain), "column")
    ranges = bounds_of_each(
        by_name(bounds), columns, several, where=conditions.text, named=column is not None
    )
    if spread:
        check_width(ranges[0])
    rules = parse_of_each(parse, columns)
    fills = of_each("missing", by_name(missing), columns, "drop")
    cuts = of_each("grid", by_name(grid), columns)
    fields = [rows.field(i, name, rules[i]) for i, name in enumerate(columns)]
    check_parsed(parse, rules, fields)
    finest = FINEST if spread else DEFAULT_GRID
    values = [
        rows.value(i, field, ranges[i], cuts[i], fills[i], finest=finest)
        for i, field in enumerate(fields)
    ]

    mechanism = make(
        algorithm,
        per_record - beside.epsilon if beside else per_record,
        tuple(value.grid for value in values) if several else values[0].grid,
        statistic,
    )
    public = public_keys(keys, rows.groups, data) if keys is not None else None
    sums = [Sum(column=i) for i in range(len(columns))] + [Sum(power=2)] * spread
    query = rows.query(public, values, [*sums, *(beside.sums if beside else ())])
    place = _place(several, missing=[str(fill) for fill in fills])
    if column is not None or several:
        written = [conditions.written(i, name) for i, name in enumerate(columns)]
        place |= _place(several, parse=rules, column=written) | rows.place(data, public)
    place |= {"spread": True} if spread else {}
    place |= {} if share is None else {"outside": str(share)}
    return (ColumnsQuestion if several else MeanQuestion)(
        **rows.terms(query, ranges[0], mechanism, public, exact),
        epsilon=price,
        columns=columns,
        estimator=estimator,
        outside=beside,
        place=place,
        missing=tuple(None if fill == "drop" else fill for fill in fills),
    )


def _place(several: bool, **options: list[Any]) -> dict[str, Any]:
    """Options of columns as the question has them: lists for several columns."""
    return {name: each if several else each[0] for name, each in options.items()}


_checked.__qualname__ = "mean"  # the name in errors about keyword arguments


class WrittenOptions(str):
    """Options that are equal if they are written the same way: 0, 0.0 and -0.0 all differ."""

    options: Mapping[str, Any]


def written_options(options: Mapping[str, Any]) -> WrittenOptions | None:
    """The options of a question as a cache key; None unless all are plain values or pairs."""
    for value in options.values():
        for each in value if type(value) in (tuple, list) else (value,):
            if type(each) not in _PLAIN:
                return None
    written = WrittenOptions(repr(options))
    written.options = options
    return written


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
