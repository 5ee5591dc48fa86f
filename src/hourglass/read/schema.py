"""The schema of a table: names and kinds of columns, never a value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..core.grid import DEFAULT_GRID, Bounds, Grid
from ..errors import BoundsError, DataError, shown

__all__ = ["COMPUTED", "INT64", "TEXT_REACH", "Field", "Schema", "check_names"]

#: The range of a 64-bit integer.
INT64: Final = (-(2**63), 2**63 - 1)
#: The range of integers read from text; every engine supports this many digits, except SQLite,
#: which reads 64 bits.
TEXT_REACH: Final = (-(10**38) + 1, 10**38 - 1)

#: In place of the type of a column that an expression computes.
COMPUTED: Final = "an expression"


@dataclass(frozen=True)
class Field:
    """A column as declared.

    ``kind`` is "real" (a double or narrower), "decimal", "integer", "boolean", "text", "date",
    "timestamp" or "other"; ``declared`` is the engine's name of the type; ``reach`` is the range of
    an integer type and ``wide`` its name if it has more than 64 bits; ``digits`` is the precision
    of a decimal and ``scale`` how many of its digits are fractional, or ``digits`` are those of
    seconds. ``exact`` is False if a value must be cast to its kind, ``typed`` if the source
    declares no type, so that a number is text as it is written. ``why`` is the reason, and the
    remedy, if the engine cannot read the column safely.
    """

    name: str
    kind: str
    declared: str = ""
    reach: tuple[int, int] = INT64
    wide: str | None = None
    digits: int = 38
    scale: int = 0
    exact: bool = True
    typed: bool = True
    why: str = ""

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return self.kind in ("integer", "boolean", "text as integer")

    @property
    def computed(self) -> bool:
        """Whether an expression computes this column."""
        return self.declared == COMPUTED

    def value(self, parse: str | None, default: str | None = None) -> Field:
        """This field as the column to average, with text read as ``parse`` declares."""
        if self.kind == "text" and (parse or default):
            return replace(self, kind=f"text as {parse or default}")
        if self.why:
            raise DataError(f"column {self.name!r} is of type {self.declared}; {self.why}")
        if self.kind not in ("real", "decimal", "integer", "boolean"):
            raise DataError(
                f"column {self.name!r} is of type {self.declared or self.kind}, which has no mean; "
                + (_of_text(self.name) if self.kind == "text" else "name a column of numbers")
            )
        return self

    def grid(
        self,
        bounds: Bounds,
        cells: int | None,
        *,
        averaged: bool = False,
        finest: int = DEFAULT_GRID,
    ) -> Grid:
        """The grid for this column, determined by its kind and the bounds.

        ``averaged`` means that persons count with the mean of their rows, which need not be whole.
        ``finest`` is the largest number of cells that the statistic supports.
        """
        if self.kind == "boolean" and (bounds.lower, bounds.upper) != (0, 1):
            named = f" ({self.name!r})" if self.name else ""
            raise BoundsError(
                f"bounds=({bounds.lower}, {bounds.upper}) do not fit a column of booleans"
                f"{named}; give bounds=(0, 1)"
            )
        own = self.whole and not averaged
        grid = Grid.choose(bounds, cells, integers=own, finest=finest)
        within = TEXT_REACH[0] <= bounds.lower and bounds.upper <= TEXT_REACH[1]
        if grid.own and self.kind == "text as integer" and not within:
            raise BoundsError(
                f"bounds=({bounds.lower}, {bounds.upper}): parse='integer' reads numbers of up to "
                "38 digits; give bounds within, or parse='real'"
            )
        return grid


def _of_text(name: str) -> str:
    """How a column of text can have a mean: as numbers, or as the share of one of its values."""
    written = name if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) else "name"
    return (
        "if its text is numbers, declare that with parse='real' or parse='integer'; for the share "
        "of rows with one value, ask for an expression such as "
        f"hg.expression(\"{written} = 'yes'\")"
    )


#: How a column of another kind can be grouped by.
_AS_KEY: Final = {
    "real": "; if its numbers are whole, cast it to integers first",
    "timestamp": "; for a group of each day, cast it to dates in the frame or file, or in a "
    "database with hg.sql (--table), as in 'SELECT *, CAST(time AS DATE) AS day FROM visits'",
}


#: Operators, which a text has that is meant as an expression.
_COMPUTED: Final = re.compile(r"[<>=+*/]|\s-\s")


#: What DuckDB appends to a name that is taken.
_NUMBERED: Final = re.compile(r"_[0-9]+$")


def check_names(
    names: Sequence[str],
    wanted: Iterable[str],
    where: str,
    *,
    folds: bool = True,
    role: str = "column",
) -> None:
    """Check that no wanted name is that of two columns; with ``folds``, whatever its case is.

    Of two such columns DuckDB renames the second: x and X become x and X_1, even beside a column
    x_1, which is then read in place of the right one. So x_1 is refused, too.
    """
    for name in wanted:
        if folds and name in names and (stem := _renamed(name, names)):
            raise DataError(
                f"{role}={name!r}: {where} has several columns named {stem!r} apart from case, one "
                f"of which the engine may call {name!r} as well; rename them"
            )
        alike = [n for n in names if n == name or (folds and n.casefold() == name.casefold())]
        if name not in alike or len(alike) == 1:
            continue
        if set(alike) == {name}:
            told = f"{where} has {len(alike)} columns of that name"
        else:
            told = (
                f"the columns {', '.join(alike)} of {where} have names that differ only in case, "
                "which this engine ignores"
            )
        raise DataError(f"{role}={name!r}: {told}; rename one")


def _renamed(name: str, names: Sequence[str]) -> str | None:
    """The repeated name from which an engine may make this one, by appending numbers."""
    known, stem = [each.casefold() for each in names], name.casefold()
    while _NUMBERED.search(stem):
        stem = _NUMBERED.sub("", stem)
        if known.count(stem) > 1:
            return stem
    return None


@dataclass(frozen=True)
class Schema:
    """The columns of a table in order; ``folds`` if names that differ only in case are equal.

    ``open`` if any name is accepted because the format declares none (JSON lines). ``listed`` if
    an error may list the names: the first line of a text file may be a record instead of a header.
    """

    fields: tuple[Field, ...]
    folds: bool = False
    open: bool = False
    listed: bool = True

    def check_listed(self, names: tuple[str, ...], role: str) -> None:
        """Check that each name is a column; an error gives the position of a wrong one in the list.

        A list given by mistake may contain cells of the data, so its entries are not shown.
        """
        known = {field.name for field in self.fields}
        for place, name in enumerate(names, 1):
            if not self.open and name not in known:
                raise DataError(
                    f"{role}: name {place} of the list is not a column of the table; "
                    f"{self.hint(name)}"
                )

    def field(self, name: str, role: str) -> Field:
        """The column of this name; an error suggests the nearest one."""
        if self.open:
            return Field(name, "text", "text", typed=False)
        if not isinstance(name, str):
            raise DataError(f"{role}={shown(name)} is not the name of a column; give it as text")
        found = [field for field in self.fields if field.name == name]
        check_names([f.name for f in found], [name], "the table", role=role)
        if not found:
            hint = self.hint(name)
            if role == "column" and _COMPUTED.search(name):
                hint += ("" if hint.endswith("?") else ".") + " For a computed column, use "
                hint += "hg.expression (--expression)"
            raise DataError(f"{role}={name!r}: the table has no such column; {hint}")
        if self.folds:
            check_names([f.name for f in self.fields], [name], "the table", role=role)
        return found[0]

    def _near(self, name: str) -> list[str]:
        """The most similar name, if any; where names may be cells, only one like a name."""
        names = [f.name for f in self.fields if self.listed or f.name.isidentifier()]
        return difflib.get_close_matches(name, names, n=1, cutoff=0.65)

    def _in_place_of_it(self) -> str:
        """The available names, for when no name is similar to the one asked for."""
        if self.listed:
            names = [field.name for field in self.fields[:12]]
            return f"the columns are {', '.join(names)}{', ...' * (len(self.fields) > 12)}"
        told = "the file's first line, which is the header, names "
        if len(self.fields) == 1:
            return (
                f"{told}1 column; fields are separated by commas (.csv) or tabs (.tsv), and a file "
                "with other separators must be rewritten"
            )
        return told + f"{len(self.fields)} columns; names must match exactly, spaces included"

    def hint(self, name: str) -> str:
        """What may be meant by a name that no column has."""
        parts = [part.strip() for part in name.split(",")]
        if len(parts) > 1 and set(parts) <= {f.name for f in self.fields}:
            return "these are several columns; name each on its own"
        near = [f.name for f in self.fields if f.name.casefold() == name.casefold()]
        near = near or self._near(name)
        return f"did you mean {near[0]!r}?" if near else self._in_place_of_it()

    def key(self, name: str) -> Field:
        """A column to group by."""
        field = self.field(name, "by")
        if field.kind not in ("text", "integer", "boolean", "date"):
            raise DataError(
                f"by={name!r} is of type {field.declared or field.kind}; group by a column of "
                "text, whole numbers, booleans or dates" + _AS_KEY.get(field.kind, "")
            )
        if field.reach[1] >= 2**64:
            raise DataError(
                f"by={name!r} is of type {field.declared}, whose numbers are longer than 64 bits; "
                "cast it to BIGINT, or to text"
            )
        return field

    def person(self, name: str) -> Field:
        """A column that identifies persons."""
        field = self.field(name, "unit")
        if field.kind not in ("text", "integer"):
            raise DataError(
                f"unit: column {name!r} is of type {field.declared or field.kind}; persons are "
                "identified by a column of text or whole numbers"
            )
        return field
