"""Text in DuckDB: names compare as bytes, and what is no UTF-8 is missing.

Text reaches DuckDB unchecked from Arrow, and a Parquet reader that meets bytes that are no UTF-8
ends the query, or puts "?" in their place, or leaves them out. Checking every row costs as much as
counting it, so groups and persons are checked where that is enough, and not the rows. Where "?"
could be taken for a name, a file is read strictly; if that fails it is read again in both of
the other ways, which differ in just the texts that are no UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from ...errors import DataError
from ..schema import Field
from ..sql.asked import plain_input
from ..sql.cells import identifier, literal
from ..sql.expression.writing import FIRST_DAY, LAST_DAY, MICROSECONDS
from ..sql.query import Query, Question
from ..sql.steps import columns_of
from ..sql.text import LONGEST, names

__all__ = ["Scans", "groups_suffice", "named", "select"]


#: A row of a Parquet file: its file, as an option of the scan, and its number, by a column that
#: DuckDB makes up.
FILE: Final = "hourglass_file"
_ROW: Final = "file_row_number"


class Scans:
    """The ways to scan a source: as it is, and for Parquet in spite of invalid UTF-8.

    ``reads`` are calls of a table function, one for each kind of file, with the same ``columns``;
    ``lenient`` are the same calls in pairs: one puts "?" in the place of invalid bytes, the other
    leaves them out. ``files`` lists all of them.
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

    def first(self, query: Question) -> str:
        """The scan to try: one that cannot fail, if "?" is taken for nothing else there."""
        if self._lenient and _texts(query) and _replaceable(query):
            return _union([replacing for replacing, _ in self._lenient], self._columns)
        return self.plain

    def second(self, query: Question) -> str | None:
        """The scan to try after a failure; None where it could not be due to a text."""
        texts = _texts(query)
        if not texts or not self._lenient or _replaceable(query):
            return None
        columns = ", ".join(
            f"CASE WHEN a.{c} = b.{c} THEN a.{c} END AS {c}" if field.name in texts else f"a.{c}"
            for field in _fields(query)
            for c in [identifier(field.name)]
        )
        # With * the name of the file is among the columns, where the scan was asked for it.
        made_up = _ROW if self._columns == "*" else f"{FILE}, {_ROW}"
        pairs = (
            f"SELECT {columns} FROM (SELECT {self._columns}, {made_up} FROM {replacing}) AS a "
            f"JOIN (SELECT {self._columns}, {made_up} FROM {ignoring}) AS b "
            f"USING ({FILE}, {_ROW})"
            for replacing, ignoring in self._lenient
        )
        return f"({' UNION ALL '.join(pairs)})"

    def times(self) -> str | None:
        """A query for columns of times in milliseconds, which DuckDB converts as it reads them."""
        if not self._files:
            return None
        unit = "logical_type LIKE '%MILLIS=Milli%' OR converted_type = 'TIMESTAMP_MILLIS'"
        return f"SELECT name FROM parquet_schema({self._files}) WHERE {unit}"

    def taken(self, query: Question) -> str | None:
        """A query for columns that have one of the names by which a row is found, if one is."""
        if self.first(query) == self.plain and self.second(query) is None:
            return None
        names = f"'{FILE}', '{_ROW}'"
        return f"SELECT name FROM parquet_schema({self._files}) WHERE lower(name) IN ({names})"


def _fields(query: Question) -> list[Field]:
    """The columns of the table that a question reads, each once."""
    fields = [*query.fields, *(each.field for each in query.inputs)]
    return list({field.name: field for field in reversed(fields)}.values())[::-1]


def _texts(query: Question) -> list[str]:
    return [field.name for field in _fields(query) if field.kind.startswith("text")]


def check_names(taken: list[tuple[str]]) -> None:
    """Refuse files with a column of a name by which a row is found."""
    for (name,) in taken:
        raise DataError(
            f"data: a Parquet file has a column named {name!r}, by which rows are found whose text "
            "is no UTF-8; rename it"
        )


def _union(reads: Sequence[str], columns: str) -> str:
    if len(reads) == 1 and columns == "*":
        return reads[0]
    return f"({' UNION ALL '.join(f'SELECT {columns} FROM {read}' for read in reads)})"


def _replaceable(query: Question) -> bool:
    """Whether a text with a "?" in it has no say: no number has one, nor any of the keys."""
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


def groups_suffice(query: Question) -> bool:
    """Whether names can be checked by group, since rows without a name count nowhere.

    Not where a person's rows are chosen one by one, before there are groups.
    """
    if not isinstance(query, Query) or any(query.nulls):
        return False
    return query.person is None or query.unit.rows is None


def select(
    query: Question, scan: str, *, by_group: bool, collated: bool = False, opaque: bool = False
) -> str:
    """The columns that a question needs; text ``by_group`` is checked later, by :func:`named`.

    ``collated``: columns may have collations. ``opaque``: no statistics are handed on.
    """
    checked = set() if by_group else names(query)
    columns = (
        _text(field, checked=field.name in checked, collated=collated)
        if field.kind.startswith("text")
        else _other(field, opaque)
        for field in query.fields
    )
    inputs = (f"{_input(i.field, collated)} AS {identifier(i.alias)}" for i in query.inputs)
    found = f"SELECT {columns_of([*columns, *inputs])} FROM {scan}"
    long = _unlisted(query) if by_group else []
    tests = [f"strlen({_as_text(field)}) <= {LONGEST}" for field in long]
    return f"{found} WHERE {' AND '.join(tests)}" if tests else found


def _text(field: Field, *, checked: bool, collated: bool) -> str:
    name, text = identifier(field.name), _as_text(field)
    if checked:
        text = f"CASE WHEN strlen({text}) <= {LONGEST} THEN TRY(decode(encode({text}))) END"
    if collated:
        text = f"({text}) COLLATE C"
    return text if text == name else f"{text} AS {name}"


def _input(field: Field, collated: bool) -> str:
    """What an expression reads of a column; on a connection of the user's no statistics of it."""
    name = identifier(field.name)
    if field.kind == "text":
        text = _as_text(field)
        text = f"CASE WHEN strlen({text}) <= {LONGEST} THEN TRY(decode(encode({text}))) END"
        return f"({text}) COLLATE C" if collated else text
    if field.kind == "date":
        days = f"CAST(date_diff('day', CAST('1970-01-01' AS DATE), {name}) AS BIGINT)"
        first, last = literal(date.min), literal(date.max)
        return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {days} END"
    if field.kind == "timestamp":
        passed = f"TRY(epoch_us({name}))"
        ends = f"{FIRST_DAY * MICROSECONDS} AND {(LAST_DAY + 1) * MICROSECONDS - 1}"
        return f"CASE WHEN {passed} BETWEEN {ends} THEN {passed} END"
    found = plain_input(field)
    return f"CASE WHEN {found} IS NULL THEN NULL ELSE {found} END" if collated else found


def _other(field: Field, opaque: bool) -> str:
    name = identifier(field.name)
    if field.kind == "real" and opaque:
        return f"CASE WHEN {name} IS NULL THEN NULL ELSE {name} END AS {name}"
    return name


#: The types of dates with times; TIMESTAMPTZ_NS has no function that tells its microseconds.
TIMES: Final = (
    "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone",
)  # fmt: skip


def sound_times(fields: list[Field], converted: set[str]) -> list[Field]:
    """The fields, without the times that DuckDB converts: one too large would end the query."""
    why = "a time in seconds or milliseconds, of which a large one would end the query; store "
    return [
        replace(field, kind="other", declared=f"{field.declared} from {why}microseconds")
        if field.kind == "timestamp" and field.name in converted
        else field
        for field in fields
    ]


def _as_text(field: Field) -> str:
    name = identifier(field.name)
    return name if field.exact else f"CAST({name} AS VARCHAR)"


def _unlisted(query: Question) -> list[Field]:
    """The columns of text that name groups or persons, and of which any value is taken."""
    if not isinstance(query, Query):
        return []
    allowed = query.allowed or (None,) * len(query.by)
    pairs = zip((*query.by, query.person), (*allowed, None), strict=True)
    return [field for field, listed in pairs if field and field.kind == "text" and listed is None]


#: Rows a batch of Arrow: so many of the longest names fit into its 2^31 bytes.
BATCH: Final = 2**30 // LONGEST


def named(table: Any, keys: int) -> Any:
    """An answer as Arrow, without the groups whose name is no UTF-8."""
    import pyarrow

    for i in range(keys):
        column = table.column(i)
        if not pyarrow.types.is_string(column.type):
            continue
        try:
            column.validate(full=True)
        except pyarrow.ArrowInvalid:
            raw = column.cast(pyarrow.binary()).to_pylist()
            table = table.filter(pyarrow.array([_is_utf8(text) for text in raw]))
    return table


def _is_utf8(text: bytes | None) -> bool:
    try:
        if text is not None:
            text.decode()
    except UnicodeDecodeError:
        return False
    return True
