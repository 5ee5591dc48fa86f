"""``hg.find_bounds``: find bounds privately for a column whose range is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from ..core.unit import Unit
from ..noise.bits import SECURE, Bits
from ..read.sql.expression.given import Expression
from ..release.found import FoundBounds
from .keywords import with_options
from .run import explained, run
from .search import bounds_question

if TYPE_CHECKING:
    from ..ledger import Budget


__all__ = ["find_bounds"]


class _Options(TypedDict, total=False):
    """The options of :func:`find_bounds` that do not affect the type of the result."""

    epsilon: Any
    where: str | Expression | None
    scale: Any
    share: Any
    unit: Unit | None
    parse: str | None
    engine: str | None


@overload
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *,
    budget: Budget | None = None,
    request: str | None = None,
    explain: Literal[False] = False,
    bits: Bits = SECURE,
    **options: Unpack[_Options],
) -> FoundBounds: ...
@overload
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *,
    budget: Budget | None = None,
    request: str | None = None,
    explain: Literal[True],
    bits: Bits = SECURE,
    **options: Unpack[_Options],
) -> str: ...
@with_options(bounds_question)
def find_bounds(
    data: Any,
    column: str | Expression | None = None,
    *,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
    **options: Unpack[_Options],
) -> FoundBounds | str:
    """Find bounds for a column of numbers with epsilon-DP (one unit added or removed).

    Pass the result to :func:`hourglass.mean` as ``bounds=``; the two epsilons add up. Bounds
    known from the domain cost nothing and are better.

    Parameters
    ----------
    data, column
        What :func:`hourglass.mean` takes: a column of numbers, or a table and the name of its
        column (or an ``hg.expression``).
    epsilon
        The price. There is no default.
    scale
        A public list of candidate bounds in increasing order. By default 0 and ±2^(k/4) from
        2^-64 to 2^64, rounded for a column of integers.
    share
        The share of epsilon reserved for the end nearer to zero, which matters if all values lie on
        one side of it.
    unit
        Whose presence is hidden: ``hg.per_row()`` (the default), or ``hg.per_person("id")``,
        where one row of each person counts, chosen by a hash of the person's id; with
        ``rows=k`` up to k of them count, and epsilon is divided by k.
    where, parse, engine, budget, request, explain, bits
        As in :func:`hourglass.mean`.
    """
    question = bounds_question(data, column, **options)
    return explained(question) if explain else run(question, budget, request, bits=bits)
