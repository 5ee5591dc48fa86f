"""The state of one budget, computed by replaying its entries.

The view trusts nothing: each entry must continue the chain and be an allowed transition. A store
therefore needs no index, running total or other redundant state that could disagree with the
entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from ..errors import LedgerCorruptError, LedgerRolledBackError
from .entries import GENESIS, Entry, Row, read_row
from .store import no_such_budget
from .values import Amount, Anchor, Balance, Charge, Terms

__all__ = ["View"]


class View:
    """The state of one budget after the entries seen so far."""

    def __init__(self, name: str, anchor: Anchor | None = None) -> None:
        """The state before the first entry; the anchor is compared when its entry is read."""
        self.name = name
        self.number = -1
        self.hash = GENESIS
        self.spent = Amount(Fraction(0))
        self.charges: dict[int, Charge] = {}
        self.requests: dict[str, int] = {}
        self._reopened: set[int] = set()
        self._persons: dict[str, Amount] = {}
        self._terms: Terms | None = None
        self._anchor = anchor

    @property
    def terms(self) -> Terms:
        """The budget's terms; a view without entries has none."""
        if self._terms is None:
            raise no_such_budget(self.name)
        return self._terms

    @property
    def balance(self) -> Balance:
        """The balance of the budget."""
        counted = [charge for charge in self.charges.values() if charge.status != "void"]
        return Balance(
            terms=self.terms,
            spent=self.spent,
            charges=len(counted),
            open=sum(charge.status == "open" for charge in counted),
            anchor=Anchor(self.name, self.number, self.hash),
        )

    def follow(self, rows: Iterable[Row]) -> None:
        """Apply the rows from this view's last entry on, including that one.

        The store must still have the last entry of this view; an older copy that was put back does
        not.
        """
        stream = iter(rows)
        if self.number >= 0:
            head = next(stream, None)
            if head is None or (head.number, head.hash) != (self.number, self.hash):
                raise LedgerRolledBackError(
                    f"budget {self.name!r}: entry {self.number}, seen before by this process, is "
                    "no longer there; an older copy was put back or the ledger was rewritten"
                )
        for row in stream:
            self.apply(row)
        if self._anchor is not None and self.number < self._anchor.number:
            raise LedgerRolledBackError(
                f"budget {self.name!r}: the ledger ends at entry {self.number}, but the anchor "
                f"was taken at entry {self._anchor.number}; an older copy was put back"
            )

    def apply(self, row: Row) -> None:
        """Apply one entry, or raise a LedgerCorruptError that names it and change nothing."""
        anchor = self._anchor
        if anchor is not None and anchor.number == row.number and anchor.hash != row.hash:
            raise LedgerRolledBackError(
                f"budget {self.name!r}: entry {row.number} is not the one the anchor was taken "
                "at; the ledger was rewritten or belongs to another budget of the same name"
            )
        try:
            entry = read_row(row)
            if (entry.budget, entry.number) != (self.name, row.number):
                raise ValueError("the line was moved here from another place")
            if entry.number != self.number + 1:
                raise ValueError(f"the entry after {self.number} is missing")
            if entry.previous != self.hash:
                raise ValueError("it does not continue the entry before it")
            if (entry.kind == "init") != (entry.number == 0):
                raise ValueError("only the first entry opens a budget")
            _MOVES[entry.kind](self, entry)
        except ValueError as error:
            raise LedgerCorruptError(
                f"budget {self.name!r}, entry {row.number}: {error}; "
                "`hourglass budget verify` lists every fault, and nothing is repaired silently"
            ) from None
        self.number, self.hash = row.number, row.hash

    def standing(self, request: str) -> Charge | None:
        """The charge that holds the request key, if it was not given back."""
        number = self.requests.get(request)
        return None if number is None else self.charges[number]

    def spent_by(self, person: str) -> Amount:
        """The cost of the charges whose request keys begin with the person's name and a slash."""
        return self._persons.get(person, Amount(Fraction(0)))

    def _init(self, entry: Entry) -> None:
        limit = entry.amount()
        if limit.epsilon <= 0 or not 0 <= limit.delta < 1:
            raise ValueError("the limit is out of range")
        self._terms = Terms(self.name, limit, entry.at, entry.text("description"))

    def _reserve(self, entry: Entry) -> None:
        amount = entry.amount()
        if amount.epsilon <= 0 or not 0 <= amount.delta < 1:
            raise ValueError("the amount is out of range")
        spent = self.spent + amount
        if not spent.fits(self.terms.limit):
            raise ValueError("the charge is more than remained")
        _check_sum(entry, spent)
        request = entry.text("request")
        if request in self.requests:
            raise ValueError("its request key is already charged")
        self.charges[entry.number] = Charge(
            number=entry.number,
            amount=amount,
            request=request,
            question=entry.text("question"),
            description=entry.text("description"),
            reserved=entry.at,
            by=entry.text("by") if "by" in entry.fields else None,
        )
        self.requests[request] = entry.number
        self.spent = spent
        person, slash, _ = request.partition("/")
        if slash:
            self._persons[person] = self.spent_by(person) + amount

    def _reopen(self, entry: Entry) -> None:
        """Written by earlier versions when a charge without an answer was resumed."""
        self._reopened.add(self._open_charge(entry).number)

    def _settle(self, entry: Entry) -> None:
        charge = self._open_charge(entry)
        _check_sum(entry, self.spent)
        self.charges[charge.number] = replace(
            charge,
            status="settled",
            closed=entry.at,
            answer_number=entry.number,
            answer_hash=entry.text("answer"),
        )

    def _void(self, entry: Entry) -> None:
        """Written by earlier versions when a charge was given back."""
        charge = self._open_charge(entry)
        if charge.number in self._reopened:
            raise ValueError("it gives back a charge that was resumed")
        self.charges[charge.number] = replace(charge, status="void", closed=entry.at)
        del self.requests[charge.request]
        self.spent = self.spent - charge.amount
        person, slash, _ = charge.request.partition("/")
        if slash:
            self._persons[person] = self.spent_by(person) - charge.amount

    def _open_charge(self, entry: Entry) -> Charge:
        charge = self.charges.get(entry.whole("charge"))
        if charge is None or charge.status != "open":
            raise ValueError("it refers to a charge that is not open")
        return charge


def _check_sum(entry: Entry, spent: Amount) -> None:
    """Check the sum in a PostgreSQL entry, from which the functions compute the next one."""
    said = entry.fields.get("spent")
    if said is None:
        return
    if not isinstance(said, dict) or replace(entry, fields=said).amount() != spent:
        raise ValueError("it states a wrong sum")


_MOVES: Final = {
    "init": View._init,
    "reserve": View._reserve,
    "reopen": View._reopen,
    "settle": View._settle,
    "void": View._void,
}
