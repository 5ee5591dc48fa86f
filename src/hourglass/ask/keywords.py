"""The types of the keyword arguments of the public calls.

Those of ``count``, ``sum`` and ``mean`` extend each other. The arguments that affect the type of
the result are left out; the overloads of each function have them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

from ..core.limits import Unit
from ..noise.bits import Bits
from ..read.sql.expression.given import Expression

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["CountKeywords", "FindKeywords", "MeanKeywords", "SumKeywords", "with_options"]


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


class FindKeywords(TypedDict, total=False):
    """The arguments of a search for bounds."""

    epsilon: Any
    where: str | Expression | None
    scale: Any
    share: Any
    unit: Unit | None
    parse: str | None
    engine: str | None
    budget: Budget | None
    request: str | None
    bits: Bits


Call = TypeVar("Call", bound=Callable[..., Any])

#: The options without which there is no answer; they come first.
_REQUIRED: Final = ("bounds", "epsilon")


def with_options(question: Callable[..., Any]) -> Callable[[Call], Call]:
    """Give a function a signature that spells out the ``**options`` it passes to ``question``.

    ``inspect.signature``, and with it the help of notebooks and editors, then shows all of them.
    """
    asked = inspect.signature(question).parameters
    options = [
        each.replace(default=each.empty) if each.name in _REQUIRED else each
        for each in sorted(asked.values(), key=lambda each: each.name not in _REQUIRED)
        if each.kind is each.KEYWORD_ONLY
    ]

    def spelled(call: Call) -> Call:
        given = inspect.signature(call)
        own = given.parameters.values()
        call.__signature__ = given.replace(  # type: ignore[attr-defined]
            parameters=[
                *(each for each in own if each.kind is each.POSITIONAL_OR_KEYWORD),
                *(given.parameters.get(each.name, each) for each in options),
                *(e for e in own if e.kind is e.KEYWORD_ONLY and e.name not in asked),
            ]
        )
        return call

    return spelled
