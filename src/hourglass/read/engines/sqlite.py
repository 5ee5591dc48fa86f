"""SQLite: a file, asked through the driver that comes with Python.

SQLite lets any cell hold anything, whatever its column declares; a cell of another type
than the declared one is missing here.
"""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import DataError
from ..database import SqlSource
from ..schema import Field, Schema
from ..sql.cells import identifier
from ..sql.dialects import Dialect, exact_real, integer_division, with_source
from ..sql.query import Question
from .base import guarded, guarded_schema

__all__ = ["SQLite"]

_VIEW: Final = "hourglass_view"


def _mend(node: Any, expressions: Any) -> Any:
    """Doubles from integers, since SQLite misreads some decimals; floor by truncation."""
    if isinstance(node, expressions.Cast) and node.to.this.value == "DOUBLE":
        if isinstance(node.this, expressions.Literal):
            return expressions.Var(this=exact_real(float(node.this.this)))
        return node
    if isinstance(node, expressions.Floor):  # of what is never negative
        return expressions.Cast(this=node.this.copy(), to=expressions.DataType.build("BIGINT"))
    return integer_division(node, expressions)


_DIALECT: Final = Dialect("sqlite", _mend)


class SQLite:
    """A table or a query of a SQLite file, opened read-only."""

    name = "sqlite"
    parse: str | None = None
    parses = False

    def __init__(self, source: SqlSource) -> None:
        # sqlite:///file.db is a file here, sqlite:////srv/file.db one from the root.
        self._path = unquote(urlsplit(source.url).path)[1:]
        self._relation = source.relation

    def _asked(self, sql: str) -> list[Any]:
        """The rows of an answer, on a connection of its own."""
        path = Path(self._path)
        if not path.is_file():
            raise DataError(f"url: there is no SQLite file {self._path!r}")
        connection = sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)
        try:
            connection.create_function("MD5", 1, _md5, deterministic=True)
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"CREATE TEMP VIEW {_VIEW} AS SELECT * FROM {self._relation}")
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def schema(self) -> Schema:
        """The declared types; a column of a query that declares none is of no known kind."""
        rows = guarded_schema(
            "table: SQLite cannot tell its columns",
            lambda: self._asked(f"PRAGMA table_info({_VIEW})"),
        )
        return Schema(tuple(_field(row[1], row[2] or "") for row in rows), folds=True)

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query over cells of the declared types alone."""
        columns = ", ".join(f"{_sound(f)} AS {identifier(f.name)}" for f in query.fields)
        native = f"SELECT {columns} FROM {self._relation}"
        return with_source(native, _DIALECT.write(query.text("halves")))

    def run(self, sql: str, query: Question) -> Groups:
        """Run it; booleans come back as numbers."""
        rows = guarded("table: SQLite failed while reading", lambda: self._asked(sql))
        groups = Groups.of_rows(rows, len(query.by))
        keys = [
            [None if v is None else bool(v) for v in column] if field.kind == "boolean" else column
            for column, field in zip(groups.keys, query.by, strict=True)
        ]
        return replace(groups, keys=keys)


def _sound(field: Field) -> str:
    column = identifier(field.name)
    if field.kind == "real":
        return f"CASE WHEN typeof({column}) IN ('real', 'integer') THEN CAST({column} AS REAL) END"
    if field.kind in ("integer", "boolean"):
        return f"CASE WHEN typeof({column}) = 'integer' THEN {column} END"
    return f"CASE WHEN typeof({column}) <> 'blob' THEN CAST({column} AS TEXT) END"


def _field(name: str, declared: str) -> Field:
    """SQLite's own rules of affinity, by the declared word."""
    word = declared.upper()
    if "BOOL" in word:
        return Field(name, "boolean", declared)
    if "INT" in word:
        return Field(name, "integer", declared)
    if any(part in word for part in ("CHAR", "CLOB", "TEXT")):
        return Field(name, "text", declared)
    if any(part in word for part in ("REAL", "FLOA", "DOUB", "DEC", "NUM")):
        return Field(name, "real", declared)
    return Field(name, "other", declared or "undeclared")


def _md5(text: Any) -> str | None:
    if text is None:
        return None
    return hashlib.md5(
        str(text).encode("utf-8", "surrogatepass"), usedforsecurity=False
    ).hexdigest()
