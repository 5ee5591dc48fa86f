"""The Protocol of stores for entries, the choice of a store, and roles."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..core.urls import shown_url
from ..errors import LedgerMissingError, OptionError, needs_extra
from .entries import Row

if TYPE_CHECKING:
    from .postgres import PostgresStore

__all__ = [
    "Caller", "Store", "Transaction", "grant_role", "known_budget", "no_such_budget", "open_store",
    "revoke_role",
]  # fmt: skip

_POSTGRES: Final = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Caller:
    """Who uses the ledger: the role that logged in, and whether it owns the ledger.

    A file has one user, who owns it and has no name.
    """

    role: str | None = None
    steward: bool = True

    def may_answer(self, by: str | None) -> bool:
        """Whether this caller may answer a charge that ``by`` made.

        Only the owner may answer a charge of schema 1, which does not say who made it.
        """
        return by == self.role if by is not None else self.steward


class Transaction(Protocol):
    """A transaction on one budget; a writing one excludes other writers."""

    caller: Caller

    def rows(self, first: int) -> Iterator[Row]:
        """The budget's entries from number ``first`` on, in order."""

    def answer(self, number: int) -> str | None:
        """The answer of an entry."""

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
    """A store of entries; every failure is a subclass of LedgerError."""

    @property
    def location(self) -> str:
        """The location without a password, which may be shown."""

    def create(self) -> None:
        """Create an empty ledger if there is none; only ``init`` calls it."""

    def names(self) -> list[str]:
        """The budgets in the ledger."""

    def transaction(
        self, budget: str, *, write: bool = False
    ) -> AbstractContextManager[Transaction]:
        """A transaction on one budget, committed at the end of the block."""


def open_store(location: str | os.PathLike[str], *, wait: float, keep: bool = False) -> Store:
    """The store at a path or a postgresql:// URL; nothing is opened yet.

    With ``keep`` a connection to PostgreSQL is kept between transactions. A file is opened again
    each time.
    """
    if isinstance(location, os.PathLike):
        location = os.fspath(location)
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
            told = needs_extra("a PostgreSQL ledger", "psycopg", "postgres")
            raise OptionError(f"ledger: {told}") from None
        return PostgresStore(location, wait=wait, keep=keep)
    if "://" in location:
        raise OptionError(
            f"ledger={shown_url(location)!r} is not a supported kind of ledger; give a file, or a "
            "URL that begins with postgresql://"
        )
    from .sqlite import SqliteStore

    return SqliteStore(location, wait=wait)


def no_such_budget(name: str, known: Sequence[str] = ()) -> LedgerMissingError:
    """The error for a name that no budget has; a similar name is more likely than a new budget."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        others = f"{', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"
        hint = f"did you mean {near[0]!r}? It has: {others}"
    else:
        made = f"`hourglass budget init {name}` or hg.create_budget"
        hint = f"check the name, or create it with {made}"
    return LedgerMissingError(f"budget {name!r} is not in this ledger; {hint}")


@contextmanager
def known_budget(store: Store, name: str) -> Iterator[None]:
    """Turn the error that there is no such budget into one that suggests a similar name."""
    try:
        yield
        return
    except LedgerMissingError:
        known = store.names()  # raises if it is the ledger that is missing
        if name in known:
            raise
    raise no_such_budget(name, known)


# --- PostgreSQL roles, whose rights the owner of a ledger grants and revokes ----------------------


def grant_role(ledger: str, role: str, *, wait: float = 10.0) -> None:
    """Let a PostgreSQL role read the ledger and charge every budget in it, and no more.

    Only the owner of the ledger may call this.
    """
    _store(ledger, wait).grant(_checked_role(role))


def revoke_role(ledger: str, role: str, *, wait: float = 10.0) -> None:
    """Revoke every right of a PostgreSQL role on the ledger."""
    _store(ledger, wait).revoke(_checked_role(role))


def _store(ledger: str, wait: float) -> PostgresStore:
    store: Any = open_store(ledger, wait=wait)
    if not hasattr(store, "grant"):
        raise OptionError(
            f"ledger={store.location!r} is a file, which belongs to one user; only a ledger in "
            "PostgreSQL has roles"
        )
    found: PostgresStore = store
    return found


def _checked_role(role: Any) -> str:
    """Check the name of a role; PUBLIC is refused, since it means everyone who can connect."""
    if not isinstance(role, str) or not role or "\0" in role or role.lower() == "public":
        shown = repr(role)[:60] if isinstance(role, str) else f"of type {type(role).__name__}"
        raise OptionError(
            f"role {shown} is not usable; give the name of one role, such as 'analysts' (PUBLIC "
            "would be everyone who can connect)"
        )
    return role
