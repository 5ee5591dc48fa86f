"""What the commands that read data have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..core.unit import Unit, per_person, per_row
from ..errors import OptionError
from ..read.database import file_url, sql
from ..read.files import multiline
from .output import print_notes
from .progress import progress

if TYPE_CHECKING:
    from .delivery import Account

__all__ = [
    "account", "answering", "data_of", "ledger_of", "number_of", "start_spark", "unit_of"
]  # fmt: skip

_URLS: Final = ("postgresql://", "postgres://", "sqlite://", "duckdb://")


def ledger_of(ledger: str | None) -> str | None:
    """The ledger that the option names, or else the environment variable."""
    return ledger or os.environ.get("HOURGLASS_LEDGER")


def account(budget: str | None, ledger: str | None, request: str | None) -> Account | None:
    """Open the budget to charge; a ledger that cannot be trusted is refused here."""
    if budget is not None:
        ledger = ledger_of(ledger)
    if budget is None and ledger is None:
        if request is not None:
            raise OptionError(
                "--request needs a budget to store the answer in; add --budget and --ledger"
            )
        return None
    if budget is None or ledger is None:
        raise OptionError(
            "--budget NAME and --ledger FILE_OR_URL (or HOURGLASS_LEDGER) must be given together"
        )
    from .delivery import Account

    return Account(ledger, budget)


def data_of(source: str, table: str | None, trusted: bool = False, lines: bool = False) -> Any:
    """A path, or a table of a database. With ``lines``, records of the file may span lines."""
    if not source.startswith(_URLS):
        source = file_url(source) or source
    if source.startswith(_URLS):
        if lines:
            raise OptionError(
                "--multiline applies to CSV and TSV files, but the source is a database; leave "
                "it out"
            )
        if table is None:
            raise OptionError("a database needs --table: a table's name, or a SELECT")
        return sql(source, table, trusted=trusted)
    if trusted:
        raise OptionError(
            "--trusted applies to a SELECT in --table, but the source is a file; leave it out"
        )
    if table is not None:
        raise OptionError("--table applies to databases, but the source is a file; leave it out")
    return multiline(source) if lines else source


def number_of(name: str, text: str) -> int | float:
    """The number that the text of an option denotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OptionError(f"{name}: {text!r} is not a number")


def unit_of(person: str | None, rows: int | None, groups: int) -> Unit:
    """Whose presence is hidden."""
    if person is None:
        if rows is not None or groups != 1:
            raise OptionError(
                "--rows and --groups need persons; name the column of their ids with --person"
            )
        return per_row()
    return per_person(person, rows=rows, groups=groups)


def start_spark(engine: str | None, master: str) -> None:
    """Start a Spark session with this master, which the engine will use."""
    if engine != "spark":
        raise OptionError("--master applies to Spark; add --engine spark")
    from ..read.engines.spark import session

    session(master)


@contextmanager
def answering() -> Iterator[None]:
    """Show a clock while the data is read; if interrupted, tell whether a charge was made."""
    try:
        with progress({}) as tick:
            tick("reading", 0)
            yield
    except KeyboardInterrupt as error:
        print_notes(error)
        raise
