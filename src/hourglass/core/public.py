"""What is declared to be public: names of groups, candidates for bounds.

Such a list shows in the answer. Lists that someone wrote down are taken as they are; a Series,
an array or a frame may as well be a column of the private data, so it has to be declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Public", "is_column", "public"]

#: What arrays, Series and Arrow columns have, and lists have not.
_MARKS: Final = ("dtype", "__arrow_c_array__", "__arrow_c_stream__")


@dataclass(frozen=True, repr=False)
class Public:
    """Values that are declared to be public; see :func:`public`."""

    values: Any


def public(values: Any) -> Public:
    """Declare that values are public, for ``keys=`` and ``scale=``.

    A frame, a Series, an array, or a file of the data itself would publish what the data
    holds; so these are taken only where they are wrapped in this. Say it of values that come
    from a public source, such as a list of all countries, and never of a column of the private
    data.
    """
    return values if isinstance(values, Public) else Public(values)


def is_column(values: Any) -> bool:
    """Whether values are of a kind that columns of data are."""
    return any(hasattr(values, mark) for mark in _MARKS)
