"""Asking for private bounds: a question in order, and its answer.

:func:`checked` finds all that can be wrong with the question before a row is looked at;
:func:`answer` looks at the data, once, and draws the noise. A charge belongs in between.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack, overload

from ..core.grid import Bounds
from ..core.numbers import MIN_EPSILON, exact_epsilon, exact_number
from ..core.scale import Counts, Scale, count_chunks
from ..core.unit import Unit, as_unit
from ..errors import BoundsError, DataError, EpsilonError, OptionError
from ..mechanisms.scan import RETURN_PART
from ..noise.bits import SECURE, Bits
from ..read.column import Column
from ..read.column import column as memory_column
from ..read.engines.base import value_field
from ..read.kernel import CHUNK, Chunk
from ..read.open import is_table, open_table, place_of
from ..read.sql.histogram import Histogram
from ..release.found import FoundBounds, bounds_from_counts
from . import run as charge

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["BoundsRequest", "answer", "charged", "checked", "find_bounds"]

#: Every number that a double holds: what a search clamps to before it compares.
_ALL: Final = Bounds(-sys.float_info.max, sys.float_info.max)


@dataclass(frozen=True)
class BoundsRequest:
    """A question for bounds: everything is checked, nothing has been looked at.

    ``epsilon`` is its price; ``read`` looks at the data.
    """

    scale: Scale = field(repr=False)
    epsilon: Fraction
    share: Fraction
    unit: Unit
    read: Callable[[], Counts] = field(repr=False)
    sql: str | None = field(default=None, repr=False)
    column: str | None = None
    parse: str | None = None
    place: str = field(default="", repr=False)

    @property
    def question(self) -> str:
        """The question as canonical text: two alike ask the same of a table."""
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
        return json.dumps(asked, sort_keys=True, separators=(",", ":"))


def checked(
    data: Any,
    column: str | None = None,
    *,
    epsilon: Any,
    scale: Any = None,
    share: Any = RETURN_PART,
    unit: Unit | None = None,
    parse: str | None = None,
    engine: str | None = None,
) -> BoundsRequest:
    """The request that the arguments of ``find_bounds`` make, or an error that says why not."""
    exact, kept, whose = exact_epsilon(epsilon), _share(share), as_unit(unit)
    _check_unit(exact, whose)
    if parse not in (None, "real", "integer"):
        raise OptionError(f"parse={parse!r} is not one of real, integer")
    if column is None:
        _only_a_column(data, whose, parse, engine)
        source = memory_column(data)
        candidates = _scale(scale, source.kind)
        return BoundsRequest(
            candidates, exact, kept, whose, lambda: count_chunks(candidates, _chunks(source))
        )

    wanted = tuple(dict.fromkeys([column, *([whose.person] if whose.person else [])]))
    opened = open_table(data, wanted, engine)
    schema = opened.schema()
    value = value_field(opened, schema, column, parse)
    person = schema.person(whose.person) if whose.person else None
    candidates = _scale(scale, value.kind)
    histogram = Histogram(value, candidates, whose, person)
    sql = opened.sql(histogram, _ALL)
    return BoundsRequest(
        candidates, exact, kept, whose, lambda: histogram.counts(opened.run(sql, histogram)),
        sql, column, parse, place_of(data),
    )  # fmt: skip


def answer(request: BoundsRequest, *, bits: Bits = SECURE) -> FoundBounds:
    """Look at the data, draw the noise, and say which bounds were found."""
    return bounds_from_counts(
        request.read(),
        request.scale,
        request.epsilon,
        share=request.share,
        unit=request.unit,
        bits=bits,
    )


class _Options(TypedDict, total=False):
    """The arguments of :func:`find_bounds` that do not decide what comes back."""

    epsilon: Any
    scale: Any
    share: Any
    unit: Unit | None
    parse: str | None
    engine: str | None
    budget: Budget | None
    request: str | None
    bits: Bits


@overload
def find_bounds(
    data: Any,
    column: str | None = None,
    *,
    explain: Literal[False] = False,
    **options: Unpack[_Options],
) -> FoundBounds: ...
@overload
def find_bounds(
    data: Any, column: str | None = None, *, explain: Literal[True], **options: Unpack[_Options]
) -> str: ...
def find_bounds(
    data: Any,
    column: str | None = None,
    *,
    epsilon: Any = None,
    scale: Any = None,
    share: Any = RETURN_PART,
    unit: Unit | None = None,
    parse: str | None = None,
    engine: str | None = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
) -> FoundBounds | str:
    """Bounds for a column of numbers, found under epsilon-DP (one unit added or removed).

    ``data`` and ``column`` are what :func:`hourglass.mean` takes: a column of numbers, or a
    table and the name of its column, whose records are counted where it lives. Give the
    result to ``mean`` as ``bounds=``; the two epsilons add up. Bounds known from the domain
    cost nothing and are better.

    ``scale`` is a public list of candidate bounds in increasing order; left out, 0 and
    ±2^(k/4) from 2^-64 to 2^64, rounded for a column of integers. ``share`` is the part of
    epsilon kept for the end nearer to zero, of use where all values lie on one side of it.
    ``unit`` is whose presence is hidden: ``hg.per_row()``, or ``hg.per_person("id")``, where
    one row of each person counts, picked by a hash of the person's own rows; with ``rows=k``
    up to k of them do, and epsilon is divided by k. ``parse``, ``engine``, ``budget``,
    ``request`` and ``explain`` are those of ``mean``; ``bits`` is for tests.
    """
    asked = checked(
        data,
        column,
        epsilon=epsilon,
        scale=scale,
        share=share,
        unit=unit,
        parse=parse,
        engine=engine,
    )
    if explain:
        return asked.sql or "-- numbers in memory: no SQL, NumPy counts them\n"
    return charged(asked, budget, request, bits=bits)


def charged(
    asked: BoundsRequest, budget: Budget | None, request: str | None, *, bits: Bits = SECURE
) -> FoundBounds:
    """The bounds, once the budget has been charged; stored ones if they were asked before."""
    return charge.charged(
        budget,
        request,
        lambda: answer(asked, bits=bits),
        FoundBounds.from_dict,
        epsilon=asked.epsilon,
        question=asked.question,
        subject=f"bounds of {asked.column or 'a column in memory'}",
    )


# --- checks ---------------------------------------------------------------------------------


def _check_unit(epsilon: Fraction, unit: Unit) -> None:
    if unit.groups > 1:
        raise OptionError(f"unit: groups={unit.groups} is about groups; bounds are for all of them")
    if epsilon / unit.records < MIN_EPSILON:
        raise EpsilonError(
            f"epsilon={epsilon} over {unit.records} rows of a person is below {MIN_EPSILON} for "
            "each; lower rows= of the unit"
        )


def _share(share: Any) -> Fraction:
    exact = exact_number(share)
    if exact is None or not 0 < exact < 1:
        raise OptionError(f"share={share!r} is not a number between 0 and 1; leave it out for 1/5")
    return exact


def _only_a_column(data: Any, unit: Unit, parse: str | None, engine: str | None) -> None:
    if is_table(data):
        raise DataError(
            "data is a table; name the column to find bounds for, as in find_bounds(data, 'age', "
            "...)"
        )
    for name, value in {"unit": unit.person, "parse": parse, "engine": engine}.items():
        if value:
            raise OptionError(f"{name}= is about tables; data is a column of numbers")


def _scale(scale: Any, kind: str) -> Scale:
    if kind == "boolean":
        raise BoundsError("a column of booleans needs no search; give bounds=(0, 1)")
    return Scale.of(scale, integers=kind in ("integer", "text as integer"))


def _chunks(source: Column) -> Iterator[Chunk]:
    if source.array is None:
        assert source.chunks is not None
        return source.chunks()
    array = source.array
    return ((array[start : start + CHUNK], 0) for start in range(0, len(array), CHUNK))
