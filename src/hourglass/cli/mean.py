"""``hourglass mean``: private means of one column or several, by group if asked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

import hourglass

from ..errors import OptionError
from ..estimate.interval import check_confidence
from ..mechanisms.base import ALGORITHMS
from ..noise.bits import SECURE
from ..release.found import FoundBounds
from . import options
from .combined import Combined, check_combined
from .common import account, answering, data_of, ledger_of, number_of, start_spark, unit_of
from .computed import columns_of, named
from .delivery import Delivery
from .many import values_of
from .output import FORMATS, check_targets, encoded, write, write_file

__all__ = ["mean"]


def mean(
    context: typer.Context,
    source: options.Source,
    epsilon: Annotated[
        str,
        typer.Option(help="The privacy parameter: smaller is more private.", show_default=False),
    ],
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
            help='Average what this computes from a row\'s columns, such as "dep_delay > 15", '
            "instead of a column or besides; may be given again.",
        ),
    ] = None,
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LOWER UPPER",
            help="The public range of the values, to which they are clamped. Always needed, "
            "unless there is --bounds-from.",
        ),
    ] = None,
    bounds_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN LOWER UPPER",
            help="The range of one of several columns; may be given again. Columns without one "
            "have the range of --bounds.",
        ),
    ] = None,
    bounds_from: Annotated[
        Path | None,
        typer.Option(help="Instead: the range that hourglass bounds --format json wrote here."),
    ] = None,
    table: options.Table = None,
    trusted: options.Trusted = False,
    multiline: options.Multiline = False,
    where: options.Where = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Group by this column; may be given again.")
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The public names of the groups: all are answered."),
    ] = None,
    keys_from: Annotated[
        Path | None,
        typer.Option(help="The same from a file: a list (.txt), or a public table."),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="Group names are secret: publish a group whose noisy count is large."),
    ] = None,
    person: options.Person = None,
    rows: options.Rows = None,
    groups: Annotated[
        int, typer.Option(help="With --person: count a person in up to so many groups.")
    ] = 1,
    algorithm: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(ALGORITHMS)}."),
    ] = "hourglass",
    estimator: Annotated[
        str, typer.Option(help="projected, ratio; for small groups posterior or jeffreys.")
    ] = "projected",
    grid: Annotated[
        int | None, typer.Option(help="Cells of the range; left out, chosen by the column's type.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="'drop', or the value that a missing one counts as.")
    ] = "drop",
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
        typer.Option("--spread", help="Also the standard deviation, from the same epsilon."),
    ] = False,
    engine: options.EngineName = None,
    master: options.Master = None,
    budget: options.BudgetName = None,
    ledger: options.LedgerPlace = None,
    request: options.RequestName = None,
    explain: options.Explain = False,
    format_: Annotated[
        str, typer.Option("--format", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    ] = "table",
    output: options.Output = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the means to this .png, .svg or .pdf.")
    ] = None,
    total: Annotated[
        bool, typer.Option("--total", help="Print the groups taken together as well, free.")
    ] = False,
    difference: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Print the mean of group A less that of group B, free."),
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write the privacy statement to this file, as YAML.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Of the intervals; 0.95, and left out past 100,000 groups, by default."),
    ] = None,
) -> None:
    """The differentially private mean of a column, with its sum and count.

    Several columns are answered together, for one epsilon and with one count. Each mean then has
    far less error than if it were asked for by itself at its part of epsilon.

    The totals are computed where the data lives, in one pass, and exact noise is added to them
    before anything is printed.
    """
    _check_output(format_, output, plot, by)
    check_targets(
        {"output": output, "plot": plot, "statement": statement},
        [source, keys_from, bounds_from, ledger_of(ledger)],
    )
    public = _keys(keys, keys_from)
    check_combined(total, difference, by, public, format_)
    if confidence is not None:
        check_confidence(confidence)
    asked, names = columns_of(column, expression)
    charges = account(budget, ledger, request)
    if master:
        start_spark(engine, master)
    ask: dict[str, Any] = {
        "data": data_of(source, table, trusted, multiline),
        "column": asked if len(asked) > 1 else asked[0],
        "bounds": _bounds(names, bounds, named(values_of(bounds_of), expression), bounds_from),
        "epsilon": epsilon,
        "where": where,
        "by": by or None,
        "keys": public,
        "delta": delta,
        "unit": unit_of(person, rows, groups),
        "algorithm": algorithm,
        "estimator": estimator,
        "grid": grid,
        "missing": _missing(names, missing, named(values_of(missing_of), expression)),
        "parse": parse,
        "spread": spread,
        "engine": engine,
    }
    if explain:
        print(hourglass.mean(**ask, explain=True))
        return
    with answering():
        found = hourglass.mean(**ask, budget=charges, request=request, bits=context.obj or SECURE)
    delivery = Delivery(found, charges)
    with delivery.part("output", output):
        shown = Combined(found, total, difference) if total or difference else found
        write(shown, format_, output, confidence)
    if plot:
        with delivery.part("plot", plot):
            found.plot(
                plot,
                confidence=0.95 if confidence is None else confidence,
                title=_title(names, by),
            )
    if statement:
        with delivery.part("statement", statement):
            write_file(statement, encoded(found.statement(budget=charges).yaml))
    delivery.finish()


def _title(columns: list[str], by: list[str] | None) -> str:
    return f"Private mean of {', '.join(columns)}" + (f" by {', '.join(by)}" if by else "")


def _check_output(format_: str, output: Path | None, plot: Path | None, by: Any) -> None:
    if format_ not in FORMATS:
        raise OptionError(f"format={format_!r} is not one of {', '.join(FORMATS)}")
    if format_ == "parquet" and output is None:
        raise OptionError("format='parquet' is no text; name a file with --output")
    if format_ == "parquet" and len({name.casefold() for name in by or ()}) < len(by or ()):
        raise OptionError(
            "format='parquet' takes no columns whose names differ in case alone, as two of --by "
            "do; choose csv or json"
        )
    if plot:
        from ..release.plot import check_picture

        check_picture(plot)


def _keys(keys: str | None, keys_from: Path | None) -> Any:
    if keys is not None and keys_from is not None:
        raise OptionError("give one of --keys and --keys-from")
    if keys is None:
        return keys_from
    if os.path.isfile(keys):  # false, not an error, for a list too long to be a name
        raise OptionError(f"keys={keys!r} is a file; give it as --keys-from")
    names = [key.strip() for key in keys.split(",")]
    if "" in names:
        raise OptionError(f"keys={keys!r}: a name is empty; if it is meant, use --keys-from")
    return names


def _missing(columns: list[str], missing: str, each: list[list[str]]) -> Any:
    of_all = missing if missing == "drop" else number_of("missing", missing)
    if not each:
        return of_all
    if len(columns) == 1:
        raise OptionError("--missing-of is about several columns; give --missing")
    given = {name: number_of("missing-of", value) for name, value in each}
    return {**dict.fromkeys(columns, of_all), **given}


def _bounds(
    columns: list[str],
    bounds: tuple[str, str] | None,
    each: list[list[str]],
    bounds_from: Path | None,
) -> Any:
    if bounds_from is not None:
        if bounds is not None or each:
            raise OptionError("give one of --bounds LOWER UPPER and --bounds-from FILE")
        return _found(bounds_from)
    ends = tuple(number_of("bounds", end) for end in bounds) if bounds else None
    if not each:
        if ends is None:
            of_each = "" if len(columns) == 1 else ", or --bounds-of for each column"
            raise OptionError(f"give one of --bounds LOWER UPPER and --bounds-from FILE{of_each}")
        return ends
    if len(columns) == 1:
        raise OptionError("--bounds-of is about several columns; give --bounds LOWER UPPER")
    of_all = dict.fromkeys(columns, ends) if ends is not None else {}
    given = {
        name: (number_of("bounds-of", low), number_of("bounds-of", high))
        for name, low, high in each
    }
    return {**of_all, **given}


def _found(path: Path) -> FoundBounds:
    try:
        return FoundBounds.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ArithmeticError, KeyError, OSError, TypeError, ValueError) as error:
        reason = type(error).__name__
    raise OptionError(
        f"--bounds-from {str(path)!r} cannot be read ({reason}); it is a file that "
        "`hourglass bounds ... --format json --output FILE` writes"
    )
