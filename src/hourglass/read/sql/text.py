"""Text that names groups and persons: the same names on every engine.

Names compare as bytes, whatever collation a column declares. What cannot be a name is missing:
bytes that are no UTF-8, and texts of more than ``LONGEST`` bytes, which some engines cannot hash,
join or hand over. An engine sees to both before the query proper starts, see its ``sql``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...core.keys import LONGEST
from ..schema import Field
from .histogram import Histogram
from .query import Query, Question

__all__ = ["LONGEST", "names", "with_fields"]


def names(query: Question) -> set[str]:
    """The columns of text that name groups or persons."""
    by = query.by if isinstance(query, Query) else ()
    person = getattr(query, "person", None)
    return {f.name for f in (*by, *([person] if person else [])) if f.kind == "text"}


def with_fields(query: Question, changed: Callable[[Field], Field]) -> Question:
    """The same question with other fields: renamed, or of another kind."""
    assert isinstance(query, Query | Histogram)
    person = changed(query.person) if query.person else None
    new = replace(query, value=changed(query.value), person=person)
    return replace(new, by=tuple(map(changed, new.by))) if isinstance(new, Query) else new
