"""``hourglass serve check``: check everything about a catalogue that needs no row."""

from __future__ import annotations

from pathlib import Path

from ..core.urls import shown_url
from ..errors import HourglassError, LedgerMissingError
from ..ledger import Budget, Rule, Slots, Sum
from ..ledger.creation import same_terms
from ..ledger.entries import shown_number
from .catalogue import BudgetEntry, Catalogue, Person
from .holdings import check_schema, choices
from .lines import line_of, lines_of
from .reading import CatalogueError, read_catalogue
from .sections import Problem

__all__ = ["check"]


def check(path: Path) -> str:
    """A description of what the catalogue offers, or a CatalogueError with every problem."""
    found = read_catalogue(path)
    lines = lines_of(path.read_text(encoding="utf-8"))
    problems = []
    for name, dataset in found.datasets.items():
        for within, what in check_schema(dataset):
            place = ("datasets", name, *within)
            problems.append(Problem(line_of(lines, place), ".".join(place), what))
    for name, entry in found.budgets.items():
        if (fault := _budget_problem(entry)) is not None:
            place = ("budgets", name)
            problems.append(Problem(line_of(lines, place), ".".join(place), fault))
    if problems:
        raise CatalogueError(path, sorted(problems, key=lambda each: each.line or 0))
    return _summary(found)


def _budget_problem(entry: BudgetEntry) -> str | None:
    try:
        budget = Budget(entry.ledger, entry.name)
    except LedgerMissingError:
        return (
            "the ledger has no such budget; create it with: hourglass budget init "
            f"{entry.name} {_options(entry.rule)} --ledger {shown_url(entry.ledger)}"
        )
    except HourglassError as error:
        return str(error)
    if not same_terms(budget.terms.rule, entry.rule):
        return (
            f"the catalogue says {entry.rule.words}, but the ledger was made with "
            f"{budget.terms.rule.words}, which never changes; correct the catalogue"
        )
    return None


def _options(rule: Rule) -> str:
    """The options of ``hourglass budget init`` for a budget with this rule."""
    delta = f" --delta {shown_number(rule.limit.delta)}" if rule.limit.delta else ""
    if isinstance(rule, Slots):
        return f"--slots {rule.count}x{rule.epsilon}{delta}"
    named = "" if isinstance(rule, Sum) else f" --filter {rule.name}"
    return f"--epsilon {shown_number(rule.limit.epsilon)}{delta}{named}"


def _about(person: Person) -> str:
    return ", ".join([*sorted(person.roles), *([] if person.token else ["no token yet"])])


def _summary(found: Catalogue) -> str:
    lines = []
    for name, dataset in found.datasets.items():
        lines.append(f"{name}: {len(choices(dataset))} questions, budget {dataset.budget}")
    people = ", ".join(f"{name} ({_about(each)})" for name, each in found.people.items())
    return "\n".join([*lines, f"people: {people}", "The catalogue is good."])
