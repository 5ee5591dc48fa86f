"""A numeric column of a query, and its SQL."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.grid import Grid
from ..schema import Field
from .cells import as_double, as_integer, cell, clamped, widened
from .expression.nodes import Node

__all__ = ["Value"]


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

    @property
    def cell(self) -> str:
        """Its cell as SQL; NULL if it is missing and not replaced."""
        return _or(cell(self.field, self.grid), self.missing)

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

    def clamped(self, y: str, *, balanced: bool) -> str:
        """The cell t of y as SQL; or 2t - G."""
        missing = self.missing
        if balanced and missing is not None:
            missing = 2 * missing - self.grid.cells
        return _or(clamped(self.grid, y, balanced=balanced), missing)


def _or(cell: str, missing: int | None) -> str:
    return cell if missing is None else f"COALESCE({cell}, {missing})"
