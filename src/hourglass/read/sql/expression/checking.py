"""Check the types of an expression against the schema, before anything is charged.

A column of a text file declares no type. It is read as a number or as a string, depending on how
the expression uses it, and as the same type throughout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, NoReturn

from ...source import Field
from . import nodes
from .lexing import refused
from .nodes import Node

__all__ = ["MOMENTS", "OPEN", "PARTS", "kind_of", "moment", "settled", "type_of"]

#: The type of a column that declares none; that of NULL, which fits everywhere; the date types.
OPEN: Final = "open"
_NULL: Final = "null"
MOMENTS: Final = ("date", "timestamp")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME: Final = re.compile(
    _DATE.pattern + r"([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
_WORDS: Final = {
    "number": "a number",
    "text": "text",
    "boolean": "a condition",
    "date": "a date",
    "timestamp": "a date with a time",
    OPEN: "a column of a text file",
}
_TYPES: Final = {
    "real": "number",
    "decimal": "number",
    "integer": "number",
    "text as real": "number",
    "text as integer": "number",
    "boolean": "boolean",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
}


def kind_of(field: Field) -> str | None:
    """The type of a declared column in an expression; None if it cannot be used there."""
    return _TYPES.get(field.kind)


def type_of(node: Node, types: Mapping[str, str]) -> str:
    """The type of a part of an expression that has been checked."""
    return _Checker("", dict(types)).check(node)


def settled(asked: Mapping[str, tuple[Node, str | None]], types: dict[str, str]) -> dict[str, str]:
    """The types of all columns; those of text files are inferred from their use.

    ``asked`` has each tree with the option that it was given as, and the type that it must have
    (None for a number or a condition). An error gives the option and the position.
    """
    known = dict(types)
    before: dict[str, str] = {}
    while known != before:
        before = dict(known)
        for option, (node, wanted) in asked.items():
            _Checker(option, known, strict=False).root(node, wanted)
    for option, (node, wanted) in asked.items():
        _Checker(option, known).root(node, wanted)
    return known


def moment(text: str, kind: str) -> int | None:
    """Days or microseconds since 1970 of a date in ISO form; None if it is not a date."""
    if not (_DATE if kind == "date" else _TIME).fullmatch(text):
        return None
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (OverflowError, ValueError):  # such as 30 February, or outside the years 1 to 9999
        return None
    passed = time - datetime(1970, 1, 1, tzinfo=UTC)
    if kind == "date":
        return passed.days
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


class _Checker:
    """Finds the type of each part; with ``strict``, a column of undetermined type is a string."""

    def __init__(self, option: str, types: dict[str, str], *, strict: bool = True) -> None:
        self.option, self.types, self.strict = option, types, strict
        #: Types that were found, by node: a part is asked for its type several times at each level.
        self.found: dict[int, str] = {}

    def fail(self, node: Node, what: str) -> NoReturn:
        raise refused(self.option, node.place, what)

    def root(self, node: Node, wanted: str | None) -> None:
        """Check a whole expression."""
        if wanted is None:
            found = self.check(node)
            if found == OPEN:
                found = self.need(node, "number")
            if found not in ("number", "boolean"):
                self.fail(
                    node,
                    f"this is {_WORDS[found]}, which cannot be averaged; give a number or a "
                    "condition",
                )
            return
        self.need(node, wanted)

    def need(self, node: Node, wanted: str) -> str:
        """Check a part that must have this type."""
        found = self.check(node)
        if found == OPEN:
            self.settle(node, wanted)
        elif found not in (wanted, _NULL):
            self.fail(
                node,
                f"{_WORDS[wanted]} is expected here, but this is {_WORDS[found]}"
                + self.remedy(node, wanted, found),
            )
        return wanted

    def remedy(self, node: Node, wanted: str, found: str) -> str:
        if wanted == "boolean" and found in ("number", "text", *MOMENTS):
            return "; compare it with a value, as in x > 0"
        if {wanted, found} == {"number", "text"}:
            if isinstance(node, nodes.Column):
                return f": column {node.name!r} is {_WORDS[found]}"
            if isinstance(node, nodes.Number):
                return "; write text in single quotes, as in '12'"
            if isinstance(node, nodes.Text):
                return "; write numbers without quotes"
        return ""

    def settle(self, node: Node, wanted: str) -> None:
        """Give this type to the columns of a text file that make up a part."""
        if isinstance(node, nodes.Column):
            if wanted not in ("number", "text"):
                self.fail(
                    node,
                    f"{_WORDS[wanted]} is expected here; a column of a text file is "
                    "read as numbers or as text. Compare it with a constant",
                )
            if self.types[node.name] != wanted:
                self.types[node.name] = wanted
                self.found.clear()
            return
        for part in node.parts if isinstance(node, nodes.Call) else self.results(node):
            if self.check(part) == OPEN:
                self.settle(part, wanted)

    @staticmethod
    def results(node: Node) -> list[Node]:
        assert isinstance(node, nodes.Case)
        return [*(result for _, result in node.branches), node.otherwise]

    def common(self, node: Node, parts: list[Node]) -> str:
        """The common type of several parts; undetermined columns take it from the others."""
        found: dict[str, Node] = {}
        for part in parts:
            found.setdefault(self.check(part), part)
        known = {kind: part for kind, part in found.items() if kind not in (OPEN, _NULL)}
        if not known:
            if self.strict and OPEN in found and len(parts) > 1:
                self.fail(
                    node,
                    "a column of a text file takes the type of what it is compared "
                    "with, but here both sides are such columns; to compare numbers, write "
                    "a - b > 0 instead of a > b",
                )
            return OPEN if OPEN in found else _NULL
        kind, *others = known
        if others and "text" in known and len(known) == 2 and (set(known) & set(MOMENTS)):
            return self.moments(parts, next(k for k in known if k != "text"))
        if others:
            part = known[others[0]]
            remedy = self.remedy(part, kind, others[0])
            if "boolean" in known and isinstance(node, nodes.Compare):
                remedy = "; if x is true or false, write x or NOT x"
            self.fail(
                part,
                f"{_WORDS[others[0]]} and {_WORDS[kind]}: both must have the same type{remedy}",
            )
        if kind in MOMENTS or OPEN not in found:
            return kind
        for part in parts:
            self.need(part, kind)
        return kind

    def moments(self, parts: list[Node], kind: str) -> str:
        """Strings that are compared with dates are dates."""
        for part in parts:
            if self.check(part) == "text" and (
                not isinstance(part, nodes.Text) or moment(part.value, kind) is None
            ):
                form = "'2024-02-29'" + ("" if kind == "date" else " or '2024-02-29 13:45:00'")
                what = "this is not a date; " if isinstance(part, nodes.Text) else ""
                self.fail(part, f"{what}{_WORDS[kind]} is compared with constants such as {form}")
        return kind

    # --- by node ------------------------------------------------------------------------------

    def check(self, node: Node) -> str:
        """The type of a part."""
        known = self.found.get(id(node))
        if known is None:
            known = self.found[id(node)] = self._checked(node)
        return known

    def _checked(self, node: Node) -> str:
        match node:
            case nodes.Column():
                return self.types[node.name]
            case nodes.Number():
                return "number"
            case nodes.Text():
                return "text"
            case nodes.Truth():
                return "boolean"
            case nodes.Null():
                return _NULL
            case nodes.Arithmetic():
                self.need(node.left, "number")
                return self.need(node.right, "number")
            case nodes.Negate():
                return self.need(node.operand, "number")
            case nodes.Case():
                return self.case(node)
            case nodes.Call():
                return self.call(node)
        self.condition(node)
        return "boolean"

    def condition(self, node: Node) -> None:
        match node:
            case nodes.Not():
                self.need(node.operand, "boolean")
            case nodes.All() | nodes.Any():
                for each in node.conditions:
                    self.need(each, "boolean")
            case nodes.IsNull():
                found = self.check(node.operand)
                if found == OPEN and self.strict:
                    self.settle(node.operand, "text")
            case nodes.Like():
                self.need(node.operand, "text")
            case nodes.Compare():
                kind = self.common(node, [node.left, node.right])
                if kind == "boolean" and node.sign not in ("=", "<>"):
                    self.fail(node, "conditions can be compared only with = and <>")
            case nodes.In():
                if self.common(node, [node.operand, *node.items]) == "boolean":
                    self.fail(node, "IN takes numbers, strings and dates")
            case nodes.Between():
                if self.common(node, [node.operand, node.low, node.high]) == "boolean":
                    self.fail(node, "BETWEEN takes numbers, strings and dates")

    def case(self, node: nodes.Case) -> str:
        for condition, _ in node.branches:
            self.need(condition, "boolean")
        return self.value(node, self.results(node))

    def value(self, node: Node, parts: list[Node]) -> str:
        """The common type of several possible results."""
        kind = self.common_or_open(node, parts)
        if kind in MOMENTS:
            self.fail(
                node,
                "a date cannot be a result; it can be compared, tested with IS NULL, and "
                "passed to YEAR and the like",
            )
        if kind == _NULL:
            self.fail(node, "every result is NULL; give a value in one THEN or ELSE")
        return kind

    def common_or_open(self, node: Node, parts: list[Node]) -> str:
        if {self.check(part) for part in parts} <= {OPEN, _NULL}:
            return OPEN if any(self.check(part) == OPEN for part in parts) else _NULL
        return self.common(node, parts)

    def call(self, node: nodes.Call) -> str:
        if node.name in PARTS:
            return self.part_of_date(node)
        if node.name == "COALESCE":
            return self.value(node, list(node.arguments))
        wanted, result = _SIGNATURES[node.name]
        for each in node.arguments:
            self.need(each, wanted)
        return result

    def part_of_date(self, node: nodes.Call) -> str:
        (operand,) = node.arguments
        kind = self.check(operand)
        if not isinstance(operand, nodes.Column) or kind not in MOMENTS:
            self.fail(
                operand,
                f"{node.name} takes a column of dates, with or without times; text files and "
                "SQLite have none: compare their dates as text, as in day >= '2016-01-01'",
            )
        if node.name == "HOUR" and kind == "date":
            self.fail(operand, f"HOUR takes a date with a time; column {operand.name!r} has none")
        return "number"


#: The functions that return a field of a date.
PARTS: Final = ("DAY", "HOUR", "MONTH", "WEEKDAY", "YEAR")
_SIGNATURES: Final = {
    "ABS": ("number", "number"),
    "FLOOR": ("number", "number"),
    "GREATEST": ("number", "number"),
    "LEAST": ("number", "number"),
    "LENGTH": ("text", "number"),
    "LOWER": ("text", "text"),
}
