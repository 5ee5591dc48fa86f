"""Engine-specific SQL: operators that use an operand twice, strings, and the bucket of a number.

The SQL of an expression is generated in DuckDB's dialect, and SQLGlot translates it. An operand is
evaluated once, however often a formula uses it: in a lambda on DuckDB and Spark, in a subquery on
PostgreSQL, in a user-defined function on SQLite and DataFusion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from ..buckets import Thresholds, halving, tree, width_bucket
from ..cells import literal
from .arithmetic import FORMULAS, NAMES, PAIR

__all__ = [
    "DATAFUSION", "DUCKDB", "FUNCTIONS", "POSTGRES", "SPARK", "SQLITE", "Words", "expanded",
]  # fmt: skip

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Words:
    """The default: operators as function calls, patterns with a backslash as the escape.

    An engine defines functions of these names, or replaces them by formulas.
    """

    def compute(self, operator: str, operands: Sequence[str]) -> str:
        """One of the operators of :mod:`.arithmetic`."""
        return f"{NAMES[operator]}({', '.join(operands)})"

    def extreme(self, name: str, operands: Sequence[str]) -> str:
        """LEAST or GREATEST; missing operands are ignored."""
        return f"{name}({', '.join(operands)})"

    def first(self, operands: Sequence[str]) -> str:
        """COALESCE of numbers."""
        return f"COALESCE({', '.join(operands)})"

    def text(self, value: str) -> str:
        """A string constant."""
        return literal(value)

    def length(self, text: str) -> str:
        """The number of code points."""
        return f"LENGTH({text})"

    def lower(self, text: str) -> str:
        """Turns A to Z into lower case; engines disagree about other letters."""
        return f"TRANSLATE({text}, '{_UPPER}', '{_UPPER.lower()}')"

    def like(self, text: str, pattern: str) -> str:
        """Whether a string matches a pattern whose escape is the backslash."""
        return f"({text} LIKE {literal(pattern)})"

    def bucket(self, thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
        """The steps from numbers x to the bucket t of each, see :mod:`..buckets`."""
        return [("bucketed", f"SELECT {tree(thresholds)} AS t FROM {source}")]


class _DataFusion(Words):
    """DataFusion, which plans COALESCE as a CASE that has the first operand twice."""

    def first(self, operands: Sequence[str]) -> str:
        *rest, found = operands
        for operand in reversed(rest):
            found = f"HOURGLASS_COALESCE({operand}, {found})"
        return found


class _Spark(Words):
    """Spark, which takes long to compile a large tree."""

    def bucket(self, thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
        return halving(thresholds, source)


class _Escaping(Words):
    """PostgreSQL, where the escape must be explicit."""

    def like(self, text: str, pattern: str) -> str:
        escape = " ESCAPE '\\'" if "\\" in pattern else ""
        return f"({text} LIKE {literal(pattern)}{escape})"


class _Postgres(_Escaping):
    def bucket(self, thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
        return [("bucketed", f"SELECT {width_bucket(thresholds)} AS t FROM {source}")]


class _DuckDB(_Escaping):
    def compute(self, operator: str, operands: Sequence[str]) -> str:
        named = ", ".join(f"{n} := {x}" for n, x in zip("ab", operands, strict=False))
        formula = FORMULAS[operator]
        return f"list_extract(list_transform([struct_pack({named})], lambda {PAIR}: {formula}), 1)"


class _SQLite(Words):
    """SQLite: strings are UTF-8 bytes, which compare as bytes whatever the database's encoding."""

    def extreme(self, name: str, operands: Sequence[str]) -> str:
        return f"HOURGLASS_{name}({', '.join(operands)})"

    def text(self, value: str) -> str:
        return f"HOURGLASS_BYTES({literal(value)})"

    def length(self, text: str) -> str:
        return f"HOURGLASS_LENGTH({text})"

    def lower(self, text: str) -> str:
        return f"HOURGLASS_LOWER({text})"

    def like(self, text: str, pattern: str) -> str:
        return f"HOURGLASS_LIKE({text}, {literal(pattern)})"


DATAFUSION: Final = _DataFusion()
DUCKDB: Final = _DuckDB()
POSTGRES: Final = _Postgres()
SPARK: Final = _Spark()
SQLITE: Final = _SQLite()

_OPERATORS: Final = {name: operator for operator, name in NAMES.items()}


def expanded(
    node: Any, expressions: Any, formula: Callable[[str], str], template: str, dialect: str
) -> Any:
    """Replace a call of one of our functions by its formula; other nodes are unchanged.

    ``formula`` translates DuckDB's SQL into the engine's dialect, ``template`` binds the operands.
    """
    if not isinstance(node, expressions.Anonymous) or node.name not in _OPERATORS:
        return node
    operands = [part.sql(dialect=dialect) for part in node.expressions]
    first, second = [*operands, "NULL"][:2]  # the only operand twice would double with each level
    text = template.format(
        a=first,
        b=second,
        formula=formula(FORMULAS[_OPERATORS[node.name]]),
        pair=PAIR,
    )
    return expressions.Var(this=text)


# --- functions for SQLite -------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _pieces(pattern: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    """The parts before, between and after the % of a pattern, each with its length."""
    found, characters = [("", 0)], iter(pattern)
    for character in characters:
        if character == "%":
            found.append(("", 0))
            continue
        one = "." if character == "_" else re.escape(character)
        if character == "\\":
            one = re.escape(next(characters))
        piece, length = found.pop()
        found.append((piece + one, length + 1))
    return tuple((re.compile(piece, re.DOTALL), length) for piece, length in found)


def _matches(text: str, pattern: str) -> bool:
    """Whether a string matches a pattern whose escape is the backslash.

    Each piece is looked for once, at the first place where it can be. A regular expression with
    ``.*`` for % would try every combination of places.
    """
    (first, start), *middle = _pieces(pattern)
    if not middle:
        return first.fullmatch(text) is not None
    last, length = middle.pop()
    end = len(text) - length
    if end < start or not first.match(text) or not last.match(text, end):
        return False
    for piece, _ in middle:
        here = piece.search(text, start, end)
        if here is None:
            return False
        start = here.end()
    return True


def _like(raw: bytes | None, pattern: str) -> bool | None:
    return None if raw is None else _matches(raw.decode(), pattern)


def _extreme(choose: Callable[[list[float]], float]) -> Callable[..., float | None]:
    def found(*operands: float | None) -> float | None:
        present = [x for x in operands if x is not None]
        return choose(present) if present else None

    return found


#: By name, with the number of operands (-1 for any).
FUNCTIONS: Final[dict[str, tuple[int, Any]]] = {
    "HOURGLASS_BYTES": (1, str.encode),
    "HOURGLASS_LENGTH": (1, lambda raw: None if raw is None else len(raw.decode())),
    "HOURGLASS_LOWER": (1, lambda raw: None if raw is None else raw.lower()),
    "HOURGLASS_LIKE": (2, _like),
    "HOURGLASS_LEAST": (-1, _extreme(min)),
    "HOURGLASS_GREATEST": (-1, _extreme(max)),
}
