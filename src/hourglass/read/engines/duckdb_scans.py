"""What DuckDB scans, and in which database of our own.

Starting a database takes longer than answering a small question, so a database is kept for the next
question. No data stays in it: it caches no files, tables are registered on a cursor that is closed,
and a database in which reading the rows failed, or that spilled to disk, is not kept. A question
that is refused, or only explained, never closes its database. It is kept all the same, as soon as
nothing refers to the question any more.

At invalid UTF-8 DuckDB's Parquet reader either fails, or replaces the bytes by "?", or removes
them. If "?" could be mistaken for a name, a file is read strictly; if that fails, it is read again
in both of the other ways, which differ exactly in the texts that are not UTF-8.

DuckDB skips parts of a Parquet file whose statistics exclude the public keys. Old writers ordered
text by signed bytes there, so that "é" is the least of the names and "z" the greatest, and a part
with both would be skipped as a whole: one record would hide the others. If a file does not declare
the order of its statistics, DuckDB is kept from comparing names with them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...errors import DataError
from ..arrow_stream import TextStream
from ..frames import Frame
from ..source import Field, Schema, guarded_schema, spill_directory
from ..sql.cells import identifier, literal
from ..sql.query import Query, Question

__all__ = [
    "FILE", "TABLE", "OwnDatabase", "Scans", "Table", "as_glob", "connect", "of_parquet",
    "scans_of", "top_level",
]  # fmt: skip

# --- databases ------------------------------------------------------------------------------------

#: At most this many idle databases are kept; each has a sleeping thread per core.
_MOST: Final = 2
#: The idle databases, and where each would spill to.
_idle: list[tuple[Any, Path]] = []
#: The databases that questions are using.
_open: weakref.WeakSet[OwnDatabase] = weakref.WeakSet()


class OwnDatabase:
    """A database for one question, and a connection to it; neither outlives this object."""

    def __init__(self) -> None:
        self._database, self._spill, self.connection = opened = _kept() or _started()
        self._unclosed = weakref.finalize(self, _abandoned, *opened)
        self._unclosed.atexit = False
        _open.add(self)

    def close(self, *, keep: bool) -> None:
        """Drop the connection and what it refers to; keep the database if nothing is left in it.

        Later calls do nothing, since another question may have the database by then.
        """
        if self._unclosed.detach():
            database, self._database = self._database, None
            _close(database, self._spill, self.connection, keep=keep)

    def leave(self) -> None:
        """Never use or free it, in a forked child, where freeing it would crash the process."""
        if self._unclosed.detach():
            _never_free(self._database, self.connection)


def _close(database: Any, spill: Path, connection: Any, *, keep: bool) -> None:
    connection.close()
    if not keep or spill.exists():
        database.close()
        return
    # Another thread, or the collector in this one, may do the same in between.
    _idle.append((database, spill))
    if len(_idle) > _MOST:
        with suppress(IndexError):
            _idle.pop(0)[0].close()


def _abandoned(database: Any, spill: Path, connection: Any) -> None:
    """Keep the database of a question that was never run; called at any time, in any thread."""
    with suppress(Exception):  # whose message, which Python would print here, may quote data
        _close(database, spill, connection, keep=True)


Opened = tuple[Any, Path, Any]


def _started() -> Opened:
    """A new database, where it spills to, and a connection to it."""
    spill = spill_directory()
    database = connect(spill)
    return database, spill, _connected(database)


def _kept() -> Opened | None:
    """The same for an idle database; None if there is none that can be used."""
    import duckdb

    while True:
        try:
            database, spill = _idle.pop()
        except IndexError:
            return None
        fresh = spill_directory()
        try:
            if fresh.parent != spill.parent:  # the private directory was replaced
                database.execute(f"SET temp_directory = {literal(str(fresh))}")
                spill = fresh
            return database, spill, _connected(database)
        except duckdb.Error:  # it cannot be used any more
            database.close()


def _connected(database: Any) -> Any:
    cursor = database.cursor()
    cursor.execute("SET enable_progress_bar = false")
    return cursor


def connect(spill: Path | None = None) -> Any:
    """An in-memory database that shows and logs nothing about what it reads."""
    import duckdb

    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "enable_external_file_cache": "false",
            "pandas_analyze_sample": "0",  # an object column is text, whatever it contains
            "preserve_insertion_order": "false",
            "temp_directory": str(spill or spill_directory()),
        }
    )
    connection.execute("SET enable_progress_bar = false")
    # The minimum and maximum in Parquet statistics ignore NaN. DuckDB uses them to fold
    # comparisons, ISNAN and IS NULL, so whether a NaN is counted would depend on other rows.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


@atexit.register
def _close_idle() -> None:
    """Close the idle databases; DuckDB may otherwise write to stderr about them as Python ends."""
    while _idle:
        with suppress(Exception):
            _idle.pop()[0].close()


def _forget() -> None:
    """Leave all databases alone in a forked child, where their threads do not run."""
    while _idle:
        _never_free(_idle.pop()[0])
    for own in _open:
        own.leave()


def _never_free(*inherited: Any) -> None:
    for each in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# --- the ways to scan a source --------------------------------------------------------------------

#: Columns that identify a row of Parquet files: its file, by an option of the scan, and its number,
#: by a virtual column of DuckDB.
FILE: Final = "hourglass_file"
_ROW: Final = "file_row_number"


class Scans:
    """The ways to scan a source: strictly, and for Parquet also in spite of invalid UTF-8.

    ``reads`` are calls of a table function, one for each kind of file, with the same ``columns``;
    ``lenient`` are the same calls in pairs: one replaces invalid bytes by "?", the other removes
    them. ``files`` lists all files.
    """

    def __init__(
        self,
        *reads: str,
        columns: str = "*",
        lenient: Sequence[tuple[str, str]] = (),
        files: str = "",
    ) -> None:
        self.plain = _union(reads, columns)
        self._lenient, self._columns, self._files = tuple(lenient), columns, files
        self._ordered = True

    def check(self, query: Question, connection: Any) -> None:
        """Look into the footers of Parquet files for what the scans of a query depend on."""
        if taken := self._taken(query):
            with guarded_schema("data: DuckDB cannot read the names of the columns"):
                _check_names(connection.execute(taken).fetchall())
        if self._files and _listed(query):
            declared = "SELECT bool_and(column_orders IS NOT NULL)"
            with guarded_schema("data: DuckDB cannot read the footers of the files"):
                told = connection.execute(f"{declared} FROM parquet_file_metadata({self._files})")
                ((self._ordered,),) = told.fetchall()

    def first(self, query: Question) -> str:
        """The first scan to try: a lenient one, if "?" cannot be mistaken for a name."""
        scan = self.plain
        if self._lenient and _texts(query) and _replaceable(query):
            scan = _union([replacing for replacing, _ in self._lenient], self._columns)
        shielded = ", ".join(f"TRY({c}) AS {c}" for c in map(identifier, _listed(query)))
        if self._ordered or not shielded:
            return scan
        return f"(SELECT * REPLACE ({shielded}) FROM {scan})"

    def second(self, query: Question) -> str | None:
        """The scan to try after a failure; None if invalid text cannot be the reason."""
        texts = _texts(query)
        if not texts or not self._lenient or _replaceable(query):
            return None
        columns = ", ".join(
            f"CASE WHEN a.{c} = b.{c} THEN a.{c} END AS {c}" if field.name in texts else f"a.{c}"
            for field in _fields(query)
            for c in [identifier(field.name)]
        )
        # With *, the name of the file is among the columns if the scan was asked for it.
        made_up = _ROW if self._columns == "*" else f"{FILE}, {_ROW}"
        pairs = (
            f"SELECT {columns} FROM (SELECT {self._columns}, {made_up} FROM {replacing}) AS a "
            f"JOIN (SELECT {self._columns}, {made_up} FROM {ignoring}) AS b "
            f"USING ({FILE}, {_ROW})"
            for replacing, ignoring in self._lenient
        )
        return f"({' UNION ALL '.join(pairs)})"

    def times(self) -> str | None:
        """A query for timestamp columns in milliseconds, which DuckDB converts as it reads them."""
        if not self._files:
            return None
        unit = "logical_type LIKE '%MILLIS=Milli%' OR converted_type = 'TIMESTAMP_MILLIS'"
        return f"SELECT name FROM parquet_schema({self._files}) WHERE {unit}"

    def wide_decimals(self) -> str | None:
        """A query for decimals stored in more bytes than DuckDB has for their digits.

        It fails at a cell that needs them all.
        """
        if not self._files:
            return None
        room = (
            "CASE WHEN precision <= 4 THEN 2 WHEN precision <= 9 THEN 4 "
            "WHEN precision <= 18 THEN 8 ELSE 16 END"
        )
        stored = (
            "type = 'BYTE_ARRAY' OR "
            f"(type = 'FIXED_LEN_BYTE_ARRAY' AND CAST(type_length AS INTEGER) > {room})"
        )
        return (
            f"SELECT name FROM parquet_schema({self._files}) "
            f"WHERE duckdb_type LIKE 'DECIMAL%' AND ({stored})"
        )

    def _taken(self, query: Question) -> str | None:
        """A query for columns whose name is one of those that identify a row."""
        if not (self._lenient and _texts(query)):
            return None
        names = f"'{FILE}', '{_ROW}'"
        return f"SELECT name FROM parquet_schema({self._files}) WHERE lower(name) IN ({names})"


def _fields(query: Question) -> list[Field]:
    """The columns of the table that a question reads, each once."""
    fields = [*query.fields, *(each.field for each in query.inputs)]
    return list({field.name: field for field in reversed(fields)}.values())[::-1]


def _texts(query: Question) -> list[str]:
    return [field.name for field in _fields(query) if field.kind.startswith("text")]


def _check_names(taken: list[tuple[str]]) -> None:
    """Refuse files that have a column with one of the names that identify a row."""
    for (name,) in taken:
        raise DataError(
            f"data: a Parquet file has a column named {name!r}, a name that hourglass uses to find "
            "rows whose text is not UTF-8; rename it"
        )


def _listed(query: Question) -> list[str]:
    """The columns of text that the query compares with public keys."""
    if not isinstance(query, Query):
        return []
    keys = (f for i, f in enumerate(query.by) if query.listed(i, "huge") is not None)
    return [field.name for field in keys if field.kind == "text"]


def _union(reads: Sequence[str], columns: str) -> str:
    if len(reads) == 1 and columns == "*":
        return reads[0]
    return f"({' UNION ALL '.join(f'SELECT {columns} FROM {read}' for read in reads)})"


def _replaceable(query: Question) -> bool:
    """Whether a text with "?" cannot matter: no number and none of the keys has one."""
    if any(each.field.kind == "text" for each in query.inputs):
        return False
    found = query.names
    if not isinstance(query, Query) or (query.person and query.person.name in found):
        return not found
    for i, field in enumerate(query.by):
        allowed = query.allowed[i] if query.allowed else None
        if field.name in found and (
            allowed is None or query.nulls[i] or any("?" in key for key in allowed)
        ):
            return False
    return True


# --- files ----------------------------------------------------------------------------------------

#: The name under which frames and streams are registered.
TABLE: Final = "hourglass_source"


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """What to scan: a scan in SQL, and the frame or stream that it reads as ``TABLE``.

    ``text`` is the schema of a text file; ``footer`` the Parquet file that names the columns, as a
    literal; ``paths`` are Parquet files that declare the same types.
    """

    scan: str | Scans
    frame: Frame | None = None
    stream: TextStream | None = None
    text: Schema | None = None
    footer: str | None = None
    paths: tuple[str, ...] = ()

    @property
    def again(self) -> bool:
        """Whether rows can be read twice: of Parquet files and of frames in memory."""
        return self.footer is not None or (self.frame is not None and not self.frame.once)


def of_parquet(paths: Sequence[str]) -> Table:
    """A scan of Parquet files that declare the same types, by their absolute paths."""
    literally = [as_glob(path) for path in paths]
    return Table(scans_of(literally), footer=literal(literally[0]), paths=tuple(paths))


def scans_of(*groups: list[str], columns: str = "*") -> Scans:
    """The ways to scan groups of Parquet files."""
    replacing, ignoring = (
        _reads(groups, f", utf8_validation='{mode}', filename='{FILE}'")
        for mode in ("replace", "ignore")
    )
    every = f"[{', '.join(literal(path) for paths in groups for path in paths)}]"
    lenient = list(zip(replacing, ignoring, strict=True))
    return Scans(*_reads(groups), columns=columns, lenient=lenient, files=every)


def top_level(schema: Sequence[Any]) -> list[Any]:
    """The columns in the rows of parquet_schema, each a name and how many are nested in it.

    The first row is that of the file; then, depth first, come a column and all that is nested in
    it.
    """
    found, place = [], 1
    for _ in range(schema[0][1]):
        found.append(schema[place])
        inside = 1
        while inside:
            inside += schema[place][1] - 1
            place += 1
    return found


def _reads(groups: Sequence[list[str]], more: str = "") -> list[str]:
    """A call of the reader for each group of files; directory names do not become columns."""
    listed = (", ".join(map(literal, paths)) for paths in groups)
    return [f"read_parquet([{paths}], hive_partitioning=false{more})" for paths in listed]


def as_glob(path: str) -> str:
    """A path as a glob that matches only that path."""
    if "\\" in path and any(character in path for character in "*?["):
        raise DataError(
            f"{path!r}: DuckDB cannot read a path with both a backslash and one of * ? [; rename it"
        )
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)
