"""The service behind the page and the API: the current catalogue, its data and budgets, and asking.

A question goes through :func:`hourglass.ask.run.run`: it is charged before anything else, and its
answer is stored before it is returned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from ..ask.run import is_failure, run
from ..errors import BudgetExceededError, OptionError, SourceError
from ..ledger import Amount, Budget, Charge
from ..ledger.creation import same_terms
from ..ledger.entries import shown_number
from .accounts import Account, Standing, owner_of, prefix_of
from .catalogue import BudgetEntry, Catalogue, Dataset, Grouping, Person
from .client import restored
from .failures import Failure, exceeded, failure_of
from .holdings import Choice, Holding, register
from .journal import Journal
from .pacing import Written
from .refusals import chosen, no_dataset, price

__all__ = ["Asked", "Found", "Service", "State", "dataset_of", "load"]

_KEY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")


@dataclass(frozen=True)
class Asked:
    """A question that the catalogue allows, at an allowed price."""

    dataset: Dataset
    choice: Choice
    epsilon: Fraction

    @property
    def grouping(self) -> Grouping | None:
        """What it is grouped by, if anything."""
        return self.dataset.groupings[self.choice.grouping] if self.choice.grouping else None

    @property
    def price(self) -> Amount:
        """Its price; groups with secret names also cost their delta."""
        return Amount(self.epsilon, self.grouping.delta if self.grouping else Fraction(0))

    @property
    def facts(self) -> dict[str, Any]:
        """The public facts about the question, for plans and the journal."""
        return {
            "dataset": self.dataset.name,
            "columns": list(self.choice.columns),
            "by": self.choice.grouping,
            "filter": self.choice.filter,
            "spread": self.choice.spread,
            "epsilon": shown_number(self.epsilon),
            "delta": shown_number(self.price.delta),
        }


def dataset_of(charge: Charge) -> str:
    """The name of the dataset of a question, from the description of its charge."""
    return charge.description.partition(":")[0]


@dataclass(frozen=True)
class Found:
    """A stored answer with its charge."""

    charge: Charge
    answer: Any
    budget: str

    @property
    def person(self) -> str:
        """Who asked."""
        return owner_of(self.charge)[0]

    @property
    def key(self) -> str:
        """The request key."""
        return owner_of(self.charge)[1]

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return dataset_of(self.charge)


@dataclass(frozen=True)
class State:
    """A catalogue with everything that it names opened; replaced as a whole."""

    catalogue: Catalogue
    holdings: dict[str, Holding] = field(repr=False)
    budgets: dict[str, Budget] = field(repr=False)

    def dataset(self, person: Person, name: Any) -> Dataset:
        """A dataset that the person may use; others look as if they did not exist."""
        found = self.catalogue.datasets_of(person)
        if not isinstance(name, str) or name not in found:
            raise no_dataset(found)
        return found[name]

    def account(self, person: Person, budget: str, dataset: str = "") -> Account:
        """The person's account in a budget."""
        return Account(self.budgets[budget], self.catalogue.budgets[budget], person, dataset)

    def standings(self, person: Person) -> dict[str, Standing]:
        """The person's standing in each budget that they may see."""
        names = self.catalogue.budgets_of(person)
        return {name: self.account(person, name).standing() for name in names}

    def asked(
        self,
        person: Person,
        dataset: Any,
        columns: Any,
        by: Any,
        filter_: Any,
        spread: Any,
        epsilon: Any,
    ) -> Asked:
        """The question, if the catalogue allows it at this price."""
        found = self.dataset(person, dataset)
        choice = chosen(found, columns, by, filter_, spread)
        if choice not in self.holdings[found.name].menu:
            raise Failure("not_offered")
        return Asked(found, choice, price(found, epsilon))

    def answer(self, person: Person, key: str, whose: str | None = None) -> Found:
        """A stored answer: the person's own, or anybody's for those who may read all."""
        whose = whose or person.name
        if whose != person.name and not person.may("reader", "owner"):
            raise Failure("no_such_answer")
        for name in self.catalogue.budgets_of(person):
            settled = self.budgets[name].settled(prefix_of(whose) + key)
            if settled is not None:
                charge, stored = settled
                if dataset_of(charge) in self.catalogue.datasets_of(person):
                    if is_failure(stored):
                        raise Failure("failed_before")
                    return Found(charge, restored(stored), name)
        raise Failure("no_such_answer")

    def failed_before(self, person: Person, asked: Asked, key: str) -> bool:
        """Whether a failure is stored under the person's key in place of an answer."""
        found = self.budgets[asked.dataset.budget].settled(prefix_of(person.name) + key)
        return found is not None and is_failure(found[1])

    def used_elsewhere(self, person: Person, budget: str, key: str) -> bool:
        """Whether the person's key has an answer in another budget, and none in this one.

        A key leads to one answer, so a question under it would be charged and its answer not found.
        """
        request = prefix_of(person.name) + key
        others = [name for name in self.catalogue.budgets_of(person) if name != budget]
        found = any(self.budgets[name].settled(request) is not None for name in others)
        return found and self.budgets[budget].settled(request) is None

    def history(self, person: Person, *, everyone: bool = False) -> list[tuple[str, Charge]]:
        """The charges of a person, or of all, each with its budget's name, the latest first."""
        found = []
        open_to = self.catalogue.datasets_of(person)
        for name in self.catalogue.budgets_of(person):
            for charge in self.budgets[name].history():
                own = owner_of(charge)[0] == person.name
                seen = own or (everyone and (dataset_of(charge) in open_to or person.may("owner")))
                if charge.status != "void" and seen:
                    found.append((name, charge))
        return sorted(found, key=lambda each: each[1].reserved, reverse=True)


def load(catalogue: Catalogue, before: State | None = None) -> State:
    """Open the budgets and read the totals; raises an error if any of them cannot be used.

    Budgets that were open ``before`` stay open, with the verified state of their ledgers, so that
    a ledger that is rolled back between two catalogues is refused. The service keeps the address,
    the certificate and the journal that it was started with.
    """
    if before is not None:
        settings = catalogue.settings.running(before.catalogue.settings)
        if settings.exposed:
            raise OptionError(
                f"listen: until the next start the service is reached at {settings.host}, and "
                "nothing would be encrypted; keep [serve.proxy], or start it again"
            )
        catalogue = replace(catalogue, settings=settings)
    budgets = {}
    for name, entry in catalogue.budgets.items():
        budgets[name] = _opened(entry, before)
        rule = budgets[name].terms.rule
        if not same_terms(rule, entry.rule):
            raise OptionError(
                f"budget {name!r}: the catalogue says {entry.rule.words}, but the ledger was made "
                f"with {rule.words}, which never changes; write that into the catalogue, or make a "
                "new budget"
            )
    holdings = {name: register(each) for name, each in catalogue.datasets.items()}
    return State(catalogue, holdings, budgets)


def _opened(entry: BudgetEntry, before: State | None) -> Budget:
    known = None if before is None else before.catalogue.budgets.get(entry.name)
    if before is None or known is None or known.ledger != entry.ledger:
        return Budget(entry.ledger, entry.name, keep_connection=True)
    found = before.budgets[entry.name]
    found.balance()  # raises an error if the ledger is missing or was rolled back
    return found


class Service:
    """The current state, and what people may do with it."""

    def __init__(self, state: State, journal: Journal) -> None:
        """Start with a loaded catalogue."""
        #: The current state, which a reload replaces; use one for the whole of a request.
        self.state = state
        self.journal = journal

    def ask(self, state: State, person: Person, asked: Asked, key: Any) -> Written:
        """Charge, add noise, answer and store; under a used key, return the stored answer."""
        if not person.may("analyst"):
            raise Failure("not_allowed")
        if not isinstance(key, str) or _KEY.fullmatch(key) is None:
            raise Failure("bad_key")
        dataset = asked.dataset
        self.journal.write("ask", person.name, key=key, **asked.facts)
        try:
            if state.used_elsewhere(person, dataset.budget, key):
                raise Failure("key_reused")
            holding = state.holdings[dataset.name]
            paced = holding.paced(asked.choice, asked.epsilon)
            account: Any = state.account(person, dataset.budget, dataset.name)
            answer = run(paced, account, key)
        except Exception as error:
            failure = failure_of(error)
            if isinstance(error, BudgetExceededError):  # by the budget, or by their part of it
                failure = exceeded(asked.price.pair, account.standing().remaining.pair)
            if isinstance(error, SourceError) and state.failed_before(person, asked, key):
                failure = Failure("failed_before")
            self.journal.write("refused", person.name, key=key, code=failure.code)
            raise failure from None
        self.journal.write("answered", person.name, key=key)
        return answer
