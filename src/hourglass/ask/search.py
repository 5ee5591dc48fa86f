"""The question behind ``hg.find_bounds``, checked in full before a row is read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from ..core.exact import exact_epsilon, exact_number
from ..core.limits import Bounds, Counts, Scale, Unit, as_unit
from ..errors import BoundsError, DataError, OptionError, shown
from ..mechanisms.scan import RETURN_PART, Ends, Search
from ..noise.bits import Bits, SeededBits
from ..read.open import columns_in_memory, open_source, place_of
from ..read.source import Source
from ..read.sql.expression.given import Expression
from ..read.sql.histogram import Histogram
from ..release.found import FoundBounds
from .options import (
    Conditions,
    Rows,
    asked_columns,
    check_parse,
    check_parsed,
    check_tables,
    epsilon_per_record,
)

__all__ = ["BoundsQuestion", "bounds_question"]


#: The range of finite doubles, to which values are clamped before they are compared.
_ALL: Final = Bounds(-sys.float_info.max, sys.float_info.max)


@dataclass(frozen=True)
class BoundsQuestion:
    """A checked question for bounds; no row has been read yet."""

    epsilon: Fraction
    sql: str | None = field(repr=False)
    search: Search
    share: Fraction
    unit: Unit
    source: Source = field(repr=False)
    query: Histogram = field(repr=False)
    parse: str | None = None
    place: str = field(default="", repr=False)
    delta: Fraction = Fraction(0)
    column: Any = None
    where: str | None = None

    @property
    def scale(self) -> Scale:
        """The public candidates."""
        return self.search.scale

    @property
    def text(self) -> str:
        """The question as canonical text."""
        asked = {
            "kind": "bounds",
            "column": self.column,
            "data": self.place,
            "parse": self.parse,
            "scale": [str(c) if isinstance(c, int) else repr(c) for c in self.scale.candidates],
            "epsilon": str(self.epsilon),
            "share": str(self.share),
            "unit": [self.unit.person, self.unit.rows],
        }
        asked |= {} if self.where is None else {"where": self.where}
        return json.dumps(asked, sort_keys=True, separators=(",", ":"))

    @property
    def subject(self) -> str:
        """A short public description of the question."""
        where = f" where {self.where}" if self.where else ""
        return f"bounds of {self._name or 'a column in memory'}{where}"

    @property
    def _name(self) -> str | None:
        found = self.column["expression"] if isinstance(self.column, dict) else self.column
        return None if found is None else str(found)

    def read(self) -> Counts:
        """Count the records beyond each candidate."""
        return self.query.counts(self.source.run(self.sql, self.query))

    def noise(self, secret: Counts, bits: Bits) -> Ends:
        """Run the noisy scans and return where they stop."""
        return self.search.sample(secret, bits)

    def answer(self, noisy: Ends, *, private: bool) -> FoundBounds:
        """The bounds at which the scans stopped."""
        terms: dict[str, Any] = {"unit": str(self.unit), "private": private, "where": self.where}
        terms["column"] = self._name
        return FoundBounds.of(noisy, self.scale, self.epsilon, **terms)

    def rehearse(self) -> None:
        """Search empty data, so that failures happen before the charge."""
        nobody = (0,) * len(self.scale.candidates)
        noisy = self.search.sample(Counts(nobody, nobody), SeededBits(0))
        json.dumps(self.answer(noisy, private=False).to_dict(), allow_nan=False)

    def restore(self, stored: Mapping[str, Any]) -> FoundBounds:
        """Rebuild a stored answer."""
        return FoundBounds.from_dict(stored)


def bounds_question(
    data: Any,
    column: str | Expression | None = None,
    *,
    epsilon: Any = None,
    where: Any = None,
    scale: Any = None,
    share: Any = RETURN_PART,
    unit: Unit | None = None,
    parse: str | None = None,
    engine: str | None = None,
) -> BoundsQuestion:
    """Check the options of :func:`hourglass.find_bounds` and turn them into a question."""
    price, kept, whose = exact_epsilon(epsilon), _share(share), as_unit(unit)
    if whose.groups > 1:
        raise OptionError(
            f"unit: groups={whose.groups} does not apply to bounds, which are searched for in all "
            "rows together; leave it out"
        )
    each = epsilon_per_record(price, whose, False)
    check_parse(parse)
    filtered = Conditions.of(where, ()).where is not None
    given, several = asked_columns(
        data, column, unit=whose.person, parse=parse, engine=engine, where=filtered
    )
    if several:
        raise DataError("column: find_bounds takes one column at a time; ask for each separately")
    conditions = Conditions.of(where, given)
    check_tables(conditions, columns_in_memory(data) is not None)
    name = None if column is None else str(column)
    plain = [] if isinstance(column, Expression) else [name]
    source = open_source(data, conditions.read(plain, (), whose), engine)
    rows = Rows.of(source, whose, conditions, plain)
    value = rows.field(0, name, parse)
    check_parsed(parse, [parse], [value])
    if value.kind == "boolean":
        raise BoundsError("a column of booleans needs no search; give bounds=(0, 1)")
    candidates = Scale.of(scale, integers=value.kind in ("integer", "text as integer"))
    query = Histogram(
        conditions.named(0, value), candidates, whose, rows.person, conditions.trees[0], rows.asked
    )
    return BoundsQuestion(
        epsilon=price,
        sql=source.sql(query, _ALL),
        search=Search(candidates, each, kept),
        share=kept,
        unit=whose,
        source=source,
        query=query,
        parse=parse,
        place="" if column is None else place_of(data),
        column=conditions.written(0, name),
        where=conditions.text,
    )


bounds_question.__qualname__ = "find_bounds"  # the name in errors about keyword arguments


def _share(share: Any) -> Fraction:
    exact = exact_number(share)
    if exact is None or not 0 < exact < 1:
        raise OptionError(
            f"share={shown(share)} is not a number between 0 and 1; leave it out for 1/5"
        )
    return exact
