"""The filter and the expressions of a question, checked against the schema before any charge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import DataError, OptionError, shown
from ..read.engines.base import Source
from ..read.schema import COMPUTED, Field, Schema
from ..read.sql.expression.checking import OPEN, kind_of, settled, type_of
from ..read.sql.expression.given import Expression
from ..read.sql.expression.lexing import refused
from ..read.sql.expression.nodes import Node, columns_of, text_of
from ..read.sql.expression.parsing import parsed
from ..read.sql.steps import Asked, inputs_of, is_ours, value_alias

__all__ = ["Conditions", "by_name", "check_tables"]


_TAKEN: Final = "where= and expressions take numbers, text, booleans, dates and timestamps"


@dataclass(frozen=True)
class Conditions:
    """The filter of a question, and an expression or None for each of its columns."""

    where: Node | None
    trees: tuple[Node | None, ...]

    @classmethod
    def of(cls, where: Any, columns: Sequence[Any]) -> Conditions:
        """Parse the options; names are not looked up yet."""
        if isinstance(where, Expression):
            where = where.text
        tree = None if where is None else parsed(where, "where")
        return cls(tree, tuple(c.tree if isinstance(c, Expression) else None for c in columns))

    @property
    def text(self) -> str | None:
        """The filter in its canonical spelling."""
        return None if self.where is None else text_of(self.where)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that the filter and the expressions use, each once."""
        found = (columns_of(tree) for tree in (self.where, *self.trees) if tree is not None)
        return tuple(dict.fromkeys(name for names in found for name in names))

    def _labelled(self) -> dict[str, tuple[Node, str | None]]:
        """Each tree with its name in messages and the type that it must have."""
        found: dict[str, tuple[Node, str | None]] = {}
        if self.where is not None:
            found["where"] = self.where, "boolean"
        trees = [tree for tree in self.trees if tree is not None]
        for place, tree in enumerate(trees, 1):
            found["expression" if len(trees) == 1 else f"expression {place}"] = tree, None
        return found

    def fields(self, source: Source, schema: Schema, numbers: Iterable[Any]) -> dict[str, Field]:
        """The columns used here, by name, each with a type that fits everywhere it is used.

        ``numbers`` are the columns of a text file that the question averages.
        """
        labelled = self._labelled()
        if not labelled:
            return {}
        found = {}
        for option, (tree, _) in labelled.items():
            for name, column in columns_of(tree).items():
                if not schema.open and all(field.name != name for field in schema.fields):
                    raise refused(option, column.place, _no_column(name, schema))
                field = schema.field(name, f"{option}, character {column.place}: column")
                if kind_of(field) is None:
                    raise refused(
                        option,
                        column.place,
                        f"column {name!r} is of type {field.declared or field.kind}; "
                        f"{field.why or _TAKEN}",
                    )
                found[name] = field
        types = {
            name: OPEN if source.parse and field.kind == "text" else kind_of(field) or ""
            for name, field in found.items()
        }
        for name in numbers:
            if types.get(name) == OPEN:
                types[name] = "number"
        kinds = settled(labelled, types)
        return {
            name: replace(field, kind=f"text as {source.parse}")
            if field.kind == "text" and kinds[name] == "number"
            else field
            for name, field in found.items()
        }

    def asked(self, fields: Mapping[str, Field], others: Iterable[str | None]) -> Asked:
        """The step of the query that filters and computes; ``others`` are all other columns."""
        if self._labelled() and any(name and is_ours(name) for name in others):
            raise DataError(
                "a column has a name that hourglass uses in queries with where= or expressions; "
                "rename the one that starts with 'hourglass'"
            )
        return Asked(self.where, inputs_of(fields))

    def named(self, place: int, field: Field) -> Field:
        """A column under its name in the query; a computed column gets a name of our own."""
        computed = self.trees[place] is not None
        return replace(field, name=value_alias(place)) if computed else field

    def written(self, place: int, name: Any) -> Any:
        """A column as it appears in the stored question."""
        return name if self.trees[place] is None else {"expression": name}

    def value(self, place: int, fields: Mapping[str, Field], name: str) -> Field | None:
        """The column that an expression computes; None for a column of the table."""
        tree = self.trees[place]
        if tree is None:
            return None
        kinds = {each: kind_of(field) or "" for each, field in fields.items()}
        boolean = type_of(tree, kinds) == "boolean"
        return Field(name, "boolean" if boolean else "real", COMPUTED)


def _no_column(name: str, schema: Schema) -> str:
    """What is wrong with a name that no column has: it may be text without its quotes."""
    hint = schema.hint(name)
    joined = f"{hint} Text" if hint.endswith("?") else f"{hint}; text"
    quoted = "'" + name.replace("'", "''") + "'"
    return f"there is no column {shown(name)}; {joined} is written in single quotes: {quoted}"


def by_name(option: Any) -> Any:
    """A dict of options by column, with expressions replaced by their texts."""
    if not isinstance(option, Mapping):
        return option
    return {str(key) if isinstance(key, Expression) else key: v for key, v in option.items()}


def check_tables(conditions: Conditions, memory: bool) -> None:
    """Refuse filters and expressions for columns in memory, which have no names."""
    if memory and conditions.columns:
        raise OptionError(
            "where= and hg.expression need a table, but data is columns in memory without names; "
            "give a frame instead"
        )
