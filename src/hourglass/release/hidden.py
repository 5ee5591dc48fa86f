"""Whose presence is hidden, in words, from the text of a unit as answers store it."""

from __future__ import annotations

import re
from typing import Final

from ..errors import OptionError

__all__ = [
    "check_sampled", "counts_persons", "hidden", "in_several_groups", "is_sampled", "limited",
]  # fmt: skip

_PERSON: Final = re.compile(
    r"person \((?P<column>.*): (?:counted once|up to (?P<rows>[0-9]+) rows)"
    r"(?: in (?:(?P<one>one group)|up to (?P<groups>[0-9]+) groups))?\)",
    re.DOTALL,
)


def counts_persons(unit: str) -> bool:
    """Whether records are persons, from the text of a unit."""
    found = _PERSON.fullmatch(unit)
    return found is not None and found["rows"] is None


def in_several_groups(unit: str) -> bool:
    """Whether a person may count in several groups, from the text of a unit."""
    found = _PERSON.fullmatch(unit)
    return found is not None and found["groups"] is not None


def is_sampled(unit: str) -> bool:
    """Whether the records of a group can be independent draws: no person has several of them."""
    found = _PERSON.fullmatch(unit)
    return found is None or found["rows"] in (None, "1")


def check_sampled(unit: str, *, groups: int = 1) -> None:
    """Raise an error if one person can have several of the records of one or more groups.

    A random sample of a population consists of independent draws.
    """
    found = _PERSON.fullmatch(unit)
    if found is None:
        return
    draws = 'of="population" needs records that are independent draws, but '
    if not is_sampled(unit):
        raise OptionError(
            f"{draws}up to {found['rows']} rows of one person count; ask with "
            f"hg.per_person({found['column']!r}), so that each person counts once, with the mean "
            "of their rows"
        )
    if groups > 1 and found["groups"]:
        raise OptionError(
            f"{draws}one person counts in up to {found['groups']} groups; ask without groups=, so "
            "that each person counts in one group"
        )


def limited(unit: str, *, by_group: bool) -> str:
    """The text of a unit; of a person who counts in one group only, it says so."""
    found = _PERSON.fullmatch(unit)
    if found is None or found["one"] or found["groups"] or not by_group:
        return unit
    return f"{unit[:-1]} in one group)"


def hidden(unit: str, *, averaged: bool = True, by_group: bool = False) -> str:
    """Whose presence is hidden, in words, from the text of a unit as stored in answers.

    ``averaged`` means that a person who counts once does so with the mean of their rows.
    """
    found = _PERSON.fullmatch(unit)
    if found is None:
        return f"one {unit}"
    column, rows = found["column"], found["rows"]
    alone = ", in one group" if found["one"] or (by_group and not found["groups"]) else ""
    if rows is None:
        once = "once per group" if found["groups"] else "once"
        words = f"each {column} counts {once}"
        words += alone + (", with the mean of their rows" if averaged else "")
    else:
        words = f"up to {rows} {'row' if rows == '1' else 'rows'} of each {column} count{alone}"
    if found["groups"]:
        words += f", in up to {found['groups']} groups"
    return f"one person ({words})"
