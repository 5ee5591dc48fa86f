"""PostgreSQL, through psycopg 3; the server computes the totals."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, localcontext
from typing import Any, Final

from ...core.keys import LONGEST
from ...core.limits import Bounds
from ...core.totals import Groups
from ...core.urls import shown_url
from ...errors import DataError, SourceError
from ..database import SqlSource, check_unchanged, generated
from ..source import Field, Schema, guarded, guarded_schema, missing_extra, register
from ..sql.cells import columns_of, double, identifier, with_source
from ..sql.dialects import Dialect
from ..sql.expression.words import POSTGRES, Once, expanded
from ..sql.query import Query, Question
from ..sql.steps import plain_input

__all__ = ["Postgres"]

#: Evaluates the operands of a formula once: OFFSET keeps the subquery from being merged.
_ONCE: Final = Once(
    "postgres",
    "(SELECT {formula} FROM (SELECT {operands} OFFSET 0) AS {pair})",
    "{value} AS {name}",
)


def _mend(node: Any, expressions: Any) -> Any:
    return expanded(node, expressions, _PLAIN.part, _ONCE)


_PLAIN: Final = Dialect("postgres")
_DIALECT: Final = Dialect("postgres", _mend)
_LARGEST: Final = sys.float_info.max

#: Settings that a role or a database may have changed: a backslash in a literal is an ordinary
#: character, every text can be transferred, and dates have one format.
_SETTINGS: Final = (
    "SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET datestyle = 'ISO'"
)
#: Limits that a role or a database may have, by which the number of rows or the length of a cell
#: could make the query fail after the charge, or leave rows out (those found in a GIN index).
_LIMITS: Final = """
SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings WHERE name IN (
  'statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout',
  'gin_fuzzy_search_limit')
"""
#: Tables and views, without the schema where that is enough, and whether this user may read them.
_TABLES: Final = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname END, n.nspname || '.' || c.relname,
  has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^pg_|^information_schema$'
ORDER BY 1, 2
"""
#: Functions and operators on the search path that PostgreSQL could call in place of its own: those
#: of a name and of types that our queries use, or of domains, which a column may have instead. With
#: text these are no arithmetic: `%` of pg_trgm, which compares two texts, takes the place of
#: nothing. If pg_catalog comes late on the path, so do the types whose names are no keywords, and a
#: table is a type, too: one named date, for example.
_HIDING: Final = """
WITH domains AS (SELECT array_agg(oid) AS oids FROM pg_type WHERE typtype = 'd'), found AS (
  SELECT pronamespace AS space, proname AS name, proargtypes::oid[] AS types
  FROM pg_proc, domains
  WHERE proname = ANY ('{abs,ascii,char_length,count,date_part,dense_rank,div,extract,floor,length,
    md5,mod,octet_length,row_number,substring,sum,translate,width_bucket}') AND proargtypes::oid[]
    <@ ('{16,20,21,23,25,700,701,1016,1022,1042,1043,1082,1114,1184,1231,1700,2276,2283,5077}'
      || oids)
  UNION ALL SELECT oprnamespace, oprname, ARRAY[oprleft, oprright] FROM pg_operator
  WHERE oprname = ANY ('{%,*,+,-,/,<,<=,<>,=,>,>=,||,~~}')
  UNION ALL SELECT typnamespace, typname, '{}' FROM pg_type
  WHERE typname IN ('date', 'text') AND pg_type_is_visible(oid)
  UNION ALL SELECT collnamespace, collname, '{}' FROM pg_collation
  WHERE collname = 'C' AND pg_collation_is_visible(oid)
)
SELECT n.nspname || '.' || f.name FROM domains, found AS f JOIN pg_namespace AS n ON n.oid = f.space
WHERE n.nspname <> 'pg_catalog' AND n.nspname = ANY (current_schemas(false)) AND (
  f.name ~ '^[a-z]' OR f.types <@ '{0,20,21,23,700,701,1700}' OR f.types <@ '{1082,1114,1184}'
  OR (f.types <@ '{25,1042,1043}' AND f.name !~ '[-+*/%]') OR f.types && oids
) ORDER BY 1 LIMIT 1
"""
#: Kinds by the OID of the type in pg_type, which never changes, and whether to cast.
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
    1114: ("timestamp", "timestamp", True),
    1184: ("timestamp", "timestamp with time zone", True),
    1700: ("decimal", "numeric", True),
    2950: ("text", "uuid", False),
}
#: Added to every other type, such as that of an enumeration.
_CAST: Final = (
    " (to use it as text, cast it with hg.sql (--table), as in 'SELECT *, CAST({} AS TEXT) AS "
    "as_text FROM visits')"
)
#: Which columns of tables are computed for each row as it is read, which can fail at a cell.
_GENERATED: Final = """
SELECT attrelid, attnum FROM pg_attribute WHERE attrelid = ANY (%s::oid[]) AND attgenerated = 'v'
"""
#: The first version of PostgreSQL that has such columns.
_WITH_VIRTUAL: Final = 180_000


class Postgres:
    """A table or a query of a PostgreSQL database, in a read-only transaction."""

    name = "postgres"
    parse: str | None = None
    parses = False

    def __init__(self, source: SqlSource) -> None:
        self._url = source.url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._relation, self._source = source.relation, source
        self._known = Schema(())

    def schema(self) -> Schema:
        """The columns of an empty result."""
        try:
            told = "table: PostgreSQL did not return its columns"
            with guarded_schema(told), self._session() as session:
                self._known, hiding = self._described(session)
        except DataError:
            self._check_table()
            raise
        if hiding:
            raise DataError(hiding)
        return self._known

    def _described(self, session: Any) -> tuple[Schema, str | None]:
        """The columns, which nobody can change until the transaction ends; and what hides them.

        The latter is a message about a function, an operator or a type in place of PostgreSQL's.
        """
        encoding = session.info.parameter_status("server_encoding") or "UTF8"
        hiding = session.execute(_HIDING).fetchone()
        cursor = session.execute(f"SELECT * FROM {self._relation} LIMIT 0")
        computed = _computed(session, cursor)
        fields = (_field(column, encoding) for column in cursor.description)
        known = (generated(f) if number in computed else f for number, f in enumerate(fields))
        told = hiding and (
            f"data: {hiding[0]} could be taken for PostgreSQL's own function, operator or type of "
            "that name; add options=-csearch_path%3Dpg_catalog to the URL, and name the table with "
            "its schema"
        )
        return Schema(tuple(known)), told

    def _check_table(self) -> None:
        """Raise an error if the table does not exist or may not be read."""
        with guarded_schema("table: PostgreSQL did not list its tables"):
            rows = self._asked(_TABLES)
        found = {name: readable for *names, readable in rows for name in names if name}
        if found.get(self._source.table or "") is False:
            raise DataError(
                f"table={self._source.table!r}: this user may not read it; its owner can allow "
                "that with GRANT SELECT ON the table TO the user"
            )
        self._source.check_table([name for name, readable in found.items() if readable])

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """A connection of its own, in a read-only transaction that others cannot make fail."""
        connection = _connected(self._url)
        try:
            connection.read_only = True
            connection.isolation_level = 2  # READ COMMITTED, where nothing must be repeated
            connection.execute(_SETTINGS)
            connection.execute(_LIMITS)
            yield connection
        finally:
            connection.close()

    def _asked(self, sql: str) -> list[Any]:
        """The rows of a result."""
        with self._session() as session:
            return list(session.execute(sql).fetchall())

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query, with numerics converted to doubles in a way that cannot fail."""
        texts, ranges = query.names, _ranges(query)
        fields = [_name(f) if f.name in texts else _plain(f, ranges) for f in query.fields]
        fields += [f"{_input(i.field)} AS {identifier(i.alias)}" for i in query.inputs]
        native = f"SELECT {columns_of(fields)} FROM {self._relation}"
        found = with_source(native, _DIALECT.write_query(*query.steps("numeric", POSTGRES)))
        told = "table: PostgreSQL cannot prepare the query, or does not allow one of its functions"
        with guarded_schema(told):
            self._asked(f"EXPLAIN {found}")
            if "MD5(" in found:  # which exists and fails where FIPS is enforced
                self._asked("SELECT MD5('')")
        return found

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query on the server, if its columns are still those that were checked."""
        with guarded("table: PostgreSQL failed while reading"), self._session() as session:
            found, hiding = self._described(session)
            if hiding:
                raise SourceError(hiding)
            check_unchanged(self._known, found, query)
            rows = session.execute(sql).fetchall()
        return Groups.of_rows(rows, len(query.by), len(query.sums))


#: Reasons for a failed connection, by a phrase in the driver's message. The message itself is never
#: shown, because it quotes parts of the URL, which may be parts of a password.
_REASONS: Final = {
    "percent-encoded": "its URL cannot be read; percent-encode the password",
    "unexpected spaces": "its URL cannot be read; percent-encode the password",
    "authentication failed": "the user or the password is wrong",
    "no password supplied": "it requires a password",
    "connection refused": "nothing is listening at this host and port",
    "timeout": "it does not answer in time",
    "timed out": "it does not answer in time",
    "resolve host": "its host name is unknown; percent-encode the password, if any",
    "translate host name": "its host name is unknown; percent-encode the password, if any",
    "does not exist": "there is no such user or database, or no such socket",
    "no such file": "there is no such user or database, or no such socket",
    "pg_hba": "it does not allow this user to connect from this host",
    "too many": "it has no free connections",
    "starting up": "it is starting up",
    "shutting down": "it is shutting down",
    "ssl": "client and server do not agree about SSL",
}


def _connected(url: str) -> Any:
    """Connect; an error gives the reason without quoting the driver's message."""
    try:
        import psycopg
    except ImportError:
        raise missing_extra("PostgreSQL", "psycopg", "postgres") from None
    try:
        return psycopg.connect(url)
    except Exception as error:
        told = str(error).lower()
        kind = type(error).__name__
    reasons = (reason for phrase, reason in _REASONS.items() if phrase in told)
    reason = next(reasons, f"check host, port, database, user and password ({kind})")
    raise SourceError(f"data: PostgreSQL at {shown_url(url)} cannot be reached: {reason}")


def _computed(session: Any, cursor: Any) -> set[int]:
    """The places of the columns of a result that are virtual generated columns of a table."""
    if session.info.server_version < _WITH_VIRTUAL:
        return set()
    result = cursor.pgresult
    places = [(result.ftable(i), result.ftablecol(i)) for i in range(result.nfields)]
    tables = [table for table, _ in places]
    generated = set(session.execute(_GENERATED, [tables]).fetchall())
    return {i for i, place in enumerate(places) if place in generated}


def _field(column: Any, encoding: str) -> Field:
    name, code, told = column.name, column.type_code, column.type_display
    if code not in _KINDS:  # of a type that the database defines, the driver knows only the number
        declared = "user-defined" if told == str(code) else told
        return Field(name, "other", declared + _CAST.format(identifier(name)))
    kind, declared, exact = _KINDS[code]
    if kind == "text" and encoding != "UTF8":
        # Not every text of such a database can be converted: one cell could make the query fail.
        return Field(name, "other", f"{declared} in a database of encoding {encoding}, not UTF8")
    # A numeric has been converted to a double when the query sees it.
    return Field(name, kind, declared, digits=0 if kind == "decimal" else 38, exact=exact)


def _name(field: Field) -> str:
    """Text that names groups or persons, compared as bytes."""
    return f"{_text(field)} AS {identifier(field.name)}"


def _text(field: Field) -> str:
    text = f"CAST({identifier(field.name)} AS TEXT)"
    clean = f"CASE WHEN octet_length({text}) <= {LONGEST} THEN {text} END"
    return f'({clean}) COLLATE "C"'


def _input(field: Field) -> str:
    """What an expression reads of a column."""
    column = identifier(field.name)
    if field.kind == "text":
        return _text(field)
    if field.kind == "decimal":
        return _double(column, _PAST, (-math.inf, math.inf))
    if field.kind == "date":
        days = f"CAST({column} - CAST('1970-01-01' AS DATE) AS BIGINT)"
        return f"CASE WHEN {column} BETWEEN '0001-01-01' AND '9999-12-31' THEN {days} END"
    if field.kind == "timestamp":
        zone = "+00" if "zone" in field.declared else ""
        ends = f"'0001-01-01 00:00:00{zone}' AND '9999-12-31 23:59:59.999999{zone}'"
        passed = f"CAST(EXTRACT(EPOCH FROM {column}) * 1000000 AS BIGINT)"
        return f"CASE WHEN {column} BETWEEN {ends} THEN {passed} END"
    return _PLAIN.part(plain_input(field))


def _ranges(query: Question) -> dict[str, Bounds | None]:
    """The ranges that numeric columns are clamped to; a column asked for twice gets their union.

    For buckets nothing is clamped: None.
    """
    if not isinstance(query, Query):
        return dict.fromkeys(query.number_fields)
    found: dict[str, Bounds] = {}
    for value in query.values:
        name, own = value.field.name, value.grid.bounds
        if query.outside:  # values outside the bounds must remain outside
            own = Bounds(_beyond(own.lower, -_LARGEST), _beyond(own.upper, _LARGEST))
        known = found.get(name, own)
        found[name] = Bounds(min(known.lower, own.lower), max(known.upper, own.upper))
    return {**found}


def _beyond(end: int | float, far: float) -> float:
    """The next double outside a bound; the bound itself if there is none."""
    return math.nextafter(float(end), far)


def _plain(field: Field, ranges: dict[str, Bounds | None]) -> str:
    """A column unchanged, but a numeric that is added up as the nearest double.

    The cast fails for a numeric beyond the range of doubles, and on underflow; so the value is
    clamped first, or becomes infinite, and what rounds to zero becomes zero.
    """
    column = identifier(field.name)
    if field.name not in ranges or field.kind != "decimal":
        return column
    if (bounds := ranges[field.name]) is None:
        return f"{_double(column, _PAST, (-math.inf, math.inf))} AS {column}"
    return f"{_double(column, tuple(bounds), tuple(map(float, bounds)))} AS {column}"


#: From this value on, a numeric rounds to infinity as a double.
_PAST: Final = (-(2**1024) + 2**970, 2**1024 - 2**970)


def _double(column: str, ends: tuple[int | float, ...], counted: tuple[float, ...]) -> str:
    """A numeric as the nearest double; at and beyond ``ends`` it becomes ``counted``."""
    lower, upper = (_numeric(end) for end in ends)
    with localcontext(prec=2000):
        tiny = f"CAST('{Decimal(2) ** -1075:f}' AS NUMERIC)"
    low, high, zero = (_PLAIN.part(double(end)) for end in (*counted, 0.0))
    return (
        f"CASE WHEN {column} = CAST('NaN' AS NUMERIC) THEN NULL "
        f"WHEN {column} <= {lower} THEN {low} WHEN {column} >= {upper} THEN {high} "
        f"WHEN ABS({column}) <= {tiny} THEN {zero} "
        f"ELSE CAST({column} AS DOUBLE PRECISION) END"
    )


def _numeric(end: int | float) -> str:
    return f"CAST('{Decimal(end):f}' AS NUMERIC)"


@register
class PostgresEngine:
    """Tables of a PostgreSQL server."""

    name = "postgres"
    preferred = False

    @staticmethod
    def claims(data: Any) -> bool:
        """``hg.sql("postgresql://...", ...)``."""
        return isinstance(data, SqlSource) and data.scheme in ("postgresql", "postgres")

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> Postgres:
        """The table on its server."""
        return Postgres(data)
