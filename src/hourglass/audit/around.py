"""Checks of what surrounds the noise: secret keys, persons, budgets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..ask.question import MeanQuestion, mean_question
from ..core.exact import PRECISIONS
from ..core.limits import Unit
from ..errors import BudgetError
from ..ledger import Budget, create_budget
from ..noise import Hourglass
from ..read.column import Column
from .finding import Finding, grid_text
from .greybox import greybox_finding
from .paths import person_path

__all__ = ["keys_finding", "ledger_finding", "persons_finding"]

#: Reads the data of a request and charges a budget for it, in some order.
Charged = Callable[[MeanQuestion, Budget, str | None], Any]


def keys_finding(law: Hourglass, delta: Fraction, threshold: int) -> Finding:
    """A group of one record is published with a probability of at most delta, exactly."""
    over = (law.count_tail(threshold - 1, bits=bits) - delta for bits in PRECISIONS)
    excess = next(part.sign for part in over if part.sign is not None)
    tail = float(law.count_tail(threshold - 1))
    return Finding(
        "exact",
        f"secret keys, delta {float(delta):g}, grid {grid_text(law.grid)}",
        excess <= 0,
        f"a group of one record reaches {threshold} with probability {tail:.3g}",
        {"delta": str(delta), "threshold": threshold, "probability": tail},
    )


def persons_finding(epsilon: Fraction, unit: Unit) -> Finding:
    """One person with many rows moves the totals by no more records than the unit says."""
    others = [("ann", 1.0), ("bob", 9.0), ("bob", 2.0)]
    pairs: list[tuple[str, list[Any], list[Any]]] = [
        ("a person with three rows", others, [*others, *[("zoe", 10.0)] * 3]),
        ("a person with one row", others, [*others, ("zoe", 0.0)]),
        ("the only person", [], [("zoe", 5.0), ("zoe", 10.0)]),
    ]
    with TemporaryDirectory() as folder:
        path = person_path("in a CSV file", epsilon, Path(folder), unit, ("x",))
        return greybox_finding(path, pairs)


def ledger_finding(subject: str, charged: Charged) -> Finding:
    """A budget is charged before the data is read, once per request, and never beyond its limit."""
    with TemporaryDirectory() as folder:
        problems = list(_ledger_problems(charged, Path(folder)))
    words = problems[0] if problems else "charged first, once a request, and not without room"
    return Finding("ledger", subject, not problems, words, {"problems": problems})


def _ledger_problems(charged: Charged, folder: Path) -> list[str]:
    create_budget(str(folder / "audit.db"), "audit", epsilon=2)
    budget = Budget(str(folder / "audit.db"), "audit")
    asked = mean_question([1.0, 2.0], None, bounds=(0, 10), epsilon=1)
    looked: list[Fraction] = []

    class Failing(Column):
        def run(self, sql: str | None, query: Any) -> Any:
            looked.append(budget.balance().spent.epsilon)
            raise ConnectionError

    class Counting(Column):
        def run(self, sql: str | None, query: Any) -> Any:
            looked.append(budget.balance().spent.epsilon)
            return super().run(sql, query)

    values = np.array([1.0, 2.0])
    problems = []
    with suppress(ConnectionError):
        charged(replace(asked, source=Failing("real", values)), budget, "lost")
    if looked and looked[0] < 1:
        problems.append("the data was read before the budget was charged")
    if budget.balance().spent.epsilon != 1:
        problems.append("a reading of the data that failed was not charged")
    question = replace(asked, source=Counting("real", values))
    first = charged(question, budget, "kept").to_dict()
    if any(charged(question, budget, "kept").to_dict() != first for _ in range(20)):
        problems.append("the same request was answered with new noise")
    if budget.balance().spent.epsilon > 2:
        problems.append("the same request was charged again")
    looks = len(looked)
    try:
        charged(question, budget, "too much")
        problems.append("a release was made although the budget could not cover it")
    except BudgetError:
        pass
    if len(looked) > looks:
        problems.append("the data was read although the budget could not cover it")
    return problems
