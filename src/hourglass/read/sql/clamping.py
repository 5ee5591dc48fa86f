"""SQL for the clamp on DuckDB, without a branch for each row.

With y the integer nearest to (x - lower) * s, |y| - |y - G| is exactly 2t - G for the cell t, as
long as |y| <= 2^51. Beyond that the cell is a constant. In DuckDB, a CASE whose first branch takes
whole vectors costs less than one that divides them.

NaN becomes NULL by arithmetic, not by a comparison: in each branch it makes NaN, which TRY_CAST
turns into NULL. (If |y| > 2^51, then 1 / y does not change the integer that is cast, not even at
infinity.) This is a second safeguard; the first is that DuckDB does not fold expressions with a
file's statistics: see :mod:`..engines.duckdb_own`. Whether a row of several columns is complete is
tested by comparing a sum of sizes with infinity, which NaN exceeds in DuckDB; of such a sum there
are no statistics.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...core.grid import Grid
from .cells import Value, double

__all__ = ["clamped_steps"]

_INF: Final = double(math.inf)
#: Up to this size, sums and differences of y and G are exact.
_EXACT: Final = double(2.0**51)


def clamped_steps(
    values: Mapping[str, Value], balanced: Collection[str], carried: Sequence[str], *, whole: bool
) -> list[tuple[str, str]]:
    """The steps from y to the cells, for values by the names of their cells.

    They read ``scaled``, which has y1 for the cell t1, cells on their own grid, and what is
    ``carried`` along. Of the ``balanced`` cells the result is 2t - G, and their sum is corrected at
    the end. With ``whole`` a row that lacks a value has no cells at all; one CASE then tests the
    sizes of all columns, and its result is a struct.
    """
    y = {t: t.replace("t", "y") for t, value in values.items() if not value.grid.own}
    columns = [*carried, *(t for t in values if t not in y), *y.values()]
    cells, moderate = {t: t for t in values}, {t: t for t in values}
    for t, name in y.items():
        value, size, distance = values[t], name.replace("y", "a"), name.replace("y", "b")
        columns.append(f"ABS({name}) AS {size}")
        columns.append(f"ABS({name} - {_top(value.grid)}) AS {distance}")
        moderate[t] = _moderate(value.grid, size, distance, t in balanced)
        clamped = _clamped(value.grid, name, size, moderate[t], t in balanced)
        cells[t] = value.filled(clamped, balanced=t in balanced)
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


def _moderate(grid: Grid, size: str, distance: str, balanced: bool) -> str:
    """The cell if |y| <= 2^51, from |y| and |y - G|."""
    inner = f"{size} - {distance}"
    if not balanced:
        inner = f"({inner} + {_top(grid)}) * {double(0.5)}"
    return f"TRY_CAST({inner} AS BIGINT)"


def _clamped(grid: Grid, y: str, size: str, moderate: str, balanced: bool) -> str:
    """The cell of any y."""
    low, tiny = double(float(-grid.cells) if balanced else 0.0), f"{double(1.0)} / {y}"
    return (
        f"CASE WHEN {size} <= {_EXACT} THEN {moderate} "
        f"WHEN {y} < {double(0.0)} THEN TRY_CAST({tiny} + {low} AS BIGINT) "
        f"ELSE TRY_CAST({tiny} + {_top(grid)} AS BIGINT) END"
    )


def _top(grid: Grid) -> str:
    return double(float(grid.cells))


def _packed(cells: Mapping[str, str]) -> str:
    return f"STRUCT_PACK({', '.join(f'{t} := {cell}' for t, cell in cells.items())})"
