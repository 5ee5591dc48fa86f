"""Generate SQL from the tree of an expression; the user's text is never pasted.

Numbers are doubles that are never NaN; 64-bit integers are compared with each other exactly. Dates
are days and timestamps are microseconds since 1970, as integers, so that the result does not depend
on an engine's calendar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...source import Field
from ..cells import double, whole
from . import nodes
from .arithmetic import tidy
from .checking import MOMENTS, PARTS, kind_of, moment, type_of
from .nodes import Node
from .words import Words, between

__all__ = ["FIRST_DAY", "LAST_DAY", "MICROSECONDS", "NANOSECONDS", "Writer"]

#: The first day of the year 1 and the last of 9999, in days since 1970; the microseconds of a day.
FIRST_DAY: Final = -719_162
LAST_DAY: Final = 2_932_896
MICROSECONDS: Final = 86_400_000_000
#: Nanoseconds since 1970 that engines can round down to microseconds, without those for infinity.
NANOSECONDS: Final = (-(2**63 // 1000) * 1000, 2**63 - 2)
_HOUR: Final = 3_600_000_000


class Writer:
    """Writes trees over ``columns``, which has the field and the SQL of each name."""

    def __init__(self, columns: Mapping[str, tuple[Field, str]], words: Words) -> None:
        self.columns, self.words = columns, words
        self.types = {name: kind_of(field) or "" for name, (field, _) in columns.items()}

    def write(self, node: Node) -> str:
        """The SQL of a part of any type."""
        if isinstance(node, nodes.Null):
            return "NULL"
        kind = type_of(node, self.types)
        if kind == "number":
            return self.number(node)
        return self.text(node) if kind == "text" else self.condition(node)

    # --- numbers ------------------------------------------------------------------------------

    def number(self, node: Node) -> str:
        """A number as a double."""
        match node:
            case nodes.Column():
                field, sql = self.columns[node.name]
                return f"CAST({sql} AS DOUBLE)" if _is_whole(field) else tidy(sql)
            case nodes.Number():
                return double(_tidied(float(node.value)))
            case nodes.Arithmetic():
                operands = [self.number(node.left), self.number(node.right)]
                return self.words.compute(node.sign, operands)
            case nodes.Negate():
                return f"({double(0.0)} - {self.number(node.operand)})"
            case nodes.Case():
                return self._case(node, "number")
        assert isinstance(node, nodes.Call)
        return self._call(node)

    def _call(self, node: nodes.Call) -> str:
        if node.name in PARTS:
            (operand,) = node.arguments
            assert isinstance(operand, nodes.Column)
            field, sql = self.columns[operand.name]
            return f"CAST({_part(node.name, sql, field.kind)} AS DOUBLE)"
        if node.name == "LENGTH":
            return f"CAST({self.words.length(self.text(node.arguments[0]))} AS DOUBLE)"
        arguments = [self.number(each) for each in _arguments(node)]
        if node.name == "FLOOR":
            return self.words.compute("floor", arguments)
        if node.name in ("LEAST", "GREATEST"):
            return self.words.extreme(node.name, arguments)
        if node.name == "COALESCE":
            return self.words.first(arguments, "number")
        return f"{node.name}({', '.join(arguments)})"  # ABS

    def _case(self, node: nodes.Case, kind: str) -> str:
        parts = [self.write(part) for part in node.parts]
        return self.words.case(parts, kind, deep=any(map(_is_deep, node.parts)))

    # --- texts --------------------------------------------------------------------------------

    def text(self, node: Node) -> str:
        """A string, which compares as bytes."""
        match node:
            case nodes.Column():
                return self.columns[node.name][1]
            case nodes.Text():
                return self.words.text(node.value)
            case nodes.Case():
                return self._case(node, "text")
        assert isinstance(node, nodes.Call)
        if node.name == "LOWER":
            return self.words.lower(self.text(node.arguments[0]))
        return self.words.first(list(map(self.text, _arguments(node))), "text")

    # --- conditions ---------------------------------------------------------------------------

    def condition(self, node: Node) -> str:
        """A condition: true, false or NULL."""
        match node:
            case nodes.Column():
                return self.columns[node.name][1]
            case nodes.Truth():
                return "TRUE" if node.value else "FALSE"
            case nodes.Not():
                return f"(NOT {self.condition(node.operand)})"
            case nodes.All():
                return f"({' AND '.join(map(self.condition, node.conditions))})"
            case nodes.Any():
                return f"({' OR '.join(map(self.condition, node.conditions))})"
            case nodes.Like():
                text, pattern = self.text(node.operand), node.pattern
                if _is_deep(node.operand):
                    return self.words.once(lambda t: self.words.like(t, pattern), [text])
                return self.words.like(text, pattern)
            case nodes.Case():
                return self._case(node, "boolean")
            case nodes.Call():
                return self.words.first(list(map(self.condition, _arguments(node))), "boolean")
            case nodes.IsNull(operand=nodes.Column() as column):
                return f"({self.present(column)} IS NULL)"
            case nodes.IsNull():
                return f"({self.write(node.operand)} IS NULL)"
        return self._comparison(node)

    def present(self, column: nodes.Column) -> str:
        """A column; NULL if it has no value that an expression can use."""
        is_moment = self.types[column.name] in MOMENTS
        return self.columns[column.name][1] if is_moment else self.write(column)

    def _comparison(self, node: Node) -> str:
        match node:
            case nodes.Compare():
                left, right = self.alike([node.left, node.right])
                return f"({left} {node.sign} {right})"
            case nodes.Between() if self._mixed(node.operand, (node.low, node.high)):
                above = nodes.Compare(">=", node.operand, node.low)
                below = nodes.Compare("<=", node.operand, node.high)
                return self.condition(nodes.All((above, below)))
            case nodes.In() if self._mixed(node.operand, node.items):
                wholes = tuple(filter(self._is_whole, node.items))
                others = tuple(item for item in node.items if not self._is_whole(item))
                parts = nodes.In(node.operand, wholes), nodes.In(node.operand, others)
                return self.condition(nodes.Any(parts))
            case nodes.Between():
                operands = self.alike([node.operand, node.low, node.high])
                if _is_deep(node.operand):
                    return self.words.between(operands, type_of(node.operand, self.types))
                return between(*operands)
        assert isinstance(node, nodes.In)
        operand, *items = self.alike([node.operand, *node.items])
        listed = f"IN ({', '.join(items)})"
        if _is_deep(node.operand):
            return self.words.once(lambda x: f"({x} {listed})", [operand])
        return f"({operand} {listed})"

    def _mixed(self, operand: Node, others: tuple[Node, ...]) -> bool:
        """Whether a whole number is compared with some as integers, with others as doubles."""
        wholes = sum(map(self._is_whole, others))
        return self._is_whole(operand) and 0 < wholes < len(others)

    def alike(self, parts: list[Node]) -> list[str]:
        """Parts that are compared, converted to one type."""
        kinds = {type_of(part, self.types) for part in parts}
        for kind in MOMENTS:
            if kind in kinds:
                return [self._moment(part, kind) for part in parts]
        if kinds == {"number"} and all(map(self._is_whole, parts)):
            return [self._whole(part) for part in parts]
        return [self.write(part) for part in parts]

    def _moment(self, part: Node, kind: str) -> str:
        if isinstance(part, nodes.Column):
            return self.columns[part.name][1]
        assert isinstance(part, nodes.Text)
        found = moment(part.value, kind)
        assert found is not None
        return whole(found)

    def _is_whole(self, part: Node) -> bool:
        if isinstance(part, nodes.Column):
            return _is_whole(self.columns[part.name][0])
        return isinstance(part, nodes.Number) and isinstance(part.value, int)

    def _whole(self, part: Node) -> str:
        if isinstance(part, nodes.Column):
            return self.columns[part.name][1]
        assert isinstance(part, nodes.Number)
        return whole(int(part.value))


def _is_deep(operand: Node) -> bool:
    """Whether an operand may contain another of its kind, for which it takes a CASE."""
    return isinstance(operand, nodes.Case) or any(map(_is_deep, operand.parts))


def _arguments(node: nodes.Call) -> Iterator[Node]:
    """The arguments, with those of a COALESCE within a COALESCE in its place."""
    for each in node.arguments:
        if node.name == "COALESCE" and isinstance(each, nodes.Call) and each.name == "COALESCE":
            yield from _arguments(each)
        else:
            yield each


def _is_whole(field: Field) -> bool:
    return field.kind == "integer" and field.wide is None


def _tidied(value: float) -> float:
    return 0.0 if abs(value) < 2.0**-1022 else value


# --- the calendar ---------------------------------------------------------------------------------


def _part(name: str, sql: str, kind: str) -> str:
    """A field of a date, from non-negative integers, for which engines agree on // and %."""
    since = f"({sql} - {whole(FIRST_DAY)})"  # days since the first of January of the year 1
    if kind == "timestamp":
        passed = f"({sql} - {whole(FIRST_DAY * MICROSECONDS)})"
        if name == "HOUR":
            return f"(({passed} // {whole(_HOUR)}) % 24)"
        since = f"({passed} // {whole(MICROSECONDS)})"
    if name == "WEEKDAY":  # that day was a Monday
        return f"({since} % 7 + 1)"
    # Years that start in March, in eras of 400 years: a leap day is the last day of its year.
    z = f"({since} + 306)"
    era = f"({z} // 146097)"
    of_era = f"({z} - {era} * 146097)"
    year_of_era = f"(({of_era} - {of_era} // 1460 + {of_era} // 36524 - {of_era} // 146096) // 365)"
    of_year = f"({of_era} - (365 * {year_of_era} + {year_of_era} // 4 - {year_of_era} // 100))"
    month = f"((5 * {of_year} + 2) // 153)"
    if name == "DAY":
        return f"({of_year} - (153 * {month} + 2) // 5 + 1)"
    if name == "MONTH":
        return f"CASE WHEN {month} < 10 THEN {month} + 3 ELSE {month} - 9 END"
    return f"({year_of_era} + {era} * 400 + CASE WHEN {month} < 10 THEN 0 ELSE 1 END)"
