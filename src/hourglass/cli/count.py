"""``hourglass count``: a private number of rows or persons, optionally by group."""

from __future__ import annotations

import typer

import hourglass

from ..ask.count import count_question
from ..noise.bits import SECURE
from . import options
from .command import spread_out
from .delivery import answered
from .parts import Charge, Figures, Groups, Persons, Place, Wanted

__all__ = ["count"]


@spread_out
def count(
    context: typer.Context,
    place: Place,
    epsilon: options.Epsilon,
    groups: Groups,
    persons: Persons,
    charge: Charge,
    wanted: Wanted,
    where: options.Where = None,
    explain: options.Explain = False,
    total: options.Total = False,
    difference: options.Difference = None,
) -> None:
    """The differentially private number of rows or, with --person, of persons.

    Every row counts, whatever its cells contain, so no column and no bounds are needed.
    """
    wanted.check(groups.by, [place.source, groups.keys_from, charge.place])
    figures = Figures.of(total, difference=difference)
    figures.check(groups, wanted)
    ask = {"epsilon": epsilon, "where": where, "unit": persons.unit, **groups.asked}
    answered(
        hourglass.count, ask, place, charge, wanted, explain=explain, bits=context.obj or SECURE,
        figures=figures, question=count_question,
    )  # fmt: skip
