"""``hourglass sum``: the private sum of a column, optionally by group."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import hourglass

from ..noise.bits import SECURE
from . import options
from .asking import Wanted, answered, keys_of
from .combined import Combined, check_combined
from .common import account, data_of, ledger_of, start_spark, unit_of
from .computed import column_of
from .output import origin_of
from .ranges import bounds_of, missing_of

__all__ = ["sum_"]


def sum_(
    context: typer.Context,
    source: options.Source,
    epsilon: options.Epsilon,
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
    table: options.Table = None,
    trusted: options.Trusted = False,
    multiline: options.Multiline = False,
    where: options.Where = None,
    by: options.By = None,
    keys: options.Keys = None,
    keys_from: options.KeysFrom = None,
    delta: options.Delta = None,
    person: options.Person = None,
    rows: options.Rows = None,
    groups: options.GroupsOf = 1,
    grid: options.GridCells = None,
    missing: options.Missing = "drop",
    parse: options.Parse = None,
    outside: options.OutsideShare = None,
    engine: options.EngineName = None,
    master: options.Master = None,
    budget: options.BudgetName = None,
    ledger: options.LedgerPlace = None,
    request: options.RequestName = None,
    explain: options.Explain = False,
    format_: options.Format = "table",
    output: options.Output = None,
    plot: options.Plot = None,
    total: Annotated[
        bool, typer.Option("--total", help="Also print the total of all groups; costs no epsilon.")
    ] = False,
    statement: options.StatementTo = None,
    confidence: options.Confidence = None,
    fewest: options.Fewest = 1,
) -> None:
    """The differentially private sum of a column, with its mean and count.

    Values are clamped to the bounds before they are added up. With --person, --rows sets how many
    rows of a person count.
    """
    origin = origin_of(source, table)
    wanted = Wanted(format_, output, plot, statement, confidence, fewest, origin)
    wanted.check(by, [source, keys_from, bounds_from, ledger_of(ledger)])
    public = keys_of(keys, keys_from)
    check_combined(total, None, by, public, format_)
    asked, name = column_of(column, expression)
    ask: dict[str, Any] = {
        "data": data_of(source, table, trusted, multiline),
        "column": asked,
        "bounds": bounds_of([name], bounds, [], bounds_from),
        "epsilon": epsilon,
        "where": where,
        "by": by or None,
        "keys": public,
        "delta": delta,
        "unit": unit_of(person, rows, groups),
        "grid": grid,
        "missing": missing_of([name], missing, []),
        "parse": parse,
        "outside": outside,
        "engine": engine,
    }
    charges = account(budget, ledger, request)
    if master:
        start_spark(engine, master)
    answered(
        hourglass.sum, ask, wanted, explain=explain, charges=charges, request=request,
        bits=context.obj or SECURE,
        shown=lambda found: Combined(found, total, None) if total else found,
    )  # fmt: skip
