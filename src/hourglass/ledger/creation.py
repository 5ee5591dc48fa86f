"""The creation of a budget, which fixes its terms."""

from __future__ import annotations

import os
import uuid
from typing import Any, Literal

from ..errors import BudgetExistsError
from .budget import Budget
from .entries import GENESIS
from .replay import View
from .store import open_store
from .terms import checked_rule
from .values import checked_name, checked_text

__all__ = ["create_budget"]


def create_budget(
    ledger: str | os.PathLike[str],
    name: str,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    slots: tuple[int, Any] | None = None,
    filter: Literal["renyi"] | None = None,
    description: str = "",
    wait: float = 10.0,
) -> Budget:
    """Create a budget, and the ledger if there is none; nothing else creates either.

    >>> create_budget("budget.db", "visits-2026", epsilon=1)  # doctest: +SKIP
    >>> create_budget("budget.db", "reports", slots=(100, "1/10"), delta="1e-9")  # doctest: +SKIP

    The terms never change, and hold however the questions are chosen.

    Parameters
    ----------
    ledger
        A SQLite file, or a PostgreSQL database by its URL.
    name
        1 to 100 letters, digits, dots, dashes and underscores.
    epsilon
        The limit on what all charges together promise. Not given with ``slots``, from which it is
        computed.
    delta
        The limit on the total delta of all charges. With ``slots`` or ``filter`` it must be
        positive, and no charge may have a delta of its own.
    slots
        The number of releases and the epsilon of each, such as ``(100, "1/10")``. A release of
        that epsilon or less takes one slot; a larger one is refused. All slots together cost less
        than their sum: ``budget.terms.limit`` says how much.
    filter
        ``"renyi"`` accepts releases of any epsilon, in any number, as long as their Renyi
        divergences together keep to (epsilon, delta). Many small releases cost less than their
        sum, a few large ones more.
    description
        A public note, such as which data and which privacy unit.
    wait
        How many seconds to wait for a locked ledger.
    """
    rule = checked_rule(epsilon, delta, slots, filter)
    checked_name(name)
    checked_text("description", description, empty=True)
    store = open_store(ledger, wait=wait)
    store.create()
    with store.transaction(name, write=True) as transaction:
        transaction.check()
        view = View(name)
        view.follow(transaction.rows(0))
        if view.number >= 0:
            raise BudgetExistsError(
                f"budget {name!r} already exists in ledger {store.location!r}, with a limit of "
                f"{view.terms.rule.words}; its terms never change: choose another name"
            )
        # The nonce distinguishes this budget from others of the same name and limit.
        fields = rule.fields | {"description": description, "nonce": uuid.uuid4().hex}
        transaction.append(0, GENESIS, rule.kind, fields)
    return Budget(ledger, name, wait=wait)
