"""Where entries are kept: the one Protocol, and the choice between its two stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Final, Protocol
from urllib.parse import urlsplit

from ..errors import OptionError
from .entries import Row

__all__ = ["SCHEMA_VERSION", "Store", "Transaction", "open_store", "shown_location"]

#: The schema that this version writes and reads.
SCHEMA_VERSION: Final = 1

_POSTGRES: Final = ("postgresql://", "postgres://")


class Transaction(Protocol):
    """A look at one budget; in a writing transaction nobody else writes to it."""

    def rows(self, first: int) -> Iterator[Row]:
        """The budget's entries from number ``first`` on, in order."""

    def answer(self, number: int) -> str | None:
        """The answer that lies beside an entry."""

    def append(self, row: Row, answer: str | None = None) -> None:
        """Add an entry, durable once the transaction has ended without an error."""

    def check(self) -> None:
        """Raise LedgerCorruptError if the store finds damage in its own structures."""


class Store(Protocol):
    """A place for entries; every failure is an error of the LedgerError family."""

    @property
    def location(self) -> str:
        """The place, fit to be shown: without a password."""

    def create(self) -> None:
        """Make an empty ledger where there is none; only ``init`` calls it."""

    def names(self) -> list[str]:
        """The budgets in the ledger."""

    def transaction(
        self, budget: str, *, write: bool = False
    ) -> AbstractContextManager[Transaction]:
        """A transaction on one budget, committed at the end of the block."""


def open_store(location: str, *, wait: float) -> Store:
    """The store at a path or a postgresql:// URL; nothing is opened yet."""
    if not isinstance(location, str) or not location.strip() or "\0" in location:
        raise OptionError(
            "ledger: the location is not usable; give a file such as 'budget.db', or a URL "
            "such as 'postgresql://host/database'"
        )
    if not (isinstance(wait, int | float) and not isinstance(wait, bool) and 0 < wait <= 3600):
        raise OptionError(f"wait={wait!r} is not a number of seconds in (0, 3600]")
    if location.startswith(_POSTGRES):
        try:
            from .postgres import PostgresStore
        except ImportError:
            raise OptionError(
                "ledger: a PostgreSQL ledger needs psycopg; pip install 'hourglass-dp[postgres]'"
            ) from None
        return PostgresStore(location, wait=wait)
    if "://" in location:
        raise OptionError(
            f"ledger={shown_location(location)!r}: no such kind of ledger; give a file, or a URL "
            "that begins with postgresql://"
        )
    from .sqlite import SqliteStore

    return SqliteStore(location, wait=wait)


def shown_location(location: str) -> str:
    """The location without what must not be shown: a password, or options that may hold one."""
    if "://" not in location:
        return location
    try:
        parts = urlsplit(location)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return location.partition("://")[0] + "://..."
    user = f"{parts.username}@" if parts.username and host else ""
    return f"{parts.scheme}://{user}{host}{port}{parts.path}"
