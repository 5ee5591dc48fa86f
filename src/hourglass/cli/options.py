"""Options that several commands share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..read.open import file_engines
from .output import FORMATS

__all__ = [
    "BoundsFrom", "BoundsGiven", "BudgetName", "By", "Confidence", "Delta", "Difference",
    "EngineName", "Epsilon", "Explain", "Fewest", "Format", "GridCells", "GroupsOf", "Keys",
    "KeysFrom", "LedgerPlace", "Master", "Missing", "Multiline", "Output", "OutsideShare", "Parse",
    "Person", "Plot", "Ratio", "RequestName", "Rows", "Source", "StatementTo", "Table", "Total",
    "Trusted", "Where",
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
        help="Accept any SELECT in --table; you vouch that each row of the base table "
        "produces at most one row of the result.",
    ),
]
Multiline = Annotated[
    bool,
    typer.Option(
        "--multiline",
        help="CSV or TSV: quoted fields may contain line breaks; you vouch that every quote is "
        "closed.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Use only the rows for which this holds, such as \"month = 12 AND city = 'Rome'\".",
    ),
]
Person = Annotated[
    str | None, typer.Option(help="Protect persons, identified by this column, instead of rows.")
]
Rows = Annotated[
    int | None, typer.Option(help="With --person: the most rows of one person that count.")
]
Parse = Annotated[str | None, typer.Option(help="How a column of text is read: real or integer.")]
EngineName = Annotated[
    str | None, typer.Option(help=f"Read files with one of {', '.join(file_engines())}.")
]
Master = Annotated[
    str | None,
    typer.Option(help="With --engine spark: the Spark master, unless SPARK_REMOTE is set."),
]
BudgetName = Annotated[str | None, typer.Option(help="Charge this budget before the data is read.")]
LedgerPlace = Annotated[
    str | None,
    typer.Option(
        help="The budget's ledger: a file or a PostgreSQL URL; by default $HOURGLASS_LEDGER."
    ),
]
RequestName = Annotated[
    str | None,
    typer.Option(
        help="A key for the question; asking it again under this key returns the stored answer "
        "at no charge."
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Print the SQL without running it.")]
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
        help="The public range to which values are clamped. Required unless --bounds-from is "
        "given.",
    ),
]
BoundsFrom = Annotated[
    Path | None,
    typer.Option(help="Take the bounds from this file, written by hourglass bounds --format json."),
]
By = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Group by this column; can be repeated."),
]
Keys = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="The public names of the groups; each gets an answer."),
]
KeysFrom = Annotated[
    Path | None,
    typer.Option(help="Read the public group names from a file: a list (.txt) or a public table."),
]
Delta = Annotated[
    str | None,
    typer.Option(
        help="Keep group names secret: publish only groups whose noisy count reaches a threshold."
    ),
]
GroupsOf = Annotated[
    int, typer.Option(help="With --person: the most groups in which one person counts.")
]
GridCells = Annotated[
    int | None,
    typer.Option(
        help="The number of steps that the range is divided into; by default it depends on "
        "the column's type."
    ),
]
Missing = Annotated[str, typer.Option(help="'drop', or the value that replaces missing ones.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}; by default taken from the "
        "extension of --output, else a table.",
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Draw a chart to this .png, .svg or .pdf file.")]
StatementTo = Annotated[
    Path | None,
    typer.Option(
        help="Write the privacy statement to this file: YAML, JSON (.json) or only the "
        "sentences (.txt)."
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        help="Confidence of the intervals; by default 0.95, without intervals above 100,000 groups."
    ),
]
Fewest = Annotated[
    int,
    typer.Option(help="Mark groups that may have fewer records than this as 'too few records'."),
]
OutsideShare = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Spend this share of epsilon, such as 1/10, on counting values outside the bounds.",
    ),
]
Total = Annotated[
    bool, typer.Option("--total", help="Also print the total of all groups, at no cost in epsilon.")
]
Difference = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A B",
        help="Also print the figure of group A minus that of group B, at no cost in epsilon; "
        "can be repeated. With several --by columns, write a group as its values, as in AA,1.",
    ),
]
Ratio = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A B",
        help="Also print the mean of group A divided by that of group B, at no cost in epsilon; "
        "can be repeated.",
    ),
]
