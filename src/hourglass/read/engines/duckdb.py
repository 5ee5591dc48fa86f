"""DuckDB: the embedded engine, for files and for tables in memory.

In general it runs the query of :mod:`..sql.query`. If only one total of each column is needed, or
there are many groups whose public keys are integers, it hands the rows over in batches, and the
kernel for arrays adds them up while DuckDB reads on, with fewer steps per row than SQL. That needs
PyArrow; without it the query runs, and its result comes as NumPy arrays instead of Arrow. Plain
numbers in Parquet files are read without DuckDB, see :mod:`.duckdb_answer`.

Names compare as bytes, and text that is not UTF-8 is missing. Text from Arrow reaches DuckDB
unchecked. Checking every row costs as much as counting it, so where possible groups and persons are
checked instead of rows. For Parquet see :mod:`.duckdb_scans`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from typing import Any, Final

from ...core.keys import LONGEST
from ...core.limits import Bounds
from ...core.totals import Groups
from ...errors import DataError, SourceError, shown
from ..database import SqlSource
from ..frames import apart, frame_of, is_frame, unsound_times
from ..lines import is_text
from ..open import FileSet, unchanged
from ..source import OBJECTS, Field, Schema, Source, guarded, guarded_schema, raise_alone, register
from ..sql.cells import columns_of, identifier, literal, with_source
from ..sql.dialects import numbers_apart
from ..sql.expression.writing import FIRST_DAY, LAST_DAY, MICROSECONDS, NANOSECONDS
from ..sql.histogram import Histogram
from ..sql.query import Query, Question
from ..sql.steps import plain_input
from .duckdb_answer import added_up, added_up_by_threads, of_arrays
from .duckdb_files import of_files
from .duckdb_scans import TABLE, OwnDatabase, Scans, Table, of_parquet, top_level

__all__ = ["DuckDB", "DuckDBEngine", "DuckDBRelation"]

_RENAMED: Final = re.compile(r"_[0-9]+$")


class DuckDB:
    """A scan in an in-memory database of our own."""

    name = "duckdb"
    parses = True

    def __init__(self, table: Table, files: FileSet | None = None) -> None:
        """``files`` are Parquet or Arrow files, which must not change until they are read."""
        self._files = files
        scan, stream, text = table.scan, table.stream, table.text
        self._footer, self._paths = table.footer, table.paths
        self.parse = "real" if text else None
        self._scans = scan if isinstance(scan, Scans) else Scans(scan)
        self._scan = self._scans.plain
        self._frame = table.frame
        self._again = table.again
        self._text = text
        self._stream = stream
        self._database = OwnDatabase()
        self._connection = self._database.connection
        if stream:  # opens no file before a batch is requested
            try:
                with self._interruptible():
                    self._connection.register(TABLE, stream)
            except BaseException:
                self._database.close(keep=False)
                raise

    def schema(self) -> Schema:
        """From the file's footer, the frame's types, or the header of a text file."""
        if self._text:
            with self._interruptible(), guarded_schema("data: DuckDB cannot read the columns"):
                self._connection.sql(f"SELECT * FROM {self._scan}")
            return self._text
        if self._frame:
            if not self._frame.names:
                raise DataError("data: the table has no columns; give one that has at least one")
            self._register(self._frame.scanned)
        what = f"{self._footer}: is it a whole Parquet file? " if self._footer else "data: "
        with guarded_schema(f"{what}DuckDB cannot read the columns"):
            fields = self._fields()
            if any(field.kind == "timestamp" for field in fields):
                fields = sound_times(fields, self._converted())
            if any(field.kind == "decimal" for field in fields):
                fields = sound_decimals(fields, self._told(self._scans.wide_decimals()))
        if self._frame:
            known = {
                f.name: replace(f, declared=OBJECTS) if f.name in self._frame.objects else f
                for f in fields
            }
            fields = [known.get(n, Field(n, "other", "unread")) for n in self._frame.names]
        return Schema(tuple(fields), folds=self._frame is None)

    def _register(self, scanned: Any) -> None:
        """Let DuckDB scan a frame; an error names the column whose type it does not know."""
        try:
            with guarded_schema("data: DuckDB does not know the type of a column"):
                self._connection.register(TABLE, scanned)
        except DataError:
            for name, alone in apart(scanned).items():
                told = f"column {name!r} is of a type that DuckDB does not know"
                with guarded_schema(f"{told}; convert it to numbers, text or dates"):
                    self._connection.register(TABLE, alone)
            raise

    def _fields(self) -> list[Field]:
        relation = self._connection.sql(f"SELECT * FROM {self._scan}")
        names = self._own_names(relation.columns)
        return [field_of(n, t) for n, t in zip(names, relation.types, strict=True)]

    def _converted(self) -> set[str]:
        """The timestamps that DuckDB converts as it reads them, which fails for large values."""
        if self._frame:
            return unsound_times(self._frame.scanned)
        return self._told(self._scans.times())

    def _told(self, names: str | None) -> set[str]:
        """The names that a query returns; none if there is no query."""
        return {name for (name,) in self._connection.execute(names).fetchall()} if names else set()

    def _own_names(self, names: list[str]) -> list[str]:
        """The column names as a Parquet file has them; DuckDB appends _1 to one that it knows."""
        if self._footer is None or not any(_RENAMED.search(name) for name in names):
            return names
        told = self._connection.execute(
            f"SELECT name, coalesce(num_children, 0) FROM parquet_schema({self._footer})"
        )
        own = [name for name, _ in top_level(told.fetchall())]
        return [*own, *names[len(own) :]] if len({n.casefold() for n in own}) < len(own) else names

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query over the scan, with the columns that it needs."""
        self._scans.check(query, self._connection)
        return self._over(self._scans.first(query), unsorted(query, again=self._again))

    def _over(self, scan: str, query: Question) -> str:
        asked, renamed = numbers_apart(query) if query.has_null_key else (query, {})
        return _text(asked, select(asked, scan, renamed, by_group=_by_group(asked)))

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query, and release the database."""
        with unchanged(self._files), self._interruptible():
            try:
                self._fill()
                stored = added_up_by_threads(self._paths, query) if _handed_over(query) else None
                found = self._tried(sql, query) if stored is None else stored
            except BaseException:
                self._database.close(keep=False)
                raise
            self._database.close(keep=True)
        return found

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Raise what ended a callback of the stream, which DuckDB may not have noticed."""
        try:
            with self._stream.watched() if self._stream else nullcontext():
                yield
        except Exception:
            if self._stream is None or self._stream.failure is None:
                raise
        if self._stream and self._stream.failure:
            raise _told(self._stream.failure)

    def _fill(self) -> None:
        """Replace the types of a frame by its rows."""
        if self._frame and self._frame.filled:
            with guarded("data: the rows cannot be read"):
                self._connection.register(TABLE, self._frame.filled())

    def _tried(self, sql: str, query: Question) -> Groups:
        """The result; a Parquet file with text that is not UTF-8 needs a second try."""
        second, found = self._scans.second(query), None
        try:
            found = self._answered(sql, self._scans.first(query), query)
        except SourceError:
            if second is None and not (self._stream and self._stream.failure):
                raise
        if self._stream and self._stream.failure:
            raise _told(self._stream.failure)
        if found is not None:
            return found
        assert second is not None
        again = self._over(second, unsorted(query, again=self._again))
        return self._answered(again, second, query)

    def _answered(self, sql: str, scan: str, query: Question) -> Groups:
        """The result; rows that are too many for NumPy to sort are read again, sorted by DuckDB."""
        with _Reading():
            found = _groups(self._connection.sql(sql), unsorted(query, again=self._again))
            if found is None:
                found = _groups(self._connection.sql(self._over(scan, query)), query)
        assert found is not None
        return found


class DuckDBRelation:
    """A relation on the user's own connection."""

    name = "duckdb"
    parse: str | None = None
    parses = True

    def __init__(self, relation: Any, *, again: bool = False) -> None:
        """``again`` is whether its rows can be read twice."""
        self._relation, self._again = relation, again

    def schema(self) -> Schema:
        """The relation's columns."""
        relation = self._relation
        with guarded_schema("data: the connection of the relation cannot be used"):
            fields = [field_of(n, t) for n, t in zip(relation.columns, relation.types, strict=True)]
        return Schema(tuple(fields), folds=True)

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query over the relation; the optimiser settings of its connection are not changed."""
        found = self._over(unsorted(query, again=self._again))
        with guarded_schema(
            "data: the connection of the relation cannot prepare the query; check its macros and "
            "settings, such as max_expression_depth"
        ):
            self._relation.query(TABLE, f"EXPLAIN {found}").fetchall()
        return found

    def _over(self, query: Question) -> str:
        # A column that is handed over is not compared with anything, except to choose rows.
        opaque = query.person is not None or _handed_over(query) is None
        asked, renamed = numbers_apart(query) if query.has_null_key else (query, {})
        by_group = _by_group(asked)
        native = select(asked, TABLE, renamed, by_group=by_group, collated=True, opaque=opaque)
        return _text(asked, native)

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query on the relation's connection."""
        with _Reading():
            found = _groups(self._relation.query(TABLE, sql), unsorted(query, again=self._again))
            if found is None:
                found = _groups(self._relation.query(TABLE, self._over(query)), query)
        assert found is not None
        return found


def _told(failure: BaseException) -> BaseException:
    """The reason why reading text files failed, without quoting data."""
    if isinstance(failure, SourceError) or not isinstance(failure, Exception):
        return failure  # our own, or Ctrl-C
    if isinstance(failure, EOFError):
        return SourceError("data: a compressed file is truncated; copy it again")
    return SourceError(f"data: a file could not be read to its end ({type(failure).__name__})")


def _handed_over(query: Question) -> str | None:
    """The query for rows that the kernel adds up, if that is possible."""
    return query.handed_over() if _arrow_is_here() else None


def _by_group(query: Question) -> bool:
    """Whether names are checked by group, in the result, which needs PyArrow."""
    return groups_suffice(query) and _arrow_is_here()


def _arrow_is_here() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _text(query: Question, native: str) -> str:
    if rows := _handed_over(query):
        one = len(query.fields) == 1 and not query.inputs and not query.person
        what = "the column is" if one else "the columns are"
        does = "aggregates it" if one else "aggregates them"
        if query.person:
            chooses = isinstance(query, Histogram) and query.of_integers
            what = "all rows are" if chooses else "the rows that count are"
            does = "chooses those that count" if chooses else does
        told = f"-- {what} read, and NumPy {does} in this process"
        return f"{told}\n{with_source(native, rows)}"
    return with_source(native, query.text())


class _Reading(guarded):
    """A guard around the query that turns DuckDB's own error at Ctrl-C into KeyboardInterrupt."""

    def __init__(self) -> None:
        super().__init__("data: DuckDB failed while reading")

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        interrupted = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
        del error, trace
        if interrupted:
            raise_alone(KeyboardInterrupt())
        super().__exit__(kind, None, None)


def _groups(relation: Any, query: Question) -> Groups | None:
    """The totals by group, from a relation that holds either the totals or the columns.

    None if it holds more rows of persons than NumPy can sort.
    """
    if _handed_over(query):
        return added_up(relation, query)
    if _arrow_is_here():
        table = named(relation.to_arrow_table(BATCH), len(query.keys))
        return Groups.of_arrow(table, len(query.keys))
    return of_arrays(relation.fetchnumpy(), query)


def distinct_rows(table: Any, names: tuple[str, ...]) -> list[Any]:
    """The distinct rows of a public table, in order, for public keys."""
    from ..open import open_table

    engine = open_table(table, names)
    if not isinstance(engine, DuckDB):
        raise DataError("keys: give a public table as a frame or a file")
    done = False
    try:
        schema = engine.schema()
        known = [field.name for field in schema.fields]
        for name in names:
            if not schema.open and name not in known:
                given = repr(str(table)) if isinstance(table, str | os.PathLike) else shown(table)
                raise DataError(
                    f"keys={given} has no column {name!r}, which by= names; name its "
                    "columns as those of the data"
                )
            schema.field(name, "keys")
        engine._fill()
        columns = ", ".join(identifier(name) for name in names)
        rows: list[Any] = engine._connection.execute(
            f"SELECT DISTINCT {columns} FROM {engine._scan} ORDER BY ALL"
        ).fetchall()
        done = True
        return rows
    finally:
        engine._database.close(keep=done)


@register
class DuckDBEngine:
    """Files, frames in memory, DuckDB database files, and relations of the user's connections."""

    name = "duckdb"
    preferred = True

    @staticmethod
    def claims(data: Any) -> bool:
        """Files of every format, frames, relations and ``hg.sql("duckdb:///...", ...)``."""
        if isinstance(data, SqlSource):
            return data.scheme == "duckdb"
        return isinstance(data, FileSet) or is_relation(data) or is_frame(data)

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> Source:
        """Files and frames are scanned by a database of our own, relations on their connection."""
        if isinstance(data, SqlSource):
            from .duckdb_database import DuckDBDatabase

            return DuckDBDatabase(data)
        if isinstance(data, FileSet):
            alone = data.format == "parquet" and len(data.paths) == 1
            table = of_parquet(data.absolute) if alone else of_files(data, wanted)
            return DuckDB(table, data if data.format in ("parquet", "arrow") else None)
        if is_relation(data):
            return DuckDBRelation(data)
        frame = frame_of(data, wanted)
        assert frame is not None
        return DuckDB(Table(TABLE, frame=frame))


def is_relation(data: Any) -> bool:
    """Whether it is a relation, without importing DuckDB."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(data, duckdb.DuckDBPyRelation)


# --- types and text -------------------------------------------------------------------------------

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
    checked = set() if by_group else query.names
    columns = (
        _text_column(field, renamed, checked=field.name in checked, collated=collated)
        if field.kind.startswith("text")
        else _other_column(field, opaque)
        for field in query.fields
    )
    inputs = (f"{_input(i.field, collated)} AS {identifier(i.alias)}" for i in query.inputs)
    found = f"SELECT {columns_of([*columns, *inputs])} FROM {scan}"
    long = _unlisted(query) if by_group else []
    tests = [f"strlen({_as_text(field)}) <= {LONGEST}" for field in long]
    return f"{found} WHERE {' AND '.join(tests)}" if tests else found


def _text_column(field: Field, renamed: Mapping[str, str], *, checked: bool, collated: bool) -> str:
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


def _other_column(field: Field, opaque: bool) -> str:
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
    """The query with its rows left for NumPy to sort by person, where that is possible.

    The rows must be readable ``again``, since there may be too many of them for NumPy.
    """
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
            table = table.filter(pyarrow.array([t is None or is_text(t) for t in texts]))
    return table
