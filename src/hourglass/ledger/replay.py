"""The state of one budget, computed by replaying its entries.

The view trusts nothing: each entry must continue the chain and be an allowed transition. A store
therefore needs no index, running total or other redundant state that could disagree with the
entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from ..errors import LedgerCorruptError, LedgerRolledBackError
from .entries import FIRST, GENESIS, Entry, Row, read_row
from .rules import Cost, Sum, charged
from .store import no_such_budget
from .terms import Balance, Terms, read_rule
from .values import Amount, Anchor, Charge

__all__ = ["View"]

#: Amounts of budgets with slots or a filter are added up in units of one over this, rounded up, so
#: that odd fractions cannot make their sum long.
_PLACES: Final = 10**30


class View:
    """The state of one budget after the entries seen so far."""

    def __init__(self, name: str, anchor: Anchor | None = None) -> None:
        """The state before the first entry; the anchor is compared when its entry is read."""
        self.name = name
        self.number = -1
        self.hash = GENESIS
        self.used: Cost = ()
        self.charges: dict[int, Charge] = {}
        self.requests: dict[str, int] = {}
        self._reopened: set[int] = set()
        self._plain = True
        self._sum = Amount(Fraction(0))
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
    def spent(self) -> Amount:
        """What the charges cost together: their sum, or all that the budget promises."""
        limit = self.terms.limit
        return self._sum if self._sum.epsilon <= limit.epsilon else limit

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
            used=self.used,
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
            if (entry.kind in FIRST) != (entry.number == 0):
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
        rule = read_rule(entry)
        self._terms = Terms(self.name, rule, entry.at, entry.text("description"))
        self.used = (Fraction(0),) * len(rule.capacity)
        self._plain = isinstance(rule, Sum)

    def _reserve(self, entry: Entry) -> None:
        amount = entry.amount()
        if amount.epsilon <= 0 or not 0 <= amount.delta < 1:
            raise ValueError("the amount is out of range")
        used = charged(self.terms.rule, self.used, amount)
        if used is None:
            raise ValueError("the charge is more than remained")
        self._check_sum(entry, used)
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
        self.used = used
        counted = self._counted(amount)
        self._sum = Amount(*used) if self._plain else self._sum + counted
        person, slash, _ = request.partition("/")
        if slash:
            self._persons[person] = self.spent_by(person) + counted

    def _reopen(self, entry: Entry) -> None:
        """Written by earlier versions when a charge without an answer was resumed."""
        self._reopened.add(self._open_charge(entry).number)

    def _settle(self, entry: Entry) -> None:
        charge = self._open_charge(entry)
        self._check_sum(entry, self.used)
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
        if not self._plain:
            raise ValueError("it gives back a charge, which this budget's rule does not allow")
        if charge.number in self._reopened:
            raise ValueError("it gives back a charge that was resumed")
        self.charges[charge.number] = replace(charge, status="void", closed=entry.at)
        del self.requests[charge.request]
        self._sum = self._sum - charge.amount
        self.used = self._sum.pair
        person, slash, _ = charge.request.partition("/")
        if slash:
            self._persons[person] = self.spent_by(person) - charge.amount

    def _open_charge(self, entry: Entry) -> Charge:
        charge = self.charges.get(entry.whole("charge"))
        if charge is None or charge.status != "open":
            raise ValueError("it refers to a charge that is not open")
        return charge

    def _counted(self, amount: Amount) -> Amount:
        """The amount as it is added up; where its sum is not the rule, it need not be exact."""
        if self._plain:
            return amount
        return Amount(Fraction(math.ceil(amount.epsilon * _PLACES), _PLACES))

    def _check_sum(self, entry: Entry, used: Cost) -> None:
        """Check the sum in a PostgreSQL entry, from which the functions compute the next one."""
        said = entry.fields.get("spent" if self._plain else "used")
        if said is None:
            return
        if self._plain:
            right = isinstance(said, dict) and replace(entry, fields=said).amount().pair == used
        else:
            right = (entry.ratio("used"),) == used
        if not right:
            raise ValueError("it states a wrong sum")


_MOVES: Final = {
    **dict.fromkeys(FIRST, View._init),
    "reserve": View._reserve,
    "reopen": View._reopen,
    "settle": View._settle,
    "void": View._void,
}
