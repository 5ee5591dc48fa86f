"""SQL for the columns of a query: cells of values on the grid, the clamp, keys, and halves of sums.

The rule for cells is that of :mod:`hourglass.core.limits`. A column of text is first parsed by a
declared rule; what is not a number by that rule is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal
from typing import Any, Final

from ...core.limits import NEAREST, Grid
from ...core.totals import HALF, MOST, MOST_SQUARE
from ...errors import GridError
from ..source import INT64, TEXT_REACH, Field
from .expression.nodes import Node

__all__ = [
    "INFINITY", "INTEGER", "MOST_IN_DOUBLES", "REAL", "Value", "as_double", "as_integer", "as_text",
    "cell", "clamped_steps", "columns_of", "double", "halves", "identifier", "is_listed",
    "is_number", "key_column", "literal", "nearest", "scaled", "whole", "widened", "with_source",
    "with_steps",
]  # fmt: skip

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
    """Whether a double is neither NULL nor NaN, by arithmetic, as in the clamp below."""
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
        """A test for whether it has a value; None if that takes as long as the cell itself."""
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


def _or(cell: str, missing: int | None) -> str:
    return cell if missing is None else f"COALESCE({cell}, {missing})"


# --- the clamp on DuckDB, without a branch for each row -------------------------------------------

# With y the integer nearest to (x - lower) * s, the cell is exactly (|y| - |y - G| + G) / 2 as long
# as |y| <= 2^51. Beyond that it is a constant. In DuckDB, a CASE whose first branch takes whole
# vectors costs less than one that divides them.
#
# NaN becomes NULL by arithmetic, not by a comparison: in each branch it makes NaN, which TRY_CAST
# turns into NULL. (If |y| > 2^51, then 1 / y does not change the integer that is cast, not even at
# infinity.) This is a second safeguard; the first is that DuckDB does not fold expressions with a
# file's statistics: see ``connect`` in engines/duckdb_scans.py. Whether a row of several columns is
# complete is tested by comparing a sum of sizes with infinity, which NaN exceeds in DuckDB; such a
# sum has no statistics.

#: Up to this size, sums and differences of y and G are exact.
_EXACT: Final = double(2.0**51)


def clamped_steps(
    values: Mapping[str, Value], carried: Sequence[str], *, whole: bool
) -> list[tuple[str, str]]:
    """The steps from y to the cells, for values by the names of their cells.

    They read ``scaled``, which has y1 for the cell t1, cells on their own grid, and what is
    ``carried`` along. With ``whole`` a row that lacks a value has no cells at all; one CASE then
    tests the sizes of all columns, and its result is a struct.
    """
    y = {t: t.replace("t", "y") for t, value in values.items() if not value.grid.own}
    columns = [*carried, *(t for t in values if t not in y), *y.values()]
    cells, moderate = {t: t for t in values}, {t: t for t in values}
    for t, name in y.items():
        value, size, distance = values[t], name.replace("y", "a"), name.replace("y", "b")
        columns.append(f"ABS({name}) AS {size}")
        columns.append(f"ABS({name} - {_top(value.grid)}) AS {distance}")
        moderate[t] = _moderate(value.grid, size, distance)
        cells[t] = _or(_clamped(value.grid, name, size, moderate[t]), value.missing)
    apart = ("apart", f"SELECT {', '.join(columns)} FROM scaled")
    if not whole:
        found = [*carried, *(f"{cell} AS {t}" for t, cell in cells.items())]
        return [apart, ("quantised", f"SELECT {', '.join(found)} FROM apart")]
    sizes = {t: name.replace("y", "a") for t, name in y.items()}
    needed = " + ".join(size for t, size in sizes.items() if values[t].missing is None)
    packed = (
        f"CASE WHEN {' + '.join(sizes.values())} <= {_EXACT} THEN {_packed(moderate)} "
        f"WHEN {needed} <= {_INF} THEN {_packed(cells)} END AS t"
    )
    unpacked = [*carried, *(f"t.{t} AS {t}" for t in values)]
    return [
        apart,
        ("packed", f"SELECT {', '.join([*carried, packed])} FROM apart"),
        ("quantised", f"SELECT {', '.join(unpacked)} FROM packed"),
    ]


def _moderate(grid: Grid, size: str, distance: str) -> str:
    """The cell if |y| <= 2^51, from |y| and |y - G|."""
    return f"TRY_CAST(({size} - {distance} + {_top(grid)}) * {double(0.5)} AS BIGINT)"


def _clamped(grid: Grid, y: str, size: str, moderate: str) -> str:
    """The cell of any y."""
    tiny = f"{double(1.0)} / {y}"
    return (
        f"CASE WHEN {size} <= {_EXACT} THEN {moderate} "
        f"WHEN {y} < {double(0.0)} THEN TRY_CAST({tiny} AS BIGINT) "
        f"ELSE TRY_CAST({tiny} + {_top(grid)} AS BIGINT) END"
    )


def _top(grid: Grid) -> str:
    return double(float(grid.cells))


def _packed(cells: Mapping[str, str]) -> str:
    return f"STRUCT_PACK({', '.join(f'{t} := {cell}' for t, cell in cells.items())})"


# --- parts of a query -----------------------------------------------------------------------------

_SHIFT: Final = HALF.bit_length() - 1


#: Adding it to a cell rounds the cell to the nearest multiple of HALF.
_ROUND: Final = NEAREST * HALF


#: Up to this many records, the sum of doubles is exact: 2^32 * 2^37 = 2^53 * HALF.
MOST_IN_DOUBLES: Final = 2**37


def columns_of(listed: Iterable[str]) -> str:
    """The columns to read from a table, or a constant if none are needed."""
    return ", ".join(listed) or "1 AS hourglass_row"


def with_steps(steps: Sequence[tuple[str, str]], last: str) -> str:
    """Join common table expressions, if there are any, and the final SELECT."""
    clauses = ",\n".join(f"{name} AS (\n  {body}\n)" for name, body in steps)
    return f"WITH {clauses}\n{last}" if steps else last


def key_column(field: Field) -> str:
    """A column that names groups or persons, as a value of its kind.

    Dates outside Python's range, the years 1 to 9999, are treated as NULL. Text is already clean:
    see :mod:`.dialects`.
    """
    column = identifier(field.name)
    if field.kind == "date":
        first, last = literal(date.min), literal(date.max)
        return f"CASE WHEN {column} >= {first} AND {column} <= {last} THEN {column} END"
    return column


def is_listed(field: Field, allowed: Iterable[object], nulls: bool) -> str:
    """A test for the values of public keys, and for NULL if it is one of them.

    A number that the column cannot hold has no rows and is left out: an engine could fail at it,
    and DuckDB would do so only if there is a row to compare it with.
    """
    column, (least, most) = key_column(field), field.reach
    held = (v for v in allowed if v is not None and (type(v) is not int or least <= v <= most))
    listed = ", ".join(literal(value, field.wide) for value in held)
    tests = [f"{column} IN ({listed})"] if listed else []
    tests += [f"{column} IS NULL"] if nulls else []
    return f"({' OR '.join(tests)})" if len(tests) > 1 else tests[0] if tests else "FALSE"


def halves(term: str, sums: str) -> tuple[str, str]:
    """The high and low halves of the sum of a term.

    Of "doubles", integers up to 2^32, the high half is the nearest multiple of HALF, and the low
    half what is left. Both sums are exact in doubles for up to MOST_IN_DOUBLES records: one adds up
    multiples of 2^16 to at most 2^69, the other integers to at most 2^52.
    """
    if sums == "doubles":
        high = f"(({term} + {double(_ROUND)}) - {double(_ROUND)})"
        return f"SUM({high}) * {double(1.0 / HALF)}", f"SUM({term} - {high})"
    if sums == "huge":
        return f"SUM({term}) >> {_SHIFT}", f"SUM({term}) & {HALF - 1}"
    if sums == "numeric":
        return f"SUM({term}) // {HALF}", f"SUM({term}) % {HALF}"
    inner = term if term.isidentifier() else f"({term})"
    return f"SUM({inner} >> {_SHIFT})", f"SUM({inner} & {HALF - 1})"


def with_source(native: str, body: str) -> str:
    """The query over what ``native`` selects, both in the engine's dialect."""
    source = f"WITH source AS (\n  {native}\n)"
    return f"{source},\n{body[5:]}" if body.startswith("WITH ") else f"{source}\n{body}"
