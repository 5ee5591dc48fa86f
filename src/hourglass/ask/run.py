"""Charge, look, store, hand out: in this order, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..errors import OptionError

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["Answer", "charged"]


class Answer(Protocol):
    """What can be written down and read back."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""


Found = TypeVar("Found", bound=Answer)


def charged(
    budget: Budget | None,
    request: str | None,
    work: Callable[[], Found],
    restore: Callable[[dict[str, Any]], Found],
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    question: str,
    subject: str,
) -> Found:
    """The answer that ``work`` finds in the data, once the budget has been charged for it.

    The same question under the same request key costs nothing and brings the stored answer.
    A failure after the charge leaves it standing, with a note that names the request.
    """
    if budget is None:
        if request is not None:
            raise OptionError(f"request={request!r} is kept in a budget; give budget= as well")
        return work()
    if not hasattr(budget, "reserve"):
        raise OptionError(
            f"budget= takes an hg.Budget, not a {type(budget).__name__}; open one with "
            "hg.Budget(ledger, name), the ledger being a file or the URL of a database"
        )
    reservation = budget.reserve(
        epsilon, delta, question=question, request=request, description=subject
    )
    if reservation.answer is not None:
        return restore(reservation.answer)
    try:
        found = work()
        written = found.to_dict()
        stored = reservation.settle(written)
    except BaseException as error:
        error.add_note(
            f"The charge stands. The same question with request={reservation.request!r} "
            "costs nothing more."
        )
        raise
    # Another process may have answered the same request first: then its answer is the answer.
    return found if stored == written else restore(stored)
