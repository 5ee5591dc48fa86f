"""Privacy budgets: exact, crash-safe, shared between processes.

A ledger is an append-only list of entries with a hash chain, in a SQLite file or in PostgreSQL. A
budget is charged before data is read, and an answer is stored before it is returned.

    budget      the facade: reserve, settle, balance, history; transactions of one process
    creation    create_budget, which fixes the terms
    replay      rules that add up charges, and the state that entries add up to
    slots       the rule for releases of one size; renyi: a filter
    entries     amounts, charges, one entry, and the hash chain
    store       the Protocol of a store for entries; implemented by sqlite and postgres
    verify      every fault of a ledger, by entry; export of a whole budget
    composition the tighter total of many charges
"""

from __future__ import annotations

from .budget import Budget, Reservation
from .composition import optimal_epsilon
from .creation import create_budget
from .entries import Allowance, Amount, Anchor, Charge, Fault, StoredAnswer, Verification
from .renyi import Renyi
from .replay import Balance, Rule, Sum, Terms
from .slots import Slots
from .store import grant_role, revoke_role

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
