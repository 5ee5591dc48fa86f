"""The transactions of one process on one budget, and the state that it has verified so far.

The first transaction verifies the whole chain and every later one continues where the last ended:
an edited, damaged or rolled-back ledger is refused before any data is read.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ..errors import LedgerBusyError, LedgerCorruptError, LedgerError
from .entries import Row, digest
from .replay import View
from .store import Caller, Store, Transaction
from .values import Anchor, Charge

__all__ = ["STEPS", "Look", "Session", "name_charge", "parsed", "reach"]

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
