"""The syntax tree of an expression: a closed set of frozen nodes, and their canonical text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Final

__all__ = [
    "FUNCTIONS", "RESERVED", "All", "Any", "Arithmetic", "Between", "Call", "Case", "Column",
    "Compare", "In", "IsNull", "Like", "Negate", "Node", "Not", "Null", "Number", "Text", "Truth",
    "columns_of", "text_of",
]  # fmt: skip

#: The functions, with the least and the most arguments that each takes.
FUNCTIONS: Final = {
    "ABS": (1, 1),
    "COALESCE": (2, 100),
    "DAY": (1, 1),
    "FLOOR": (1, 1),
    "GREATEST": (2, 100),
    "HOUR": (1, 1),
    "LEAST": (2, 100),
    "LENGTH": (1, 1),
    "LOWER": (1, 1),
    "MONTH": (1, 1),
    "WEEKDAY": (1, 1),
    "YEAR": (1, 1),
}
#: Keywords: a column with such a name is written in double quotes.
RESERVED: Final = frozenset(
    "AND BETWEEN CASE ELSE END ESCAPE FALSE IN IS LIKE NOT NULL OR THEN TRUE WHEN".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Node:
    """A part of an expression; ``place`` is the position at which it starts, counted from 1."""

    place: int = field(default=1, compare=False, repr=False, kw_only=True)

    @property
    def parts(self) -> Iterator[Node]:
        """The nodes that it is made of."""
        for each in fields(self):
            value = getattr(self, each.name)
            yield from _nodes(value)


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


@dataclass(frozen=True)
class Column(Node):
    """A column, by its name."""

    name: str


@dataclass(frozen=True)
class Number(Node):
    """A constant: an integer of up to 64 bits, else a double.

    An integer and a double of the same value compare differently with a column, so they are not
    equal.
    """

    value: int | float = field(compare=False)
    written: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "written", repr(self.value))


@dataclass(frozen=True)
class Text(Node):
    """A string constant; compared with a date, it is a date or a timestamp."""

    value: str


@dataclass(frozen=True)
class Truth(Node):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class Null(Node):
    """NULL, as the result of a CASE."""


@dataclass(frozen=True)
class Compare(Node):
    """One of = <> < <= > >=."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Arithmetic(Node):
    """One of + - * /."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Negate(Node):
    """Minus a number."""

    operand: Node


@dataclass(frozen=True)
class All(Node):
    """Conditions joined by AND."""

    conditions: tuple[Node, ...]


@dataclass(frozen=True)
class Any(Node):
    """Conditions joined by OR."""

    conditions: tuple[Node, ...]


@dataclass(frozen=True)
class Not(Node):
    """NOT, also that of NOT IN and IS NOT NULL."""

    operand: Node


@dataclass(frozen=True)
class IsNull(Node):
    """Whether a value is missing."""

    operand: Node


@dataclass(frozen=True)
class In(Node):
    """Whether a value is among constants."""

    operand: Node
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Between(Node):
    """Whether a value lies between two others, ends included."""

    operand: Node
    low: Node
    high: Node


@dataclass(frozen=True)
class Like(Node):
    r"""Whether a string matches a pattern, in which \%, \_ and \\ are the characters themselves."""

    operand: Node
    pattern: str


@dataclass(frozen=True)
class Case(Node):
    """CASE WHEN condition THEN result ... ELSE result END."""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True)
class Call(Node):
    """One of the functions."""

    name: str
    arguments: tuple[Node, ...]


def columns_of(node: Node) -> dict[str, Column]:
    """The columns that an expression reads, by name, in order of appearance."""
    found: dict[str, Column] = {}
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Column):
            found.setdefault(here.name, here)
        waiting += reversed(list(here.parts))
    return found


# --- the canonical text of a tree -----------------------------------------------------------------

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OR, _AND, _NOT, _COMPARE, _ADD, _TIMES, _MINUS, _WHOLE = range(1, 9)


def text_of(node: Node) -> str:
    """The canonical text of an expression, equal for equal trees."""
    return _written(node)[0]


def _within(node: Node, least: int) -> str:
    text, strength = _written(node)
    return text if strength >= least else f"({text})"


def _written(node: Node) -> tuple[str, int]:
    """The text, and how strongly its outermost operator binds."""
    match node:
        case Column():
            plain = _PLAIN.fullmatch(node.name) and node.name.upper() not in RESERVED
            return (node.name if plain else _quoted(node.name, '"')), _WHOLE
        case Number():
            return repr(node.value), _MINUS if node.value < 0 else _WHOLE
        case Text():
            return _quoted(node.value, "'"), _WHOLE
        case Truth():
            return ("TRUE" if node.value else "FALSE"), _WHOLE
        case Null():
            return "NULL", _WHOLE
        case Call():
            return f"{node.name}({', '.join(map(text_of, node.arguments))})", _WHOLE
        case Case():
            return _case(node), _WHOLE
    return _operator(node)


def _operator(node: Node) -> tuple[str, int]:
    match node:
        case All():
            return " AND ".join(_within(each, _NOT) for each in node.conditions), _AND
        case Any():
            return " OR ".join(_within(each, _AND) for each in node.conditions), _OR
        case Arithmetic():
            strength = _ADD if node.sign in "+-" else _TIMES
            left, right = _within(node.left, strength), _within(node.right, strength + 1)
            return f"{left} {node.sign} {right}", strength
        case Negate(operand=Number() as operand):  # without parentheses, a negative constant
            return f"-({operand.written})", _MINUS
        case Negate():
            return f"-{_within(node.operand, _WHOLE)}", _MINUS
        case Not(operand=In() | Between() | Like() | IsNull() as inner):
            return _test(inner, "NOT "), _COMPARE
        case Not():
            return f"NOT {_within(node.operand, _NOT)}", _NOT
        case Compare():
            left, right = _within(node.left, _ADD), _within(node.right, _ADD)
            return f"{left} {node.sign} {right}", _COMPARE
    return _test(node, ""), _COMPARE


def _test(node: Node, negated: str) -> str:
    """A test that has its own form with NOT."""
    match node:
        case IsNull():
            return f"{_within(node.operand, _ADD)} IS {negated}NULL"
        case In():
            items = ", ".join(map(text_of, node.items))
            return f"{_within(node.operand, _ADD)} {negated}IN ({items})"
        case Between():
            operand, low, high = (_within(n, _ADD) for n in (node.operand, node.low, node.high))
            return f"{operand} {negated}BETWEEN {low} AND {high}"
    assert isinstance(node, Like)
    escape = " ESCAPE '\\'" if "\\" in node.pattern else ""
    return f"{_within(node.operand, _ADD)} {negated}LIKE {_quoted(node.pattern, chr(39))}{escape}"


def _case(node: Case) -> str:
    branches = " ".join(f"WHEN {text_of(w)} THEN {text_of(t)}" for w, t in node.branches)
    otherwise = "" if isinstance(node.otherwise, Null) else f" ELSE {text_of(node.otherwise)}"
    return f"CASE {branches}{otherwise} END"


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark
