"""Budgets that survive: exact, crash-safe, shared.

A ledger is a list of entries that only grows, kept in a SQLite file or in PostgreSQL, with
a hash chain through it. A budget in it is charged before data is looked at, and an answer
is stored before it is handed out.

    budget      the facade: reserve, settle, balance, history
    session     one process's looks at a budget, each continuing the last
    replay      what the entries add up to, and whether each was allowed
    entries     one entry, and the hash chain
    store       where entries are kept: the Protocol; sqlite and postgres keep it
    verify      every fault of a ledger, by its place; the whole of it for an auditor
    composition the tighter total of many charges
    values      the frozen values all of them speak in
"""

from __future__ import annotations

from .budget import Budget, Reservation, create_budget
from .composition import optimal_epsilon
from .store import grant_role, revoke_role
from .values import (
    Allowance,
    Amount,
    Anchor,
    Balance,
    Charge,
    Fault,
    StoredAnswer,
    Terms,
    Verification,
)

__all__ = [
    "Allowance",
    "Amount",
    "Anchor",
    "Balance",
    "Budget",
    "Charge",
    "Fault",
    "Reservation",
    "StoredAnswer",
    "Terms",
    "Verification",
    "create_budget",
    "grant_role",
    "optimal_epsilon",
    "revoke_role",
]
