"""SQLite files, through the driver in Python's standard library.

In SQLite a cell may have another type than its column declares; such cells are treated as missing.
Text is read by Python functions from its bytes, since it may not be UTF-8; comparisons of their
results do not use collations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...core.keys import LONGEST, KeyColumn, Keys
from ...core.limits import Bounds
from ...core.totals import Groups
from ...errors import BoundsError, DataError, SourceError
from ..database import GENERATED, SqlSource, check_unchanged, generated, has_magic
from ..source import INT64, Field, Schema, guarded, guarded_schema, raise_alone, register
from ..sql.cells import INFINITY, INTEGER, REAL, columns_of, identifier, literal, with_source
from ..sql.dialects import Dialect, exact_real, integer_division
from ..sql.expression.arithmetic import SCALARS
from ..sql.expression.words import FUNCTIONS, SQLITE
from ..sql.query import Question
from ..sql.rowwise import tables_of

__all__ = ["SQLite"]

_VIEW: Final = "hourglass_view"
_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name"
#: Whether a table is virtual, and whether a virtual one has its index in it: docs_data is of docs.
_TABLE: Final = """
SELECT sql LIKE 'CREATE VIRTUAL%', EXISTS (
  SELECT 1 FROM sqlite_schema AS v WHERE v.sql LIKE 'CREATE VIRTUAL%'
  AND LOWER(SUBSTR(t.name, 1, LENGTH(v.name) + 1)) = LOWER(v.name) || '_'
  AND LOWER(SUBSTR(t.name, LENGTH(v.name) + 2)) IN ('config', 'data', 'docsize', 'idx', 'node',
    'parent', 'rowid', 'segdir', 'segments', 'stat')
) FROM sqlite_schema AS t WHERE type IN ('table', 'view')
AND name NOT LIKE 'sqlite#_%' ESCAPE '#' AND name = {} COLLATE NOCASE
"""
#: The columns of a table that are computed as they are read.
_GENERATED: Final = "SELECT name FROM pragma_table_xinfo({}, 'main') WHERE hidden = 2"
UNDECLARED: Final = "undeclared"
#: Added to a type of which SQLite knows only the name, such as DATE.
_CAST: Final = (
    " (text, numbers or bytes in SQLite; cast it with hg.sql (--table), as in 'SELECT *, "
    "CAST({} AS TEXT) AS as_text FROM visits')"
)
_LOCKED: Final = "another process has it locked for writing; ask again when it has finished"
#: What Python reports if a function raises an error. Ours raise none of their own, so it was
#: Ctrl-C: Python handles signals as it calls a function, and the KeyboardInterrupt is lost.
_ENDED: Final = "user-defined function raised exception"
#: Why a file cannot be read whatever is asked of it, by SQLite's primary result codes.
_UNREADABLE: Final = {
    3: "this user may not read it",
    5: _LOCKED,
    6: _LOCKED,
    8: "a journal beside it can only be applied by a process that may write to it",
    10: "the disk fails",
    11: "it is damaged",
    14: "it, or the journal beside it, cannot be opened",
    26: "it is damaged",
}


def _mend(node: Any, expressions: Any) -> Any:
    """Doubles as products of integers, since SQLite misreads some decimals."""
    if isinstance(node, expressions.Cast) and node.to.this.value == "DOUBLE":
        if isinstance(node.this, expressions.Literal):
            return expressions.Var(this=exact_real(float(node.this.this)))
        return node
    return integer_division(node, expressions)


_DIALECT: Final = Dialect("sqlite", _mend)


class SQLite:
    """A table or a query of a SQLite file, opened read-only."""

    name = "sqlite"
    parse: str | None = None
    parses = True

    def __init__(self, source: SqlSource) -> None:
        self._path, self._source = source.path, source
        # A bare name could be taken for a step of the query.
        bare = source.table is not None and "." not in source.table
        self._relation = f"main.{source.relation}" if bare else source.relation
        self._known = Schema(())

    @contextmanager
    def _session(self, *, view: bool = True) -> Iterator[Any]:
        """A connection of its own, in a transaction: nobody changes the columns until its end."""
        path = Path(self._path)
        if not path.is_file():
            raise DataError(f"data: there is no SQLite file {self._path!r}")
        import sqlite3

        connection = None
        try:
            connection = sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)
            connection.execute("PRAGMA temp_store = MEMORY")  # nothing is spilled to a file
            _define_functions(connection)
            if view:
                connection.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {self._relation}")
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM main.sqlite_schema").fetchone()  # begins it
            yield connection
            return
        except sqlite3.Error as error:
            if str(error) == _ENDED:
                raise_alone(KeyboardInterrupt())
            reason = _UNREADABLE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
            if reason is None:
                raise
        finally:
            if connection is not None:
                connection.close()
        if has_magic(self._path, "sqlite") is False:
            raise DataError(f"data: {self._path!r} is not a SQLite file; check the path")
        raise SourceError(f"data: the SQLite file {self._path!r} cannot be read: {reason}")

    def _asked(self, sql: str, *, view: bool = True) -> list[Any]:
        """The rows of a result."""
        with self._session(view=view) as session:
            return list(session.execute(sql).fetchall())

    def schema(self) -> Schema:
        """The declared types; a column without one is text, or as parse= declares."""
        try:
            told = "table: SQLite cannot determine its columns"
            with guarded_schema(told), self._session() as session:
                self._known = self._described(session)
        except DataError:
            self._source.check_table(self._tables())
            raise
        with guarded_schema("table: SQLite did not list its tables"):
            self._check_tables()
        return self._known

    def _described(self, session: Any) -> Schema:
        rows = session.execute(f"PRAGMA table_info({_VIEW})").fetchall()
        fields = [_field(row[1], row[2] or "") for row in rows]
        for name in self._read:
            found = session.execute(_GENERATED.format(literal(name))).fetchall()
            computed = {column.lower() for (column,) in found}
            if computed and self._source.select is not None:
                raise DataError(
                    f"table: the SELECT reads {name!r}, which has the column {found[0][0]!r}, "
                    f"generated as it is read; {GENERATED}. Name the table alone, declare the "
                    "column as STORED, or vouch with trusted=True (--trusted) that it cannot"
                )
            fields = [generated(f) if f.name.lower() in computed else f for f in fields]
        return Schema(tuple(fields), folds=True)

    @property
    def _read(self) -> list[str]:
        """The names of the tables that are read; one that is no table is one of WITH."""
        select = self._source.select
        read = tables_of(select, "sqlite", every=True) if select else self._source.tables
        return sorted({parts[-1] for parts in read})

    def _tables(self) -> list[str]:
        with guarded_schema("table: SQLite did not list its tables"):
            rows = self._asked(_TABLES, view=False)
        return [row[0] for row in rows]

    def _check_tables(self) -> None:
        """Refuse tables that SQLite derives from others, and hidden columns of virtual tables.

        A full-text index has the hidden column rank, which depends on all of its rows.
        """
        import sqlite3

        for name in self._read:
            found = self._asked(_TABLE.format(literal(name)), view=False)
            if found and found[0] == (0, 0):
                continue
            if found and found[0][0]:
                if self._source.select is None:
                    continue
                raise DataError(
                    f"table: the SELECT reads {name!r}, a virtual table, whose hidden columns "
                    "may depend on other rows; name it alone, or read it through a view"
                )
            try:
                self._asked(f"EXPLAIN SELECT 1 FROM main.{identifier(name)}", view=False)
            except sqlite3.Error:
                continue
            raise DataError(
                f"table: SQLite derives {name!r} from other tables, so its rows are not records; "
                "name a table or a view"
            )

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query, over cells of the declared types only."""
        _check_reach(query)
        taken, values = {field.name for field in query.fields}, query.number_fields
        numbers = {name: _number(field, taken) for name, field in values.items()}
        asked = query.with_fields(lambda field: field, lambda field: numbers[field.name])
        read = {numbers[name].name: field for name, field in values.items()}
        columns = [f"{_sound(read.get(f.name, f))} AS {identifier(f.name)}" for f in asked.fields]
        columns += [f"{_input(i.field)} AS {identifier(i.alias)}" for i in asked.inputs]
        native = f"SELECT {columns_of(columns)} FROM {self._relation}"
        found = with_source(native, _DIALECT.write_query(*asked.steps("halves", SQLITE)))
        with guarded_schema(
            "table: SQLite cannot prepare the query; write the names of tables as in main.visits, "
            "and nest fewer parts in an expression"
        ):
            self._asked(f"EXPLAIN {found}")
        return found

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query; booleans are returned as numbers."""
        try:
            with guarded("table: SQLite failed while reading"), self._session() as session:
                # A name that is no column any more would be read as a text.
                check_unchanged(self._known, self._described(session), query)
                rows = session.execute(sql).fetchall()
        except DataError as error:  # the file was there before the charge
            raise SourceError(str(error)) from None
        groups = Groups.of_rows(rows, len(query.by), len(query.sums))
        keys = [
            _booleans(column) if field.kind == "boolean" else column
            for column, field in zip(groups.keys.columns, query.by, strict=True)
        ]
        return replace(groups, keys=Keys(keys))


def _check_reach(query: Question) -> None:
    """Integers in text are read up to 64 bits here, so the bounds must be, too."""
    for value in getattr(query, "values", ()):
        lower, upper = value.grid.bounds
        if value.field.kind == "text as integer" and not INT64[0] <= lower <= upper <= INT64[1]:
            raise BoundsError(
                f"bounds=({lower}, {upper}) are beyond 64 bits, up to which SQLite reads integers "
                "in text; give parse='real', or other bounds"
            )


def _booleans(column: KeyColumn) -> KeyColumn:
    return KeyColumn.of([None if v is None else bool(v) for v in column.tolist()])


def _number(field: Field, taken: set[str]) -> Field:
    """Numbers read from a column of text get another name than the text, which may be a key."""
    if not field.kind.startswith("text"):
        return field
    kind = field.kind.removeprefix("text as ")
    name = f"{field.name} as {kind}"
    while name.casefold() in {other.casefold() for other in taken}:
        name += "_"
    taken.add(name)
    return replace(field, name=name, kind=kind)


def _input(field: Field) -> str:
    """The input of an expression; text as UTF-8 bytes."""
    if field.kind != "text":
        return _sound(field)
    return f"CASE WHEN {_short(field)} THEN HOURGLASS_UTF8({_raw(field)}) END"


def _raw(field: Field) -> str:
    """The bytes of a text, or of a number as text, in the database's encoding."""
    return f"CAST(CAST({identifier(field.name)} AS TEXT) AS BLOB)"


def _short(field: Field) -> str:
    """Whether it may be a name; a longer text is never handed to Python, which would copy it.

    In UTF-16 a text takes up to twice as many bytes as in UTF-8.
    """
    return f"typeof({identifier(field.name)}) <> 'blob' AND LENGTH({_raw(field)}) <= {2 * LONGEST}"


def _sound(field: Field) -> str:
    column = identifier(field.name)
    if field.kind == "boolean":
        return f"CASE WHEN typeof({column}) = 'integer' THEN {column} <> 0 END"
    if field.kind == "real":
        return f"CASE WHEN typeof({column}) IN ('real', 'integer') THEN CAST({column} AS REAL) END"
    if field.kind == "integer":
        return f"CASE WHEN typeof({column}) = 'integer' THEN {column} END"
    read = {"text as real": "READ_REAL", "text as integer": "READ_INTEGER"}
    if field.kind not in read:
        return f"CASE WHEN {_short(field)} THEN HOURGLASS_NAME({_raw(field)}) END"
    numbers = ""
    if field.declared == UNDECLARED:  # as text they would lose digits
        numbers = f"WHEN typeof({column}) = 'integer' THEN {column} "
        if field.kind == "text as real":
            numbers = f"WHEN typeof({column}) IN ('real', 'integer') THEN CAST({column} AS REAL) "
        numbers += f"WHEN typeof({column}) = 'real' THEN NULL "
    function = f"HOURGLASS_{read[field.kind]}({_raw(field)})"
    return f"CASE {numbers}WHEN typeof({column}) <> 'blob' THEN {function} END"


def _field(name: str, declared: str) -> Field:
    """The kind of a column, by SQLite's affinity rules for the declared type."""
    word = declared.upper()
    # An expression, or a column without a type: text, unless parse= declares numbers. From SQLite
    # 3.41 on, a view calls such a column BLOB, which means the same: any cell is kept as it is.
    if word in ("", "BLOB"):
        return Field(name, "text", UNDECLARED, typed=False)
    if "BOOL" in word:
        return Field(name, "boolean", declared)
    if "INT" in word:
        return Field(name, "integer", declared)
    if any(part in word for part in ("CHAR", "CLOB", "TEXT")):
        return Field(name, "text", declared)
    if any(part in word for part in ("REAL", "FLOA", "DOUB", "DEC", "NUM")):
        return Field(name, "real", declared)
    return Field(name, "other", declared + _CAST.format(identifier(name)))


def _define_functions(connection: Any) -> None:
    """Define MD5, ASCII and functions that read the bytes of a text; none of them can fail."""
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()

    def text_of(raw: bytes | None) -> str | None:
        try:
            return None if raw is None else raw.decode(encoding)
        except UnicodeDecodeError:
            return None

    def name(raw: bytes | None) -> str | None:
        text = text_of(raw)
        return text if text is None or len(text.encode()) <= LONGEST else None

    def digits(raw: bytes | None) -> str:
        """A text that may be a number; others, which may be long, are not copied."""
        other = raw is None or (encoding == "UTF-8" and not raw.isascii())
        return "" if other else text_of(raw) or ""

    def real(raw: bytes | None) -> float | None:
        return _real(digits(raw))

    def integer(raw: bytes | None) -> int | None:
        return _integer(digits(raw))

    def utf8(raw: bytes | None) -> bytes | None:
        text = name(raw)
        return None if text is None else text.encode()

    functions = {"NAME": name, "READ_REAL": real, "READ_INTEGER": integer, "UTF8": utf8}
    for label, function in functions.items():
        connection.create_function(f"HOURGLASS_{label}", 1, function, deterministic=True)
    for label, (operands, function) in (SCALARS | FUNCTIONS).items():
        connection.create_function(label, operands, function, deterministic=True)
    connection.create_function("MD5", 1, _md5, deterministic=True)
    connection.create_function("ASCII", 1, _ascii, deterministic=True)


def _real(text: str) -> float | None:
    """A text as a number, by the rule of :mod:`..sql.cells`."""
    return float(text) if re.fullmatch(f"{REAL}|{INFINITY}", text) else None


def _integer(text: str) -> int | None:
    """A text as a whole number; beyond 64 bits, the extreme of its sign."""
    if not re.fullmatch(INTEGER, text):
        return None
    sign, digits = -1 if "-" in text else 1, text.strip(" +-").lstrip("0")
    if len(digits) > 19:
        return INT64[0] if sign < 0 else INT64[1]
    # Not int(text): Python refuses a text of more than 4,300 digits, zeros in front included.
    return min(max(sign * int(digits or "0"), INT64[0]), INT64[1])


def _md5(text: Any) -> str | None:
    if text is None:
        return None
    return hashlib.md5(
        str(text).encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()


def _ascii(text: Any) -> int | None:
    return ord(text) if isinstance(text, str) and len(text) == 1 else None


@register
class SQLiteEngine:
    """Tables of a SQLite file."""

    name = "sqlite"
    preferred = False

    @staticmethod
    def claims(data: Any) -> bool:
        """``hg.sql("sqlite:///...", ...)``."""
        return isinstance(data, SqlSource) and data.scheme == "sqlite"

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> SQLite:
        """The file, read-only."""
        return SQLite(data)
