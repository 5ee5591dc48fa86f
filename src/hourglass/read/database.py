"""A table in a database, named by a URL: ``hg.sql(url, table_or_query)``."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

from ..core.urls import scheme_of, url_identity
from ..errors import DataError, OptionError
from .sql.cells import identifier
from .sql.rowwise import not_row_by_row

__all__ = ["SqlSource", "file_url", "sql"]

_QUERY: Final = re.compile(r"\s*\(?\s*(select|with|values|table|from)\b", re.IGNORECASE)
#: Schemes, and what SQLGlot calls their dialect.
_DIALECTS: Final = {
    "postgresql": "postgres", "postgres": "postgres", "sqlite": "sqlite", "duckdb": "duckdb"
}  # fmt: skip
#: Schemes of databases that are a file, and how such a file begins: at which byte, with what.
_FILES: Final = {"sqlite": (0, b"SQLite format 3\0"), "duckdb": (8, b"DUCK")}


@dataclass(frozen=True)
class SqlSource:
    """A database and what to read there; the URL may hold a password and is not shown.

    ``table`` is the name that was asked for; None for a SELECT.
    """

    url: str = field(repr=False)
    relation: str
    table: str | None = None

    @property
    def scheme(self) -> str:
        """The first word of the URL, without a driver's name."""
        return scheme_of(self.url)

    @property
    def place(self) -> str:
        """The database and what is read there, without a password: equal for equal tables."""
        return f"{url_identity(self.url)} {self.relation}"

    @property
    def path(self) -> str:
        """The database's file: sqlite:///file.db is one here, sqlite:////srv/file.db absolute."""
        return unquote(re.split("[?#]", self.url.partition(":///")[2])[0])

    def check_table(self, known: Sequence[str]) -> None:
        """That a table that cannot be read is one of the database's; no row is read."""
        if self.table is None or self.table in known:
            return
        near = difflib.get_close_matches(self.table, known, n=1)
        there = ", ".join(known[:12]) if known else "none that may be read"
        hint = f"did you mean {near[0]!r}?" if near else f"its tables and views: {there}"
        raise DataError(f"table={self.table!r}: the database has no such table or view; {hint}")


def file_url(path: str) -> str | None:
    """The URL of a database that is a file here, known by how the file begins; else None.

    What is no regular file is left alone: a pipe would lose what is read of it.
    """
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            start = file.read(16)
    except OSError:
        return None
    for scheme, (at, mark) in _FILES.items():
        if start[at:].startswith(mark):
            return f"{scheme}:///{quote(path)}"
    return None


def sql(url: str, table: str, *, trusted: bool = False) -> SqlSource:
    """A table of a database, or a query over it, where it lives.

    ``url`` is ``postgresql://user@host/database``, ``sqlite:///path/to/file.db`` or
    ``duckdb:///path/to/file.duckdb``; ``table`` a table's name (``schema.table`` where needed) or
    a SELECT in the database's own words. Files are opened read-only.

    The privacy promise is about the rows of the base table only if the SELECT works row by row:
    each row makes at most one row of the result, and none depends on another row. A SELECT with
    LIMIT, OFFSET, DISTINCT, GROUP BY, an aggregate, a window function, a join, a subquery in an
    expression, a set operation or a sample is refused, and so is one with a function that is not
    known to be of one row's values. ``trusted=True`` says that the SELECT works row by row all
    the same (for example a join with a table that has at most one row for each key), and it is
    then run as it is. A view is taken at its word. An expression that fails for some value, such
    as a cast on PostgreSQL, ends the whole query: select columns as they are.
    """
    if not isinstance(url, str) or not scheme_of(url):
        raise OptionError("url is not a database URL; give one such as postgresql://host/database")
    if not isinstance(table, str) or not table.strip():
        raise OptionError("table is empty; name a table, or give a SELECT")
    if not isinstance(trusted, bool):
        raise OptionError("trusted is neither True nor False; leave it out, or give one of them")
    dialect = _DIALECTS.get(scheme_of(url))
    if dialect is None:
        raise OptionError(
            f"url of kind {scheme_of(url)!r} is not one of postgresql, sqlite, duckdb; other "
            "tables are read from files, frames and Spark"
        )
    if dialect in _FILES and not url.partition("://")[2].startswith("/"):
        raise OptionError(
            f"url of a file names no host; give one such as {dialect}:///path/to/file.db"
        )
    relation = relation_of(table, None if trusted else dialect)
    return SqlSource(url, relation, None if _QUERY.match(table) else table)


def relation_of(table: str, dialect: str | None = None) -> str:
    """What to select from: a quoted name, or the query in brackets.

    With a ``dialect`` the query must work row by row.
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
                "row by row; trusted=True (--trusted) says that each row of the base table makes "
                "at most one row of the result, whatever the other rows are"
            )
        return f"({query}) AS hourglass_query"
    return ".".join(identifier(part) for part in table.split("."))


def _splits(query: str) -> bool:
    """Whether a semicolon stands outside of quotes."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", query)
    return ";" in bare
