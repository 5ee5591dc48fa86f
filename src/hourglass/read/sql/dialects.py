"""What engines change in a query: the form of its columns, and its dialect.

SQLGlot translates the query into other dialects, and what it cannot know is corrected here.

Names of groups and persons are the same on every engine: they compare as bytes, whatever collation
a column declares. Text that is not valid UTF-8, or is longer than ``LONGEST`` bytes, which some
engines cannot hash, join or return, is missing. Each engine ensures both before the query proper:
see its ``sql``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from .query import Question

__all__ = ["Dialect", "exact_real", "integer_division", "numbers_apart"]

Mend = Callable[[Any, Any], Any]

#: SQLGlot calls itself some 25 times for each level of an expression, of which there may be 70:
#: more calls than Python allows by default.
_CALLS: Final = 5_000
_raising = threading.RLock()


@contextmanager
def _deep() -> Iterator[None]:
    """Room for SQLGlot to recurse, on top of the calls that led here.

    The limit is that of all threads, so only one of them changes it at a time.
    """
    with _raising:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(before + _CALLS)
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def _forget() -> None:
    """In a forked child, the thread of its parent that held the lock does not run."""
    global _raising
    _raising = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@dataclass(frozen=True)
class Dialect:
    """SQLGlot's name of the dialect, and corrections to the tree before it is written."""

    name: str
    mend: Mend | None = None

    def write(self, text: str) -> str:
        """Translate from DuckDB's dialect into this one."""
        return _written(text, self)

    def write_query(self, steps: Sequence[tuple[str, str]], last: str) -> str:
        """Translate a query step by step: many queries share steps, and some of them are long."""
        clauses = ", ".join(f"{name} AS ({self.write(body)})" for name, body in steps)
        return f"WITH {clauses} {self.write(last)}" if steps else self.write(last)

    def part(self, text: str) -> str:
        """Translate a part of a SELECT."""
        return self.write(f"SELECT {text}").removeprefix("SELECT ")


@lru_cache(maxsize=256)
def _written(text: str, dialect: Dialect) -> str:
    import sqlglot
    from sqlglot import expressions

    with _deep():
        tree: Any = sqlglot.parse_one(text, read="duckdb")
        if dialect.mend:
            for node in reversed(list(tree.walk())):  # the inner ones first
                mended = dialect.mend(node, expressions)
                if mended is not node:
                    node.replace(mended)
        written: str = tree.sql(dialect=dialect.name, pretty=False, copy=False)
    return written


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


# --- columns ------------------------------------------------------------------------------------


def numbers_apart(query: Question) -> tuple[Question, dict[str, str]]:
    """The query with new names for numbers in text that names groups, too; and their columns.

    A text that is too long for a name is NULL as a key, and may still be a number. That matters
    only if NULL is among the public keys: otherwise the row is left out.
    """
    found: dict[str, str] = {}
    if query.has_null_key:
        taken = {field.name.casefold() for field in query.fields}
        for name in sorted(query.names & query.number_fields.keys()):
            alias = f"{name} as a number"
            while alias.casefold() in taken:
                alias += "_"
            taken.add(alias.casefold())
            found[name] = alias
    if not found:
        return query, {}
    renamed = query.with_fields(lambda f: f, lambda f: replace(f, name=found.get(f.name, f.name)))
    return renamed, {alias: name for name, alias in found.items()}
