"""Spark: a DataFrame of the user, classic or Connect, or files read by a session."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Container
from dataclasses import replace
from typing import Any, Final

from ...core.keys import LONGEST
from ...core.limits import Bounds
from ...core.totals import Groups
from ..open import FileSet, unchanged
from ..source import (
    Field,
    Schema,
    guarded,
    guarded_schema,
    missing_extra,
    register,
    spill_directory,
)
from ..sql.cells import MOST_IN_DOUBLES, columns_of, with_source
from ..sql.dialects import Dialect, numbers_apart
from ..sql.expression.words import SPARK, Once, expanded
from ..sql.expression.writing import FIRST_DAY, LAST_DAY, MICROSECONDS
from ..sql.query import Question
from ..sql.steps import plain_input

__all__ = ["Spark", "SparkEngine", "new_reader", "session"]

#: Spark replaces ${...} by the value of a setting, in names and in literals.
_VARIABLE: Final = "${"
#: A finite double. Spark plans a literal of it in less time than a cast of text.
_FINITE: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", re.ASCII)
#: A literal that means the same whatever the session's settings are.
_SAFE: Final = re.compile(r"[\w .,:;+|()\[\]*?^-]*", re.ASCII)


#: Evaluates the operands of a formula once.
_ONCE: Final = Once(
    "spark",
    "TRANSFORM(ARRAY(NAMED_STRUCT({operands})), {pair} -> {formula})[0]",
    "'{name}', {value}",
)


def _written(formula: str) -> str:
    return Dialect("spark").part(formula)


def _mend(node: Any, expressions: Any) -> Any:
    """Put operands of formulas into a lambda, and write literals by their bytes.

    Then no setting of the session changes the meaning of a literal. Integers of 128 bits are
    decimals. In Java, $ at the end of a pattern also matches before a final line break, so it is
    replaced by a strict end.
    """
    node = expanded(node, expressions, _written, _ONCE)
    if isinstance(node, expressions.DataType) and node.this.value == "INT128":
        return expressions.DataType.build("DECIMAL(38, 0)")
    if isinstance(node, expressions.Cast) and node.is_type("DOUBLE") and node.this.is_string:
        found = node.this.this
        return expressions.Var(this=f"{found}D") if _FINITE.fullmatch(found) else node
    if not isinstance(node, expressions.Literal) or not node.is_string:
        return node
    text = node.this
    if isinstance(node.parent, expressions.RegexpLike) and text.endswith("$"):
        text = text[:-1] + "(?!(?s:.))"
    if text == node.this and _SAFE.fullmatch(text):
        return node
    digits = expressions.HexString(this=text.encode().hex())
    return expressions.Cast(this=digits, to=expressions.DataType.build("TEXT"))


_DIALECT: Final = Dialect("spark", _mend)
_KINDS: Final = {
    "boolean": "boolean",
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer",
    "float": "real",
    "double": "real",
    "void": "real",
    "decimal": "decimal",
    "string": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}


class Spark:
    """A DataFrame; the totals are computed by its cluster."""

    name = "spark"
    parses = True

    def __init__(
        self,
        frame: Any,
        *,
        text: Schema | None = None,
        converted: Container[str] = (),
        unsigned: Container[str] = (),
        files: FileSet | None = None,
        headers: frozenset[bytes] = frozenset(),
    ) -> None:
        """``converted`` are the columns that Spark converts as it reads them, which may fail.

        ``unsigned`` are 64-bit integers, which are decimals on Spark. ``files`` must not change
        until they are read; of text files, only the header lines must not.
        """
        self.parse = "real" if text else None
        self._frame = frame
        self._text = text
        self._converted, self._unsigned = converted, unsigned
        self._view = f"hourglass_{uuid.uuid4().hex}"
        self._files = None if files is None or files.is_remote else files
        self._headers = headers

    def schema(self) -> Schema:
        """The DataFrame's own schema."""
        if self._text:
            return self._text
        with guarded_schema("data: Spark cannot determine its columns"):
            fields = list(self._frame.schema.fields)
        return Schema(tuple(self._sound(_field(field)) for field in fields), folds=True)

    def _sound(self, field: Field) -> Field:
        """Mark columns as unusable that Spark converts: a large value could make the query fail."""
        if field.name in self._unsigned:
            return replace(field, kind="integer", wide="HUGEINT", reach=(0, 2**64 - 1))
        if field.name not in self._converted:
            return field
        if field.kind == "timestamp":
            what, remedy = f"{field.declared} from milliseconds", "store microseconds"
        elif field.kind == "decimal":
            what = f"decimal({field.digits}, {field.scale}) in a file"
            most = " or at most 18 digits" if field.digits > 18 else ""
            remedy = f"store doubles{most}, or use another engine"
        else:
            return field
        why = f"on Spark a large value of it may make the query fail, so {remedy}"
        return replace(field, kind="other", declared=what, why=why)

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query over a view of the DataFrame."""
        return self._query(query, "doubles")

    def _query(self, query: Question, sums: str) -> str:
        texts = query.names
        query, read = numbers_apart(query)
        asked = query.with_fields(lambda field: replace(field, name=_renamed(field.name)))
        columns = columns_of(
            _column(new, _renamed(read.get(old.name, old.name)), named=old.name in texts)
            for old, new in zip(query.fields, asked.fields, strict=True)
        )
        inputs = "".join(f", {_input(i.field)} AS {_quoted(i.alias)}" for i in asked.inputs)
        native = f"SELECT {(columns + inputs).removeprefix(', ')} FROM {self._view}"
        return with_source(native, _DIALECT.write_query(*asked.steps(sums, SPARK)))

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query, and drop the view."""
        session = self._frame.sparkSession
        with unchanged(self._files, self._headers), guarded("data: Spark failed while reading"):
            self._ready().createOrReplaceTempView(self._view)
            try:
                found = Groups.of_arrow(session.sql(sql).toArrow(), len(query.by))
                if found.count.max(initial=0) <= MOST_IN_DOUBLES:
                    return found
                sql = self._query(query, "halves")  # sums of integers, which take longer
                return Groups.of_arrow(session.sql(sql).toArrow(), len(query.by))
            finally:
                session.catalog.dropTempView(self._view)

    def _ready(self) -> Any:
        """The DataFrame, with columns renamed whose names Spark would treat as variables."""
        names = self._frame.columns
        if not any(_VARIABLE in name for name in names):
            return self._frame
        return self._frame.toDF(*map(_renamed, names))


def session(master: str | None = None) -> Any:
    """The active session, or a new one: SPARK_REMOTE, or ``master``, or local."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_extra("engine='spark'", "pyspark", "spark") from None
    with guarded("engine='spark': no session can be started; Spark needs Java 17 or later"):
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        builder = SparkSession.builder.appName("hourglass")
        if master:
            builder = builder.master(master)
        if not os.environ.get("SPARK_REMOTE"):
            builder = builder.config("spark.ui.enabled", "false").config(
                "spark.ui.showConsoleProgress", "false"
            )
            if (master or "local").startswith("local"):  # Spark spills on this machine
                builder = builder.config("spark.local.dir", str(spill_directory()))
        made = builder.getOrCreate()
        if not os.environ.get("SPARK_REMOTE"):
            made.sparkContext.setLogLevel("OFF")  # the log of a failing task would quote cells
        return made


def new_reader() -> Any:
    """A reader of files, for which old dates are those of today's calendar.

    A setting of the session could make Spark fail at a date before 1582 or a time before 1900.
    """
    return session().read.options(datetimeRebaseMode="CORRECTED", int96RebaseMode="CORRECTED")


def _renamed(name: str) -> str:
    """The name, or one made of its bytes."""
    return f"hourglass_{name.encode().hex()}" if _VARIABLE in name else name


def _column(field: Field, read: str, *, named: bool) -> str:
    """A column of that name; text as bytes and, if it names something, NULL unless it is UTF-8."""
    column = _quoted(read)
    if not field.kind.startswith("text"):
        return column
    text = column if field.exact else f"{column} COLLATE UTF8_BINARY"
    if named:
        text = f"CASE WHEN octet_length({text}) <= {LONGEST} THEN try_validate_utf8({text}) END"
    return text if text == _quoted(field.name) else f"{text} AS {_quoted(field.name)}"


def _input(field: Field) -> str:
    """What an expression reads of a column."""
    column = _quoted(field.name)
    if field.kind == "text":
        text = column if field.exact else f"{column} COLLATE UTF8_BINARY"
        return f"CASE WHEN octet_length({text}) <= {LONGEST} THEN try_validate_utf8({text}) END"
    if field.kind not in ("date", "timestamp"):
        return _DIALECT.part(plain_input(field))
    day = f"CAST(unix_date(CAST({column} AS DATE)) AS BIGINT)"
    if field.kind == "date":
        return _between(day, 1)
    if field.declared == "timestamp_ntz":  # from its fields, which do not depend on a time zone
        seconds = f"CAST(EXTRACT(SECOND FROM {column}) * 1000000 AS BIGINT)"
        minutes = f"EXTRACT(HOUR FROM {column}) * 60 + EXTRACT(MINUTE FROM {column})"
        passed = f"({day} * {MICROSECONDS} + ({minutes}) * 60000000L + {seconds})"
        return _between(day, 1, passed)  # whose product would overflow on the first day of all
    return _between(f"unix_micros({column})")


def _between(sql: str, unit: int = MICROSECONDS, found: str = "") -> str:
    """An integer, or ``found`` in its place; NULL if the integer is outside the years 1 to 9999."""
    first, last = FIRST_DAY * unit, (LAST_DAY + 1) * unit - 1
    return f"CASE WHEN {sql} BETWEEN {first}L AND {last}L THEN {found or sql} END"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _field(field: Any) -> Field:
    name = field.dataType.typeName()
    kind = _KINDS.get(name, "other")
    decimal = kind == "decimal"
    digits, scale = (field.dataType.precision, field.dataType.scale) if decimal else (38, 0)
    collated = getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY"
    exact = name not in ("float", "void") and not collated
    return Field(field.name, kind, name, digits=digits, scale=scale, exact=exact)


@register
class SparkEngine:
    """DataFrames of a session, and files that it reads."""

    name = "spark"
    preferred = False

    @staticmethod
    def claims(data: Any) -> bool:
        """A DataFrame, classic or Connect, or files."""
        return isinstance(data, FileSet) or any(
            cls.__module__.startswith("pyspark.sql") and cls.__name__ == "DataFrame"
            for cls in type(data).__mro__
        )

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> Spark:
        """The DataFrame on its cluster; files in the active session."""
        if isinstance(data, FileSet):
            from .spark_files import of_files

            return of_files(data, wanted)
        return Spark(data)
