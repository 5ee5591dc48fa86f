"""The owner's catalogue: what is offered, to whom, and out of which budget. Frozen values.

A catalogue is public among the people in it, except for where data and ledgers are, and for the
hashes of tokens. :mod:`.reading` makes one from a file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from ..core.limits import Unit
from ..ledger import Amount, Rule, Sum

__all__ = [
    "EPSILONS", "MOST",
    "ROLES",
    "BudgetEntry",
    "Catalogue",
    "Column",
    "Dataset", "Filter",
    "Grouping",
    "Person",
    "Proxy",
    "Settings",
    "Tls",
]  # fmt: skip

#: An owner sees who spent what and verifies the ledger, an analyst asks; owners and readers read
#: all answers. An owner sees every dataset.
ROLES: Final = ("owner", "analyst", "reader")
#: The default prices; a dataset can list its own.
EPSILONS: Final = tuple(map(Fraction, ("1/50", "1/20", "1/10", "1/5", "1/2", "1", "2")))
#: The default limit on the groups with secret names of a grouping.
MOST: Final = 1000


@dataclass(frozen=True)
class Tls:
    """The files of the server's own certificate."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Proxy:
    """A reverse proxy that does TLS; with ``header``, it also says who is signed in.

    The header is trusted only on connections from one of the ``addresses``.
    """

    addresses: tuple[str, ...]
    header: str | None = None


@dataclass(frozen=True)
class Settings:
    """How the service runs."""

    title: str = "hourglass"
    host: str = "127.0.0.1"
    port: int = 8420
    url: str | None = None
    tls: Tls | None = None
    proxy: Proxy | None = None
    journal: Path = Path("journal.jsonl")
    questions_per_minute: int = 30
    refresh: float | None = None

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by https."""
        return self.tls is not None or self.proxy is not None

    @property
    def exposed(self) -> bool:
        """Whether other machines reach it without encryption."""
        try:
            alone = ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            alone = self.host == "localhost"
        return not alone and not self.secure

    def running(self, now: Settings) -> Settings:
        """The settings of a service that runs: its address, certificate and journal stay."""
        return replace(self, host=now.host, port=now.port, tls=now.tls, journal=now.journal)

    @property
    def proxies(self) -> tuple[str, ...]:
        """The addresses of the declared proxy, if there is one."""
        return self.proxy.addresses if self.proxy is not None else ()


@dataclass(frozen=True)
class BudgetEntry:
    """A budget in a ledger, and what each person may spend of it; None means no separate limit."""

    name: str
    ledger: str = field(repr=False)
    rule: Rule
    allowance: Amount | None = None
    allowances: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def limit(self) -> Amount:
        """What all answers from the budget together promise."""
        return self.rule.limit

    def allowance_of(self, person: str) -> Amount | None:
        """What the epsilons and deltas of the person's questions may add up to.

        By default that is all of a budget that adds up; of one with slots or a filter, whatever
        it covers (None).
        """
        given = self.allowances.get(person, self.allowance)
        if not isinstance(self.rule, Sum):
            return given
        return self.limit if given is None else given.least(self.limit)


@dataclass(frozen=True)
class Column:
    """A column that may be averaged."""

    name: str
    bounds: tuple[int | float, int | float]
    title: str = ""
    measured_in: str = ""
    description: str = ""
    typical: float | None = None
    spread: bool = False
    missing: Any = "drop"
    parse: str | None = None
    grid: int | None = None


@dataclass(frozen=True)
class Grouping:
    """Columns that an answer may be grouped by: the public names of the groups, or a delta.

    With a ``delta`` the names are secret: a group is shown if its noisy count reaches a threshold.
    ``about`` is the public approximate number of groups, for previews; there are never more than
    ``most``, which determines the time of an answer. ``table`` is its name in the catalogue.
    """

    by: tuple[str, ...]
    keys: tuple[Any, ...] | Path | None = None
    title: str = ""
    delta: Fraction = Fraction(0)
    about: int = 10
    most: int = MOST
    table: str = ""

    @property
    def name(self) -> str:
        """Its name in questions."""
        return ",".join(self.by)


@dataclass(frozen=True)
class Filter:
    """A filter on the rows, defined by the owner; analysts choose it by its name."""

    name: str
    where: str
    title: str = ""


@dataclass(frozen=True)
class Dataset:
    """A table that people may ask questions about."""

    name: str
    source: str = field(repr=False)
    budget: str
    columns: Mapping[str, Column]
    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    filters: Mapping[str, Filter] = field(default_factory=dict)
    together: tuple[tuple[str, ...], ...] = ()
    table: str | None = field(default=None, repr=False)
    title: str = ""
    description: str = ""
    unit: Unit = Unit()  # noqa: RUF009
    records: int = 1000
    epsilons: tuple[Fraction, ...] = EPSILONS
    people: tuple[str, ...] | None = None

    @property
    def place(self) -> str:
        """The dataset's name, as it appears in questions in the ledger."""
        return f"serve:{self.name}"


@dataclass(frozen=True)
class Person:
    """A person who may ask, read, or both, identified by the SHA-256 of a token."""

    name: str
    roles: frozenset[str]
    token: str = field(default="", repr=False)
    title: str = ""

    @property
    def shown(self) -> str:
        """The display name."""
        return self.title or self.name

    def may(self, *roles: str) -> bool:
        """Whether the person has one of the roles."""
        return not self.roles.isdisjoint(roles)


@dataclass(frozen=True)
class Catalogue:
    """All of it."""

    settings: Settings
    budgets: Mapping[str, BudgetEntry]
    datasets: Mapping[str, Dataset]
    people: Mapping[str, Person]
    path: Path = Path("catalogue.toml")

    def datasets_of(self, person: Person) -> dict[str, Dataset]:
        """The datasets that a person may see."""
        return {
            name: each
            for name, each in self.datasets.items()
            if each.people is None or person.name in each.people or person.may("owner")
        }

    def budgets_of(self, person: Person) -> dict[str, BudgetEntry]:
        """The budgets of those datasets."""
        names = dict.fromkeys(each.budget for each in self.datasets_of(person).values())
        return {name: self.budgets[name] for name in names}
