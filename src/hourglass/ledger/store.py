"""Where entries are kept: the one Protocol, and the choice between its two stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..core.urls import shown_url
from ..errors import OptionError
from .entries import Row

__all__ = ["Caller", "Store", "Transaction", "open_store"]

_POSTGRES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Caller:
    """Who uses the ledger: the role that logged in, and whether it owns the ledger.

    A file has one user, who has no name and owns it.
    """

    role: str | None = None
    steward: bool = True

    def may_answer(self, by: str | None) -> bool:
        """Whether this caller may answer a charge that ``by`` made.

        Only the owner may answer a charge of schema 1, which does not say who made it.
        """
        return by == self.role if by is not None else self.steward


class Transaction(Protocol):
    """A look at one budget; in a writing transaction nobody else writes to it."""

    caller: Caller

    def rows(self, first: int) -> Iterator[Row]:
        """The budget's entries from number ``first`` on, in order."""

    def answer(self, number: int) -> str | None:
        """The answer that lies beside an entry."""

    def append(
        self,
        number: int,
        previous: str,
        kind: str,
        fields: Mapping[str, Any],
        answer: str | None = None,
    ) -> Row:
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
            f"ledger={shown_url(location)!r}: no such kind of ledger; give a file, or a URL "
            "that begins with postgresql://"
        )
    from .sqlite import SqliteStore

    return SqliteStore(location, wait=wait)
