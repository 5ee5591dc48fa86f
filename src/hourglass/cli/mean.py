"""``hourglass mean``: private means of one or several columns, optionally by group."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import hourglass

from ..ask.question import mean_question
from ..errors import OptionError
from ..mechanisms.base import ALGORITHMS
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
    columns_of,
    each_bounds,
    each_missing,
    named,
    values_of,
)

__all__ = ["mean"]


@spread_out
def mean(
    context: typer.Context,
    place: Place,
    epsilon: options.Epsilon,
    groups: Groups,
    persons: Persons,
    charge: Charge,
    wanted: Wanted,
    column: Annotated[
        list[str] | None,
        typer.Argument(
            help="The column to average, or several that share one epsilon.", show_default=False
        ),
    ] = None,
    expression: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help='Average a value computed from each row, such as "dep_delay > 15", '
            "instead of or in addition to a column; can be repeated.",
        ),
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LOWER UPPER",
            help="The public range to which values are clamped. Required unless --bounds-of covers "
            "every column or --bounds-from is given.",
        ),
    ] = None,
    bounds_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN LOWER UPPER",
            help="The range of one of several columns; can be repeated. The other columns "
            "have the range of --bounds.",
        ),
    ] = None,
    bounds_from: options.BoundsFrom = None,
    where: options.Where = None,
    algorithm: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(ALGORITHMS)}."),
    ] = "hourglass",
    estimator: Annotated[
        str, typer.Option(help="projected or ratio; for small groups also posterior or jeffreys.")
    ] = "projected",
    grid: options.GridCells = None,
    missing: options.Missing = "drop",
    missing_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN VALUE",
            help="What replaces missing values in one of several columns; can be repeated.",
        ),
    ] = None,
    parse: options.Parse = None,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread", help="Also estimate the standard deviation, from the same epsilon."
        ),
    ] = False,
    outside: options.OutsideShare = None,
    explain: options.Explain = False,
    total: options.Total = False,
    difference: options.Difference = None,
    ratio: options.Ratio = None,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="Also give an interval for the mean of the population that the records are a "
            "random sample of; it covers sampling error, too. Takes about 10 ms for each group and "
            "column.",
        ),
    ] = False,
) -> None:
    """The differentially private mean of a column, with its sum and count.

    Several columns are answered together, from one epsilon and with one count. Each mean then has
    far less error than with separate questions that divide epsilon.

    The engine that holds the data computes the totals in one pass, and exact noise is added to them
    before anything is printed.
    """
    wanted.check(groups.by, [place.source, groups.keys_from, bounds_from, charge.place])
    figures = Figures.of(total, difference=difference, ratio=ratio)
    figures.check(groups, wanted)
    if population:
        _check_independent(persons, figures)
    asked, names = columns_of(column, expression)
    ask: dict[str, Any] = {
        "column": asked if len(asked) > 1 else asked[0],
        "bounds": each_bounds(names, bounds, named(values_of(bounds_of), expression), bounds_from),
        "epsilon": epsilon,
        "where": where,
        **groups.asked,
        "unit": persons.unit,
        "algorithm": algorithm,
        "estimator": estimator,
        "grid": grid,
        "missing": each_missing(names, missing, named(values_of(missing_of), expression)),
        "parse": parse,
        "spread": spread,
        "outside": outside,
    }
    answered(
        hourglass.mean, ask, place, charge, wanted, explain=explain, bits=context.obj or SECURE,
        figures=figures, question=mean_question, population=population,
    )  # fmt: skip


def _check_independent(persons: Persons, figures: Figures) -> None:
    """Raise an error if one person can have several records, which are not independent draws."""
    if persons.rows is not None and persons.rows > 1:
        raise OptionError(
            "--population assumes that the records are independent draws, but with --rows "
            f"{persons.rows} several rows of one person count; leave out --rows, so that each "
            "person counts once with the mean of their rows, or leave out --population"
        )
    if figures and persons.groups > 1:
        raise OptionError(
            f"--population assumes that the records are independent draws, but with --groups "
            f"{persons.groups} one person counts in several groups, which {figures.first} "
            f"combines; leave out {figures.first}, --groups or --population"
        )
