"""Engine-specific SQL: operators that use an operand twice, strings, and the bucket of a number.

The SQL of an expression is generated in DuckDB's dialect, and SQLGlot translates it. An operand is
evaluated once, however often a formula uses it: in a lambda on DuckDB and Spark, in a subquery on
PostgreSQL, in a user-defined function on SQLite and DataFusion.

Engines have formulas of their own, in which a plan has an operand twice, so that it would double
with each level of an expression:

- BETWEEN is two comparisons on DuckDB, PostgreSQL, DataFusion and Spark;
- IN is several comparisons on DuckDB;
- LIKE 'a%b' is three tests on Spark;
- COALESCE is a CASE on DataFusion, and a CASE of conditions is ANDs and ORs; to find the type of a
  CASE, and whether it can be NULL, it looks at each of its parts more than once.

So a test whose operand may contain such a formula is a formula of ours, see ``Words.once``, and
DataFusion has functions of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..buckets import Thresholds, halving, tree, width_bucket
from ..cells import literal
from .arithmetic import FORMULAS, NAMES, PAIR

__all__ = [
    "BRANCHES", "DATAFUSION", "DUCKDB", "FUNCTIONS", "POSTGRES", "SPARK", "SQLITE", "Once", "Words",
    "between", "expanded",
]  # fmt: skip

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: A test, as SQL, of operands as SQL.
Test = Callable[..., str]


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

    def first(self, operands: Sequence[str], kind: str) -> str:
        """COALESCE of operands of a type."""
        return f"COALESCE({', '.join(operands)})"

    def case(self, parts: Sequence[str], kind: str, *, deep: bool) -> str:
        """CASE, from each condition and its result, and the other result, of a type.

        ``deep`` says that one of them has a CASE in it.
        """
        *pairs, otherwise = parts
        tests = zip(pairs[::2], pairs[1::2], strict=True)
        branches = " ".join(f"WHEN {test} THEN {result}" for test, result in tests)
        return f"CASE {branches} ELSE {otherwise} END"

    def between(self, operands: Sequence[str], kind: str) -> str:
        """BETWEEN, of operands that may be deep."""
        return self.once(between, operands)

    def once(self, test: Test, operands: Sequence[str]) -> str:
        """A test of operands that are evaluated once, whatever the engine makes of it."""
        return test(*operands)

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


def between(operand: str, low: str, high: str) -> str:
    """BETWEEN, of operands that the engine may evaluate twice."""
    return f"({operand} BETWEEN {low} AND {high})"


#: By how many branches of a CASE a function of DataFusion is called.
BRANCHES: Final = (32, 16, 8, 4, 2, 1)


class _DataFusion(Words):
    """DataFusion: functions with a name for each type of operands."""

    def first(self, operands: Sequence[str], kind: str) -> str:
        if len(operands) == 1:
            return operands[0]
        half = len(operands) // 2  # a tree of the least depth, since there may be a thousand
        halves = [self.first(part, kind) for part in (operands[:half], operands[half:])]
        return f"HOURGLASS_COALESCE_{kind}({', '.join(halves)})"

    def case(self, parts: Sequence[str], kind: str, *, deep: bool) -> str:
        if not deep:
            return super().case(parts, kind, deep=deep)
        *branches, found = parts
        while branches:  # the last ones are the innermost
            count = next(n for n in BRANCHES if 2 * n <= len(branches))
            found = f"HOURGLASS_CASE{count}_{kind}({', '.join([*branches[-2 * count :], found])})"
            del branches[-2 * count :]
        return found

    def between(self, operands: Sequence[str], kind: str) -> str:
        return f"HOURGLASS_BETWEEN_{kind}({', '.join(operands)})"


class _Once(Words):
    """Engines that bind the operands of a formula, see :func:`expanded`."""

    def once(self, test: Test, operands: Sequence[str]) -> str:
        return f"{_ONCE}({', '.join([*operands, _bound(test, operands)])})"


class _Spark(_Once):
    """Spark, which takes long to compile a large tree."""

    def bucket(self, thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
        return halving(thresholds, source)


class _Escaping(Words):
    """PostgreSQL, where the escape must be explicit, and so must the collation of a constant."""

    def text(self, value: str) -> str:
        return f'({literal(value)} COLLATE "C")'

    def like(self, text: str, pattern: str) -> str:
        escape = " ESCAPE '\\'" if "\\" in pattern else ""
        return f"({text} LIKE {literal(pattern)}{escape})"


class _Postgres(_Escaping, _Once):
    def bucket(self, thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
        return [("bucketed", f"SELECT {width_bucket(thresholds)} AS t FROM {source}")]


#: The names of operands in a formula, and of the function that stands for a test of some.
_NAMES: Final = "abc"
_ONCE: Final = "HOURGLASS_ONCE"


def _bound(test: Test, operands: Sequence[str]) -> str:
    return test(*(f"{PAIR}.{name}" for name, _ in zip(_NAMES, operands, strict=False)))


class _DuckDB(_Escaping):
    def compute(self, operator: str, operands: Sequence[str]) -> str:
        return self._lambda(operands, FORMULAS[operator])

    def once(self, test: Test, operands: Sequence[str]) -> str:
        return self._lambda(operands, _bound(test, operands))

    def _lambda(self, operands: Sequence[str], formula: str) -> str:
        named = ", ".join(f"{n} := {x}" for n, x in zip(_NAMES, operands, strict=False))
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


@dataclass(frozen=True)
class Once:
    """How a dialect evaluates the operands of a formula once.

    In ``template``, {operands} are like ``operand`` with a {name} and a {value}.
    """

    dialect: str
    template: str
    operand: str

    def written(self, formula: str, operands: Sequence[str]) -> str:
        """The formula over these operands, all of them in the dialect."""
        pairs = zip(_NAMES, operands, strict=False)
        named = ", ".join(self.operand.format(name=name, value=value) for name, value in pairs)
        return self.template.format(formula=formula, operands=named, pair=PAIR)


def expanded(node: Any, expressions: Any, formula: Callable[[str], str], once: Once) -> Any:
    """Replace a call of one of our functions by its formula; other nodes are unchanged.

    ``formula`` translates DuckDB's SQL into the engine's dialect.
    """
    if not isinstance(node, expressions.Anonymous) or node.name not in (*_OPERATORS, _ONCE):
        return node
    operands = [part.sql(dialect=once.dialect) for part in node.expressions]
    test = operands.pop() if node.name == _ONCE else formula(FORMULAS[_OPERATORS[node.name]])
    return expressions.Var(this=once.written(test, operands))


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
