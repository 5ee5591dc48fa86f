"""Check that a SELECT works row by row: each row of a table makes at most one row of the result.

The privacy promise is about rows of the base table. In a SELECT with LIMIT, a join, a window or an
aggregate, one row of the base table can change any number of rows of the result, so the promise
would not hold. SQLGlot parses the text; whatever is not on the lists below is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

__all__ = ["is_catalog", "not_row_by_row", "tables_of"]

#: What a SELECT, a subquery and a table may consist of. ORDER BY without LIMIT changes no row.
_SELECT: Final = {"expressions", "from", "where", "with", "order"}
_SUBQUERY: Final = {"this", "alias"}
_TABLE: Final = {"this", "alias", "db", "catalog", "only", "indexed", "hints"}
#: Row-wise functions, by SQLGlot's names ...
_TYPED: Final = """
Abs Acos And Array ArrayContains ArraySize Ascii Asin Atan Atan2 Bracket Case Cast Cbrt Ceil Chr
Coalesce Concat ConcatWs Cos Date DateAdd DateDiff DateSub DateTrunc Day DayOfMonth DayOfWeek
DayOfYear Exp Extract Floor FromBase64 Greatest Hex If Initcap JSONBExtract JSONBExtractScalar
JSONExtract JSONExtractScalar Least Left Length Levenshtein Ln Log Lower MD5 MD5Digest Mod Month
Nullif Or Pad Pow Quarter RegexpCount RegexpILike RegexpLike RegexpReplace Replace Reverse Right
Round SHA SHA2 Sign Sin Split SplitPart Sqrt StartsWith StrPosition StrToDate StrToTime Substring
Tan TimeToStr TimestampTrunc ToBase64 ToChar ToNumber Translate Trim Trunc TryCast TsOrDsToDate
TsOrDsToTimestamp Unhex Unicode Upper Week WidthBucket Xor Year
"""
#: ... and by their names in databases; not all versions of SQLGlot know these.
_NAMED: Final = """
bit_length btrim cardinality ceiling char char_length character_length date_bin date_part datetime
decode degrees div encode format get_byte glob hex ifnull iif instr isfinite json_extract
json_extract_path_text json_type jsonb_extract_path_text julianday justify_days like likely ltrim
make_date make_timestamp mod nullif octet_length overlay position printf quote radians regexp_instr
regexp_substr replace rtrim strftime substr time to_char to_date to_hex to_number to_timestamp trim
trunc typeof unixepoch unlikely
"""
_FUNCTIONS: Final = frozenset(_TYPED.split())
_NAMES: Final = frozenset(_NAMED.split())
#: PostgreSQL reads t.count as count(t) where t has no such column: its aggregates of whole rows.
_OF_ROWS: Final = frozenset(
    "any_value array_agg count json_agg json_agg_strict jsonb_agg jsonb_agg_strict max min".split()  # noqa: SIM905
)
#: Columns that every table has: a row's position in it, which depends on the rows before it.
_SYSTEM: Final = {
    "duckdb": frozenset({"rowid"}),
    "sqlite": frozenset({"rowid", "_rowid_", "oid"}),
    "postgres": frozenset({"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}),
}
#: Functions of SQLite that return the current time if they are not given one.
_CLOCKS: Final = frozenset({"date", "datetime", "julianday", "time", "unixepoch"})
#: Literals that mean the current time.
_NOW: Final = frozenset({"now", "today", "tomorrow", "yesterday", "localtime"})
#: The beginning of a name such as U&"coun\0074", which SQLGlot takes for a column U, & and a name.
_ESCAPED: Final = re.compile("""[uU]&["']""")
_WORDS: Final = {
    "distinct": "DISTINCT",
    "group": "GROUP BY",
    "having": "HAVING",
    "joins": "a join",
    "laterals": "LATERAL",
    "limit": "LIMIT or FETCH",
    "locks": "a lock",
    "offset": "OFFSET",
    "sample": "TABLESAMPLE",
    "windows": "WINDOW",
}


def not_row_by_row(query: str, dialect: str) -> str | None:
    """The first part of the query that is not row by row, in terms of SQL, or None."""
    import sqlglot
    from sqlglot import expressions
    from sqlglot.errors import SqlglotError

    if dialect == "postgres" and _ESCAPED.search(query):
        return "Unicode escapes (U&)"
    try:
        trees = [tree for tree in sqlglot.parse(query, read=dialect) if tree is not None]
    except SqlglotError:
        return "something that SQLGlot cannot parse"
    if len(trees) != 1:
        return "more than one statement"
    return next(_Check(expressions, dialect).query(trees[0]), None)


def is_catalog(parts: Sequence[str], dialect: str) -> bool:
    """Whether PostgreSQL keeps a table about others: a row of those can change many rows of it."""
    *_, schema, name = ("", *parts)
    return dialect == "postgres" and (
        schema.lower().startswith(("pg_", "information_schema"))
        or (not schema and name.lower().startswith("pg_"))
    )


def tables_of(query: str, dialect: str, *, every: bool = False) -> list[tuple[str, ...]]:
    """The tables that a SELECT reads, each as the parts of its name.

    Without those of WITH, unless ``every`` name is asked for.
    """
    import sqlglot
    from sqlglot import expressions

    tree = sqlglot.parse_one(query, read=dialect)
    # Only plain words: where such a name is out of scope, DuckDB could take another for a file.
    aliases = (cte.alias.lower() for cte in tree.find_all(expressions.CTE))
    own = {alias for alias in aliases if alias.isidentifier()}
    names = [tuple(part.name for part in table.parts) for table in tree.find_all(expressions.Table)]
    return [parts for parts in names if every or len(parts) > 1 or parts[0].lower() not in own]


class _Check:
    """Yields what is not row by row, the outermost first."""

    def __init__(self, expressions: Any, dialect: str) -> None:
        self.sql, self.dialect = expressions, dialect

    def query(self, node: Any) -> Iterator[str]:
        sql = self.sql
        if isinstance(node, sql.Values):
            yield from self._expressions(node)
        elif isinstance(node, sql.Subquery):
            yield from _others(node, _SUBQUERY)
            yield from self.query(node.this)
        elif isinstance(node, sql.Table):
            yield from self._table(node)
        elif isinstance(node, sql.Select):
            yield from self._select(node)
        elif isinstance(node, sql.Query):
            yield "UNION or another set operation"
        else:
            yield f"the construct {node.key.upper()}"

    def _select(self, node: Any) -> Iterator[str]:
        yield from _others(node, _SELECT)
        ctes = _part(node, "with")
        if ctes is not None:
            if ctes.args.get("recursive"):
                yield "WITH RECURSIVE"
            for cte in ctes.expressions:
                yield from self.query(cte.this)
        source = _part(node, "from")
        if source is not None:
            yield from self.query(source.this)
        for part in (*node.expressions, _part(node, "where"), _part(node, "order")):
            if part is not None:
                yield from self._expressions(part)

    def _table(self, node: Any) -> Iterator[str]:
        if _part(node, "rows_from") or not isinstance(node.this, self.sql.Identifier):
            yield "a function in FROM, which can make several rows"
        elif is_catalog([part.name for part in node.parts], self.dialect):
            yield f"the system catalogue {node.name}"
        yield from _others(node, _TABLE)

    def _expressions(self, node: Any) -> Iterator[str]:
        sql = self.sql
        for part in node.walk():
            if isinstance(part, sql.Query | sql.Exists) and part is not node:
                yield "a subquery in an expression"
            elif isinstance(part, sql.Window | sql.WithinGroup | sql.Filter):
                yield "a window function or an aggregate"
            elif isinstance(part, sql.AggFunc):
                yield f"the aggregate {part.sql_name()}"
            elif isinstance(part, sql.Func):
                yield from self._function(part)
            else:
                yield from self._operator(part)

    def _operator(self, part: Any) -> Iterator[str]:
        """What an engine treats as a subquery or a function, but SQLGlot as a column."""
        sql = self.sql
        if isinstance(part, sql.In) and part.args.get("field") and self.dialect != "duckdb":
            yield "a table after IN, which is a subquery"
        if isinstance(part, sql.Column) and part.name.lower() in _SYSTEM[self.dialect]:
            yield f"the position of a row ({part.name})"
        if self.dialect != "postgres":
            return
        qualified = isinstance(part, sql.Column) and part.table and part.name.lower() in _OF_ROWS
        if qualified or (isinstance(part, sql.Dot) and not isinstance(part.expression, sql.Star)):
            yield f".{part.name}, which can be a call of a function"

    def _function(self, part: Any) -> Iterator[str]:
        sql = self.sql
        names = [part.name] if isinstance(part, sql.Anonymous) else part.sql_names()
        name = names[0]
        if type(part).__name__ not in _FUNCTIONS and not {n.lower() for n in names} & _NAMES:
            yield f"{name}(), which is not on the list of row-wise functions"
        bare = next(part.iter_expressions(), None) is None
        if self.dialect == "sqlite" and name.lower() in _CLOCKS and bare:
            yield f"the current time in {name}()"
        texts = (t for t in part.find_all(sql.Literal) if t.is_string and t.parent is part)
        if any(text.name.strip().lower() in _NOW for text in texts):
            yield f"the current time in {name}()"


def _part(node: Any, name: str) -> Any:
    """A part of a node; since version 28, SQLGlot names some with an underscore."""
    found = node.args.get(name)
    return node.args.get(f"{name}_") if found is None else found


def _others(node: Any, allowed: set[str]) -> Iterator[str]:
    for name, part in node.args.items():
        if part and name.rstrip("_") not in allowed:
            yield _WORDS.get(name, name.rstrip("_").replace("_", " ").upper())
