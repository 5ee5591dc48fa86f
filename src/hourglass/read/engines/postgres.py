"""PostgreSQL, through psycopg 3: the totals are computed in the server."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, Final

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import SourceError
from ..database import SqlSource
from ..schema import Field, Schema
from ..sql.cells import double, identifier
from ..sql.dialects import Dialect, with_source
from ..sql.query import Question
from .base import guarded, guarded_schema, missing_extra

__all__ = ["Postgres"]

_DIALECT: Final = Dialect("postgres")

#: Kinds by the number of the type in pg_type, which never changes; and whether to cast.
_KINDS: Final = {
    16: ("boolean", "boolean", True),
    20: ("integer", "bigint", True),
    21: ("integer", "smallint", True),
    23: ("integer", "integer", True),
    25: ("text", "text", True),
    700: ("real", "real", False),
    701: ("real", "double precision", True),
    1042: ("text", "character", False),
    1043: ("text", "character varying", False),
    1082: ("date", "date", True),
    1700: ("decimal", "numeric", True),
    2950: ("text", "uuid", False),
}


class Postgres:
    """A table or a query of a PostgreSQL database, in a read-only transaction."""

    name = "postgres"
    parse: str | None = None
    parses = False

    def __init__(self, source: SqlSource) -> None:
        self._url = source.url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._relation = source.relation

    def schema(self) -> Schema:
        """The columns of an empty answer."""
        columns, _ = guarded_schema(
            "table: PostgreSQL did not tell its columns",
            lambda: self._asked(f"SELECT * FROM {self._relation} LIMIT 0"),
        )
        return Schema(tuple(_field(column.name, column.type_code) for column in columns))

    def _asked(self, sql: str) -> tuple[list[Any], list[Any]]:
        """The columns and the rows of an answer, on a connection of its own."""
        connection = _connected(self._url)
        try:
            connection.read_only = True
            cursor = connection.execute(sql)
            return list(cursor.description), list(cursor.fetchall())
        finally:
            connection.close()

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query, with decimals made doubles in a way that cannot fail."""
        fields = [_plain(f, query.value, bounds) for f in query.fields]
        native = f"SELECT {', '.join(fields)} FROM {self._relation}"
        return with_source(native, _DIALECT.write(query.text("numeric")))

    def run(self, sql: str, query: Question) -> Groups:
        """Run it in the server."""
        what = "table: PostgreSQL failed while reading"
        _, rows = guarded(what, lambda: self._asked(sql))
        return Groups.of_rows(rows, len(query.by))


def _connected(url: str) -> Any:
    """A connection; what went wrong with it is no cell of the data, and is told."""
    try:
        import psycopg
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise missing_extra("postgresql", "psycopg", "postgres")
    try:
        return psycopg.connect(url)
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
    raise SourceError(f"url: PostgreSQL cannot be reached: {reason}")


def _field(name: str, code: int) -> Field:
    kind, declared, exact = _KINDS.get(code, ("other", f"type {code}", True))
    # A numeric is a double by the time that the query sees it.
    return Field(name, kind, declared, digits=0 if kind == "decimal" else 38, exact=exact)


def _plain(field: Field, value: Field, bounds: Bounds) -> str:
    """A column as it is, but a numeric as the double nearest to it.

    The cast fails on a numeric beyond the doubles, at both ends; so it is clamped first, and
    what rounds to zero is zero.
    """
    column = identifier(field.name)
    if field != value or field.kind != "decimal":
        return column
    lower, upper = (_numeric(end) for end in bounds)
    with localcontext(prec=2000):
        tiny = f"CAST('{Decimal(2) ** -1075:f}' AS NUMERIC)"
    low, high, zero = (
        _DIALECT.write(f"SELECT {double(float(end))}").removeprefix("SELECT ")
        for end in (bounds.lower, bounds.upper, 0.0)
    )
    return (
        f"CASE WHEN {column} = CAST('NaN' AS NUMERIC) THEN NULL "
        f"WHEN {column} <= {lower} THEN {low} WHEN {column} >= {upper} THEN {high} "
        f"WHEN ABS({column}) <= {tiny} THEN {zero} "
        f"ELSE CAST({column} AS DOUBLE PRECISION) END AS {column}"
    )


def _numeric(end: int | float) -> str:
    return f"CAST('{Decimal(end):f}' AS NUMERIC)"
