"""SQL for numeric columns: the cell of a value on the grid, for every kind of column.

The rule is that of :mod:`hourglass.core.grid`. A column of text is first parsed by a declared rule;
what is not a number by that rule is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any, Final

from ...core.grid import NEAREST, Grid
from ...core.totals import MOST, MOST_SQUARE
from ...errors import GridError
from ..source import INT64, TEXT_REACH, Field
from .expression.nodes import Node

__all__ = [
    "INFINITY",
    "INTEGER",
    "REAL",
    "Value",
    "as_double",
    "as_integer",
    "as_text",
    "cell",
    "double",
    "identifier",
    "is_number",
    "literal",
    "nearest",
    "scaled",
    "whole",
    "widened",
]

#: What counts as a number in a column of text: a decimal, or an infinity. Digits match in one way
#: only: engines that try all ways would take minutes over a cell of many digits and a letter.
REAL: Final = "^ *[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
INFINITY: Final = "^ *[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])? *$"
INTEGER: Final = "^ *[+-]?[0-9]+ *$"


def identifier(name: str) -> str:
    """A name in double quotes, escaped so that it can never be anything but a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any, wide: str | None = None) -> str:
    """A public value as an SQL literal; an integer of more than 64 bits has the ``wide`` type."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        if abs(value) < 2**31:  # without a cast, a thousand keys are parsed in half the time
            return str(value)
        return whole(value, None if INT64[0] <= value <= INT64[1] else wide)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"CAST('{value.isoformat()}' AS DATE)"


def double(value: float) -> str:
    """An exact double: a text that every engine reads back to the same bits."""
    text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, repr(value))
    return f"CAST('{text}' AS DOUBLE)"


_INF: Final = double(math.inf)


def as_text(name: str) -> str:
    """A whole number or a text, as text that is the same on every engine."""
    return f"CAST({name} AS VARCHAR)"


def cell(field: Field, grid: Grid) -> str:
    """The cell of a value as a 64-bit integer; NULL if it is missing."""
    if not grid.own:
        return _real_cell(as_double(field), grid)
    field = widened(field, int(grid.bounds.lower), int(grid.bounds.upper))
    return _integer_cell(as_integer(field), field, grid)


def widened(field: Field, least: int, most: int) -> Field:
    """A column of integers in text, with a type wide enough for ``least`` and ``most``."""
    if field.kind != "text as integer" or (INT64[0] < least and most < INT64[1]):
        return field
    return replace(field, wide="HUGEINT", reach=TEXT_REACH)


def as_integer(field: Field) -> str:
    """A column of whole numbers, as an integer."""
    column = identifier(field.name)
    if field.kind == "boolean":
        return f"CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0 END"
    if field.kind == "text as integer":
        # A number outside the range counts as its limit; the bounds lie within.
        low, high = (whole(end, field.wide) for end in field.reach)
        last = f"CASE WHEN {column} LIKE '%-%' THEN {low} ELSE {high} END"
        return (
            f"CASE WHEN REGEXP_MATCHES({column}, '{INTEGER}') "
            f"THEN COALESCE(TRY_CAST({column} AS {field.wide or 'BIGINT'}), {last}) END"
        )
    return column if field.wide else f"CAST({column} AS BIGINT)"


def as_double(field: Field) -> str:
    """A column of any kind that can be averaged, as a double."""
    column = identifier(field.name)
    if field.kind == "text as real":
        return (
            f"CASE WHEN REGEXP_MATCHES({column}, '{REAL}') THEN TRY_CAST({column} AS DOUBLE) "
            f"WHEN REGEXP_MATCHES({column}, '{INFINITY}') THEN "
            f"CASE WHEN {column} LIKE '%-%' THEN {double(float('-inf'))} ELSE {_INF} END END"
        )
    if field.kind == "text as integer":
        return (
            f"CASE WHEN REGEXP_MATCHES({column}, '{INTEGER}') THEN TRY_CAST({column} AS DOUBLE) END"
        )
    if field.kind == "real":
        return column if field.exact else _cast(column)
    if field.kind == "decimal":
        # Rounded to a double once: through text if it has more digits than exact integers.
        return _long_decimal(field) if field.digits > 15 else _cast(column)
    return _cast(as_text(column) if field.wide else as_integer(field))


def _long_decimal(field: Field) -> str:
    """A decimal through its text.

    A file may hold a cell of more digits than its type declares, which has no text on some
    engines; it counts as the largest of the type. CASE would not be enough, since DuckDB casts a
    whole dictionary of values, whatever is selected of it.
    """
    column, digits = identifier(field.name), Decimal(10**field.digits - 1)
    most = f"{digits.scaleb(-field.scale, Context(prec=99)):f}"
    low, high = (
        f"CAST('{sign}{most}' AS DECIMAL({field.digits}, {field.scale}))" for sign in ("-", "")
    )
    within = as_text(f"GREATEST(LEAST({column}, {high}), {low})")  # which ignore NULL
    return f"CASE WHEN {column} IS NOT NULL THEN {_cast(within)} END"


def _cast(column: str) -> str:
    return f"CAST({column} AS DOUBLE)"


def _real_cell(x: str, grid: Grid) -> str:
    lower, shrunk, small = grid.lower, x, ""
    if grid.shrink != 1.0:
        lower, shrunk = lower * grid.shrink, f"{x} * {double(grid.shrink)}"
        # Between -1 and 1 the value is negligible compared with such bounds; halved, it could
        # underflow, which is an error on PostgreSQL.
        assert grid.cell(-1.0) == grid.cell(1.0)
        small = f"WHEN {x} >= {double(-1.0)} AND {x} <= {double(1.0)} THEN {grid.cell(0.0)} "
    inner = nearest(f"({shrunk} - {double(lower)}) * {double(grid.scale)}")
    return (
        f"CASE WHEN {x} <= {double(grid.first_above)} THEN 0 {small}"
        f"WHEN {x} <= {double(grid.last_below)} THEN CAST({inner} AS BIGINT) "
        f"WHEN {x} <= {_INF} THEN {grid.cells} END"
    )


def nearest(y: str) -> str:
    """The integer nearest to a double."""
    return f"(({y} + {double(NEAREST)}) - {double(NEAREST)})"


def scaled(field: Field, grid: Grid, *, clamp: bool = False) -> str:
    """The integer nearest to (x - lower) * s; outside the bounds it is outside 0..G.

    With ``clamp`` it is the cell, as a double. NaN and NULL must not get here then: LEAST and
    GREATEST take them for a bound.
    """
    x, lower = as_double(field), grid.lower
    if clamp:
        x = f"LEAST(GREATEST({x}, {double(lower)}), {double(grid.upper)})"
    if grid.shrink != 1.0:
        x, lower = f"{x} * {double(grid.shrink)}", lower * grid.shrink
    if lower != 0.0:
        x = f"({x} - {double(lower)})"
    return nearest(f"{x} * {double(grid.scale)}")


def is_number(x: str) -> str:
    """Whether a double is neither NULL nor NaN, by arithmetic as in :mod:`.clamping`."""
    return f"TRY_CAST({double(1.0)} / (ABS({x}) + {double(1.0)}) AS BIGINT) IS NOT NULL"


def _integer_cell(x: str, field: Field, grid: Grid) -> str:
    """clamp(x) - lower, with the bounds cut to the range of the type."""
    lower, upper = int(grid.bounds.lower), int(grid.bounds.upper)
    least, most = field.reach
    low, high = (min(max(end, least), most) for end in (lower, upper))
    offset = min(max(low, lower), upper) - lower
    first, last = whole(low, field.wide), whole(high, field.wide)
    difference = f"CAST({x} - {first} AS BIGINT)" if field.wide else f"{x} - {first}"
    if offset:
        difference = f"{difference} + {offset}"
    return (
        f"CASE WHEN {x} <= {first} THEN {offset} WHEN {x} < {last} THEN {difference} "
        f"WHEN {x} >= {last} THEN {offset + high - low} END"
    )


def whole(value: int, wide: str | None = None) -> str:
    """An integer literal of 64 bits or of a wider type."""
    return f"CAST('{value}' AS {wide or 'BIGINT'})"


@dataclass(frozen=True)
class Value:
    """A column of the query: how it is read, and the grid of its cells.

    ``missing`` is the cell that replaces a missing value; with None a row without a value is left
    out. With an ``expression`` the column is computed.
    """

    field: Field
    grid: Grid
    missing: int | None = None
    expression: Node | None = None

    def check_power(self, power: int) -> None:
        """Raise if a sum of this power of the cells could be too large."""
        most = MOST if power == 1 else MOST_SQUARE
        if self.grid.cells**power > most:
            raise GridError(
                f"grid={self.grid.cells} is too fine for a sum of cells to the power of {power}; "
                f"give at most {int(most ** (1 / power))}"
            )

    @property
    def cell(self) -> str:
        """Its cell as SQL; NULL if it is missing and not replaced."""
        return _or(cell(self.field, self.grid), self.missing)

    def in_doubles(self, *, complete: bool) -> str:
        """Its cell as a double; ``complete`` if rows that lack a value are already left out."""
        cell = scaled(self.field, self.grid, clamp=True)
        if complete and self.missing is None:
            return cell
        other = "" if self.missing is None else f" ELSE {double(float(self.missing))}"
        return f"CASE WHEN {self.there} THEN {cell}{other} END"

    @property
    def there(self) -> str | None:
        """A test whether it has a value; None if that takes as long as the cell itself."""
        if self.expression is not None or self.field.kind not in ("real", "integer", "boolean"):
            return None
        if self.grid.own:
            return f"{identifier(self.field.name)} IS NOT NULL"
        return f"{as_double(self.field)} <= {_INF}"

    @property
    def number(self) -> str | None:
        """A double or an integer of up to 64 bits as SQL; NULL if it is missing.

        None if 64 bits are not enough.
        """
        if not self.grid.own:
            return as_double(self.field)
        lower, upper = self.grid.bounds
        wide = widened(self.field, int(lower), int(upper))
        return None if wide.wide else as_integer(wide)

    def filled(self, cell: str, *, balanced: bool) -> str:
        """A cell t as SQL, or 2t - G, with that of a missing value if it is replaced."""
        missing = self.missing
        if balanced and missing is not None:
            missing = 2 * missing - self.grid.cells
        return _or(cell, missing)


def _or(cell: str, missing: int | None) -> str:
    return cell if missing is None else f"COALESCE({cell}, {missing})"
