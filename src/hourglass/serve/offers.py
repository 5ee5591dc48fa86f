"""The datasets of a catalogue: their columns, groups and prices."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from ..ask.options import Conditions
from ..core.exact import exact_delta, exact_epsilon
from ..core.limits import Bounds, Unit, per_person
from ..errors import HourglassError
from .catalogue import EPSILONS, MOST, Column, Dataset, Filter, Grouping
from .sections import Section

__all__ = ["dataset"]

#: Bounds in an error of the library, which are written as a list in a catalogue.
_PAIR: Final = re.compile(r"\bbounds=\(([^()]*)\)")
#: The most groups with secret names that a grouping may have.
MOST_KEPT: Final = 100_000


def dataset(name: str, section: Section, folder: Path) -> Dataset:
    """The dataset that a table of the catalogue describes."""
    source = section.secret("source", needed=True)
    if source and "://" not in source:
        source = str(folder / source)
    columns = section.section("columns", needed=True).each(_column, names=False)
    groupings = _groupings(section.section("groups"), folder)
    found = Dataset(
        name=name,
        source=source,
        budget=section.text("budget", needed=True),
        columns=columns,
        groupings=groupings,
        filters=section.section("filters").each(_filter),
        together=_together(section, columns),
        table=section.secret("table") or None,
        title=section.text("title") or name,
        description=section.text("description"),
        unit=_unit(section),
        records=section.whole("records", 1000),
        epsilons=_epsilons(section),
        people=section.texts("people"),
    )
    if "://" in source and found.table is None:
        section.wrong("", "table is missing: a database needs the name of a table")
    return found


def _column(name: str, section: Section) -> Column:
    pair = section.get("bounds", needed=True)
    bounds: tuple[Any, Any] = (-math.inf, math.inf)  # replaced, unless there is a problem
    try:
        if pair is not None and not (isinstance(pair, list) and len(pair) == 2):
            section.wrong("bounds", "takes a pair of numbers, such as bounds = [0, 100]")
        elif pair is not None:
            checked = Bounds.of(pair)
            bounds = (checked.lower, checked.upper)
    except HourglassError as error:
        section.wrong("bounds", _PAIR.sub(r"bounds = [\1]", str(error)))
    missing, parse = section.get("missing"), section.text("parse") or None
    if parse:
        section.one_of("parse", parse, ("real", "integer"), "real or integer")
    typical = section.number("typical")
    if typical is not None and not bounds[0] <= typical <= bounds[1]:
        section.wrong("typical", f"is outside the bounds ({bounds[0]}, {bounds[1]})")
    grid = section.whole("grid", 0) or None
    _check_unit(section)
    return Column(
        name=name,
        bounds=bounds,
        title=section.text("title") or name,
        measured_in=section.text("measured_in"),
        description=section.text("description"),
        typical=None if typical is None else float(typical),
        spread=section.truth("spread"),
        missing="drop" if missing is None else missing,
        parse=parse,
        grid=grid,
    )


def _check_unit(section: Section) -> None:
    """Refuse ``unit``, the former name of ``measured_in``: a unit is a privacy unit."""
    if "unit" not in section.names:
        return
    section.get("unit")  # it is known, and has a message of its own
    section.wrong(
        "unit",
        "belongs to the dataset: it is whose presence is hidden; for what the values of a column "
        'are measured in, write measured_in = "..."',
    )


def _filter(name: str, section: Section) -> Filter:
    where = section.text("where", needed=True)
    try:
        if where:
            Conditions.of(where, ())
    except HourglassError as error:
        section.wrong("where", str(error))
    return Filter(name, where, section.text("title") or name)


def _groupings(section: Section, folder: Path) -> dict[str, Grouping]:
    """The groupings by their columns, which is how questions refer to them."""
    found: dict[str, Grouping] = {}
    for table, each in section.each(lambda n, s: _grouping(n, s, folder), names=False).items():
        if each.name in found:
            other = found[each.name].table
            section.wrong(table, f"groups by the same columns as {other!r}; leave one of them out")
        found[each.name] = replace(each, table=table)
    return found


def _grouping(name: str, section: Section, folder: Path) -> Grouping:
    keys, file, delta = section.get("keys"), section.text("keys_from"), section.get("delta")
    by = section.texts("by") or (name,)
    title = section.text("title") or name
    if [keys is None, not file, delta is None].count(False) != 1:
        section.wrong(
            "",
            "takes one of keys (the public names of the groups), keys_from (a file of them) and "
            "delta (their names are secret)",
        )
        for other in ("about", "most"):
            section.get(other)
        return Grouping(by, (), title)
    if delta is not None:
        return _secret(by, title, section)
    if file:
        if not (folder / file).is_file():
            section.wrong("keys_from", "there is no such file")
        return Grouping(by, folder / file, title)
    if not isinstance(keys, list) or not keys:
        section.wrong("keys", 'takes a list of names, such as keys = ["north", "south"]')
        return Grouping(by, (), title)
    return Grouping(by, tuple(tuple(k) if isinstance(k, list) else k for k in keys), title)


def _secret(by: tuple[str, ...], title: str, section: Section) -> Grouping:
    """Groups whose names are secret, which are shown if their noisy counts reach a threshold."""
    delta = section.number("delta")
    try:
        delta = None if delta is None else exact_delta(delta)
    except HourglassError as error:
        section.wrong("delta", str(error))
        delta = None
    about, most = section.whole("about", 10), section.whole("most", MOST)
    if most > MOST_KEPT:
        section.wrong("most", f"is above {MOST_KEPT}: so many groups take too long to answer")
    if about > most:
        section.wrong("about", f"is above most, which is {most}")
    return Grouping(by, None, title, delta or Fraction(1, 2), about, most)


def _together(section: Section, columns: dict[str, Column]) -> tuple[tuple[str, ...], ...]:
    lists = section.get("together")
    if lists is None:
        return ()
    good = isinstance(lists, list) and all(
        isinstance(each, list) and len(each) > 1 and all(isinstance(c, str) for c in each)
        for each in lists
    )
    if not good:
        section.wrong("together", 'takes lists of columns, such as together = [["a", "b"]]')
        return ()
    for name in (name for each in lists for name in each):
        section.one_of("together", name, columns, "a column of this dataset")
    return tuple(tuple(each) for each in lists)


def _unit(section: Section) -> Unit:
    inner = section.section("unit")
    person = inner.text("person")
    rows, groups = inner.whole("rows", 0), inner.whole("groups", 1)
    inner.done()
    if not person:
        if rows or groups != 1:
            inner.wrong("", "rows and groups need persons; name their column with person")
        return Unit()
    try:
        return per_person(person, rows=rows or None, groups=groups)
    except HourglassError as error:
        inner.wrong("", str(error))
        return Unit()


def _epsilons(section: Section) -> tuple[Fraction, ...]:
    listed = section.get("epsilons")
    if listed is None:
        return EPSILONS
    found = []
    for each in listed if isinstance(listed, list) else [None]:
        try:
            found.append(exact_epsilon(each))
        except HourglassError as error:
            section.wrong("epsilons", f"takes a list of prices such as [0.1, 0.5, 1]; {error}")
    if not found:
        section.wrong("epsilons", "takes a list of prices such as [0.1, 0.5, 1]")
        return EPSILONS
    return tuple(sorted(set(found)))
