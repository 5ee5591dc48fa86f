"""Translate the query into other dialects with SQLGlot, and correct what it cannot know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["Dialect", "exact_real", "with_source"]

Mend = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Dialect:
    """SQLGlot's name of the dialect, and corrections to the tree before it is written."""

    name: str
    mend: Mend | None = None

    def write(self, text: str) -> str:
        """Translate from DuckDB's dialect into this one."""
        return _written(text, self)

    def part(self, text: str) -> str:
        """Translate a part of a SELECT."""
        return self.write(f"SELECT {text}").removeprefix("SELECT ")


@lru_cache(maxsize=64)
def _written(text: str, dialect: Dialect) -> str:
    import sqlglot
    from sqlglot import expressions

    tree: Any = sqlglot.parse_one(text, read="duckdb")
    if dialect.mend:
        for node in reversed(list(tree.walk())):  # the inner ones first
            mended = dialect.mend(node, expressions)
            if mended is not node:
                node.replace(mended)
    written: str = tree.sql(dialect=dialect.name, pretty=False, copy=False)
    return written


def with_source(native: str, body: str) -> str:
    """The query over what ``native`` selects, both in the engine's dialect."""
    source = f"WITH source AS (\n  {native}\n)"
    return f"{source},\n{body[5:]}" if body.startswith("WITH ") else f"{source}\n{body}"


def integer_division(node: Any, expressions: Any) -> Any:
    """a // b as a / b, for engines where that truncates integers."""
    if isinstance(node, expressions.IntDiv):
        first, second = node.this.copy(), node.expression.copy()
        return expressions.Div(this=first, expression=second, typed=True, safe=False)
    return node


def exact_real(value: float) -> str:
    """A double as a product of integers, for engines that misread decimals: SQLite."""
    if value in (float("inf"), float("-inf")):
        return "9e999" if value > 0 else "-9e999"
    numerator, denominator = value.as_integer_ratio()
    mantissa, shift = numerator, 1 - denominator.bit_length()
    while mantissa and mantissa % 2 == 0 and abs(mantissa) >= 2**53:
        mantissa, shift = mantissa // 2, shift + 1
    text = f"CAST({mantissa} AS REAL)"
    while shift:
        step = min(62, abs(shift))
        text = f"{text} {'*' if shift > 0 else '/'} CAST({2**step} AS REAL)"
        shift -= step if shift > 0 else -step
    return f"({text})"
