"""Parse and check a catalogue; every problem is reported with its line."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from ..errors import HourglassError, OptionError
from ..ledger import Amount, Rule, Slots, Sum
from ..ledger.creation import checked_rule
from ..ledger.entries import shown_number
from .catalogue import ROLES, BudgetEntry, Catalogue, Person, Proxy, Settings, Tls
from .lines import lines_of
from .offers import dataset
from .sections import Problem, Problems, Section
from .tokens import HASH

__all__ = ["CatalogueError", "read_catalogue", "read_text"]

_LISTEN: Final = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")
_SPAN: Final = re.compile(r"([0-9]{1,6})\s*(s|min|h|d)")
_SECONDS: Final = {"s": 1, "min": 60, "h": 3600, "d": 86400}


class CatalogueError(OptionError):
    """A catalogue that cannot be used; ``problems`` lists everything that is wrong with it."""

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        """The message has a line for each problem, beginning with file and line."""
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path}:{each}" for each in problems))


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue in a file, or a CatalogueError that lists what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise OptionError(f"catalogue {str(path)!r} cannot be read; check the path") from None
    except UnicodeDecodeError:
        raise OptionError(f"catalogue {str(path)!r} is not UTF-8") from None
    return read_text(text, path)


def read_text(text: str, path: Path) -> Catalogue:
    """Parse the text of a catalogue; files that it names are relative to ``path``."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogueError(path, [_syntax(str(error), text)]) from None
    problems = Problems(lines_of(text))
    root = Section(values, (), problems)
    folder = path.absolute().parent
    settings = _settings(root.section("serve"), folder)
    budgets = root.section("budgets", needed=True).each(lambda n, s: _budget(n, s, folder))
    datasets = root.section("datasets", needed=True).each(lambda n, s: dataset(n, s, folder))
    people = root.section("people", needed=True).each(_person)
    root.done()
    found = Catalogue(settings, budgets, datasets, people, path)
    _check_names(found, problems)
    if problems.found:
        raise CatalogueError(path, problems.sorted())
    return found


def _syntax(message: str, text: str) -> Problem:
    at = re.search(r" \(at line ([0-9]+), column ([0-9]+)\)| \(at end of document\)", message)
    what = message[: at.start()] if at else message
    line = int(at[1]) if at and at[1] else len(text.splitlines())
    return Problem(line, "", f"not TOML: {what[:1].lower()}{what[1:]}")


def _check_names(found: Catalogue, problems: Problems) -> None:
    """Check that all names that are referred to exist."""
    for name, offered in found.datasets.items():
        if offered.budget and offered.budget not in found.budgets:
            problems.add(("datasets", name, "budget"), "there is no [budgets] table of that name")
        for person in offered.people or ():
            if person not in found.people:
                problems.add(("datasets", name, "people"), f"{person!r} is not in [people]")
        _check_deltas(found, name, problems)
        _check_slots(found, name, problems)
    for name, budget in found.budgets.items():
        for person in budget.allowances:
            if person not in found.people:
                where = ("budgets", name, "allowances", person)
                problems.add(where, "is not in [people]")
    hashes = [each.token for each in found.people.values() if each.token]
    if len(set(hashes)) < len(hashes):
        problems.add(("people",), "two people have the same token; make one for each")
    if found.people and not any(each.may("owner") for each in found.people.values()):
        problems.add(("people",), 'nobody is an owner; give one person roles = ["owner"]')


def _check_deltas(found: Catalogue, name: str, problems: Problems) -> None:
    """Whether the budget of a dataset can pay for its groups with secret names."""
    offered = found.datasets[name]
    budget = found.budgets.get(offered.budget)
    for grouping in offered.groupings.values() if budget else ():
        if budget and grouping.delta and not isinstance(budget.rule, Sum):
            problems.add(
                ("datasets", name, "groups", grouping.table, "delta"),
                f"budget {budget.name!r} has slots or a filter, and no question with a delta can "
                "be asked of it; list the public names of the groups, or name another budget",
            )
        elif budget and grouping.delta > budget.limit.delta:
            problems.add(
                ("datasets", name, "groups", grouping.table, "delta"),
                f"budget {budget.name!r} has a delta of {shown_number(budget.limit.delta)}, which "
                "cannot pay for one such question; create a budget with a larger delta",
            )


def _check_slots(found: Catalogue, name: str, problems: Problems) -> None:
    """Whether the slots of a dataset's budget are as large as the prices that it offers."""
    offered = found.datasets[name]
    budget = found.budgets.get(offered.budget)
    if budget is None or not isinstance(budget.rule, Slots):
        return
    size = budget.rule.epsilon
    if any(epsilon > size for epsilon in offered.epsilons):
        problems.add(
            ("datasets", name, "epsilons"),
            f"budget {budget.name!r} has slots of epsilon {shown_number(size)}, and no larger "
            f'question can be asked of it; list smaller ones, such as epsilons = ["{size}"]',
        )


# --- how it runs ------------------------------------------------------------------------------


def _settings(section: Section, folder: Path) -> Settings:
    host, port = _listen(section)
    proxy = _proxy(section)
    per_minute = section.whole("questions_per_minute", 30)
    found = Settings(
        title=section.text("title", "hourglass"),
        host=host,
        port=port,
        url=section.text("url").rstrip("/") or None,
        tls=_tls(section, folder),
        proxy=proxy,
        journal=folder / section.text("journal", "journal.jsonl"),
        questions_per_minute=per_minute,
        refresh=_span(section, "refresh"),
    )
    if found.url and not found.url.startswith(("http://", "https://")):
        section.wrong("url", 'is the address that people type, such as "https://stats.example"')
    if found.exposed:
        section.wrong(
            "listen",
            f"{host} can be reached from other machines, and nothing would be encrypted; "
            "name certificate files in [serve.tls] or the proxy in [serve.proxy], or listen on "
            "127.0.0.1",
        )
    section.done()
    return found


def _listen(section: Section) -> tuple[str, int]:
    found = _LISTEN.fullmatch(section.text("listen", "127.0.0.1:8420"))
    if found is None or int(found[2]) > 65535:
        section.wrong("listen", 'takes an address and a port, such as "127.0.0.1:8420"')
        return "127.0.0.1", 8420
    return found[1].strip("[]"), int(found[2])


def _tls(section: Section, folder: Path) -> Tls | None:
    if section.get("tls") is None:
        return None
    inner = section.section("tls")
    files = [folder / inner.secret(name, needed=True) for name in ("certificate", "key")]
    for name, file in zip(("certificate", "key"), files, strict=True):
        if not file.is_file():
            inner.wrong(name, "there is no such file")
    inner.done()
    return Tls(*files)


def _proxy(section: Section) -> Proxy | None:
    if section.get("proxy") is None:
        return None
    inner = section.section("proxy")
    addresses = inner.texts("addresses") or ()
    if not addresses:
        inner.wrong("", 'addresses is missing: the proxy\'s own, such as ["127.0.0.1"]')
    for address in addresses:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            inner.wrong("addresses", f"{address!r} is not an IP address")
    header = inner.text("user_header") or None
    inner.done()
    return Proxy(addresses, header)


def _span(section: Section, name: str) -> float | None:
    text = section.text(name)
    if not text:
        return None
    found = _SPAN.fullmatch(text)
    if found is None or int(found[1]) == 0:
        section.wrong(name, 'takes a span such as "30min", "6h" or "1d"')
        return None
    return float(int(found[1]) * _SECONDS[found[2]])


# --- budgets and people -----------------------------------------------------------------------


def _budget(name: str, section: Section, folder: Path) -> BudgetEntry:
    ledger = section.secret("ledger", needed=True)
    if ledger and "://" not in ledger:
        ledger = str(folder / ledger)
    rule: Rule = Sum(Amount(Fraction(1)))
    slots, filter_ = section.get("slots"), section.text("filter") or None
    epsilon = section.number("epsilon", needed=slots is None)
    delta = section.number("delta")
    if epsilon is not None or slots is not None:
        try:
            rule = checked_rule(epsilon, delta or 0, slots, filter_)
        except HourglassError as error:
            section.wrong("epsilon" if slots is None else "slots", str(error))
    limit = rule.limit
    inner = section.section("allowances")
    each = {person: _allowance(inner, person, limit) for person in inner.names}
    allowances = {person: amount for person, amount in each.items() if amount is not None}
    return BudgetEntry(name, ledger, rule, _allowance(section, "allowance", limit), allowances)


def _allowance(section: Section, name: str, limit: Amount) -> Amount | None:
    """A part of a budget: an epsilon, or { epsilon = ..., delta = ... }; else as the budget has."""
    if not isinstance(section.get(name), dict):
        epsilon, delta = section.number(name), None
        if epsilon is None:
            return None
    else:
        inner = section.section(name)
        epsilon, delta = inner.number("epsilon"), inner.number("delta")
        inner.done()
    if min(epsilon or 0, delta or 0) < 0:
        section.wrong(name, "is negative; give 0 or more")
    return Amount(
        limit.epsilon if epsilon is None else epsilon, limit.delta if delta is None else delta
    )


def _person(name: str, section: Section) -> Person:
    token = section.secret("token")
    if token and HASH.fullmatch(token) is None:
        section.wrong("token", "is not a hash; paste the line that `hourglass serve token` printed")
    roles = section.texts("roles")
    if not roles:
        section.wrong("", 'roles is missing; add roles = ["analyst"]')
    for role in roles or ():
        section.one_of("roles", role, ROLES, f"one of {', '.join(ROLES)}")
    return Person(name, frozenset(roles or ()), token, section.text("name"))
