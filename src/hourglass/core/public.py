"""Values that are declared public: names of groups, candidates for bounds.

Such values appear in the answer. Lists are accepted without a declaration; a Series, an array or a
frame may be a column of the private data, so it has to be declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Public", "is_column", "public"]

#: Attributes that arrays, Series and Arrow columns have, and lists do not.
_MARKS: Final = ("dtype", "__arrow_c_array__", "__arrow_c_stream__")


@dataclass(frozen=True, repr=False)
class Public:
    """Values that are declared public; see :func:`public`."""

    values: Any


def public(values: Any) -> Public:
    """Declare that values are public, for ``keys=`` and ``scale=``.

    Using a frame, a Series, an array or a file of the private data itself would publish its
    content, so these are accepted only if they are wrapped in this. Use it for values from a public
    source, such as a list of all countries, and never for a column of the private data.
    """
    return values if isinstance(values, Public) else Public(values)


def is_column(values: Any) -> bool:
    """Whether values have a type that columns of data have."""
    return any(hasattr(values, mark) for mark in _MARKS)
