"""A table, a view or a SELECT of a DuckDB file, opened read-only.

The file is attached to an in-memory database, so nothing in the file is changed, and other
processes can read it at the same time.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...core.totals import Groups
from ...errors import DataError, SourceError
from ..database import GENERATED, SqlSource, generated, has_magic
from ..source import Schema, guarded_schema
from ..sql.cells import identifier, literal
from ..sql.query import Question
from ..sql.rowwise import tables_of
from .duckdb import DuckDBRelation
from .duckdb_scans import connect

__all__ = ["DuckDBDatabase"]

_FILE: Final = "hourglass_database"
#: Views that DuckDB itself has.
_OWN: Final = "SELECT schema_name, view_name FROM duckdb_views() WHERE internal"
#: The columns that are computed as they are read.
_GENERATED: Final = f"""
SELECT lower(schema_name), lower(table_name), column_name FROM duckdb_columns()
WHERE is_generated AND database_name = '{_FILE}' ORDER BY ALL
"""


class DuckDBDatabase:
    """A table or SELECT in the file, on a connection that is closed after the query."""

    name = "duckdb"
    parse: str | None = None
    parses = True

    def __init__(self, source: SqlSource) -> None:
        self._path, self._source = source.path, source
        self._connection: Any = None
        self._relation: DuckDBRelation | None = None

    def schema(self) -> Schema:
        """The columns; the file is opened here."""
        schema, computed = self._opened().schema(), self._computed()
        fields = (generated(f, stored=False) if f.name in computed else f for f in schema.fields)
        return replace(schema, fields=tuple(fields))

    def _computed(self) -> set[str]:
        """The columns that DuckDB computes as it reads them; a SELECT from their table is refused.

        It checks new rows, and updates rows without checking them.
        """
        with guarded_schema("table: DuckDB did not list its columns"):
            rows = self._connection.execute(_GENERATED).fetchall()
        if (select := self._source.select) is not None:
            read = {parts[-1].lower() for parts in tables_of(select, "duckdb", every=True)}
            for _, table, column in rows:
                if table in read:
                    raise DataError(
                        f"table: the SELECT reads {table!r}, which has the column {column!r}, "
                        f"generated as it is read; {GENERATED}. Name the table alone, or vouch "
                        "with trusted=True (--trusted) that it cannot"
                    )
        named = {tuple(("main", *map(str.lower, parts))[-2:]) for parts in self._source.tables}
        return {column for schema, table, column in rows if (schema, table) in named}

    def _opened(self) -> DuckDBRelation:
        if self._relation is None:
            if not Path(self._path).is_file():
                raise DataError(f"data: there is no DuckDB file {self._path!r}")
            self._connection = connect()
            try:
                self._attach()
                self._check_tables()
                self._prefer_functions()
                with guarded_schema("table: DuckDB cannot determine its columns"):
                    selected = self._connection.sql(f"SELECT * FROM {self._source.relation}")
            except BaseException:
                self._connection.close()
                raise
            self._relation = DuckDBRelation(selected, again=True)
        return self._relation

    def _attach(self) -> None:
        """Open the file. Of DuckDB's own message only the reason is used."""
        import duckdb

        # A relative path could be mistaken for the prefix of an extension, such as "md:".
        path = literal(str(Path(self._path).absolute()))
        try:
            self._connection.execute(f"ATTACH {path} AS {_FILE} (READ_ONLY)")
            self._connection.execute(f"USE {_FILE}")
        except duckdb.Error as error:
            told = str(error)
        else:
            return
        reason = "it is damaged, or was written by another version of DuckDB"
        if not os.access(self._path, os.R_OK):
            reason = "this user may not read it"
        elif has_magic(self._path, "duckdb") is False:
            raise DataError(f"data: {self._path!r} is not a DuckDB file; check the path")
        elif "set lock" in told:
            reason = "another process has it open for writing; ask again when it is closed"
        raise SourceError(f"data: the DuckDB file {self._path!r} cannot be opened: {reason}")

    def _check_tables(self) -> None:
        """Refuse names that are not tables: DuckDB would look for a file of that name.

        It would infer the types of a text file from its lines, so that one of them decides how the
        others are read.
        """
        rows = self._connection.execute(
            f"SELECT table_schema, table_name FROM information_schema.tables "
            f"WHERE table_catalog = '{_FILE}' EXCEPT {_OWN} ORDER BY ALL"
        ).fetchall()
        known = {(schema.lower(), name.lower()) for schema, name in rows}
        for parts in self._source.tables:
            name = tuple(part.lower() for part in parts)
            if (name if len(name) > 1 else ("main", *name)) in known:
                continue
            self._source.check_table([n if s == "main" else f"{s}.{n}" for s, n in rows])
            raise DataError(
                f"table: the SELECT reads {'.'.join(parts)!r}, which is not a table or view of the "
                "database; read files without a database, as in hg.mean('file.parquet', ...)"
            )

    def _prefer_functions(self) -> None:
        """Look names up in DuckDB first, so that no macro replaces a function or an operator."""
        rows = self._connection.execute(
            f"SELECT schema_name FROM duckdb_schemas() WHERE database_name = '{_FILE}' "
            "ORDER BY schema_name <> 'main', 1"
        ).fetchall()
        schemas = (f"{_FILE}.{identifier(name)}" for (name,) in rows)
        path = literal(",".join(["system.main", *schemas]))
        self._connection.execute(f"SET search_path = {path}")

    def sql(self, query: Question, bounds: Any) -> str:
        """The query over the table."""
        return self._opened().sql(query, bounds)

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query, and close the file."""
        try:
            return self._opened().run(sql, query)
        finally:
            self._connection.close()
            self._relation = None
