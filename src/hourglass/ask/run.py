""":func:`run` answers a question: charge, read, add noise, estimate, store, in this order.

Every public call goes through it. A :class:`Question` was checked in full when it was constructed,
and has not read a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ..errors import BudgetError, OptionError, SourceError, shown
from ..noise.bits import SECURE, Bits

if TYPE_CHECKING:
    from ..ledger import Budget, Reservation


__all__ = ["Answer", "Question", "explained", "is_failure", "run"]

#: Stored in place of an answer that could not be completed.
_FAILED: Final = "failed"


class Answer(Protocol):
    """An answer: plain values, safe to publish."""

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, which is what a budget stores."""


Found_co = TypeVar("Found_co", bound=Answer, covariant=True)


class Question(Protocol[Found_co]):
    """A question, checked in full; no row has been read yet."""

    @property
    def epsilon(self) -> Fraction:
        """Its price in epsilon."""

    @property
    def delta(self) -> Fraction:
        """Its price in delta; 0 for pure epsilon-DP."""

    @property
    def sql(self) -> str | None:
        """The SQL that will run; None for data in memory."""

    @property
    def text(self) -> str:
        """The question as canonical text: equal for equal questions, in every process."""

    @property
    def subject(self) -> str:
        """A short public description of the question."""

    def read(self) -> Any:
        """Read the data once and return the exact, secret totals."""

    def noise(self, secret: Any, bits: Bits) -> Any:
        """Add noise to the totals; the result is safe to publish."""

    def rehearse(self) -> None:
        """Answer made-up totals and store nothing, so that failures happen before the charge."""

    def answer(self, noisy: Any, *, private: bool) -> Found_co:
        """Estimate the answer from the noisy totals alone."""

    def restore(self, stored: Mapping[str, Any]) -> Found_co:
        """Rebuild an answer that was stored by :meth:`Answer.to_dict`."""


def run(
    question: Question[Found_co],
    budget: Budget | None = None,
    request: str | None = None,
    *,
    bits: Bits = SECURE,
) -> Found_co:
    """Answer a question: charge the budget, read the data, add the noise, store the answer.

    The same question under the same ``request`` key costs nothing and returns the stored answer. If
    the data cannot be read, the charge stands, and a note on the error names the key under which
    the question can be asked again at no further cost. A failure after the noise was drawn is
    stored, and the key stays closed.
    """
    reservation = _reserved(question, budget, request)
    if reservation is None:
        return question.answer(question.noise(question.read(), bits), private=bits.private)
    if reservation.answer is not None:
        return _restored(question, reservation.answer)
    try:
        return _settled(question, question.read(), bits, reservation)
    except BaseException as error:
        if not is_failure(reservation.answer or {}):
            error.add_note(
                f"The charge stands. The same question with request={reservation.request!r} "
                "costs nothing more."
            )
        raise


def _settled(
    question: Question[Found_co], secret: Any, bits: Bits, reservation: Reservation
) -> Found_co:
    """The answer, stored.

    A failure here may depend on the noise. If the question could be asked again, it would be
    answered with new noise, and the number of failures would reveal something about the data at no
    charge. So the failure is stored in place of the answer, unless it is the ledger's own.
    """
    try:
        found = question.answer(question.noise(secret, bits), private=bits.private)
        written = found.to_dict()
        stored = reservation.settle(written)
    except BudgetError:
        raise
    except Exception:
        reservation.settle({_FAILED: True})
        raise
    # If another process stored an answer to the same request first, return that answer.
    return found if stored == written else _restored(question, stored)


def is_failure(stored: Mapping[str, Any]) -> bool:
    """Whether a failure is stored in place of an answer."""
    return _FAILED in stored


def _restored(question: Question[Found_co], stored: Mapping[str, Any]) -> Found_co:
    if is_failure(stored):
        raise SourceError(
            "request: this question failed after its noise was drawn, so it can never be answered "
            "under this key, and the charge stands; ask again under another key, at a new charge"
        )
    return question.restore(stored)


def explained(question: Question[Any]) -> str:
    """The SQL that would run, formatted for reading."""
    return question.sql or "-- numbers in memory: no SQL runs, NumPy aggregates them\n"


def _reserved(
    question: Question[Any], budget: Budget | None, request: str | None
) -> Reservation | None:
    """Make the charge, durably; None if there is no budget."""
    if budget is None:
        if request is not None:
            raise OptionError(
                f"request={shown(request)} needs a budget to store the answer in; give budget= "
                "as well"
            )
        return None
    if not hasattr(budget, "reserve"):
        raise OptionError(
            f"budget= takes an hg.Budget, not a {type(budget).__name__}; open one with "
            "hg.Budget(ledger, name), where ledger is a file or the URL of a database"
        )
    from ..ledger.entries import short_text

    question.rehearse()
    return budget.reserve(
        question.epsilon,
        question.delta,
        question=question.text,
        request=request,
        description=short_text(question.subject),
    )


# --- questions about totals -----------------------------------------------------------------------
