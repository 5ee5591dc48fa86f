"""The columns of a command: by name, and computed by --expression."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OptionError
from ..read.sql.expression.given import Expression, expression

__all__ = ["column_of", "columns_of", "named"]


def columns_of(
    columns: Sequence[str] | None, texts: Sequence[str] | None
) -> tuple[list[str | Expression], list[str]]:
    """The columns asked for, and the name of each."""
    found: list[str | Expression] = [*(columns or ()), *map(expression, texts or ())]
    if not found:
        raise OptionError("name a column after the source, or give --expression")
    return found, [str(each) for each in found]


def column_of(column: str | None, text: str | None) -> tuple[str | Expression, str]:
    """The one column asked for, and its name."""
    found, names = columns_of([column] if column else None, [text] if text else None)
    if len(found) > 1:
        raise OptionError("give either one column or one --expression; this command takes only one")
    return found[0], names[0]


def named(values: list[list[str]], texts: Sequence[str] | None) -> list[list[str]]:
    """Values that start with a column's name; an expression may be named by its text as given."""
    given = {text: str(expression(text)) for text in texts or ()}
    return [[given.get(name, name), *rest] for name, *rest in values]
