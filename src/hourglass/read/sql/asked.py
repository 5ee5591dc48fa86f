"""``where`` and expressions as the first step of the query.

        asked       the rows that the filter keeps, with the columns that are asked for by name and
                those that expressions compute

The columns that filters and expressions read have names of their own, and each engine provides them
in a common form: numbers as doubles or 64-bit integers, text as valid UTF-8 of up to 4,096 bytes
that compares as bytes, dates as integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..schema import Field
from .cells import as_double, as_integer, identifier
from .expression.arithmetic import PAIR
from .expression.nodes import Node
from .expression.words import Words
from .expression.writing import Writer

__all__ = ["Asked", "Input", "inputs_of", "is_ours", "plain_input", "value_alias"]

#: The prefix of names that hourglass adds to a query.
_OURS: Final = "hourglass \N{SECTION SIGN}"


@dataclass(frozen=True)
class Input:
    """A column that an expression reads as ``name``, with its field and its alias."""

    name: str
    alias: str
    field: Field


@dataclass(frozen=True)
class Asked:
    """The filter of a question, and the columns that it and the expressions read."""

    where: Node | None = None
    inputs: tuple[Input, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.where is not None or self.inputs)

    @cached_property
    def _columns(self) -> dict[str, tuple[Field, str]]:
        return {each.name: (each.field, identifier(each.alias)) for each in self.inputs}

    def step(
        self, kept: Iterable[Field], computed: Mapping[str, Node], words: Words
    ) -> tuple[str, str]:
        """The SELECT of this step: the columns to keep, and the computed ones by name."""
        writer = Writer(self._columns, words)
        columns = [identifier(field.name) for field in kept]
        columns += [f"{writer.write(node)} AS {identifier(n)}" for n, node in computed.items()]
        where = "" if self.where is None else f" WHERE {writer.condition(self.where)}"
        return "asked", f"SELECT {', '.join(columns) or '1 AS hourglass_row'} FROM source{where}"


def inputs_of(fields: Mapping[str, Field]) -> tuple[Input, ...]:
    """Columns by name, each under an alias."""
    places = enumerate(fields.items(), 1)
    return tuple(Input(name, f"{_OURS} input {place}", field) for place, (name, field) in places)


def is_ours(name: str) -> bool:
    """Whether a column's name could clash with the names that hourglass adds to a query."""
    return name.casefold().startswith(_OURS) or name.casefold() == PAIR


def value_alias(place: int) -> str:
    """The name of a computed column in the query."""
    return f"{_OURS} value {place + 1}"


def plain_input(field: Field) -> str:
    """The input of an expression from a column of numbers or booleans, in DuckDB's dialect."""
    if field.kind == "boolean":
        return identifier(field.name)
    whole = field.kind == "integer" and field.wide is None
    return as_integer(field) if whole else as_double(field)
