"""A table in a database, named by a URL: ``hg.sql(url, table_or_query)``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..core.urls import scheme_of, url_identity
from ..errors import DataError, OptionError
from .sql.cells import identifier
from .sql.rowwise import not_row_by_row

__all__ = ["SqlSource", "sql"]

_QUERY: Final = re.compile(r"\s*\(?\s*(select|with|values|table|from)\b", re.IGNORECASE)
#: Schemes, and what SQLGlot calls their dialect.
_DIALECTS: Final = {"postgresql": "postgres", "postgres": "postgres", "sqlite": "sqlite"}


@dataclass(frozen=True)
class SqlSource:
    """A database and what to read there; the URL may hold a password and is not shown."""

    url: str = field(repr=False)
    relation: str

    @property
    def scheme(self) -> str:
        """The first word of the URL, without a driver's name."""
        return scheme_of(self.url)

    @property
    def place(self) -> str:
        """The database and what is read there, without a password: equal for equal tables."""
        return f"{url_identity(self.url)} {self.relation}"


def sql(url: str, table: str, *, trusted: bool = False) -> SqlSource:
    """A table of a database, or a query over it, where it lives.

    ``url`` is ``postgresql://user@host/database`` or ``sqlite:///path/to/file.db``;
    ``table`` a table's name (``schema.table`` where needed) or a SELECT in the database's
    own words.

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
            f"url of kind {scheme_of(url)!r} is not one of postgresql, sqlite; other tables are "
            "read from files, frames and Spark"
        )
    if dialect == "sqlite" and not url.partition("://")[2].startswith("/"):
        raise OptionError("url of SQLite names no host; give one such as sqlite:///path/to/file.db")
    return SqlSource(url, relation_of(table, None if trusted else dialect))


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
