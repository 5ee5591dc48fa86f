"""The ledger in PostgreSQL, for teams, several machines, and roles that may only make charges.

It has the same entries as a file, in the schema ``hourglass``. To make a charge, roles call
functions that run with the owner's rights, check it and write it (postgres_functions.py); only the
owner can write to the tables directly. A charge holds a lock on its budget's first entry, which
serialises racing charges. Threads and forked children share no connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ..core.urls import shown_url
from ..errors import (
    BudgetExistsError,
    EpsilonError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerMissingError,
    LedgerUnreachableError,
    LedgerUnsafeError,
    LedgerVersionError,
    LedgerWriteError,
    OptionError,
)
from . import postgres_schema as schema
from .entries import FIRST, Row, make_row
from .postgres_functions import digest
from .postgres_kept import Connections
from .postgres_schema import EARLIER, STATE, VERSION, Connection
from .store import Caller

__all__ = ["PostgresStore"]

#: The oldest server whose NUMERIC has a gcd, which the functions use.
_LEAST_SERVER: Final = 130000
_GRANT: Final = "ask the ledger's owner to run `hourglass budget grant` for your role"
_CALL: Final = {
    "reserve": (
        "SELECT number, body, hash FROM hourglass.reserve(%(budget)s, %(request)s, %(question)s, "
        "%(description)s, %(epsilon)s, %(delta)s)"
    ),
    "settle": (
        "SELECT number, body, hash FROM hourglass.settle(%(budget)s, %(charge)s, %(stored)s)"
    ),
}


class PostgresStore:
    """Entries in the schema ``hourglass`` of a PostgreSQL database."""

    def __init__(self, url: str, *, wait: float = 10.0, keep: bool = False) -> None:
        """The store at a URL; no connection is made yet.

        Each transaction opens a new connection, unless ``keep`` is set.
        """
        self._wait = float(wait)
        self._connections = Connections(url, self._wait, keep=keep)
        self.location = shown_url(url)
        if not _is_understood(url):
            raise OptionError(
                f"ledger={self.location!r} is not a PostgreSQL URL; write it as "
                "postgresql://user:password@host/database, and escape special characters of "
                "the password, such as % as %25 and @ as %40"
            )

    def create(self) -> None:
        """Create the schema if there is none; an existing ledger is unchanged."""
        with self._errors(), closing(self._connections.new()) as connection:
            self._begin(connection)
            if not _has_schema(connection):
                self._check_server(connection)
                try:
                    schema.create(connection)
                    self._commit(connection)
                    return
                except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation):
                    pass  # another process was first
                connection.execute("ROLLBACK")
                self._begin(connection)
            caller = self._checked(connection)
            if not caller.steward:
                raise LedgerWriteError(
                    f"ledger {self.location!r}: role {caller.role!r} does not own it; only the "
                    "owner creates budgets"
                )
            self._commit(connection)

    def names(self) -> list[str]:
        """The budgets in the ledger, sorted by name."""
        with self._begun() as (connection, _):
            rows = connection.execute(
                'SELECT budget FROM hourglass.entries WHERE number = 0 ORDER BY budget COLLATE "C"'
            )
            return [str(name) for (name,) in rows]

    def grant(self, role: str) -> None:
        """Let a role charge every budget of the ledger."""
        with self._begun() as (connection, caller):
            self._check_owner(caller)
            schema.hold_rights(connection)
            schema.grant(connection, role)

    def revoke(self, role: str) -> None:
        """Revoke every right of a role on the ledger."""
        with self._begun() as (connection, caller):
            self._check_owner(caller)
            schema.hold_rights(connection)
            schema.revoke(connection, role)

    @contextmanager
    def transaction(self, budget: str, *, write: bool = False) -> Iterator[PostgresTransaction]:
        """A transaction; a writing one holds the budget's lock from the start."""
        with self._begun() as (connection, caller):
            if write:
                connection.execute("SELECT hourglass.hold(%s)", (budget,))
            yield PostgresTransaction(connection, budget, caller)

    @contextmanager
    def _begun(self) -> Iterator[tuple[Connection, Caller]]:
        with self._errors(), self._connections.begun(self._begin) as connection:
            caller = self._checked(connection)
            yield connection, caller
            self._commit(connection)

    def _begin(self, connection: Connection) -> None:
        milliseconds = max(1, round(self._wait * 1000))
        connection.execute(
            b"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp; "
            b"SET LOCAL idle_in_transaction_session_timeout = '60s'; "
            b"SET LOCAL lock_timeout = %d" % milliseconds
        )

    def _checked(self, connection: Connection) -> Caller:
        """Check the ledger's state, after migrating an older one if the caller owns it."""
        found = connection.execute(STATE.encode()).fetchone()
        assert found is not None
        versions, triggers, functions, strangers, fsync, role, steward = found
        place = f"ledger {self.location!r}"
        if versions in EARLIER and steward:
            self._check_server(connection)
            schema.migrate(connection)
            self._commit(connection)
            self._begin(connection)
            return self._checked(connection)
        if versions in EARLIER:
            raise LedgerVersionError(
                f"{place} has schema {versions[0]}, which an earlier version of hourglass wrote; "
                "its owner must open it once with this version, for example with `hourglass budget "
                f"show`, which migrates it to schema {VERSION}"
            )
        if versions != [VERSION]:
            raise LedgerVersionError(
                f"{place} has schema {versions}, and this version of hourglass knows schema "
                f"{VERSION}; use the version that wrote it, or a newer one"
            )
        if triggers != 2 or functions != digest():
            raise LedgerVersionError(
                f"{place}: the triggers or functions that guard its entries are missing or were "
                "changed; restore them, then run `hourglass budget verify`"
            )
        if strangers:
            raise LedgerUnsafeError(
                f"{place}: a role other than the owner may write to the schema hourglass or to "
                "its tables directly; revoke that, and give rights with `hourglass budget grant`"
            )
        if fsync != "on":
            raise LedgerWriteError(
                f"{place}: the server runs with fsync={fsync}, so a power cut could lose "
                "charges; set fsync=on"
            )
        return Caller(role, steward)

    def _check_owner(self, caller: Caller) -> None:
        if not caller.steward:
            raise LedgerWriteError(
                f"ledger {self.location!r}: role {caller.role!r} does not own it; only the owner "
                "can grant and revoke rights"
            )

    def _check_server(self, connection: Connection) -> None:
        place = f"ledger {self.location!r}"
        if connection.info.server_version < _LEAST_SERVER:
            raise LedgerVersionError(f"{place}: a ledger needs PostgreSQL 13 or later")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise LedgerVersionError(
                f"{place}: the database's encoding is {encoding}; create the ledger in a "
                "database with the encoding UTF8"
            )

    def _commit(self, connection: Connection) -> None:
        done = connection.execute("COMMIT").statusmessage
        if done != "COMMIT":  # a transaction that failed earlier answers ROLLBACK
            raise LedgerWriteError(f"ledger {self.location!r}: the server did not commit")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate PostgreSQL's errors; ours never contain a password or a line of the ledger."""
        try:
            yield
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error) -> LedgerError | EpsilonError:
        state = error.sqlstate or ""
        place = f"ledger {self.location!r}"
        if state in ("55P03", "57014", "40P01", "23505"):
            return LedgerBusyError(
                f"{place} stayed locked by another process for {self._wait:g} s; try again, or "
                "wait longer"
            )
        if state in ("42P01", "3F000", "3D000"):
            return LedgerMissingError(
                f"{place}: there is no ledger in this database; check the URL, or create it with "
                "`hourglass budget init` or hg.create_budget"
            )
        if state == "42501":
            return LedgerWriteError(f"{place}: your role has no right to do this (42501); {_GRANT}")
        if state == "42704":
            return LedgerWriteError(f"{place}: the server has no such role; create it first")
        if state == "25006":
            return LedgerWriteError(f"{place} is read-only here (25006); name the primary server")
        if state == "HG007":
            return EpsilonError(
                "epsilon: with the denominators of the charges before it the exact sum has "
                "thousands of digits; round epsilon to a short decimal"
            )
        if state == "HG010":  # only if the client's own check passed: it never should
            return EpsilonError(
                "epsilon, delta: the rule of this budget does not allow such a release; "
                "`hourglass budget show` tells what it allows"
            )
        if state == "HG003":
            return LedgerCorruptError(
                f"{place}: the budget's entries are damaged; `hourglass budget verify` says where"
            )
        if state.startswith(("53", "58")):
            return LedgerWriteError(
                f"{place} could not be written ({state}): the server's disk is full or failing; "
                "free some space and ask again with the same request key"
            )
        if isinstance(error, psycopg.OperationalError) or state.startswith(("08", "28", "57")):
            return LedgerUnreachableError(
                f"{place}: the server does not answer or ended the connection "
                f"({state or 'no code'}); check the host, port, database, user and password"
            )
        return LedgerWriteError(f"{place}: the server refused ({state or type(error).__name__})")


class PostgresTransaction:
    """One budget's entries, inside a transaction."""

    def __init__(self, connection: Connection, budget: str, caller: Caller) -> None:
        """The transaction has begun."""
        self._connection = connection
        self._budget = budget
        self.caller = caller

    def rows(self, first: int) -> Iterator[Row]:
        """The budget's entries from number ``first`` on, in order."""
        found = self._connection.execute(
            "SELECT number, body, hash FROM hourglass.entries WHERE budget = %s AND number >= %s "
            "ORDER BY number",
            (self._budget, first),
        )
        for number, body, hash_ in found:
            yield Row(int(number), str(body), str(hash_))

    def answer(self, number: int) -> str | None:
        """The answer of an entry."""
        found = self._connection.execute(
            "SELECT answer FROM hourglass.entries WHERE budget = %s AND number = %s",
            (self._budget, number),
        ).fetchone()
        return None if found is None or found[0] is None else str(found[0])

    def append(
        self,
        number: int,
        previous: str,
        kind: str,
        fields: Mapping[str, Any],
        answer: str | None = None,
    ) -> Row:
        """Add an entry: the first directly, all others through the owner's functions."""
        if kind in FIRST:
            return self._open(make_row(self._budget, number, previous, kind, fields))
        given = {**fields, "budget": self._budget, "stored": answer}
        found = self._connection.execute(_CALL[kind].encode(), given).fetchone()
        assert found is not None
        return Row(int(found[0]), str(found[1]), str(found[2]))

    def check(self) -> None:
        """Nothing to do: PostgreSQL checks its pages itself if data checksums are on."""

    def _open(self, row: Row) -> Row:
        done = self._connection.execute(
            "INSERT INTO hourglass.entries VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (self._budget, row.number, row.body, row.hash),
        )
        if done.rowcount != 1:
            raise BudgetExistsError(
                f"budget {self._budget!r} was created by another process at the same moment; its "
                "terms never change: choose another name"
            )
        return row


def _is_understood(url: str) -> bool:
    """Whether libpq and Python can parse the URL; their error messages would quote the password."""
    try:
        conninfo_to_dict(url)
    except (psycopg.Error, UnicodeDecodeError):
        return False
    return True


def _has_schema(connection: Connection) -> bool:
    found = connection.execute("SELECT to_regnamespace('hourglass') IS NOT NULL")
    return found.fetchone() == (True,)
