"""Groups of options that belong together, each as a dataclass, and the options of columns.

A command that takes one of these dataclasses as a parameter has each of its fields as an option:
see :func:`.command.spread_out`. Columns are given by name or by --expression; --bounds,
--bounds-of and --bounds-from are combined here, and so are --missing and --missing-of.
"""

from __future__ import annotations

import csv
import difflib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from shlex import quote
from typing import Any, Final, Self

from ..core.limits import Bounds, Unit, per_person, per_row
from ..core.urls import scheme_of
from ..errors import BudgetError, DataError, OptionError, RequestError, SourceError
from ..estimate.interval import check_confidence
from ..ledger import Budget, Reservation
from ..read.database import SCHEMES, check_scheme, file_url, sql
from ..read.open import multiline
from ..read.source import SEPARATELY
from ..read.sql.expression.given import Expression, expression
from ..release.found import FoundBounds
from . import options
from .output import check_statement, check_targets, format_of
from .wording import not_a_number

__all__ = [
    "Account", "Charge", "Figures", "Groups", "Pair", "Persons", "Place", "Wanted", "column_of",
    "columns_of", "each_bounds", "each_missing", "named", "number_of", "typed_names", "values_of",
]  # fmt: skip


@dataclass(frozen=True)
class Place:
    """The source of the rows, and the engine that reads them."""

    source: options.Source
    table: options.Table = None
    trusted: options.Trusted = False
    multiline: options.Multiline = False
    engine: options.EngineName = None
    master: options.Master = None

    @property
    def data(self) -> Any:
        """A path, or a table of a database."""
        source = self.source
        if scheme_of(source) not in SCHEMES:
            source = file_url(source) or source
        if scheme_of(source) in SCHEMES:
            if self.multiline:
                raise OptionError(
                    "--multiline applies to CSV and TSV files, but the source is a database; leave "
                    "it out"
                )
            if self.table is None:
                raise OptionError("a database needs --table: a table's name, or a SELECT")
            return sql(source, self.table, trusted=self.trusted)
        if self.engine != "spark" and not os.path.exists(source):
            check_scheme(source)
        if self.table is not None or self.trusted:
            _check_readable(source)
        if self.trusted:
            raise OptionError(
                "--trusted applies to a SELECT in --table, but the source is a file; leave it out"
            )
        if self.table is not None:
            raise OptionError(
                "--table applies to databases, but the source is a file; leave it out"
            )
        return multiline(source) if self.multiline else source

    @property
    def is_text(self) -> bool:
        """Whether the source is a file in which numbers are written as text."""
        return self.source.lower().removesuffix(".gz").endswith((".csv", ".tsv"))

    @property
    def is_json(self) -> bool:
        """Whether the source is a file of JSON lines, which has any column."""
        return self.source.lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson"))

    def start(self) -> None:
        """Start the Spark session that the engine will use, if --master asks for one."""
        if not self.master:
            return
        if self.engine != "spark":
            raise OptionError("--master applies to Spark; add --engine spark")
        from ..read.engines.spark import session

        session(self.master)


def _check_readable(path: str) -> None:
    """Raise an error if it cannot be seen whether the file is a database."""
    if not glob(path, recursive=True) and not os.path.exists(path):
        raise DataError(f"data={path!r}: there is no such file; check the path")
    if os.path.isfile(path) and not os.access(path, os.R_OK):
        raise SourceError(f"data={path!r} cannot be opened: this user may not read it")


@dataclass(frozen=True)
class Groups:
    """The columns to group by, and the names of the groups."""

    by: options.By = None
    keys: options.Keys = None
    keys_from: options.KeysFrom = None
    delta: options.Delta = None

    @property
    def public(self) -> Any:
        """The public names of the groups: a list, or the file that has them."""
        keys = self.keys
        if keys is not None and self.keys_from is not None:
            raise OptionError("give either --keys or --keys-from, not both")
        if keys is None:
            return self.keys_from
        if os.path.isfile(keys):  # False for a text too long for a file name
            raise OptionError(f"--keys {keys!r} is a file; give it as --keys-from")
        if self.by and len(self.by) > 1:
            raise OptionError(
                f"--keys lists the groups of one column, but --by names {len(self.by)}; give the "
                f"groups with --keys-from FILE, a table with the columns {' and '.join(self.by)}"
            )
        names = _listed(keys)
        if not names or "" in names:
            raise OptionError(
                f"--keys {keys!r} contains an empty name; take out the extra comma, or use "
                "--keys-from with a table if a name is empty"
            )
        return names

    @property
    def asked(self) -> dict[str, Any]:
        """These options as keyword arguments of the library."""
        return {"by": self.by or None, "keys": self.public, "delta": self.delta}


def _listed(keys: str) -> list[str]:
    """Names between commas; one that contains a comma is in quotes, as in a CSV file."""
    try:
        (names,) = csv.reader([keys], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise OptionError(
            f"--keys {keys!r} has a quote that is not closed, or a line break; write a name that "
            "contains a comma as in 'Sales,\"R&D, Lab\"', or use --keys-from"
        ) from None
    return [name.strip() for name in names]


@dataclass(frozen=True)
class Persons:
    """Whose presence is hidden."""

    person: options.Person = None
    rows: options.Rows = None
    groups: options.GroupsOf = 1

    @property
    def unit(self) -> Unit:
        """The unit of privacy."""
        if self.person is None:
            if self.rows is not None or self.groups != 1:
                raise OptionError(
                    "--rows and --groups need persons; name the column of their ids with --person"
                )
            return per_row()
        return per_person(self.person, rows=self.rows, groups=self.groups)


class Account(Budget):
    """A budget that remembers the charge that was made, and its request key."""

    request: str | None = None
    _made: Reservation | None = None

    def reserve(self, *amounts: Any, **about: Any) -> Reservation:
        """Charge the budget: see :meth:`Budget.reserve`."""
        self._made = super().reserve(*amounts, **about)
        self.request = self._made.request
        return self._made

    def told(self) -> str:
        """What was charged, and what remains, in one line; empty if no charge was asked for."""
        if self._made is None:
            return ""
        charge, key, name = self._made.charge, repr(self.request), repr(self.name)
        if charge.answer_number is not None:
            return f"stored answer of request {key} in {name}; nothing was charged"
        if self._made.reopened:
            return f"request {key} was charged to {name} before; nothing more was charged"
        told = f"charged {charge.amount.words} to {name} as {key}"
        try:
            return f"{told}; {self.balance().left}"
        except BudgetError:  # the charge was made and the answer is written all the same
            return told


@dataclass(frozen=True)
class Charge:
    """The budget to charge, and the request key of the question."""

    budget: options.BudgetName = None
    ledger: options.LedgerPlace = None
    request: options.RequestName = None

    @property
    def place(self) -> str | None:
        """The ledger that the option names, or else the environment variable."""
        return self.ledger or os.environ.get("HOURGLASS_LEDGER")

    def account(self) -> Account | None:
        """Open the budget to charge; a ledger that cannot be trusted is refused here."""
        ledger = self.ledger if self.budget is None else self.place
        if self.budget is None and ledger is None:
            if self.request is not None:
                raise OptionError(
                    "--request needs a budget to store the answer in; add --budget and --ledger"
                )
            return None
        if self.budget is None or ledger is None:
            raise OptionError(
                "--budget NAME and --ledger FILE_OR_URL (or HOURGLASS_LEDGER) must be given "
                "together"
            )
        return Account(ledger, self.budget)


@dataclass(frozen=True)
class Wanted:
    """The formats and the files in which an answer is wanted."""

    format_: options.Format = None
    output: options.Output = None
    plot: options.Plot = None
    statement: options.StatementTo = None
    confidence: options.Confidence = None
    fewest: options.Fewest = 1

    @property
    def form(self) -> str:
        """The format: as asked for, or else by the ending of the output's name."""
        return format_of(self.format_, self.output)

    def check(self, by: Any, inputs: Iterable[Any]) -> None:
        """Raise an error, before anything is charged, if an answer could not be written so."""
        if self.form == "parquet" and self.output is None:
            raise OptionError("format='parquet' is binary; name a file with --output")
        names = by or ()
        if self.form == "parquet" and len({name.casefold() for name in names}) < len(names):
            raise OptionError(
                "format='parquet' needs column names that differ in more than case, and two of "
                "--by do not; choose csv or json"
            )
        if self.plot:
            from ..release.plot import check_picture

            check_picture(self.plot)
        targets = {"output": self.output, "plot": self.plot, "statement": self.statement}
        check_targets(targets, inputs)
        check_statement(self.statement)
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.fewest < 1:
            raise OptionError(f"fewest={self.fewest} is not a whole number of 1 or more")


#: The formats that have a place for figures of several groups.
_FORMATS: Final = ("table", "json", "yaml")


@dataclass(frozen=True)
class Pair:
    """Two groups to compare; ``kind`` is "difference" or "ratio"."""

    kind: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"--{self.kind} {self.a} {self.b}"


@dataclass(frozen=True)
class Figures:
    """The figures that are printed below an answer by group."""

    total: bool = False
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(cls, total: bool, **pairs: list[str] | None) -> Self:
        """The figures that the options ask for; each comparison may be given several times."""
        found = [Pair(kind, *two) for kind, texts in pairs.items() for two in values_of(texts)]
        return cls(total, tuple(found))

    def __bool__(self) -> bool:
        return self.total or bool(self.pairs)

    @property
    def first(self) -> str:
        """The first option that asks for a figure."""
        return "--total" if self.total else f"--{self.pairs[0].kind}"

    def check(self, groups: Groups, wanted: Wanted) -> None:
        """Raise an error, before anything is charged, if the groups cannot be combined as asked."""
        if not self:
            return
        option, by = self.first, groups.by
        if not by:
            raise OptionError(f"{option} needs groups; name the column to group by with --by")
        if wanted.form not in _FORMATS:
            given = "--format" if wanted.format_ else f"--output {str(wanted.output)!r}"
            raise OptionError(
                f"{option} has no place in a file of format {wanted.form}, which {given} asks "
                f"for, since each of its rows is a group; write table, json or yaml, or leave out "
                f"{option}"
            )
        for pair in self.pairs:
            if pair.a.replace(", ", ",") == pair.b.replace(", ", ","):
                raise OptionError(f"{pair} names the same group twice; name two groups")
            if self.pairs.count(pair) > 1:
                raise OptionError(f"{pair} is given twice; give it once")
            if min(len(name.split(",")) for name in (pair.a, pair.b)) < len(by):
                raise OptionError(
                    f"{pair}: --by names {len(by)} columns; write a group as one value of each, "
                    "with commas between them"
                )


# --- columns --------------------------------------------------------------------------------------

#: How the library tells which name of a list is wrong, without showing it.
_OF_LIST: Final = re.compile(
    "(by|column): name ([0-9]+) of the list (is not a column of the table|repeats name [0-9]+); "
)


def values_of(texts: list[str] | None) -> list[list[str]]:
    """The values of each occurrence of an option, which :mod:`.command` has joined."""
    return [json.loads(text) for text in texts or ()]


def columns_of(
    columns: Sequence[str] | None, texts: Sequence[str] | None
) -> tuple[list[str | Expression], list[str]]:
    """The columns asked for, and the name of each."""
    found: list[str | Expression] = [*(columns or ()), *map(expression, texts or ())]
    if not found:
        raise OptionError("name a column after the source, or give --expression")
    return found, [str(each) for each in found]


def column_of(column: str | None, text: str | None) -> tuple[str | Expression, str]:
    """The one column asked for, and its name."""
    found, names = columns_of([column] if column else None, [text] if text else None)
    if len(found) > 1:
        raise OptionError("give either one column or one --expression; this command takes only one")
    return found[0], names[0]


def named(values: list[list[str]], texts: Sequence[str] | None) -> list[list[str]]:
    """Values that start with a column's name; an expression may be named by its text as given."""
    given = {text: str(expression(text)) for text in texts or ()}
    return [[given.get(name, name), *rest] for name, *rest in values]


def number_of(name: str, text: str) -> int | float:
    """The number that the text of an option denotes."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OptionError(not_a_number(name, text))


def _replacement(text: str) -> int | float:
    try:
        return number_of("--missing", text)
    except OptionError:
        raise OptionError(f"--missing {text!r} is neither drop nor a number") from None


def each_missing(columns: list[str], missing: str, each: list[list[str]]) -> Any:
    """What replaces a missing value: the same in all columns, or a dict by column."""
    of_all = missing if missing == "drop" else _replacement(missing)
    if not each:
        return of_all
    if len(columns) == 1:
        raise OptionError("--missing-of needs several columns; use --missing")
    _check_names("--missing-of", each, columns)
    given = {name: number_of("--missing-of", value) for name, value in each}
    return {**dict.fromkeys(columns, of_all), **given}


def each_bounds(
    columns: list[str],
    bounds: tuple[str, str] | None,
    each: list[list[str]],
    bounds_from: Path | None,
) -> Any:
    """The public range of the values: the same for all columns, or a dict by column."""
    if bounds_from is not None:
        if bounds is not None or each:
            raise OptionError("give either --bounds LOWER UPPER or --bounds-from FILE")
        return _found(bounds_from)
    ends = tuple(number_of("--bounds", end) for end in bounds) if bounds else None
    if not each:
        if ends is None:
            of_each = ", or --bounds-of COLUMN LOWER UPPER for each column"
            raise OptionError(
                "give either --bounds LOWER UPPER or --bounds-from FILE"
                f"{of_each if len(columns) > 1 else ''}"
            )
        return ends
    if len(columns) == 1:
        raise OptionError("--bounds-of needs several columns; use --bounds LOWER UPPER")
    of_all = dict.fromkeys(columns, Bounds.of(ends)) if ends is not None else {}
    _check_names("--bounds-of", each, columns)
    given_names = [name for name, *_ in each]
    for name in columns if ends is None else ():
        if name not in given_names:
            raise OptionError(
                f"column {name!r} has no bounds; add --bounds-of {quote(name)} LOWER UPPER"
            )
    given = {
        name: (number_of("--bounds-of", low), number_of("--bounds-of", high))
        for name, low, high in each
    }
    return {**of_all, **given}


@contextmanager
def typed_names(ask: Mapping[str, Any]) -> Iterator[None]:
    """Show a name that is wrong. The library does not, since a list may be cells of the data."""
    try:
        yield
        return
    except RequestError as error:
        found = _OF_LIST.match(str(error))
        if found is None:
            raise
        kind, hint = type(error), str(error)[found.end() :]
    role, place, repeated = found[1], int(found[2]) - 1, found[3].startswith("repeats")
    given = ask[role]
    names = [str(each) for each in given if repeated or isinstance(each, str)]
    wrong = " is given twice; " if repeated else ": the table has no such column; "
    if hint.endswith(SEPARATELY):
        parts = [part.strip() for part in names[place].split(",")]
        hint = f"{hint.removesuffix(SEPARATELY)}give them as a list, as in {role}={parts}"
    raise kind(f"{role}={names[place]!r}{wrong}{hint}")


def _check_names(option: str, each: list[list[str]], columns: list[str]) -> None:
    """Check that each value belongs to one of the columns, and no two to the same."""
    names = [name for name, *_ in each]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"{option} {quote(name)} is given twice; give it once")
        if name not in columns:
            near = difflib.get_close_matches(name, columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(columns)}"
            raise OptionError(f"{option} {quote(name)} is not one of the columns asked for; {hint}")


def _found(path: Path) -> FoundBounds:
    try:
        return FoundBounds.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ArithmeticError, KeyError, OSError, TypeError, ValueError) as error:
        other = isinstance(error, OptionError)
        reason = "it has no found bounds" if other else type(error).__name__
    raise OptionError(
        f"--bounds-from {str(path)!r} cannot be read ({reason}); give a file that "
        "`hourglass bounds ... --format json --output FILE` wrote"
    )
