"""Find a common type for a column that several files declare, wide enough for every value.

The files of a glob may declare different types for a column. They are known from the footers,
before a row is read; with the first file's type, a value that does not fit would make the query
fail and thereby reveal itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..errors import DataError

__all__ = ["Kind", "common", "reconciled"]

#: The integers that doubles represent exactly.
_EXACT: Final = 2**53


@dataclass(frozen=True)
class Kind:
    """A declared type: its family, and the range of values that it can hold.

    ``low`` and ``high`` are the limits of an integer type, ``bits`` the size of a float,
    ``precision`` and ``scale`` those of a decimal. Any other type is identified by its name.
    """

    family: str
    declared: str
    low: int = 0
    high: int = 0
    bits: int = 64
    precision: int = 0
    scale: int = 0

    @property
    def same(self) -> tuple[object, ...]:
        """A key that is equal for types that hold the same values."""
        if self.family == "other":
            return (self.family, self.declared)
        return (self.family, self.low, self.high, self.bits, self.precision, self.scale)


def common(one: Kind, two: Kind) -> Kind | None:
    """A type that holds every value of both exactly; None if there is none.

    A decimal is never converted to another one: files may hold cells of more digits than their
    type declares, and converting one of those fails.
    """
    if one.same == two.same or two.family == "null":
        return one
    if one.family == "null":
        return two
    families = {one.family, two.family}
    if families == {"integer"}:
        low, high = min(one.low, two.low), max(one.high, two.high)
        return Kind("integer", "", low, high) if low >= -(2**127) and high < 2**127 else None
    if families == {"real"}:
        return max(one, two, key=lambda kind: kind.bits)
    if families == {"integer", "decimal"}:
        whole, decimal = (one, two) if one.family == "integer" else (two, one)
        fits = len(str(max(-whole.low, whole.high))) <= decimal.precision - decimal.scale
        return decimal if fits else None
    if families == {"integer", "real"}:
        whole = one if one.family == "integer" else two
        fits = whole.low >= -_EXACT and whole.high <= _EXACT
        return Kind("real", "") if fits else None
    return None


def reconciled(
    name: str, files: Sequence[str], columns: Sequence[Mapping[str, Kind]]
) -> Kind | None:
    """The type of a column over groups of files; ``files`` names one file of each group.

    None if no file has the column. An error names two files that disagree.
    """
    if not any(name in kinds for kinds in columns):
        return None
    for file, kinds in zip(files, columns, strict=True):
        if name not in kinds:
            there = next(f for f, k in zip(files, columns, strict=True) if name in k)
            raise DataError(
                f"column {name!r} is in {there!r}, but not in {file!r}; name the files that have it"
            )
    found = [kinds[name] for kinds in columns]
    wide: Kind | None = found[0]
    for kind in found[1:]:
        wide = common(wide, kind) if wide is not None else None
    if wide is not None:
        return wide
    for first, one in zip(files, found, strict=True):
        for second, two in zip(files, found, strict=True):
            if common(one, two) is None:
                raise DataError(
                    f"column {name!r} is of type {one.declared} in {first!r} and of type "
                    f"{two.declared} in {second!r}, and no type holds both; store it as one type"
                )
    declared = ", ".join(dict.fromkeys(kind.declared for kind in found))
    raise DataError(
        f"column {name!r} has the types {declared} in {len(files)} files such as {files[0]!r}, and "
        "no type holds all of them; store it as one type"
    )
