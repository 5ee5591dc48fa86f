"""``hourglass mean``: the private mean of a column, by group if asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from ..pipeline import charged, checked
from ..releases import Releases
from ..sources.tables import ENGINES
from .common import account, answering, data_of, number_of, start_spark, unit_of
from .output import FORMATS, check_writable, write

__all__ = ["mean"]


def mean(
    source: Annotated[
        str,
        typer.Argument(
            help="A file or glob (Parquet, CSV, TSV, JSON lines, Arrow), or the URL of a database.",
            show_default=False,
        ),
    ],
    column: Annotated[str, typer.Argument(help="The column to average.", show_default=False)],
    bounds: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="LOWER UPPER",
            help="The public range of the values; they are clamped to it.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(help="The privacy parameter: smaller is more private.", show_default=False),
    ],
    table: Annotated[
        str | None, typer.Option(help="In a database: the table's name, or a SELECT.")
    ] = None,
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
    person: Annotated[
        str | None,
        typer.Option(help="Hide persons, named by this column, instead of rows."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="With --person: count up to so many rows of a person.")
    ] = None,
    groups: Annotated[
        int, typer.Option(help="With --person: count a person in up to so many groups.")
    ] = 1,
    algorithm: Annotated[
        str,
        typer.Option(help="hourglass, staircase, laplace, shifted, independent or swap."),
    ] = "hourglass",
    estimator: Annotated[
        str, typer.Option(help="projected, ratio, or posterior for small groups.")
    ] = "projected",
    grid: Annotated[
        int | None, typer.Option(help="Cells of the range; left out, chosen by the column's type.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="'drop', or the value that a missing one counts as.")
    ] = "drop",
    parse: Annotated[
        str | None, typer.Option(help="How a column of text is read: real or integer.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help=f"Read files with one of {', '.join(ENGINES)}.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(help="With --engine spark: the master, unless SPARK_REMOTE is set."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Charge this budget before the data is looked at.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Where the budget is kept: a file, or a PostgreSQL URL.")
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(help="A name for the question: asked again, the stored answer is free."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the SQL that would run, and run nothing.")
    ] = False,
    format_: Annotated[
        str, typer.Option("--format", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    ] = "table",
    output: Annotated[
        Path | None, typer.Option(help="Write the answer to this file instead of the terminal.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the groups' means to this .png, .svg or .pdf.")
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write the privacy statement to this file, as YAML.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Of the intervals; 0.95, and left out past 1,000 groups, by default."),
    ] = None,
) -> None:
    """The differentially private mean of a column, with its sum and count.

    The totals are computed where the data lives; only they are looked at, once, and exact
    noise is added to them before anything is printed.
    """
    _check_output(format_, output, plot, by)
    check_writable("statement", statement)
    charges = account(budget, ledger, request)
    if master:
        start_spark(engine, master)
    asked = checked(
        data_of(source, table),
        column,
        bounds=tuple(number_of("bounds", end) for end in bounds),
        epsilon=epsilon,
        by=by or None,
        keys=_keys(keys, keys_from),
        delta=delta,
        unit=unit_of(person, rows, groups),
        algorithm=algorithm,
        estimator=estimator,
        grid=grid,
        missing=missing if missing == "drop" else number_of("missing", missing),
        parse=parse,
        engine=engine,
    )
    if explain:
        print(asked.sql)
        return
    with answering():
        found = charged(asked, charges, request)
    write(found, format_, output, confidence)
    if plot and isinstance(found, Releases):
        found.plot(plot, confidence=confidence or 0.95, title=f"Private mean of {column}")
    if statement:
        statement.write_text(found.statement(budget=charges).yaml, encoding="utf-8")


def _check_output(format_: str, output: Path | None, plot: Path | None, by: Any) -> None:
    if format_ not in FORMATS:
        raise OptionError(f"format={format_!r} is not one of {', '.join(FORMATS)}")
    if format_ == "parquet" and output is None:
        raise OptionError("format='parquet' is no text; name a file with --output")
    check_writable("output", output)
    if plot:
        from ..plots import check_picture

        if not by:
            raise OptionError("plot is about groups; name the column with --by")
        check_picture(plot)
        check_writable("plot", plot)


def _keys(keys: str | None, keys_from: Path | None) -> Any:
    if keys is not None and keys_from is not None:
        raise OptionError("give one of --keys and --keys-from")
    return keys.split(",") if keys is not None else keys_from
