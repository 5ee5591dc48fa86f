"""Types and text in DuckDB: names compare as bytes, and text that is not UTF-8 is missing.

Text from Arrow reaches DuckDB unchecked. Checking every row costs as much as counting it, so where
possible groups and persons are checked instead of rows. For Parquet see :mod:`.duckdb_scans`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Final

from ...core.keys import LONGEST
from ..source import Field
from ..sql.cells import identifier, literal
from ..sql.dialects import names
from ..sql.expression.writing import FIRST_DAY, LAST_DAY, MICROSECONDS, NANOSECONDS
from ..sql.histogram import Histogram
from ..sql.query import Query, Question
from ..sql.steps import columns_of, plain_input

__all__ = [
    "BATCH", "field_of", "groups_suffice", "named", "select", "sound_decimals", "sound_times",
    "unsorted",
]  # fmt: skip


_INTEGERS: Final = (
    "tinyint smallint integer bigint utinyint usmallint uinteger".split()  # noqa: SIM905
)
_WIDE: Final = {
    "ubigint": ("UBIGINT", (0, 2**64 - 1)),
    "hugeint": ("HUGEINT", (-(2**127), 2**127 - 1)),
    "uhugeint": ("UHUGEINT", (0, 2**128 - 1)),
}


def field_of(name: str, dtype: Any) -> Field:
    """A column with its declared type."""
    kind, declared = str(dtype.id), str(dtype)
    if kind in _INTEGERS:
        return Field(name, "integer", declared)
    if kind in _WIDE:
        wide, reach = _WIDE[kind]
        return Field(name, "integer", declared, reach=reach, wide=wide)
    if kind == "decimal":
        size = dict(dtype.children)
        return Field(name, "decimal", declared, digits=size["precision"], scale=size["scale"])
    if kind in ("double", "float", "null"):
        return Field(name, "real", declared, exact=kind == "double")
    if kind in ("varchar", "enum", "uuid") and declared != "JSON":  # not read if it is not JSON
        return Field(name, "text", kind.upper(), exact=declared == "VARCHAR")
    if kind in TIMES:
        return Field(name, "timestamp", declared)
    return Field(name, kind if kind in ("boolean", "date") else "other", declared)


def groups_suffice(query: Question) -> bool:
    """Whether names can be checked by group, since rows without a name are left out.

    They cannot if a person's rows are selected one by one, before there are groups.
    """
    if not isinstance(query, Query) or any(query.nulls):
        return False
    return query.person is None or query.unit.rows is None


def select(
    query: Question,
    scan: str,
    renamed: Mapping[str, str],
    *,
    by_group: bool,
    collated: bool = False,
    opaque: bool = False,
) -> str:
    """Select the columns that a question needs; with ``by_group``, :func:`named` checks text later.

    ``renamed`` has the columns whose names in the query are others. ``collated`` means that columns
    may have collations, ``opaque`` that no statistics are propagated.
    """
    checked = set() if by_group else names(query)
    columns = (
        _text(field, renamed, checked=field.name in checked, collated=collated)
        if field.kind.startswith("text")
        else _other(field, opaque)
        for field in query.fields
    )
    inputs = (f"{_input(i.field, collated)} AS {identifier(i.alias)}" for i in query.inputs)
    found = f"SELECT {columns_of([*columns, *inputs])} FROM {scan}"
    long = _unlisted(query) if by_group else []
    tests = [f"strlen({_as_text(field)}) <= {LONGEST}" for field in long]
    return f"{found} WHERE {' AND '.join(tests)}" if tests else found


def _text(field: Field, renamed: Mapping[str, str], *, checked: bool, collated: bool) -> str:
    name = identifier(field.name)
    text = _as_text(replace(field, name=renamed.get(field.name, field.name)))
    if checked:
        text = f"CASE WHEN strlen({text}) <= {LONGEST} THEN TRY(decode(encode({text}))) END"
    if collated:
        text = f"({text}) COLLATE C"
    return text if text == name else f"{text} AS {name}"


def _input(field: Field, collated: bool) -> str:
    """The input of an expression; on a user's connection, without propagating statistics."""
    name = identifier(field.name)
    if field.kind == "text":
        text = _as_text(field)
        text = f"CASE WHEN strlen({text}) <= {LONGEST} THEN TRY(decode(encode({text}))) END"
        return f"({text}) COLLATE C" if collated else text
    if field.kind == "date":
        days = f"CAST(date_diff('day', CAST('1970-01-01' AS DATE), {name}) AS BIGINT)"
        first, last = literal(date.min), literal(date.max)
        return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {days} END"
    if field.kind == "timestamp" and field.declared == "TIMESTAMP_NS":
        raw, ends = f"TRY(epoch_ns({name}))", "{} AND {}".format(*NANOSECONDS)
        passed = f"TRY(({raw} - ({raw} % 1000 + 1000) % 1000) // 1000)"  # epoch_us rounds
        return f"CASE WHEN {raw} BETWEEN {ends} THEN {passed} END"
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


#: The timestamp types; TIMESTAMPTZ_NS has no function that returns its microseconds.
TIMES: Final = (
    "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone",
)  # fmt: skip


def sound_times(fields: list[Field], converted: set[str]) -> list[Field]:
    """The fields, with unusable kinds for timestamps whose conversion could make the query fail."""
    why = "a time in seconds or milliseconds, where a large value would make the query fail; store "
    return [
        replace(field, kind="other", declared=f"{field.declared} from {why}microseconds")
        if field.kind == "timestamp" and field.name in converted
        else field
        for field in fields
    ]


def sound_decimals(fields: list[Field], wide: set[str]) -> list[Field]:
    """The fields, with unusable kinds for decimals with a cell that could make the query fail."""
    why = (
        "it is stored in more bytes than its digits need, and a cell with more digits would make "
        "the query fail; use engine='datafusion', or store it in fewer bytes"
    )
    return [
        replace(field, kind="other", why=why)
        if field.kind == "decimal" and field.name in wide
        else field
        for field in fields
    ]


def unsorted(query: Question, *, again: bool) -> Question:
    """The query whose rows NumPy sorts by person, if they can be read ``again`` in case that there
    are too many of them."""
    if again and isinstance(query, Histogram) and query.of_integers:
        return replace(query, in_order=False)
    return query


def _as_text(field: Field) -> str:
    name = identifier(field.name)
    return name if field.exact else f"CAST({name} AS VARCHAR)"


def _unlisted(query: Question) -> list[Field]:
    """The columns of text that name groups or persons and are not restricted to a list of keys."""
    if not isinstance(query, Query):
        return []
    found = [field for i, field in enumerate(query.by) if query.listed(i, "huge") is None]
    found += [query.person] if query.person else []
    return [field for field in found if field.kind == "text"]


#: Rows per Arrow batch: this many of the longest names fit into its 2^31 bytes.
BATCH: Final = 2**30 // LONGEST


#: The types of text in Arrow, of which a setting of the connection chooses one, and their bytes.
_AS_BYTES: Final = {"string": "binary", "large_string": "large_binary"}


def named(table: Any, keys: int) -> Any:
    """The result as Arrow, without the groups whose name is not UTF-8."""
    import pyarrow

    for i in range(keys):
        column = table.column(i)
        if str(column.type) == "string_view":  # which Arrow cannot filter
            parts = [chunk.cast("large_binary").view("large_string") for chunk in column.chunks]
            column = pyarrow.chunked_array(parts, "large_string")
            table = table.set_column(i, table.schema.names[i], column)
    for i in range(keys):
        column = table.column(i)
        if not (raw := _AS_BYTES.get(str(column.type))):
            continue
        try:
            column.validate(full=True)
        except pyarrow.ArrowInvalid:
            texts = column.cast(raw).to_pylist()
            table = table.filter(pyarrow.array([_is_utf8(text) for text in texts]))
    return table


def _is_utf8(text: bytes | None) -> bool:
    try:
        if text is not None:
            text.decode()
    except UnicodeDecodeError:
        return False
    return True
