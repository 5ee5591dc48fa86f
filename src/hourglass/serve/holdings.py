"""Registered datasets: their totals are read once, kept in memory, and never shown.

Registering a dataset opens its source, constructs every question that the catalogue allows and
reads their totals. After that an answer needs no scan, and its time does not depend on the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Final

from ..ask.options import Conditions
from ..ask.question import MeanQuestion, mean_question
from ..errors import HourglassError, OptionError
from ..read.database import sql
from ..read.kept import Kept
from ..read.open import PublicKeys, open_table
from .catalogue import Column, Dataset, Grouping
from .pacing import Paced

__all__ = ["Choice", "Holding", "check_schema", "choices", "column_sets", "register"]


@dataclass(frozen=True)
class Choice:
    """A question that the catalogue allows, without its price."""

    columns: tuple[str, ...]
    grouping: str = ""
    filter: str = ""
    spread: bool = False


def column_sets(dataset: Dataset) -> list[tuple[str, ...]]:
    """The columns that may be asked for, alone and together."""
    return [(name,) for name in dataset.columns] + list(dataset.together)


def choices(dataset: Dataset) -> list[Choice]:
    """Every question that a dataset offers."""
    sets = column_sets(dataset)
    wide = [(name,) for name, column in dataset.columns.items() if column.spread]
    groupings, filters = ["", *dataset.groupings], ["", *dataset.filters]
    plain = [Choice(*each) for each in product(sets, groupings, filters)]
    return plain + [Choice(*each, spread=True) for each in product(wide, groupings, filters)]


@dataclass(frozen=True)
class Holding:
    """A registered dataset: its description, its totals (secret), the keys of its groups."""

    dataset: Dataset
    kept: Kept = field(repr=False)
    keys: dict[str, PublicKeys] = field(repr=False)
    menu: frozenset[Choice] = frozenset()
    made: dict[tuple[Choice, Fraction], Paced] = field(default_factory=dict, repr=False)

    @cached_property
    def subjects(self) -> dict[Choice, str]:
        """The description of each question; that with the spread is the same."""
        first = self.dataset.epsilons[0]
        plain = [choice for choice in choices(self.dataset) if not choice.spread]
        return {choice: self.paced(choice, first).subject for choice in plain}

    def question(self, choice: Choice, epsilon: Fraction) -> MeanQuestion:
        """The question at a price; no total is read."""
        found: MeanQuestion = self.paced(choice, epsilon).question
        return found

    def paced(self, choice: Choice, epsilon: Fraction) -> Paced:
        """The question at its price, ready to be answered at a fixed instant; made once."""
        found = self.made.get((choice, epsilon))
        if found is None:
            question = _question(self.dataset, self.kept, choice, epsilon)
            found = self.made[choice, epsilon] = Paced(question, self.noised(choice.grouping))
        return found

    def rehearsals(self) -> Iterator[Paced]:
        """Every question at every price; once rehearsed, its law is prepared for all."""
        for choice, epsilon in product(choices(self.dataset), self.dataset.epsilons):
            yield self.paced(choice, epsilon)

    def groups(self, grouping: str) -> int:
        """The number of groups of an answer, approximate if their names are secret."""
        if not grouping:
            return 1
        return len(self.keys[grouping].keys) if grouping in self.keys else self._of(grouping).about

    def noised(self, grouping: str) -> int:
        """The number of groups that get noise, which is public whichever groups exist."""
        return self.groups(grouping) if grouping in ("", *self.keys) else self._of(grouping).most

    def _of(self, grouping: str) -> Grouping:
        return self.dataset.groupings[grouping]


def register(dataset: Dataset) -> Holding:
    """Read the totals of all questions that a dataset offers."""
    data = _data(dataset)
    wanted = tuple(
        dict.fromkeys([*dataset.columns, *_keys(dataset), *_person(dataset), *_filtered(dataset)])
    )
    kept = Kept(open_table(data, wanted), dataset.place)
    holding = Holding(dataset, kept, {}, frozenset(choices(dataset)))
    for choice in choices(dataset):
        question = _question(dataset, data, choice, dataset.epsilons[0])
        if question.keys is not None:
            holding.keys[choice.grouping] = question.keys
        most = dataset.groupings[choice.grouping].most if choice.grouping else None
        kept.keep(question.query, question.read(), question.keys, most)
    return holding


def check_schema(dataset: Dataset) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with the questions of a dataset by its schema: places and words.

    No row is read. A place is the path of a table or value within the dataset's own.
    """
    found: dict[str, tuple[str, ...]] = {}
    try:
        data = _data(dataset)
    except HourglassError as error:
        return [(("source",), _as_entries(str(error)))]
    menu, good = choices(dataset), 0
    for choice in menu:
        try:
            _question(dataset, data, choice, dataset.epsilons[0])
            good += 1
        except HourglassError as error:
            found.setdefault(str(error), _place(dataset, choice))
    if len(found) == 1 and not good:  # the same for all questions
        (words,) = found
        if words.startswith("unit"):
            found[words] = ("unit", "person")
        elif not words.startswith("column"):
            found[words] = ("source",)
    return [(place, _as_entries(words)) for words, place in found.items()]


#: What messages of the library are in a catalogue, whose entries the problems are listed by.
_ENTRIES: Final = (
    (r"^data='[^']*' is a database; give hg\.sql\('([^']*)', table\)$",
     r'is a database; write source = "\1" and table = "...", the name of a table in it'),
    (r"^(data|column|unit)=(?=')", ""),
    (r"^by: name \d+ of the list is not a column of the table;", "the table has no such column;"),
    (r"; for the share of rows with one value, ask for an expression .*$", ""),
    (r"parse='(\w+)'", r'parse = "\1"'),
)  # fmt: skip


def _as_entries(message: str) -> str:
    """A message of the library in terms of a catalogue: parse='real' as parse = "real"."""
    for pattern, replacement in _ENTRIES:
        message = re.sub(pattern, replacement, message)
    return message


def _place(dataset: Dataset, choice: Choice) -> tuple[str, ...]:
    """What a question adds to those before it in the menu: there its problem lies."""
    if choice.filter:
        return ("filters", choice.filter)
    if choice.grouping:
        return ("groups", dataset.groupings[choice.grouping].table)
    return ("columns", choice.columns[0])


def _data(dataset: Dataset) -> Any:
    if "://" in dataset.source:
        assert dataset.table is not None
        return sql(dataset.source, dataset.table)
    if dataset.table is not None:
        raise OptionError("table applies to databases, but the source is a file; leave it out")
    return dataset.source


def _keys(dataset: Dataset) -> list[str]:
    return [name for grouping in dataset.groupings.values() for name in grouping.by]


def _person(dataset: Dataset) -> list[str]:
    return [dataset.unit.person] if dataset.unit.person else []


def _filtered(dataset: Dataset) -> list[str]:
    wheres = [each.where for each in dataset.filters.values()]
    return [name for where in wheres for name in Conditions.of(where, ()).columns]


#: The options of a column that a question takes.
_OPTIONS: Final = ("missing", "parse", "grid")


def _question(dataset: Dataset, data: Any, choice: Choice, epsilon: Fraction) -> MeanQuestion:
    columns = [dataset.columns[name] for name in choice.columns]
    options: dict[str, Any]
    if len(columns) == 1:
        asked: Any = columns[0].name
        options = {name: getattr(columns[0], name) for name in ("bounds", *_OPTIONS)}
    else:
        asked = [column.name for column in columns]
        options = {
            name: {column.name: getattr(column, name) for column in columns}
            for name in ("bounds", *_OPTIONS)
        }
        options["grid"] = _given(columns)
    if choice.grouping:
        grouping = dataset.groupings[choice.grouping]
        keys: Any = grouping.keys
        options |= {"by": list(grouping.by), "keys": list(keys) if type(keys) is tuple else keys}
        options |= {"delta": grouping.delta or None}
    if choice.filter:
        options["where"] = dataset.filters[choice.filter].where
    unit = dataset.unit
    if unit.groups > 1 and not choice.grouping:
        unit = type(unit)(unit.person, unit.rows)
    return mean_question(data, asked, epsilon=epsilon, unit=unit, spread=choice.spread, **options)


def _given(columns: list[Column]) -> dict[str, int] | None:
    found = {column.name: column.grid for column in columns if column.grid is not None}
    return found or None
