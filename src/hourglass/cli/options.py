"""Options that several commands have, each written down once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..read.open import file_engines
from .output import FORMATS

__all__ = [
    "BoundsFrom", "BoundsGiven", "BudgetName", "By", "Confidence", "Delta", "EngineName",
    "Epsilon", "Explain", "Fewest", "Format", "GridCells", "GroupsOf", "Keys", "KeysFrom",
    "LedgerPlace", "Master", "Missing", "Multiline", "Output", "OutsideShare", "Parse", "Person",
    "Plot", "RequestName", "Rows", "Source", "StatementTo", "Table", "Total", "Trusted", "Where",
]  # fmt: skip

Source = Annotated[
    str,
    typer.Argument(
        help="A file or glob (Parquet, CSV, TSV, JSON lines, Arrow), a DuckDB or SQLite file, or "
        "the URL of a database.",
        show_default=False,
    ),
]
Table = Annotated[str | None, typer.Option(help="In a database: the table's name, or a SELECT.")]
Trusted = Annotated[
    bool,
    typer.Option(
        "--trusted",
        help="With a SELECT in --table: each row of the base table makes at most one row of it.",
    ),
]
Multiline = Annotated[
    bool,
    typer.Option(
        "--multiline",
        help="Of CSV or TSV files: every quote is closed, and quoted fields may hold line breaks.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Count only the rows for which this holds, such as \"month = 12 AND city = 'Rome'\".",
    ),
]
Person = Annotated[
    str | None, typer.Option(help="Hide persons, named by this column, instead of rows.")
]
Rows = Annotated[
    int | None, typer.Option(help="With --person: count up to so many rows of a person.")
]
Parse = Annotated[str | None, typer.Option(help="How a column of text is read: real or integer.")]
EngineName = Annotated[
    str | None, typer.Option(help=f"Read files with one of {', '.join(file_engines())}.")
]
Master = Annotated[
    str | None, typer.Option(help="With --engine spark: the master, unless SPARK_REMOTE is set.")
]
BudgetName = Annotated[
    str | None, typer.Option(help="Charge this budget before the data is looked at.")
]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        help="Where the budget is kept: a file, or a PostgreSQL URL; left out, HOURGLASS_LEDGER."
    ),
]
RequestName = Annotated[
    str | None,
    typer.Option(help="A name for the question: asked again, the stored answer is free."),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Print the SQL that would run, and run nothing.")
]
Output = Annotated[
    Path | None, typer.Option(help="Write the answer to this file instead of the terminal.")
]
Epsilon = Annotated[
    str, typer.Option(help="The privacy parameter: smaller is more private.", show_default=False)
]
BoundsGiven = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="LOWER UPPER",
        help="The public range of the values, to which they are clamped. Always needed, "
        "unless there is --bounds-from.",
    ),
]
BoundsFrom = Annotated[
    Path | None,
    typer.Option(help="Instead: the range that hourglass bounds --format json wrote here."),
]
By = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Group by this column; may be given again."),
]
Keys = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="The public names of the groups: all are answered."),
]
KeysFrom = Annotated[
    Path | None, typer.Option(help="The same from a file: a list (.txt), or a public table.")
]
Delta = Annotated[
    str | None,
    typer.Option(help="Group names are secret: publish a group whose noisy count is large."),
]
GroupsOf = Annotated[
    int, typer.Option(help="With --person: count a person in up to so many groups.")
]
GridCells = Annotated[
    int | None, typer.Option(help="Cells of the range; left out, chosen by the column's type.")
]
Missing = Annotated[str, typer.Option(help="'drop', or the value that a missing one counts as.")]
Format = Annotated[
    str, typer.Option("--format", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw the answer to this .png, .svg or .pdf.")]
StatementTo = Annotated[
    Path | None, typer.Option(help="Write the privacy statement to this file, as YAML.")
]
Confidence = Annotated[
    float | None,
    typer.Option(help="Of the intervals; 0.95, and left out past 100,000 groups, by default."),
]
Fewest = Annotated[
    int,
    typer.Option(help="Mark rows that may have fewer records than this as too few records."),
]
OutsideShare = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="A share of epsilon, such as 1/10, that counts values below and above the bounds.",
    ),
]
Total = Annotated[
    bool, typer.Option("--total", help="Print the groups taken together as well, free.")
]
