"""``hg.expression``: a column that is computed from others."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....errors import OptionError
from .nodes import Node, columns_of, text_of
from .parsing import parsed

__all__ = ["Expression", "expression"]


@dataclass(frozen=True, eq=False)
class Expression:
    """A computed column; ``text`` is its canonical spelling, which names it in an answer.

    It is equal to its text, so ``answer[expression]`` finds the column.
    """

    text: str
    tree: Node = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expression | str):
            return str(self) == str(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


def expression(text: str) -> Expression:
    """A column computed row by row from others, for ``hg.mean``, ``hg.sum`` and ``hg.find_bounds``.

    ``text`` is a number (``"arr_delay - dep_delay"``) or a condition (``"dep_delay > 15"``, whose
    mean with ``bounds=(0, 1)`` is the share of rows for which it holds). The language has
    comparisons, AND, OR, NOT, + - * /, IN, BETWEEN, LIKE, IS NULL, CASE, ABS, COALESCE, FLOOR,
    GREATEST, LEAST, LENGTH, LOWER, YEAR, MONTH, DAY, WEEKDAY and HOUR; docs/questions.md describes
    it.
    """
    tree = parsed(text, "expression")
    if not columns_of(tree):
        raise OptionError("expression: it uses no column; name one")
    return Expression(text_of(tree), tree)
