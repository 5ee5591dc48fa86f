"""``hourglass mean``: private means of one or several columns, optionally by group."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import hourglass

from ..mechanisms.base import ALGORITHMS
from ..noise.bits import SECURE
from . import options, ranges
from .asking import Wanted, answered, keys_of
from .combined import Combined, check_combined
from .command import values_of
from .common import account, data_of, ledger_of, start_spark, unit_of
from .computed import columns_of, named
from .output import origin_of

__all__ = ["mean"]


def mean(
    context: typer.Context,
    source: options.Source,
    epsilon: options.Epsilon,
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
            "instead of or in addition to a column; may be given again.",
        ),
    ] = None,
    bounds: options.BoundsGiven = None,
    bounds_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN LOWER UPPER",
            help="The range of one of several columns; may be given again. Columns without one "
            "have the range of --bounds.",
        ),
    ] = None,
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
            help="What a missing value counts as in one of several columns; may be given again.",
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
    difference: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Also print the mean of group A minus that of group B; costs no epsilon.",
        ),
    ] = None,
    statement: options.StatementTo = None,
    confidence: options.Confidence = None,
    fewest: options.Fewest = 1,
) -> None:
    """The differentially private mean of a column, with its sum and count.

    Several columns are answered together, from one epsilon and with one count. Each mean then has
    far less error than with separate questions that divide epsilon.

    The engine that holds the data computes the totals in one pass, and exact noise is added to them
    before anything is printed.
    """
    origin = origin_of(source, table)
    wanted = Wanted(format_, output, plot, statement, confidence, fewest, origin)
    wanted.check(by, [source, keys_from, bounds_from, ledger_of(ledger)])
    public = keys_of(keys, keys_from)
    check_combined(total, difference, by, public, format_)
    asked, names = columns_of(column, expression)
    charges = account(budget, ledger, request)
    if master:
        start_spark(engine, master)
    ask: dict[str, Any] = {
        "data": data_of(source, table, trusted, multiline),
        "column": asked if len(asked) > 1 else asked[0],
        "bounds": ranges.bounds_of(
            names, bounds, named(values_of(bounds_of), expression), bounds_from
        ),
        "epsilon": epsilon,
        "where": where,
        "by": by or None,
        "keys": public,
        "delta": delta,
        "unit": unit_of(person, rows, groups),
        "algorithm": algorithm,
        "estimator": estimator,
        "grid": grid,
        "missing": ranges.missing_of(names, missing, named(values_of(missing_of), expression)),
        "parse": parse,
        "spread": spread,
        "outside": outside,
        "engine": engine,
    }
    answered(
        hourglass.mean, ask, wanted, explain=explain, charges=charges, request=request,
        bits=context.obj or SECURE,
        shown=lambda found: Combined(found, total, difference) if total or difference else found,
        title=_title(names, by),
    )  # fmt: skip


def _title(columns: list[str], by: list[str] | None) -> str:
    return f"Private mean of {', '.join(columns)}" + (f" by {', '.join(by)}" if by else "")
