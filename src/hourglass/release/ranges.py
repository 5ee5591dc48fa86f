"""The ranges of the columns of an answer, and sentences on how their values were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.limits import Bounds
from .rendering import bound, clamped, listed, named

__all__ = ["Range", "replaced", "rounded"]


@dataclass(frozen=True)
class Range:
    """What the values of a column were clamped to, and how finely they were rounded."""

    column: str | None
    bounds: Bounds
    cells: int
    missing: int | float | None = None
    as_real: bool = False


def replaced(ranges: Sequence[Range]) -> list[str]:
    """Sentences on the values that replaced missing ones."""
    given = [each for each in ranges if each.missing is not None]
    alone = len(ranges) == 1
    return [
        f"Missing values{'' if alone else f' of {named(str(each.column))}'} count as "
        f"{bound(each.missing)}."
        for each in given
        if each.missing is not None
    ]


def rounded(ranges: Sequence[Range]) -> list[str]:
    """A sentence on whole numbers that were treated as real ones, and how to avoid that."""
    found = [each for each in ranges if each.as_real]
    if not found:
        return []
    names = "" if len(ranges) == 1 else f" of {listed([named(str(each.column)) for each in found])}"
    ends = clamped(found[0].bounds)[1:-1].replace(", ", " and ")
    share = "a share in per cent and " if found[0].bounds.lower == 0 else ""
    return [
        f"The values{names} are whole numbers, but were treated as real ones, because the bounds "
        f"were given with decimal points. Bounds of {ends} would give {share}a narrower interval "
        "for the population."
    ]
