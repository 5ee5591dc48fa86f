"""The types of the keyword arguments that ``count``, ``sum`` and ``mean`` share.

Each class extends the one before. The arguments that affect the type of the result are left out;
the overloads of each function have them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from ..core.unit import Unit
from ..noise.bits import Bits
from ..read.sql.expression.given import Expression

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["CountKeywords", "MeanKeywords", "SumKeywords"]


class CountKeywords(TypedDict, total=False):
    """The arguments of every question: its price, rows, groups, engine and budget."""

    epsilon: Any
    where: str | Expression | None
    keys: Any
    delta: Any
    unit: Unit | None
    engine: str | None
    budget: Budget | None
    request: str | None
    bits: Bits


class SumKeywords(CountKeywords, total=False):
    """The further arguments of a question about values."""

    bounds: Any
    grid: Any
    missing: Any
    parse: Any
    outside: Any


class MeanKeywords(SumKeywords, total=False):
    """The further arguments of a mean."""

    algorithm: str
    estimator: str
    spread: bool
