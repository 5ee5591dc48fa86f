"""The creation of a budget, which fixes its terms."""

from __future__ import annotations

import os
import uuid
from numbers import Integral
from typing import Any, Literal

from ..errors import BudgetExistsError, EpsilonError, OptionError, shown
from .budget import Budget
from .entries import (
    GENESIS,
    MAX_LIMIT,
    charged_amount,
    checked_name,
    checked_text,
    limit_amount,
    shown_number,
)
from .renyi import checked_filter
from .replay import Rule, Sum, View
from .slots import MAX_SLOTS, Slots
from .store import open_store

__all__ = ["checked_rule", "create_budget", "same_terms"]


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
        The limit on the total epsilon of all charges; with ``filter``, the epsilon that all of
        them together promise. It is not given with ``slots``, from which it is computed.
    delta
        The limit on the total delta of all charges. With ``slots`` or ``filter`` it must be
        positive, and no charge may have a delta of its own.
    slots
        The number of releases and the epsilon of each, such as ``(100, "1/10")``. A release of
        that epsilon or less takes one slot; a larger one is refused. All slots together cost less
        than their sum: ``budget.terms.limit`` says how much.
    filter
        ``"renyi"`` accepts releases of any epsilon, in any number, as long as their Rényi
        divergences together imply (epsilon, delta). Many small releases cost less than their
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


def same_terms(one: Rule, other: Rule) -> bool:
    """Whether two rules were made from the same options."""

    def options(rule: Rule) -> tuple[Any, ...]:
        size = (rule.count, rule.epsilon) if isinstance(rule, Slots) else rule.limit.epsilon
        return rule.kind, size, rule.limit.delta

    return options(one) == options(other)


def checked_rule(epsilon: Any, delta: Any, slots: Any = None, filter: Any = None) -> Rule:
    """The rule of a new budget; otherwise raises an EpsilonError or an OptionError."""
    if filter is not None and filter != "renyi":
        raise OptionError(
            f"filter={shown(filter)} is not a filter; give 'renyi', or leave it out for a budget "
            "that adds up its charges"
        )
    if slots is not None:
        if filter is not None:
            raise OptionError("slots= and filter= are two rules for one budget; give one of them")
        if epsilon is not None:
            raise OptionError(
                f"epsilon={shown(epsilon)} was given together with slots=, from which the total "
                "epsilon is computed; leave out epsilon="
            )
        return _checked_slots(slots, delta)
    if epsilon is None:
        raise EpsilonError(
            "epsilon is missing; give the limit on the total of all charges, such as epsilon=1, or "
            "slots=(100, '1/10')"
        )
    return Sum(limit_amount(epsilon, delta)) if filter is None else checked_filter(epsilon, delta)


def _checked_slots(slots: Any, delta: Any) -> Slots:
    """The rule of a new budget with ``slots=(count, epsilon)``; otherwise raises an error."""
    if not isinstance(slots, tuple | list) or len(slots) != 2:
        raise OptionError(
            f"slots={shown(slots)} is not a pair; give the number of releases and the epsilon of "
            "each, such as slots=(100, '1/10')"
        )
    number, size = slots
    count = 0 if isinstance(number, bool) or not isinstance(number, Integral) else int(number)
    if not 0 < count <= MAX_SLOTS:
        raise OptionError(
            f"slots=({shown(number)}, ...) is not a whole number from 1 to {MAX_SLOTS}; give the "
            "number of releases"
        )
    epsilon = charged_amount(size).epsilon
    if count * epsilon > MAX_LIMIT:
        raise EpsilonError(
            f"slots=({count}, {shown(size)}): the slots add up to more than {MAX_LIMIT}, which "
            "protects nobody; give fewer or smaller slots"
        )
    exact = limit_amount(1, delta).delta
    if exact == 0:
        raise EpsilonError(
            "delta=0: slots need a delta, at which all of them together cost less than their sum; "
            f"give one such as 1e-9, or a budget of epsilon={shown_number(count * epsilon)} "
            "without slots"
        )
    return Slots.made(count, epsilon, exact)
