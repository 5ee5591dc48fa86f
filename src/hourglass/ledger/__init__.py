"""Privacy budgets: exact, crash-safe, shared between processes.

A ledger is an append-only list of entries with a hash chain, in a SQLite file or in PostgreSQL. A
budget is charged before data is read, and an answer is stored before it is returned.

    budget      the facade: reserve, settle, balance, history
    creation    create_budget, which fixes the terms
    session     transactions of one process on a budget, with the state verified so far
    replay      the state that entries add up to, and whether each entry was allowed
    entries     one entry, and the hash chain
    store       the Protocol of a store for entries; implemented by sqlite and postgres
    verify      every fault of a ledger, by entry; export of a whole budget
    composition the tighter total of many charges
    rules       how charges are added up: their sum, or slots; renyi: a filter
    terms       the terms of a budget and its balance
    values      the frozen values that all of these use
"""

from __future__ import annotations

from .budget import Budget, Reservation
from .composition import optimal_epsilon
from .creation import create_budget
from .renyi import Renyi
from .rules import Rule, Slots, Sum
from .store import grant_role, revoke_role
from .terms import Balance, Terms
from .values import Allowance, Amount, Anchor, Charge, Fault, StoredAnswer, Verification

__all__ = [
    "Allowance",
    "Amount",
    "Anchor",
    "Balance",
    "Budget",
    "Charge",
    "Fault",
    "Renyi",
    "Reservation",
    "Rule",
    "Slots",
    "StoredAnswer",
    "Sum",
    "Terms",
    "Verification",
    "create_budget",
    "grant_role",
    "optimal_epsilon",
    "revoke_role",
]
