""":func:`run` answers a question: charge, read, add noise, estimate, store, in this order.

Every public call goes through it. A :class:`Question` was checked in full when it was constructed,
and has not read a row. Questions about totals share a base: it reads groups, adds noise, and
chooses which groups to publish.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

import numpy as np

from ..core.keys import NAMELESS, Keys
from ..core.totals import Groups, Totals, Wide, joined
from ..core.unit import Unit
from ..errors import BudgetError, OptionError, SourceError, shown
from ..mechanisms.outside import OutsideCounts
from ..noise.bits import BLOCK, SECURE, Bits, SeededBits
from ..read.open import PublicKeys
from ..read.source import Source
from ..read.sql.query import Query

if TYPE_CHECKING:
    from ..ledger import Budget, Reservation


__all__ = [
    "Answer",
    "Question",
    "TotalsQuestion",
    "explained",
    "is_failure",
    "run",
]

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


@dataclass(frozen=True, kw_only=True)
class TotalsQuestion:
    """A checked question about totals; no row has been read yet.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at epsilon divided by the
    records of a unit. ``outside`` counts values outside the bounds, with noise of its own; None if
    that was not asked for. ``place`` holds what distinguishes the question from others.
    """

    epsilon: Fraction
    delta: Fraction
    sql: str | None = field(repr=False)
    mechanism: Any
    unit: Unit
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    outside: OutsideCounts | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)

    def about(self, source: Source) -> Self:
        """The same question, about other data of the same kind."""
        question = object.__new__(type(self))
        question.__dict__.update(self.__dict__, source=source)  # dataclasses.replace takes 6 us
        return question

    @property
    def text(self) -> str:
        """The question as canonical text. It leaves out the SQL, in which engines make up names."""
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "unit": str(self.unit),
        }
        facts |= self._facts() | self.place
        return json.dumps(facts, sort_keys=True, default=PublicKeys.written)

    def _facts(self) -> dict[str, Any]:
        """Further facts that distinguish this statistic's question from others."""
        return {}

    def read(self) -> Groups:
        """The exact totals of each group; of one unnamed group if there is no ``by``."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, Any]:
        """The keys to publish, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self._noised_groups(self.keys.padded(secret), bits)
        if not self.by:
            return NAMELESS, self._noised(secret.only, bits)
        noisy = self._noised_groups(secret, bits)
        # A group without records (all its values are missing) is never published, whether the
        # engine returns it or not.
        kept = np.flatnonzero((noisy.sizes >= self.threshold) & (secret.count > 0))
        kept = kept[secret.keys.take(kept).order()]  # the order of the data is not published
        return secret.keys.take(kept), noisy.take(kept)

    def _noised_groups(self, groups: Groups, bits: Bits) -> Any:
        """Add noise to the totals of groups, in blocks that stay in the cache."""
        return joined([self._noised(totals, bits) for totals in groups.blocks(BLOCK)])

    def _noised(self, totals: Totals, bits: Bits) -> Any:
        """Add noise to the totals of one group or of many."""
        if self.outside is None:
            return self.mechanism.noise(totals, bits=bits)
        asked = len(self.outside.sums)
        plain = Totals(totals.cells, totals.count, totals.more[:-asked])
        noisy = self.mechanism.noise(plain, bits=bits)
        return self.outside.noise(noisy, totals.more[-asked:], bits=bits)

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The answer, computed from the noisy totals."""
        raise NotImplementedError

    def rehearse(self) -> None:
        """Answer the totals of one made-up record, so that failures happen before the charge."""
        nothing: Any = Wide.of(np.zeros(1, dtype=np.int64)) if self.by else 0
        one = Totals(nothing, nothing + 1, (nothing,) * (len(self.query.sums) - 1))
        keys = Keys.of([(None,) * len(self.by)], len(self.by))
        noisy = self._noised(one, SeededBits(0))
        json.dumps(self.answer((keys, noisy), private=False).to_dict(), allow_nan=False)
