"""The types of the keyword arguments of the public calls.

Those of ``count``, ``sum`` and ``mean`` extend each other. The arguments that affect the type of
the result are left out; the overloads of each function have them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar

from ..core.limits import Unit
from ..noise.bits import Bits
from ..read.sql.expression.given import Expression

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["CountKeywords", "FindKeywords", "MeanKeywords", "SumKeywords", "misfit", "with_options"]


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


#: What other libraries, and people, call some of the options.
_MEANT: Final = {
    "range": "bounds", "lower": "bounds", "upper": "bounds", "group_by": "by", "groupby": "by",
    "groups": "keys", "filter": "where", "query": "where", "person": "unit", "privacy_unit": "unit",
}  # fmt: skip


def misfit(call: Callable[..., Any], unnamed: Sequence[Any], options: Iterable[str]) -> TypeError:
    """The error for values that need a name, or for an option that does not exist."""
    name, parameters = call.__name__.rstrip("_"), inspect.signature(call).parameters
    known = [each.name for each in parameters.values() if each.kind is each.KEYWORD_ONLY]
    if unnamed:
        example = "bounds=(0, 120), epsilon=1" if "bounds" in known else "epsilon=1"
        return TypeError(
            f"{name}() takes only data and column without a name; name what follows, as in "
            f"{name}(data, 'age', {example})"
        )
    wrong = min(set(options) - {*known})
    near = [_MEANT[wrong]] if wrong in _MEANT else get_close_matches(wrong, known, n=1)
    listed = f"its options are {', '.join(known)}"
    hint = f"did you mean {near[0]!r}?" if {*near} & {*known} else listed
    return TypeError(f"{name}() got an unexpected keyword argument {wrong!r}; {hint}")
