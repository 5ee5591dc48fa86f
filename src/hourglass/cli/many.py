"""Options that take several values and may be given again, such as --bounds-of COLUMN LOWER UPPER.

Typer has options with several values and options that may be given again, but none with both. So
the values of one are joined before Typer sees them, and taken apart after.
"""

from __future__ import annotations

import json
from typing import Any, Final

from typer.core import TyperCommand

from ..errors import OptionError

__all__ = ["ManyValued", "values_of"]

#: How many values each of these options takes.
_VALUES: Final = {"--bounds-of": 3, "--missing-of": 2}


class ManyValued(TyperCommand):
    """A command that has some of these options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer does, with the values of each such option as one."""
        return super().parse_args(ctx, _joined(args))


def _joined(args: list[str]) -> list[str]:
    left, found = list(args), list[str]()
    while left:
        word = left.pop(0)
        if word == "--":
            return [*found, word, *left]
        found.append(word)
        count = _VALUES.get(word)
        if count is None:
            continue
        values, left = left[:count], left[count:]
        if len(values) < count or any(value.startswith("--") for value in values):
            raise OptionError(f"{word} takes {count} values, as in {word} {_EXAMPLES[word]}")
        found.append(json.dumps(values))
    return found


_EXAMPLES: Final = {"--bounds-of": "delay -60 300", "--missing-of": "delay 0"}


def values_of(texts: list[str] | None) -> list[list[str]]:
    """The values of each time that the option was given."""
    return [json.loads(text) for text in texts or ()]
