"""Which part of a question is not offered, and what is: checks a question against a dataset.

The words are fixed. What they list is in the catalogue, of a dataset that is open to the caller;
nothing that was sent is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Final

from ..core.exact import exact_number
from ..ledger.entries import shown_number
from .catalogue import Dataset
from .failures import Failure
from .holdings import Choice, column_sets

__all__ = ["chosen", "no_dataset", "not_a_set", "price", "wrong_field"]

#: No more than this many names are listed in a sentence; the reply has all of them.
_MOST_LISTED: Final = 20
#: A price has no more characters than this: those of a whole body take a tenth of a second.
_LONGEST: Final = 100


def chosen(dataset: Dataset, columns: Any, by: Any, filter_: Any, spread: Any) -> Choice:
    """The question without its price; raises a Failure that says what is not offered."""
    if not isinstance(columns, list | tuple) or not all(type(each) is str for each in columns):
        raise wrong_field("columns", 'takes a list of names, such as ["a", "b"]')
    for name, value in (("by", by), ("filter", filter_)):
        if not isinstance(value, str):
            raise wrong_field(name, "takes a name; leave it out for all records")
    if not isinstance(spread, bool):
        raise wrong_field("spread", "takes true or false")
    if tuple(columns) not in column_sets(dataset):
        raise not_a_set(dataset)
    if by and by not in dataset.groupings:
        raise _named("by", "grouping", dataset.groupings)
    if filter_ and filter_ not in dataset.filters:
        raise _named("filter", "filter", dataset.filters)
    wide = [name for name, column in dataset.columns.items() if column.spread]
    if spread and (len(columns) > 1 or columns[0] not in wide):
        raise _not_offered(
            "spread",
            f"the standard deviation is offered for {_listed(wide)}, one column at a time; leave "
            "spread out for other columns"
            if wide
            else "this dataset offers no standard deviation; leave spread out",
            wide,
        )
    return Choice(tuple(columns), by, filter_, spread)


def price(dataset: Dataset, epsilon: Any) -> Fraction:
    """The price that was named, if it is offered."""
    usable = isinstance(epsilon, int | float) or (
        isinstance(epsilon, str) and len(epsilon) <= _LONGEST
    )
    exact = exact_number(epsilon) if usable else None
    if exact is None or exact not in dataset.epsilons:
        offered = [shown_number(each) for each in dataset.epsilons]
        words = f"this price is not one of those offered; choose one of {_listed(offered)}"
        raise _not_offered("epsilon", words, offered, "bad_epsilon")
    return exact


def no_dataset(names: Iterable[str]) -> Failure:
    """No such dataset, or none for this person, to whom the named ones are open."""
    offered = list(names)
    words = "there is no such dataset, or it is not open to you; "
    words += f"open to you: {_listed(offered)}" if offered else "none is open to you"
    return _not_offered("dataset", words, offered, "no_such_dataset")


def not_a_set(dataset: Dataset) -> Failure:
    """These columns are not offered, or not together."""
    sets = column_sets(dataset)
    words = f"not offered, or not together; choose one of {_listed([*dataset.columns])}"
    if dataset.together:
        together = [" with ".join(each) for each in dataset.together]
        words += f", or together, in this order: {_listed(together, '; ')}"
    return _not_offered("columns", words, [list(each) for each in sets])


def wrong_field(argument: str, words: str) -> Failure:
    """A field that is missing, or of the wrong type."""
    return Failure("bad_fields", words=f"{argument}: {words}.", argument=argument)


def _named(argument: str, kind: str, offered: Iterable[str]) -> Failure:
    names = list(offered)
    words = f"this {kind} is not offered; choose one of {_listed(names)}, or leave {argument} out"
    if not names:
        words = f"this dataset offers no {kind}; leave {argument} out"
    return _not_offered(argument, words, names)


def _not_offered(
    argument: str, words: str, offered: Sequence[Any], code: str = "not_offered"
) -> Failure:
    return Failure(code, words=f"{argument}: {words}.", argument=argument, offered=offered)


def _listed(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _MOST_LISTED
    words = between.join(names[:_MOST_LISTED])
    return f"{words} and {more} more, which /datasets lists" if more > 0 else words
