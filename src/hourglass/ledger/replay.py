"""What a budget allows, and its state: the rule that adds up charges, and the replay of entries.

A rule gives each charge a cost and accepts charges while the costs add up to no more than its
capacity. What it accepts is together (limit.epsilon, limit.delta)-DP, even if answers decide what
is asked next and when to stop. The plain rule is here, the others are in slots.py and renyi.py;
docs/budget.md has the proofs.

The view trusts nothing: each entry must continue the chain and be an allowed transition. A store
therefore needs no index, running total or other redundant state that could disagree with the
entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add, le
from typing import Any, ClassVar, Final, Protocol, TypeVar

from ..errors import LedgerCorruptError, LedgerRolledBackError
from .entries import (
    FIRST,
    GENESIS,
    Amount,
    Anchor,
    Charge,
    Entry,
    Row,
    amount_fields,
    charged_amount,
    read_row,
    shown_number,
    shown_numbers,
)
from .store import no_such_budget

__all__ = [
    "Balance", "Cost", "Rule", "Sum", "Terms", "View", "charged", "covers", "more_fit", "own_delta",
    "read_limit", "register",
]  # fmt: skip

# --- rules ----------------------------------------------------------------------------------------

#: What a charge costs, in the units of its budget's rule: (epsilon, delta), slots, or a share of
#: the filter's allowance.
Cost = tuple[Fraction, ...]


class Rule(Protocol):
    """How a budget adds up its charges."""

    #: The kind of the budget's first entry. A version that does not know it refuses the budget.
    kind: ClassVar[str]
    #: What the rule is called in JSON.
    name: ClassVar[str]

    @property
    def limit(self) -> Amount:
        """What all charges together promise."""

    @property
    def capacity(self) -> Cost:
        """What the costs may add up to."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""

    @property
    def promise(self) -> str:
        """What a statement says of all releases; nothing if it can give their sum."""

    def cost(self, amount: Amount) -> Cost | None:
        """What a charge costs; None if the rule never allows it."""

    def most(self, used: Cost) -> Amount:
        """The most that the next charge may be."""

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""

    def facts(self, used: Cost) -> dict[str, Any]:
        """What the JSON of a balance has beside the amounts."""

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""


_RULES: Final[dict[str, type[Any]]] = {}
Kind = TypeVar("Kind", bound=type[Any])


def register(rule: Kind) -> Kind:
    """Class decorator that registers a rule under the kind of its budgets' first entry."""
    _RULES[rule.kind] = rule
    return rule


def read_rule(entry: Entry) -> Rule:
    """The rule in a budget's first entry; raises ValueError."""
    rule: Rule = _RULES[entry.kind].of(entry)
    return rule


def charged(rule: Rule, used: Cost, amount: Amount) -> Cost | None:
    """The costs with those of one more charge; None if the rule does not allow it."""
    cost = rule.cost(amount)
    if cost is None:
        return None
    after = tuple(map(add, used, cost))
    return after if all(map(le, after, rule.capacity)) else None


def covers(rule: Rule, used: Cost, amount: Amount) -> bool:
    """Whether a charge may be made after others that cost ``used``."""
    return charged(rule, used, amount) is not None


def more_fit(rule: Rule, used: Cost, amount: Amount) -> int:
    """How many more charges like this one may be made."""
    cost = rule.cost(amount)
    if cost is None:
        return 0
    parts = zip(rule.capacity, used, cost, strict=True)
    return max(0, min((most - spent) // part for most, spent, part in parts if part > 0))


def own_delta(amount: Amount) -> tuple[str, str]:
    """Why a rule that needs its delta for composition refuses a charge with a delta."""
    return (
        f"delta={shown_number(amount.delta)}: its delta is used for adding up the releases, and no "
        "release may have one of its own",
        "list the public names of the groups with keys=, or use a budget without slots and filter",
    )


@register
@dataclass(frozen=True)
class Sum:
    """The plain rule: epsilons and deltas add up."""

    kind: ClassVar[str] = "init"
    name: ClassVar[str] = "sum"

    limit: Amount

    @property
    def capacity(self) -> Cost:
        """The limit."""
        return self.limit.pair

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the budget's first entry."""
        return dict(amount_fields(self.limit))

    @property
    def words(self) -> str:
        """What may be spent, within a sentence."""
        return self.limit.words

    @property
    def promise(self) -> str:
        """Nothing: a statement gives the sum."""
        return ""

    @classmethod
    def of(cls, entry: Entry) -> Sum:
        """The rule of a budget with this first entry; raises ValueError."""
        return cls(read_limit(entry))

    def cost(self, amount: Amount) -> Cost | None:
        """The amount itself."""
        return amount.pair

    def most(self, used: Cost) -> Amount:
        """All that is left."""
        return self.limit - Amount(*used)

    def told(self, used: Cost, charges: int) -> str:
        """What is used and what is left, in words."""
        made = f"{charges} charge{'' if charges == 1 else 's'}"
        return (
            f"{Amount(*used).words} of {self.limit.words} spent in {made}, "
            f"{self.most(used).words} left"
        )

    def left(self, used: Cost) -> str:
        """What is left, as a sentence without its full stop."""
        left = self.most(used)
        return f"{left.words} remain{'' if left.delta else 's'}"

    def rows(self, used: Cost) -> list[tuple[str, str, str, str]]:
        """The rows of a table: of what, its limit, what is used, what is left."""
        rows = []
        for what, *amounts in zip(
            ("epsilon", "delta"), self.limit.pair, used, self.most(used).pair, strict=True
        ):
            limit, spent, left = shown_numbers(amounts)
            rows.append((what, limit, spent, left))
        return rows

    def facts(self, used: Cost) -> dict[str, Any]:
        """Nothing more than the amounts."""
        return {}

    def why_not(self, used: Cost, amount: Amount) -> tuple[str, str]:
        """Why a charge is refused, and what to do about it."""
        parts = [
            f"{what}: requested {shown_number(asked)}, spent {shown_number(spent)} of "
            f"{shown_number(most)}, remaining {shown_number(most - spent)}"
            for what, asked, spent, most in zip(
                ("epsilon", "delta"), amount.pair, used, self.limit.pair, strict=True
            )
            if asked > most - spent
        ]
        remedy = (
            "ask for no more than remains, or repeat an earlier request by its key, which is free"
        )
        if self.most(used).epsilon == 0:
            remedy = "it is used up; an earlier request can be repeated by its key, which is free"
        if amount.delta > 0 == self.limit.delta:
            remedy = (
                "this budget allows no delta: list the public names of the groups with keys=, or "
                "use a budget that was created with a delta"
            )
        return "; ".join(parts), remedy


def read_limit(entry: Entry) -> Amount:
    """The limit in a budget's first entry; raises ValueError."""
    limit = entry.amount()
    if limit.epsilon <= 0 or not 0 <= limit.delta < 1:
        raise ValueError("the limit is out of range")
    return limit


# --- terms and balance ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Terms:
    """The terms of a budget: its name, and the rule that limits its charges."""

    name: str
    rule: Rule
    created: str
    description: str = ""

    @property
    def limit(self) -> Amount:
        """What all charges together promise: (epsilon, delta)-DP."""
        return self.rule.limit


@dataclass(frozen=True)
class Balance:
    """The balance of a budget.

    ``used`` is the cost of the charges in the units of the budget's rule. ``spent`` is what they
    cost together: the sum of their amounts or, with slots or a filter, the limit if that is less.
    """

    terms: Terms
    spent: Amount
    charges: int
    open: int
    anchor: Anchor
    used: Cost

    @property
    def remaining(self) -> Amount:
        """What may still be spent; with slots or a filter, the most that the next charge may be."""
        return self.terms.rule.most(self.used)

    @property
    def left(self) -> str:
        """What is left, in the words of the budget's rule: a sentence without its full stop."""
        return self.terms.rule.left(self.used)

    def covers(self, epsilon: Any, delta: Any = 0) -> bool:
        """Whether the budget covers a charge of this price."""
        return covers(self.terms.rule, self.used, charged_amount(epsilon, delta))

    def more(self, epsilon: Any, delta: Any = 0) -> int:
        """How many more charges of this price the budget covers."""
        return more_fit(self.terms.rule, self.used, charged_amount(epsilon, delta))

    def __str__(self) -> str:
        return f"budget {self.terms.name}: {self.terms.rule.told(self.used, self.charges)}"


# --- replay ---------------------------------------------------------------------------------------

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
