"""Combine --bounds, --bounds-of and --bounds-from, and --missing and --missing-of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..release.found import FoundBounds

__all__ = ["bounds_of", "missing_of", "number_of"]


def number_of(name: str, text: str) -> int | float:
    """The number that the text of an option denotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OptionError(f"{name}: {text!r} is not a number")


def missing_of(columns: list[str], missing: str, each: list[list[str]]) -> Any:
    """What replaces a missing value: the same in all columns, or a dict by column."""
    of_all = missing if missing == "drop" else number_of("missing", missing)
    if not each:
        return of_all
    if len(columns) == 1:
        raise OptionError("--missing-of needs several columns; use --missing")
    given = {name: number_of("missing-of", value) for name, value in each}
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
            raise OptionError("give one of --bounds LOWER UPPER and --bounds-from FILE")
        return _found(bounds_from)
    ends = tuple(number_of("bounds", end) for end in bounds) if bounds else None
    if not each:
        if ends is None:
            of_each = "" if len(columns) == 1 else ", or --bounds-of for each column"
            raise OptionError(f"give one of --bounds LOWER UPPER and --bounds-from FILE{of_each}")
        return ends
    if len(columns) == 1:
        raise OptionError("--bounds-of needs several columns; use --bounds LOWER UPPER")
    of_all = dict.fromkeys(columns, ends) if ends is not None else {}
    given = {
        name: (number_of("bounds-of", low), number_of("bounds-of", high))
        for name, low, high in each
    }
    return {**of_all, **given}


def _found(path: Path) -> FoundBounds:
    try:
        return FoundBounds.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ArithmeticError, KeyError, OSError, TypeError, ValueError) as error:
        reason = type(error).__name__
    raise OptionError(
        f"--bounds-from {str(path)!r} cannot be read ({reason}); give a file that "
        "`hourglass bounds ... --format json --output FILE` wrote"
    )
