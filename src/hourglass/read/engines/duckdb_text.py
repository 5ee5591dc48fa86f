"""Text in DuckDB: names compare as bytes, and what is no UTF-8 is missing.

Text reaches DuckDB unchecked from Arrow, and a Parquet reader that meets bytes that are no UTF-8
ends the query, or puts "?" in their place, or leaves them out. Checking every row costs as much as
counting it, so groups and persons are checked where that is enough, and not the rows. Where "?"
could be taken for a name, a file is read strictly; if that fails it is read again in both of
the other ways, which differ in just the texts that are no UTF-8.
"""

from __future__ import annotations

from typing import Any, Final

from ..schema import Field
from ..sql.cells import identifier
from ..sql.query import Query, Question
from ..sql.text import LONGEST, names

__all__ = ["Scans", "groups_suffice", "named", "select"]


class Scans:
    """The ways to scan a source: as it is, and for Parquet in spite of invalid UTF-8."""

    def __init__(self, scan: str, *, replacing: str = "", ignoring: str = "") -> None:
        self.plain, self._replacing, self._ignoring = scan, replacing, ignoring

    def first(self, query: Question) -> str:
        """The scan to try: one that cannot fail, if "?" is taken for nothing else there."""
        return self._replacing if self._replacing and _replaceable(query) else self.plain

    def second(self, query: Question) -> str | None:
        """The scan to try after a failure; None where it could not be due to a text."""
        texts = [field.name for field in query.fields if field.kind.startswith("text")]
        if not texts or not self._replacing or _replaceable(query):
            return None
        columns = [
            f"CASE WHEN a.{c} = b.{c} THEN a.{c} END AS {c}" if field.name in texts else f"a.{c}"
            for field in query.fields
            for c in [identifier(field.name)]
        ]
        every = ", ".join(identifier(field.name) for field in query.fields)
        checked = ", ".join(map(identifier, texts))
        return (
            f"(SELECT {', '.join(columns)} FROM (SELECT {every} FROM {self._replacing}) AS a "
            f"POSITIONAL JOIN (SELECT {checked} FROM {self._ignoring}) AS b)"
        )


def _replaceable(query: Question) -> bool:
    """Whether a text with a "?" in it has no say: no number has one, nor any of the keys."""
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
    texts = names(query)

    def column(field: Field) -> str:
        name = identifier(field.name)
        if field.kind == "real" and opaque:
            return f"CASE WHEN {name} IS NULL THEN NULL ELSE {name} END AS {name}"
        if not field.kind.startswith("text"):
            return name
        text = _as_text(field)
        if field.name in texts and not by_group:
            text = f"CASE WHEN strlen({text}) <= {LONGEST} THEN TRY(decode(encode({text}))) END"
        if collated:
            text = f"({text}) COLLATE C"
        return text if text == name else f"{text} AS {name}"

    found = f"SELECT {', '.join(map(column, query.fields))} FROM {scan}"
    long = _unlisted(query) if by_group else []
    tests = [f"strlen({_as_text(field)}) <= {LONGEST}" for field in long]
    return f"{found} WHERE {' AND '.join(tests)}" if tests else found


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
