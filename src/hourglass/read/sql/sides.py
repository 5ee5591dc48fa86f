"""SQL for values outside the bounds: the side of a row, and the number of rows on a side.

The side ``o`` of a row is -1 if its value lies below the lower bound, 1 if it lies above the upper
one, and 0 otherwise, also if the value is missing. The value is compared in the type in which it is
quantised: as an integer on its own grid, otherwise as a double.
"""

from __future__ import annotations

import math
from typing import Final

from ...core.limits import Grid
from ..source import Field
from .cells import as_double, as_integer, double, is_number, whole, widened

__all__ = ["person_side", "side_count", "side_of"]

_INF: Final = double(math.inf)


def side_of(field: Field, grid: Grid, sums: str) -> str:
    """The side of a row."""
    if not grid.own:
        return _real_side(as_double(field), grid, sums)
    lower, upper = int(grid.bounds.lower), int(grid.bounds.upper)
    field = widened(field, lower, upper)
    x, (least, most) = as_integer(field), field.reach
    # A bound beyond the range of the type needs no comparison: all values are on one side of it.
    tests = []
    if lower > most or upper < least:
        tests.append(f"WHEN {x} IS NOT NULL THEN {-1 if lower > most else 1}")
    if least < lower <= most:
        tests.append(f"WHEN {x} < {whole(lower, field.wide)} THEN -1")
    if least <= upper < most:
        tests.append(f"WHEN {x} > {whole(upper, field.wide)} THEN 1")
    return f"CASE {' '.join(tests)} ELSE 0 END" if tests else "0"


def _real_side(x: str, grid: Grid, sums: str) -> str:
    """The side of a real value; NaN, found as in :mod:`.cells`, is on neither."""
    below, above = f"WHEN {x} < {double(grid.lower)} THEN -1", f"{x} > {double(grid.upper)}"
    if sums == "huge":
        return f"CASE {below} WHEN {above} AND {is_number(x)} THEN 1 ELSE 0 END"
    return f"CASE {below} WHEN {above} AND {x} <= {_INF} THEN 1 ELSE 0 END"


def person_side(o: str) -> str:
    """The side of a person: the one on which more of their rows lie, or 0 in a tie."""
    return f"CASE WHEN SUM({o}) < 0 THEN -1 WHEN SUM({o}) > 0 THEN 1 ELSE 0 END"


def side_count(t: str, o: str, side: int) -> str:
    """1 for a record on that side, else 0; a row without a cell is not a record."""
    return f"CASE WHEN {t} IS NOT NULL AND {o} = {side} THEN 1 ELSE 0 END"
