"""The ledger in PostgreSQL: for teams, several machines, and roles that may only append.

The same entries as in a file, in the schema ``hourglass``. A charge takes an advisory lock
on its budget, so racing charges form a queue, and needs no right but SELECT and INSERT. The
primary key would refuse a second entry of one number even without the lock. Each
transaction connects anew: threads and forked children share nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg

from ..errors import (
    LedgerBusyError,
    LedgerError,
    LedgerMissingError,
    LedgerUnreachableError,
    LedgerVersionError,
    LedgerWriteError,
)
from .entries import Row
from .store import SCHEMA_VERSION, shown_location

__all__ = ["PostgresStore"]

Connection = psycopg.Connection[tuple[Any, ...]]

SCHEMA: Final = (
    "CREATE SCHEMA hourglass",
    "CREATE TABLE hourglass.ledger (version integer NOT NULL)",
    "CREATE TABLE hourglass.entries (budget text NOT NULL, number bigint NOT NULL, "
    "body text NOT NULL, hash text NOT NULL, answer text, PRIMARY KEY (budget, number))",
    "CREATE FUNCTION hourglass.refuse() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'entries are never changed or deleted'; END $$",
    "CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE ON hourglass.entries "
    "FOR EACH ROW EXECUTE FUNCTION hourglass.refuse()",
    "CREATE TRIGGER entries_whole BEFORE TRUNCATE ON hourglass.entries "
    "FOR EACH STATEMENT EXECUTE FUNCTION hourglass.refuse()",
    f"INSERT INTO hourglass.ledger VALUES ({SCHEMA_VERSION})",
)

#: Version, live triggers, and whether this server's commits outlive a power cut.
_STATE: Final = (
    "SELECT (SELECT array_agg(version) FROM hourglass.ledger), "
    "(SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = 'hourglass.entries'::regclass "
    "AND tgname IN ('entries_stay', 'entries_whole') AND tgenabled IN ('O', 'A')), "
    "current_setting('fsync'), current_setting('synchronous_commit')"
)


class PostgresStore:
    """Entries in the schema ``hourglass`` of a PostgreSQL database."""

    def __init__(self, url: str, *, wait: float = 10.0) -> None:
        """The store at a URL, which is not connected to yet."""
        self._url = url
        self._wait = float(wait)
        self.location = shown_location(url)

    def create(self) -> None:
        """Make the schema where there is none; a ledger that is there stays as it is."""
        with self._errors(), closing(self._connect()) as connection:
            connection.execute("BEGIN")
            self._lock(connection, "")
            found = connection.execute("SELECT to_regnamespace('hourglass') IS NOT NULL")
            if found.fetchone() == (True,):
                self._check_state(connection)
            else:
                for statement in SCHEMA:
                    connection.execute(statement)
            self._commit(connection)

    def names(self) -> list[str]:
        """The budgets in the ledger, in the order of their names."""
        with self._begun() as connection:
            rows = connection.execute(
                'SELECT budget FROM hourglass.entries WHERE number = 0 ORDER BY budget COLLATE "C"'
            )
            return [str(name) for (name,) in rows]

    @contextmanager
    def transaction(self, budget: str, *, write: bool = False) -> Iterator[PostgresTransaction]:
        """A transaction; a writing one holds the budget's lock from its beginning."""
        with self._begun(lock=budget if write else None) as connection:
            yield PostgresTransaction(connection, budget)

    @contextmanager
    def _begun(self, *, lock: str | None = None) -> Iterator[Connection]:
        with self._errors(), closing(self._connect()) as connection:
            # READ COMMITTED: what is read after the lock was granted includes all that the
            # holders before us committed.
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            self._check_state(connection)
            if lock is not None:
                self._lock(connection, lock)
            yield connection
            self._commit(connection)

    def _connect(self) -> Connection:
        return psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, round(self._wait)),
            application_name="hourglass ledger",
        )

    def _lock(self, connection: Connection, budget: str) -> None:
        """Queue for the budget, at most for the wait; the lock goes with the transaction."""
        milliseconds = str(max(1, round(self._wait * 1000)))
        connection.execute(
            "SELECT set_config('lock_timeout', %s, true), "
            "set_config('idle_in_transaction_session_timeout', '60s', true)",
            (milliseconds,),
        )
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"hourglass:{budget}",)
        )

    def _check_state(self, connection: Connection) -> None:
        found = connection.execute(_STATE).fetchone()
        assert found is not None
        versions, triggers, fsync, synchronous = found
        if versions != [SCHEMA_VERSION]:
            raise LedgerVersionError(
                f"ledger {self.location!r} has schema {versions}, and this version of hourglass "
                f"knows schema {SCHEMA_VERSION}; use the version that wrote it, or a newer one"
            )
        if triggers != 2:
            raise LedgerVersionError(
                f"ledger {self.location!r}: the triggers that guard its entries are gone or "
                "disabled; restore them, then run `hourglass budget verify`"
            )
        if fsync != "on":
            raise LedgerWriteError(
                f"ledger {self.location!r}: the server runs with fsync={fsync}, so a power cut "
                "would forget charges; set fsync=on"
            )
        if synchronous not in ("on", "remote_apply"):
            connection.execute("SET LOCAL synchronous_commit = on")

    def _commit(self, connection: Connection) -> None:
        done = connection.execute("COMMIT").statusmessage
        if done != "COMMIT":  # a transaction that failed before answers ROLLBACK
            raise LedgerWriteError(f"ledger {self.location!r}: the server did not commit")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """PostgreSQL's errors in our words, which never hold a password or a line."""
        try:
            yield
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error) -> LedgerError:
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
                "`hourglass budget init`"
            )
        if state == "42501":
            return LedgerWriteError(
                f"{place}: this role may not do that (42501); a charge needs USAGE on the schema "
                "hourglass, SELECT on hourglass.ledger, SELECT and INSERT on hourglass.entries"
            )
        if state == "25006":
            return LedgerWriteError(f"{place} is read-only here (25006); name the primary server")
        if state.startswith(("53", "58")):
            return LedgerWriteError(
                f"{place} could not be written ({state}): the server's disk is full or fails; make "
                "room and ask again with the same request key"
            )
        if isinstance(error, psycopg.OperationalError) or state.startswith(("08", "28", "57")):
            return LedgerUnreachableError(
                f"{place}: the server does not answer or ended the connection "
                f"({state or 'no code'}); check the host, port, database, user and password"
            )
        return LedgerWriteError(f"{place}: the server refused ({state or type(error).__name__})")


class PostgresTransaction:
    """One budget's entries, inside a transaction."""

    def __init__(self, connection: Connection, budget: str) -> None:
        """The transaction has begun."""
        self._connection = connection
        self._budget = budget

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
        """The answer that lies beside an entry."""
        found = self._connection.execute(
            "SELECT answer FROM hourglass.entries WHERE budget = %s AND number = %s",
            (self._budget, number),
        ).fetchone()
        return None if found is None or found[0] is None else str(found[0])

    def append(self, row: Row, answer: str | None = None) -> None:
        """Add an entry."""
        self._connection.execute(
            "INSERT INTO hourglass.entries VALUES (%s, %s, %s, %s, %s)",
            (self._budget, row.number, row.body, row.hash, answer),
        )

    def check(self) -> None:
        """PostgreSQL checks its pages by itself, where data checksums are on."""
