"""The ways in which DuckDB scans a source.

At invalid UTF-8 its Parquet reader either fails, or replaces the bytes by "?", or removes them. If
"?" could be mistaken for a name, a file is read strictly; if that fails, it is read again in both
of the other ways, which differ exactly in the texts that are not UTF-8.

DuckDB skips parts of a Parquet file whose statistics exclude the public keys. Old writers ordered
text by signed bytes there, so that "é" is the least of the names and "z" the greatest, and a part
with both would be skipped as a whole: one record would take the others with it. A file declares the
order of its statistics; of one that does not, DuckDB is kept from comparing names with statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...errors import DataError
from ..source import Field, guarded_schema
from ..sql.cells import identifier
from ..sql.dialects import names
from ..sql.query import Query, Question

__all__ = ["FILE", "Scans"]

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
    found = names(query)
    if not isinstance(query, Query) or (query.person and query.person.name in found):
        return not found
    for i, field in enumerate(query.by):
        allowed = query.allowed[i] if query.allowed else None
        if field.name in found and (
            allowed is None or query.nulls[i] or any("?" in key for key in allowed)
        ):
            return False
    return True
