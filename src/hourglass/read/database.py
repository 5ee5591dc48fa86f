"""A table in a database, named by a URL: ``hg.sql(url, table_or_query)``.

Also what databases have in common: columns that others may change between the check of a question
and its reading, and columns that are computed as they are read.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from ..core.urls import scheme_of, shown_url, url_identity
from ..errors import DataError, OptionError, SourceError
from .source import Field, Schema
from .sql.cells import identifier
from .sql.rowwise import is_catalog, not_row_by_row, tables_of

if TYPE_CHECKING:
    from .sql.query import Question

__all__ = [
    "GENERATED", "SCHEMES", "SqlSource", "check_scheme", "check_unchanged", "file_url", "generated",
    "has_magic", "sql",
]  # fmt: skip

_QUERY: Final = re.compile(r"\s*\(?\s*(select|with|values|table|from)\b", re.IGNORECASE)
#: Schemes of URLs, and SQLGlot's names of their dialects.
_DIALECTS: Final = {
    "postgresql": "postgres", "postgres": "postgres", "sqlite": "sqlite", "duckdb": "duckdb"
}  # fmt: skip
SCHEMES: Final = tuple(_DIALECTS)
#: Schemes of databases in a file, with the magic bytes of such a file and their offset.
_FILES: Final = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}


@dataclass(frozen=True)
class SqlSource:
    """A database and what to read from it; the URL may contain a password and is not shown.

    ``table`` is the name given by the user, ``select`` a SELECT that was checked; both are None
    for one that the user vouches for.
    """

    url: str = field(repr=False)
    relation: str
    table: str | None = None
    select: str | None = None

    @property
    def scheme(self) -> str:
        """The scheme of the URL, without a driver's name."""
        return scheme_of(self.url)

    @property
    def place(self) -> str:
        """The database and the table, without a password; equal for equal tables."""
        return f"{url_identity(self.url)} {self.relation}"

    @property
    def path(self) -> str:
        """The database's file: sqlite:///file.db is relative, sqlite:////srv/file.db absolute."""
        return unquote(re.split("[?#]", self.url.partition(":///")[2])[0])

    @property
    def tables(self) -> list[tuple[str, ...]]:
        """The tables that are read, each as the parts of its name."""
        if self.table is not None:
            return [tuple(self.table.split("."))]
        return tables_of(self.select, _DIALECTS[self.scheme]) if self.select else []

    def check_table(self, known: Sequence[str]) -> None:
        """Raise an error if the database has no such table; no row is read."""
        if self.table is None or self.table in known:
            return
        near = difflib.get_close_matches(self.table, known, n=1)
        there = ", ".join(known[:12]) if known else "none that this user may read"
        hint = f"did you mean {near[0]!r}?" if near else f"its tables and views: {there}"
        raise DataError(f"table={self.table!r}: the database has no such table or view; {hint}")


def file_url(path: str) -> str | None:
    """The URL of a database in a local file, recognised by its magic bytes; else None.

    Only regular files are inspected: reading from a pipe would consume its data.
    """
    if not os.path.isfile(path):
        return None
    found = (scheme for scheme in _FILES if has_magic(path, scheme))
    return next((f"{scheme}:///{quote(path)}" for scheme in found), None)


def has_magic(path: str, scheme: str) -> bool | None:
    """Whether a file begins like a database of that kind; None if it cannot be opened."""
    at, mark = _FILES[scheme]
    try:
        with open(path, "rb") as file:
            return file.read(16)[at:].startswith(mark)
    except OSError:
        return None


def sql(url: str, table: str, *, trusted: bool = False) -> SqlSource:
    """A table of a database, or a SELECT on it.

    ``url`` is ``postgresql://user@host/database``, ``sqlite:///path/to/file.db`` or
    ``duckdb:///path/to/file.duckdb``; ``table`` is the name of a table (``schema.table`` if
    needed) or a SELECT in the database's own dialect. Files are opened read-only.

    The privacy promise holds for the rows of the base table only if the SELECT works row by row:
    each row makes at most one row of the result, which depends on no other row. A SELECT with
    LIMIT, OFFSET, DISTINCT, GROUP BY, an aggregate, a window function, a join, a subquery in an
    expression, a set operation, a sample or the position of a row (``rowid``) is refused, and so is
    one with a function that is not on a list of known row-wise functions, or with a table that the
    database derives from others, such as a system catalogue. With ``trusted=True`` you vouch that
    the SELECT works row by row anyway (for example a join with a table that has at most one row for
    each key), and it is run unchecked. Views are not checked. An expression that fails for some
    value, such as a cast on PostgreSQL, makes the whole query fail: select columns unchanged.
    """
    if not isinstance(url, str) or not scheme_of(url):
        raise OptionError(
            "url is not a database URL; give a URL such as postgresql://host/database, "
            "sqlite:///file.db or duckdb:///file.duckdb"
        )
    if not isinstance(table, str) or not table.strip():
        raise OptionError("table is empty; name a table, or give a SELECT")
    if not isinstance(trusted, bool):
        raise OptionError("trusted is neither True nor False; give one of them, or leave it out")
    dialect = _DIALECTS.get(scheme_of(url))
    if dialect is None:
        raise OptionError(
            f"url has the scheme {scheme_of(url)!r}, not one of postgresql, sqlite, duckdb; read "
            "other databases as files, frames or with Spark"
        )
    if dialect in _FILES and not url.partition("://")[2].startswith("/"):
        raise OptionError(
            f"url of a file must not name a host; give a URL such as {dialect}:///path/to/file.db"
        )
    relation = relation_of(table, None if trusted else dialect)
    if not _QUERY.match(table):
        return SqlSource(url, relation, table)
    return SqlSource(url, relation, select=None if trusted else table)


def relation_of(table: str, dialect: str | None = None) -> str:
    """What to select from: a quoted name, or the query in parentheses.

    If a ``dialect`` is given, the query must work row by row.
    """
    if _QUERY.match(table):
        query = table.strip().rstrip(";").strip()
        if ";" in query and _splits(query):
            raise DataError("table holds more than one statement; give one SELECT")
        found = not_row_by_row(query, dialect) if dialect else None
        if found:
            raise OptionError(
                f"table is a SELECT with {found}: one row of a table could change more than one "
                "row of the result, and would not be protected. Name a table or a view, or select "
                "row by row; with trusted=True (--trusted) you vouch that each row of the base "
                "table makes at most one row of the result, which depends on no other row"
            )
        return f"({query}) AS hourglass_query"
    parts = table.split(".")
    if dialect and is_catalog(parts, dialect):
        raise OptionError(
            f"table={table!r} is a system catalogue, which PostgreSQL keeps about other tables: "
            "one row of those could change more than one row of it, and would not be protected. "
            "Name a table or a view, with its schema if its name begins with pg_"
        )
    return ".".join(map(identifier, parts))


def _splits(query: str) -> bool:
    """Whether there is a semicolon outside of quotes."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", query)
    return ";" in bare


def check_scheme(text: str) -> None:
    """Refuse the URL of anything that is not read."""
    if scheme_of(text) and scheme_of(text) not in SCHEMES:
        raise DataError(
            f"data={shown_url(text)!r} is a URL that cannot be read: databases have URLs that "
            "begin with postgresql://, duckdb:/// or sqlite:///, for hg.sql (--table), and files "
            "are read from disk, except with engine='spark'; download the file, or export the "
            "table to one, and give its path"
        )


# --- columns that change, and columns that are computed -------------------------------------------


def check_unchanged(known: Schema, found: Schema, query: Question) -> None:
    """Check that the columns of a question are still what the question was checked for."""
    wanted = {each.name for each in (*query.fields, *(i.field for i in query.inputs))}
    before, after = ({f.name: f for f in s.fields if f.name in wanted} for s in (known, found))
    if before != after:
        raise SourceError(
            "table: somebody changed the type or the name of a column while the question was "
            "asked, and nothing was read; ask again"
        )


#: Why a generated column is not read; without it, a statement that the user vouches for is.
GENERATED: Final = "the expression that generates it could make the whole query fail at one row"


def generated(field: Field, *, stored: bool = True) -> Field:
    """A column that is computed as it is read; ``stored`` if the engine could store it."""
    remedy = "declare the column as STORED, or " if stored else ""
    return replace(
        field,
        kind="other",
        declared=f"{field.declared}, generated as it is read",
        why=f"{GENERATED}; {remedy}ask for the columns that it is made of",
    )
