"""The columns of a command: by name or by --expression, their bounds, their missing values.

Combines --bounds, --bounds-of and --bounds-from, and --missing and --missing-of.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, Final

from ..core.grid import Bounds
from ..errors import OptionError, RequestError
from ..read.sql.expression.given import Expression, expression
from ..release.found import FoundBounds
from .wording import not_a_number

__all__ = [
    "bounds_of", "column_of", "columns_of", "missing_of", "named", "number_of",
    "typed_names",
]  # fmt: skip

#: How the library tells which name of a list is wrong, without showing it.
_OF_LIST: Final = re.compile(
    "(by|column): name ([0-9]+) of the list (is not a column of the table|repeats name [0-9]+); "
)


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


def number_of(name: str, text: str) -> int | float:
    """The number that the text of an option denotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OptionError(not_a_number(name, text))


def _replacement(text: str) -> int | float:
    try:
        return number_of("--missing", text)
    except OptionError:
        raise OptionError(f"--missing {text!r} is neither drop nor a number") from None


def missing_of(columns: list[str], missing: str, each: list[list[str]]) -> Any:
    """What replaces a missing value: the same in all columns, or a dict by column."""
    of_all = missing if missing == "drop" else _replacement(missing)
    if not each:
        return of_all
    if len(columns) == 1:
        raise OptionError("--missing-of needs several columns; use --missing")
    _check_names("--missing-of", each, columns)
    given = {name: number_of("--missing-of", value) for name, value in each}
    return {**dict.fromkeys(columns, of_all), **given}


def bounds_of(
    columns: list[str],
    bounds: tuple[str, str] | None,
    each: list[list[str]],
    bounds_from: Path | None,
) -> Any:
    """The public range of the values: the same for all columns, or a dict by column."""
    if bounds_from is not None:
        if bounds is not None or each:
            raise OptionError("give either --bounds LOWER UPPER or --bounds-from FILE")
        return _found(bounds_from)
    ends = tuple(number_of("--bounds", end) for end in bounds) if bounds else None
    if not each:
        if ends is None:
            of_each = ", or --bounds-of COLUMN LOWER UPPER for each column"
            raise OptionError(
                "give either --bounds LOWER UPPER or --bounds-from FILE"
                f"{of_each if len(columns) > 1 else ''}"
            )
        return ends
    if len(columns) == 1:
        raise OptionError("--bounds-of needs several columns; use --bounds LOWER UPPER")
    of_all = dict.fromkeys(columns, Bounds.of(ends)) if ends is not None else {}
    _check_names("--bounds-of", each, columns)
    given_names = [name for name, *_ in each]
    for name in columns if ends is None else ():
        if name not in given_names:
            raise OptionError(
                f"column {name!r} has no bounds; add --bounds-of {quote(name)} LOWER UPPER"
            )
    given = {
        name: (number_of("--bounds-of", low), number_of("--bounds-of", high))
        for name, low, high in each
    }
    return {**of_all, **given}


@contextmanager
def typed_names(ask: Mapping[str, Any]) -> Iterator[None]:
    """Show a name that is wrong. The library does not, since a list may be cells of the data."""
    try:
        yield
        return
    except RequestError as error:
        found = _OF_LIST.match(str(error))
        if found is None:
            raise
        kind, hint = type(error), str(error)[found.end() :]
    role, place, repeated = found[1], int(found[2]) - 1, found[3].startswith("repeats")
    given = ask[role]
    names = [str(each) for each in given if repeated or isinstance(each, str)]
    wrong = " is given twice; " if repeated else ": the table has no such column; "
    raise kind(f"{role}={names[place]!r}{wrong}{hint}")


def _check_names(option: str, each: list[list[str]], columns: list[str]) -> None:
    """Check that each value belongs to one of the columns, and no two to the same."""
    names = [name for name, *_ in each]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{option} {quote(name)} is given twice; give it once")
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(columns)}"
            raise OptionError(f"{option} {quote(name)} is not one of the columns asked for; {hint}")


def _found(path: Path) -> FoundBounds:
    try:
        return FoundBounds.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ArithmeticError, KeyError, OSError, TypeError, ValueError) as error:
        other = isinstance(error, OptionError)
        reason = "it has no found bounds" if other else type(error).__name__
    raise OptionError(
        f"--bounds-from {str(path)!r} cannot be read ({reason}); give a file that "
        "`hourglass bounds ... --format json --output FILE` wrote"
    )
