"""Whose presence is hidden: a row, or a person with all of their rows.

A unit is enforced in the query, never assumed of the data: however many rows a person has, no more
of them count than the unit allows. Which ones depends on the person's id and own rows alone, so one
person's rows never affect which rows of another are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from ..errors import OptionError, shown

__all__ = [
    "Unit", "as_unit", "check_sampled", "counts_persons", "hidden", "is_sampled", "per_person",
    "per_row",
]  # fmt: skip

#: The largest rows times groups; with more, an epsilon of 1 leaves too little for a record.
MAX_SHARES = 1_000_000


@dataclass(frozen=True)
class Unit:
    """A row (``person`` is None), or a person identified by a column.

    ``rows`` is the most rows of a person that count in a group; None means that the person counts
    once, with the mean of their rows. ``groups`` is the most groups in which a person counts.
    """

    person: str | None = None
    rows: int | None = None
    groups: int = 1

    @property
    def records(self) -> int:
        """The most records of a group that one unit can have."""
        return self.rows or 1

    @property
    def shares(self) -> int:
        """How many equal parts epsilon is divided into: records per group, times groups."""
        return self.records * self.groups

    def __str__(self) -> str:
        if self.person is None:
            return "row"
        limits = [f"up to {self.rows} rows" if self.rows else "counted once"]
        if self.groups > 1:
            limits.append(f"in up to {self.groups} groups")
        return f"person ({self.person}: {' '.join(limits)})"


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


def per_row() -> Unit:
    """Protect each row; suitable if a person has at most one row."""
    return Unit()


def per_person(column: str, *, rows: int | None = None, groups: int = 1) -> Unit:
    """Protect each person, identified by ``column``, with all of their rows.

    Without ``rows`` a person counts once in a group, with the mean of their own rows, at the full
    epsilon. With ``rows=k`` up to k rows of a person count, and with ``groups=m`` a person counts
    in up to m groups; epsilon is divided by k * m. Rows whose person is NULL are left out.
    """
    if not isinstance(column, str) or not column:
        raise OptionError(
            f"per_person({shown(column)}): give the name of the column that identifies persons"
        )
    if rows is not None:
        _whole("rows", rows)
    _whole("groups", groups)
    shares = (rows or 1) * groups
    if shares > MAX_SHARES:
        raise OptionError(
            f"rows * groups = {shown(shares)} is above {MAX_SHARES}; lower one of them"
        )
    return Unit(column, rows, groups)


def as_unit(unit: Any) -> Unit:
    """The given unit; rows by default."""
    if unit is None:
        return per_row()
    if not isinstance(unit, Unit):
        raise OptionError(
            f"unit={shown(unit)} is not a unit; give hg.per_row() or hg.per_person('id')"
        )
    return unit


def _whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{name}={shown(value)} is not a whole number of 1 or more")
