"""Options that several commands have, each written down once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..read.open import file_engines

__all__ = [
    "BudgetName", "EngineName", "Explain", "LedgerPlace", "Master", "Multiline", "Output", "Parse",
    "Person", "RequestName", "Rows", "Source", "Table", "Trusted", "Where",
]  # fmt: skip

Source = Annotated[
    str,
    typer.Argument(
        help="A file or glob (Parquet, CSV, TSV, JSON lines, Arrow), or the URL of a database.",
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
    str | None, typer.Option(help="Where the budget is kept: a file, or a PostgreSQL URL.")
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
