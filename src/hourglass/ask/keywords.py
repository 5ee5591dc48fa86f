"""The types of the keyword arguments that ``count``, ``sum`` and ``mean`` share.

Each has those of the one before. Left out are the arguments that decide what comes back: the
overloads of each function name them.
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
    """What every question has: a price, rows, groups, an engine and a budget."""

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
    """What a question about values has besides."""

    bounds: Any
    grid: Any
    missing: Any
    parse: Any
    outside: Any


class MeanKeywords(SumKeywords, total=False):
    """What a mean has besides."""

    algorithm: str
    estimator: str
    spread: bool
