"""``hg.mean``: the differentially private mean, with the sum and the count beside it.

ask      mean_question   every option is checked, the mechanism and the query are made
charge   run             a budget is charged
read     MeanQuestion    exact totals, by group if asked
noise                    the mechanism's law on them
answer                   a Release, or Releases by group
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ..core.grid import Bounds
from ..core.keys import sort_key
from ..core.numbers import exact_epsilon
from ..core.totals import Groups, NoisyTotals, Totals
from ..core.unit import Unit, as_unit
from ..estimate.point import check_estimator
from ..mechanisms.base import MeanMechanism, make
from ..mechanisms.threshold import threshold
from ..noise.bits import SECURE, Bits, SeededBits
from ..read.engines.base import Source, value_field
from ..read.keys import PublicKeys, public_keys
from ..read.open import open_source, place_of
from ..read.sql.query import Query, Value
from ..release.release import Release
from ..release.releases import Releases
from .options import (
    check_algorithm,
    check_column,
    check_parse,
    epsilon_per_record,
    exact_delta_of,
    missing_cell,
    names_of,
)
from .run import explained, run

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["MeanQuestion", "mean", "mean_question"]


class _Options(TypedDict, total=False):
    """The options of :func:`mean` that do not decide what comes back."""

    bounds: Any
    epsilon: Any
    keys: Any
    delta: Any
    unit: Unit | None
    algorithm: str
    estimator: str
    grid: int | None
    missing: Any
    parse: str | None
    engine: str | None
    budget: Budget | None
    request: str | None
    bits: Bits


@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: None = None,
    explain: Literal[False] = False,
    **options: Unpack[_Options],
) -> Release: ...
@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: Any,
    explain: Literal[False] = False,
    **options: Unpack[_Options],
) -> Releases: ...
@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: Any = None,
    explain: Literal[True],
    **options: Unpack[_Options],
) -> str: ...
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: Any = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Any,
) -> Release | Releases | str:
    """The differentially private mean, with its sum and count; by group if asked.

    Parameters
    ----------
    data
        A column of numbers (list, NumPy array, Series, Arrow array, iterator), or a table: a
        pandas, Polars or PyArrow frame, a DuckDB relation, a Spark DataFrame, a path or glob
        (Parquet, CSV, TSV, JSON lines, Arrow), or ``hg.sql(url, table)``. The totals are
        computed where the table lives.
    column
        The name of the column to average, where ``data`` is a table.
    bounds
        The public range of the values, to which they are clamped. There is no default.
    epsilon
        The privacy parameter; smaller is more private. There is no default.
    by
        One or more columns to group by, with one of ``keys`` and ``delta``.
    keys
        The public names of the groups; each of them is answered. A list, a file, or
        ``hg.public(...)`` around a frame, Series or array that is public.
    delta
        The names of the groups are secret: a group is answered if its noisy count is large
        enough.
    unit
        Whose presence is hidden: ``hg.per_row()`` (the default) or ``hg.per_person("id")``.
    algorithm
        "hourglass", the optimal one; for comparison "staircase", "laplace", "shifted",
        "independent" or "swap".
    estimator
        "projected", "ratio" or, for small groups, "jeffreys" (means may lie next to a bound)
        or "posterior" (well inside).
    grid
        The number of cells that the range is cut into. By default a column of integers with
        integer bounds keeps its own grid, and everything else gets 2^32.
    missing
        "drop", or the value that a missing one counts as.
    parse
        How a column of text is read: "real" or "integer". Text that is not such a number is
        missing.
    engine
        Another engine than DuckDB for files: "spark" or "datafusion".
    budget
        An :class:`hourglass.Budget`, charged before the data is read; it refuses what it has
        no room for.
    request
        A key for the question in the budget: asked again under the same key, it returns the
        stored answer at no charge.
    explain
        Return the SQL that would run, and run nothing.
    bits
        For tests: a release made from seeded bits says ``private=False``.

    Returns a :class:`Release`, or :class:`Releases` with ``by``.
    """
    question = mean_question(data, column, by=by, **options)
    return explained(question) if explain else run(question, budget, request, bits=bits)


@dataclass(frozen=True)
class MeanQuestion:
    """A mean that can be asked: everything is checked, no row has been read.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at the part of
    epsilon that each record of a unit gets.
    """

    epsilon: Fraction
    delta: Fraction
    sql: str | None = field(repr=False)
    mechanism: MeanMechanism
    estimator: str
    unit: Unit
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """Everything that makes this question this one. The SQL does not: engines make up names."""
        grid = self.mechanism.grid
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "bounds": [repr(end) for end in grid.bounds],
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "estimator": self.estimator,
            "grid": [grid.cells, grid.own],
            "unit": str(self.unit),
        }
        return json.dumps(facts | self.place, sort_keys=True)

    @property
    def subject(self) -> str:
        """The question in a few public words."""
        column = self.query.value.name or "a column in memory"
        return f"mean of {column}" + (f" by {', '.join(self.by)}" if self.by else "")

    def read(self) -> Groups:
        """The exact totals of each group; of one group without a name where none are asked."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, NoisyTotals]:
        """The keys that are published, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self.mechanism.noise(self.keys.pick(secret), bits=bits)
        if not self.by:
            return (), self.mechanism.noise(secret.only, bits=bits)
        # A group all of whose values are missing has no records: it is never published.
        rows = np.flatnonzero(np.asarray(secret.count > 0, dtype=bool))
        noisy = self.mechanism.noise(secret.take(rows), bits=bits)
        assert self.threshold is not None
        least = self.threshold * noisy.grid * noisy.parts
        kept = np.flatnonzero(np.asarray(noisy.weight >= least, dtype=bool)).tolist()
        keys = {i: secret.key(rows[i]) for i in kept}
        order = sorted(kept, key=lambda i: sort_key(keys[i]))  # never in the data's order
        shown = NoisyTotals(noisy.cells[order], noisy.rest[order], noisy.grid, noisy.parts)
        return tuple(keys[i] for i in order), shown

    def answer(self, noisy: tuple[Any, NoisyTotals], *, private: bool) -> Release | Releases:
        """The release that the noisy totals lead to."""
        keys, totals = noisy
        if not self.by:
            return Release.of(
                self.mechanism,
                totals,
                estimator=self.estimator,
                private=private,
                unit=str(self.unit),
                epsilon=self.epsilon,
                delta=self.delta,
            )
        return Releases(
            by=self.by,
            groups=keys,
            noisy_totals=totals,
            epsilon=self.epsilon,
            delta=self.delta,
            threshold=self.threshold,
            estimator=self.estimator,
            unit=str(self.unit),
            private=private,
            _algorithm=self.mechanism,
        )

    def rehearse(self) -> None:
        """Noise and write down one record, so that the law and the figures are known to work."""
        if self.by:
            one = Totals(np.array([0], dtype=object), np.array([1], dtype=object))
            noisy = self.mechanism.noise(one, bits=SeededBits(0))
            self.answer((((None,) * len(self.by),), noisy), private=False).to_dict()
        else:
            noisy = self.mechanism.noise(Totals(0, 1), bits=SeededBits(0))
            self.answer(((), noisy), private=False).to_dict()

    def restore(self, stored: Mapping[str, Any]) -> Release | Releases:
        """The stored answer."""
        return (Releases if "by" in stored else Release).from_dict(dict(stored))


def mean_question(
    data: Any,
    column: str | None = None,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    grid: int | None = None,
    missing: Any = "drop",
    parse: str | None = None,
    engine: str | None = None,
) -> MeanQuestion:
    """The question that the options of :func:`mean` ask, or an error that says why not."""
    price, range_, whose = exact_epsilon(epsilon), Bounds.of(bounds), as_unit(unit)
    check_estimator(estimator, algorithm)
    check_parse(parse)
    names = names_of(by)
    exact = exact_delta_of(names, keys, delta)
    check_algorithm(algorithm, names, exact, whose)
    each = epsilon_per_record(price, whose, bool(names))

    check_column(data, column, by=names, unit=whose.person, parse=parse, engine=engine)
    wanted = tuple(n for n in dict.fromkeys([column, *names, whose.person]) if n is not None)
    source = open_source(data, wanted, engine)
    schema = source.schema()
    value = value_field(source, schema, column or "", parse)
    groups = tuple(schema.key(name) for name in names)
    person = schema.person(whose.person) if whose.person else None
    averaged = person is not None and whose.rows is None
    mechanism = make(algorithm, each, value.grid(range_, grid, averaged=averaged))
    public = public_keys(keys, groups, data) if keys is not None else None
    query = Query(
        (Value(value, mechanism.grid, missing_cell(missing, mechanism.grid)),),
        groups,
        allowed=public.allowed() if public else (),
        nulls=public.nulls() if public else (),
        unit=whose,
        person=person,
    )
    place: dict[str, Any] = {"missing": str(missing)}
    if column is not None:
        place |= {"parse": parse, "data": place_of(data), "column": column, "by": names}
        place["keys"] = public.written() if public else None
    return MeanQuestion(
        epsilon=price,
        delta=exact,
        sql=source.sql(query, range_),
        mechanism=mechanism,
        estimator=estimator,
        unit=whose,
        source=source,
        query=query,
        by=names,
        keys=public,
        threshold=_threshold(mechanism, exact, whose) if exact else None,
        place=place,
    )


def _threshold(mechanism: Any, delta: Fraction, unit: Unit) -> int:
    return threshold(mechanism, delta, unit.records, unit.groups)
