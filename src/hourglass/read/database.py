"""A table in a database, named by a URL: ``hg.sql(url, table_or_query)``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from ..errors import DataError, OptionError
from .sql.cells import identifier

__all__ = ["SqlSource", "sql"]

_QUERY: Final = re.compile(r"\s*\(?\s*(select|with|values|table|from)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SqlSource:
    """A database and what to read there; the URL may hold a password and is not shown."""

    url: str = field(repr=False)
    relation: str

    @property
    def scheme(self) -> str:
        """The first word of the URL, without a driver's name."""
        return urlsplit(self.url).scheme.split("+")[0].lower()


def sql(url: str, table: str) -> SqlSource:
    """A table of a database, or a query over it, where it lives.

    ``url`` is ``postgresql://user@host/database`` or ``sqlite:///path/to/file.db``;
    ``table`` a table's name (``schema.table`` where needed) or a SELECT in the database's
    own words.
    """
    if not isinstance(url, str) or not urlsplit(url).scheme:
        raise OptionError("url is not a database URL; give one such as postgresql://host/database")
    if not isinstance(table, str) or not table.strip():
        raise OptionError("table is empty; name a table, or give a SELECT")
    found = SqlSource(url, relation_of(table))
    if found.scheme not in ("postgresql", "postgres", "sqlite"):
        raise OptionError(
            f"url of kind {found.scheme!r} is not one of postgresql, sqlite; other tables are "
            "read from files, frames and Spark"
        )
    return found


def relation_of(table: str) -> str:
    """What to select from: a quoted name, or the query in brackets."""
    if _QUERY.match(table):
        query = table.strip().rstrip(";").strip()
        if ";" in query and _splits(query):
            raise DataError("table holds more than one statement; give one SELECT")
        return f"({query}) AS hourglass_query"
    return ".".join(identifier(part) for part in table.split("."))


def _splits(query: str) -> bool:
    """Whether a semicolon stands outside of quotes."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", query)
    return ";" in bare
