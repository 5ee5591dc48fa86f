"""``hourglass sum``: the private sum of a column, optionally by group."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import hourglass

from ..ask.sum import sum_question
from ..errors import OptionError
from ..noise.bits import SECURE
from . import options
from .command import spread_out
from .delivery import answered
from .parts import (
    Charge,
    Figures,
    Groups,
    Persons,
    Place,
    Wanted,
    column_of,
    each_bounds,
    each_missing,
)

__all__ = ["sum_"]


@spread_out
def sum_(
    context: typer.Context,
    place: Place,
    epsilon: options.Epsilon,
    groups: Groups,
    persons: Persons,
    charge: Charge,
    wanted: Wanted,
    column: Annotated[
        str | None, typer.Argument(help="The column to add up.", show_default=False)
    ] = None,
    expression: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help='Instead of a column: a value computed from each row, such as "price * amount".',
        ),
    ] = None,
    bounds: options.BoundsGiven = None,
    bounds_from: options.BoundsFrom = None,
    where: options.Where = None,
    grid: options.GridCells = None,
    missing: options.Missing = "drop",
    parse: options.Parse = None,
    outside: options.OutsideShare = None,
    explain: options.Explain = False,
    total: options.Total = False,
    difference: options.Difference = None,
) -> None:
    """The differentially private sum of a column, with its mean and count.

    Values are clamped to the bounds before they are added up. --person needs --rows, the most rows
    of a person that count.
    """
    if persons.person is not None and persons.rows is None:
        raise OptionError(
            f"--person {persons.person!r} needs --rows: otherwise each person counts once, with "
            "the mean of their rows, and those means do not add up to the sum; add --rows, the "
            "most rows of a person that count"
        )
    wanted.check(groups.by, [place.source, groups.keys_from, bounds_from, charge.place])
    figures = Figures.of(total, difference=difference)
    figures.check(groups, wanted)
    asked, name = column_of(column, expression)
    ask: dict[str, Any] = {
        "column": asked,
        "bounds": each_bounds([name], bounds, [], bounds_from),
        "epsilon": epsilon,
        "where": where,
        **groups.asked,
        "unit": persons.unit,
        "grid": grid,
        "missing": each_missing([name], missing, []),
        "parse": parse,
        "outside": outside,
    }
    answered(
        hourglass.sum, ask, place, charge, wanted, explain=explain, bits=context.obj or SECURE,
        figures=figures, question=sum_question,
    )  # fmt: skip
