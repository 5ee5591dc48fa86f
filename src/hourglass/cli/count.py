"""``hourglass count``: a private number of rows or persons, optionally by group."""

from __future__ import annotations

from typing import Any

import typer

import hourglass

from ..noise.bits import SECURE
from . import options
from .asking import Wanted, answered, keys_of
from .common import account, data_of, ledger_of, start_spark, unit_of
from .output import origin_of

__all__ = ["count"]


def count(
    context: typer.Context,
    source: options.Source,
    epsilon: options.Epsilon,
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
    engine: options.EngineName = None,
    master: options.Master = None,
    budget: options.BudgetName = None,
    ledger: options.LedgerPlace = None,
    request: options.RequestName = None,
    explain: options.Explain = False,
    format_: options.Format = "table",
    output: options.Output = None,
    plot: options.Plot = None,
    statement: options.StatementTo = None,
    confidence: options.Confidence = None,
    fewest: options.Fewest = 1,
) -> None:
    """The differentially private number of rows or, with --person, of persons.

    Every row counts, whatever its cells contain, so no column and no bounds are needed.
    """
    origin = origin_of(source, table)
    wanted = Wanted(format_, output, plot, statement, confidence, fewest, origin)
    wanted.check(by, [source, keys_from, ledger_of(ledger)])
    ask: dict[str, Any] = {
        "data": data_of(source, table, trusted, multiline),
        "epsilon": epsilon,
        "where": where,
        "by": by or None,
        "keys": keys_of(keys, keys_from),
        "delta": delta,
        "unit": unit_of(person, rows, groups),
        "engine": engine,
    }
    charges = account(budget, ledger, request)
    if master:
        start_spark(engine, master)
    answered(
        hourglass.count, ask, wanted, explain=explain, charges=charges, request=request,
        bits=context.obj or SECURE,
    )  # fmt: skip
