"""Text that names groups and persons: the same names on every engine.

Names compare as bytes, whatever collation a column declares. Text that is not valid UTF-8, or is
longer than ``LONGEST`` bytes, which some engines cannot hash, join or return, is missing. Each
engine ensures both before the query proper: see its ``sql``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...core.keys import LONGEST
from ..schema import Field
from .histogram import Histogram
from .query import Query, Question

__all__ = ["LONGEST", "names", "number_fields", "number_names", "with_fields"]


def names(query: Question) -> set[str]:
    """The columns of text that name groups or persons."""
    by = query.by if isinstance(query, Query) else ()
    person = getattr(query, "person", None)
    return {f.name for f in (*by, *([person] if person else [])) if f.kind == "text"}


def with_fields(
    query: Question,
    changed: Callable[[Field], Field],
    of_numbers: Callable[[Field], Field] | None = None,
) -> Question:
    """The same query with other fields: renamed, or of another kind.

    ``of_numbers`` is for numeric columns, if they change in another way.
    """
    assert isinstance(query, Query | Histogram)
    numbers = of_numbers or changed
    person = changed(query.person) if query.person else None
    inputs = tuple(replace(each, field=changed(each.field)) for each in query.inputs)
    asked = replace(query.asked, inputs=inputs)
    if isinstance(query, Histogram):
        value = query.value if query.expression is not None else numbers(query.value)
        return replace(query, value=value, person=person, asked=asked)
    values = tuple(
        value if value.expression is not None else replace(value, field=numbers(value.field))
        for value in query.values
    )
    by = tuple(map(changed, query.by))
    return replace(query, values=values, by=by, person=person, asked=asked)


def number_fields(query: Question) -> dict[str, Field]:
    """The columns of numbers, by their names."""
    assert isinstance(query, Query | Histogram)
    if isinstance(query, Histogram):
        return {} if query.expression is not None else {query.value.name: query.value}
    return {v.field.name: v.field for v in query.values if v.expression is None}


def number_names(query: Question) -> list[str]:
    """The names of the columns of numbers, read or computed."""
    assert isinstance(query, Query | Histogram)
    if isinstance(query, Histogram):
        return [query.value.name]
    return [value.field.name for value in query.values]
