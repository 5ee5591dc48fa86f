"""A budget: charge, read the data, store the answer, return it.

reserve -> settle             the answer is stored before anybody sees it
reserve -> crash or failure   the charge counts as spent; the same request key resumes it

The first transaction of a process verifies the whole chain and every later one continues where the
last ended: an edited, damaged or rolled-back ledger is refused before any data is read.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ..errors import (
    BudgetExceededError,
    ChargeClosedError,
    EpsilonError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    OptionError,
    RequestReusedError,
)
from .entries import (
    Allowance,
    Amount,
    Anchor,
    Charge,
    Row,
    StoredAnswer,
    Verification,
    amount_fields,
    answer_text,
    charged_amount,
    checked_name,
    checked_question,
    checked_text,
    digest,
    shown_number,
)
from .replay import Balance, Sum, Terms, View, covers
from .store import Caller, Store, Transaction, known_budget, open_store
from .verify import verify

__all__ = ["Budget", "Reservation"]


class Budget:
    """A named budget in a ledger: a SQLite file, or a PostgreSQL database by its URL.

    >>> budget = Budget("budget.db", "visits-2026")            # doctest: +SKIP
    >>> hg.mean(ages, bounds=(0, 120), epsilon=0.1, budget=budget)  # doctest: +SKIP

    It can be shared by threads, forked children and other processes. ``anchor`` is a line that was
    printed earlier; an older ledger is refused. ``wait`` is how many seconds to wait for a locked
    ledger. ``keep_connection`` is for services that charge often: they stay connected to PostgreSQL
    between charges.
    """

    def __init__(
        self,
        ledger: str | os.PathLike[str],
        name: str,
        *,
        anchor: str | Anchor | None = None,
        wait: float = 10.0,
        keep_connection: bool = False,
    ) -> None:
        """Open an existing budget, and verify its whole chain."""
        self.name = checked_name(name)
        self._store = open_store(ledger, wait=wait, keep=keep_connection)
        self._anchor = None if anchor is None else _own_anchor(Anchor.parse(anchor), name)
        self._session = Session(self._store, name, anchor=self._anchor, wait=wait)
        with known_budget(self._store, name), self._session.looking() as look:
            self._terms = look.view.terms

    def __repr__(self) -> str:
        return f"Budget({self._store.location!r}, {self.name!r})"

    @property
    def ledger(self) -> str:
        """Where the ledger is, without a password."""
        return self._store.location

    @property
    def terms(self) -> Terms:
        """The budget's name, limit and description."""
        return self._terms

    def reserve(
        self,
        epsilon: Any,
        delta: Any = 0,
        *,
        question: str,
        request: str | None = None,
        description: str = "",
        allowance: Allowance | None = None,
    ) -> Reservation:
        """Charge the budget, durably, before the data is read.

        ``question`` is the full question as canonical text; only its SHA-256 is stored, and
        ``description``, which must be public. With a ``request`` key that was used before, the
        same question costs nothing: it returns the stored answer, or resumes the charge that a
        crash left open.

        An ``allowance`` is a limit on the charges of one person. It is checked under the same
        lock as the budget's limit, so that racing charges cannot exceed it.
        """
        amount = charged_amount(epsilon, delta)
        key = None if request is None else checked_text("request", request)
        about = {"request": key, "question": digest(checked_question(question))}
        about["description"] = checked_text("description", description, empty=True)
        written: list[str] = []
        try:
            return self._reserve(amount, about, allowance, written)
        except BaseException as error:  # Ctrl-C too, until the caller's own code runs
            name_charge(error, written)
            raise

    def _reserve(
        self, amount: Amount, about: dict[str, Any], allowance: Allowance | None, written: list[str]
    ) -> Reservation:
        """Make the charge; its key is added to ``written`` before it is committed."""
        key = about["request"]
        with self._session.looking(write=True) as look:
            standing = None if key is None else look.view.standing(key)
            if standing is None:
                self._check_room(look.view, amount)
                if allowance is not None:
                    self._check_allowance(look.view, amount, allowance)
                free = key if key is not None else _free_key(look.view)
                fields = amount_fields(amount) | about | {"request": free}
                number = look.append("reserve", fields).number
                written.append(free)
            else:
                number = standing.number
                self._check_same(standing, about["question"], amount)
                if standing.answer_number is not None:
                    return Reservation(self, standing, look.stored(standing), reopened=True)
                self._check_own(standing, look.caller)
        if standing is None:
            reach("reserve:committed")
        return Reservation(self, look.view.charges[number], None, reopened=standing is not None)

    def balance(self) -> Balance:
        """Limit, spent, remaining, and the anchor to keep."""
        with self._session.looking() as look:
            return look.view.balance

    def history(self) -> list[Charge]:
        """Every charge, in the order in which they were made."""
        with self._session.looking() as look:
            return list(look.view.charges.values())

    def state(self) -> tuple[Balance, list[Charge]]:
        """Balance and history at one moment."""
        with self._session.looking() as look:
            return look.view.balance, list(look.view.charges.values())

    def spent_by(self, person: str) -> tuple[Balance, Amount]:
        """The balance, and the cost of the charges of one person, at one moment."""
        with self._session.looking() as look:
            return look.view.balance, look.view.spent_by(person)

    def answer(self, request: str) -> StoredAnswer | None:
        """The answer stored under a request key, if there is one; it costs nothing."""
        found = self.settled(request)
        return None if found is None else StoredAnswer(request, found[0].number, found[1])

    def settled(self, request: str) -> tuple[Charge, dict[str, Any]] | None:
        """The charge under a request key and the answer stored with it, if there is one."""
        with self._session.looking() as look:
            charge = look.view.standing(request)
            if charge is None or charge.answer_number is None:
                return None
            return charge, look.stored(charge)

    def rows(self) -> list[tuple[Row, str | None]]:
        """Every entry as it is stored, with its answer."""
        with self._session.looking() as look:
            return look.everything()

    def verify(self) -> Verification:
        """Check every entry and every answer, and list all faults."""
        return verify(self._store, self.name, self._anchor)

    def _settle(self, charge: Charge, answer: Mapping[str, Any]) -> dict[str, Any]:
        text = answer_text(answer)
        with self._session.looking(write=True) as look:
            current = look.view.charges[charge.number]
            if current.answer_number is not None:
                return look.stored(current)  # another process was first, and its answer counts
            if current.status == "void":  # by an earlier version, which could do that
                raise ChargeClosedError(
                    f"charge {charge.number} of budget {self.name!r} was given back by another "
                    "process; ask again"
                )
            look.append("settle", {"charge": charge.number, "answer": digest(text)}, text)
        reach("settle:committed")
        return parsed(text)

    def _check_same(self, standing: Charge, question: str, amount: Amount) -> None:
        if (standing.question, standing.amount) != (question, amount):
            told = f", {standing.description}" if standing.description else ""
            raise RequestReusedError(
                f"request={standing.request!r} was used in budget {self.name!r} for another "
                f"question (charge {standing.number}{told}); repeat that question exactly, "
                "including how its path is written, or choose another key"
            )

    def _check_own(self, standing: Charge, caller: Caller) -> None:
        """Only the role that made a charge may store its answer."""
        if caller.may_answer(standing.by):
            return
        by = "an earlier version of hourglass" if standing.by is None else f"role {standing.by!r}"
        raise RequestReusedError(
            f"request={standing.request!r} was charged by {by} in budget {self.name!r} and has no "
            "answer yet, and only that role or, for an earlier version, the ledger's owner may "
            "answer it; wait for the answer, or choose another key, which is charged again"
        )

    def _check_allowance(self, view: View, amount: Amount, allowance: Allowance) -> None:
        spent = view.spent_by(allowance.person)
        remaining = allowance.limit - spent
        if not amount.fits(remaining):
            raise BudgetExceededError(
                f"an allowance within budget {self.name!r} cannot cover this (requested {amount}, "
                f"spent {spent} of {allowance.limit}); ask for no more than remains",
                requested=amount.pair,
                spent=spent.pair,
                remaining=remaining.pair,
            )

    def _check_room(self, view: View, amount: Amount) -> None:
        rule = view.terms.rule
        if isinstance(rule, Sum) and not amount.writable_with(Amount(*view.used)):
            raise EpsilonError(
                f"epsilon={shown_number(amount.epsilon)}: with the denominators of the charges "
                "before it the exact sum has thousands of digits; round epsilon to a short decimal"
            )
        if covers(rule, view.used, amount):
            return
        why, remedy = rule.why_not(view.used, amount)
        raise BudgetExceededError(
            f"budget {self.name!r} cannot cover this ({why}); {remedy}",
            requested=amount.pair,
            spent=view.spent.pair,
            remaining=view.balance.remaining.pair,
        )


class Reservation:
    """A charge that was made, to be settled with its answer.

    ``answer`` is the stored answer if the request was answered before (then nothing was charged
    and nothing is left to do), else None. ``reopened`` tells whether the charge was made by an
    earlier attempt.
    """

    def __init__(
        self, budget: Budget, charge: Charge, answer: dict[str, Any] | None, *, reopened: bool
    ) -> None:
        """Constructed by :meth:`Budget.reserve`."""
        self._budget = budget
        self.charge = charge
        self.answer = answer
        self.reopened = reopened

    def __repr__(self) -> str:
        state = "answered" if self.answer is not None else "open"
        return f"<Reservation {self.request!r}, charge {self.charge.number}, {state}>"

    @property
    def request(self) -> str:
        """The request key, given or generated, under which the question is free to repeat."""
        return self.charge.request

    def settle(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Store the answer, durably, and return what is stored, which is the only one to publish.

        If another process settled the same request first, its answer is returned and this one is
        discarded.
        """
        if self.answer is None:
            self.answer = self._budget._settle(self.charge, answer)
        return self.answer


def _own_anchor(anchor: Anchor, name: str) -> Anchor:
    if anchor.name != name:
        raise OptionError(
            f"anchor: the line belongs to budget {anchor.name!r}, not to {name!r}; give an anchor "
            "of this budget"
        )
    return anchor


def _free_key(view: View) -> str:
    """A request key for a charge without one, so that it can be resumed after a crash."""
    key = f"charge-{view.number + 1}"
    return key if key not in view.requests else f"{key}-{uuid.uuid4().hex}"


# --- the transactions of one process --------------------------------------------------------------

#: The steps at which a crash test stops a process, in the order of a charge.
STEPS: Final = (
    "reserve:locked",
    "reserve:written",
    "reserve:committed",
    "settle:locked",
    "settle:written",
    "settle:committed",
)
#: None unless a test sets a callable here; the environment, the command line and arguments cannot
#: set it.
hook: Callable[[str], None] | None = None


def reach(step: str) -> None:
    """Call the hook, if there is one, with the step."""
    if hook is not None:
        hook(step)


class Look:
    """A view, its transaction, and what is appended in it."""

    def __init__(self, view: View, transaction: Transaction) -> None:
        """The view contains everything that was committed before the transaction."""
        self.view = view
        self.appended: list[Row] = []
        self._transaction = transaction

    def append(self, kind: str, fields: Mapping[str, Any], answer: str | None = None) -> Row:
        """Add the next entry, to be committed with the transaction."""
        reach(f"{kind}:locked")
        view = self.view
        row = self._transaction.append(view.number + 1, view.hash, kind, fields, answer)
        self.appended.append(row)
        reach(f"{kind}:written")
        return row

    @property
    def caller(self) -> Caller:
        """The user of the ledger."""
        return self._transaction.caller

    def stored(self, charge: Charge) -> dict[str, Any]:
        """The stored answer, if its hash is the one in the chain."""
        assert charge.answer_number is not None
        text = self._transaction.answer(charge.answer_number)
        if text is None or digest(text) != charge.answer_hash:
            raise LedgerCorruptError(
                f"budget {self.view.name!r}, entry {charge.answer_number}: the stored answer was "
                "changed; restore the ledger from a copy"
            )
        return parsed(text)

    def everything(self) -> list[tuple[Row, str | None]]:
        """Every row with its answer."""
        rows = list(self._transaction.rows(0))
        return [(row, self._transaction.answer(row.number)) for row in rows]


class Session:
    """Consecutive transactions on one budget, from any thread or forked child."""

    def __init__(self, store: Store, name: str, *, anchor: Anchor | None, wait: float) -> None:
        """Nothing is opened yet."""
        self._store = store
        self._name = name
        self._anchor = anchor
        self._wait = float(wait)
        self._forget()
        _sessions.add(self)

    def _forget(self) -> None:
        """Start anew, as a forked child must: its parent's threads may hold the lock."""
        self._lock = threading.RLock()  # which knows its owner
        self._view: View | None = None
        self._changing = False

    @contextmanager
    def looking(self, *, write: bool = False) -> Iterator[Look]:
        """A transaction, and the view of everything that was committed before it.

        What the block appends enters the view only once it is committed. The view's last entry is
        never forgotten, so a ledger that was rolled back behind it remains refused.

        Ctrl-C may come at any call. The lock is released wherever that is, and a view that was
        being changed is made anew.
        """
        try:
            if not self._lock.acquire(timeout=self._wait):
                raise LedgerBusyError(
                    f"ledger {self._store.location!r}: another thread used this budget for "
                    f"{self._wait:g} s; try again, or wait longer"
                )
            with self._store.transaction(self._name, write=write) as transaction:
                look = Look(self._followed(transaction), transaction)
                yield look
            self._changing = bool(look.appended)
            for row in look.appended:
                look.view.apply(row)
            self._changing = False
        finally:
            try:  # noqa: SIM105 - Ctrl-C could come within suppress()
                self._lock.release()
            except RuntimeError:
                pass  # it was never acquired

    def _followed(self, transaction: Transaction) -> View:
        """The view of everything that was committed before the transaction."""
        view = self._view
        if view is None:
            transaction.check()
            view = View(self._name, self._anchor)
        elif self._changing:  # it was interrupted; the ledger must still have its last entry
            view = View(self._name, Anchor(self._name, view.number, view.hash))
        self._changing = True
        try:
            view.follow(transaction.rows(max(view.number, 0)))
        except LedgerError:
            self._changing = view is not self._view  # refused entries change nothing
            raise
        view.terms  # noqa: B018 - raises if there is no such budget
        self._view, self._changing = view, False
        return view


#: Every session of this process.
_sessions: Final[weakref.WeakSet[Session]] = weakref.WeakSet()


def _forget_all() -> None:
    """Called in a forked child before it can have a second thread."""
    for each in _sessions:
        each._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def name_charge(error: BaseException, written: list[str]) -> None:
    """Add a note that names the key of a charge that was written before an error or Ctrl-C.

    The charge may have been committed, and its caller does not know a key that was generated.
    """
    for key in written:
        error.add_note(
            "The charge may have been made. The same question with "
            f"request={key!r} is charged at most once."
        )


def parsed(text: str) -> dict[str, Any]:
    """A stored answer as a dict, always parsed from its text, so that all callers get the same."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):  # a role can store JSON that only other parsers can read
        answer = None
    if not isinstance(answer, dict):
        raise LedgerCorruptError(
            "the answer stored under this request key cannot be read; ask under another key"
        )
    return answer
