"""Who may charge a ledger in PostgreSQL: rights that its owner gives and takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from .store import open_store

if TYPE_CHECKING:
    from .postgres import PostgresStore

__all__ = ["grant_role", "revoke_role"]


def grant_role(ledger: str, role: str, *, wait: float = 10.0) -> None:
    """Let a PostgreSQL role read the ledger and charge every budget in it, and no more.

    Only the owner of the ledger may call this.
    """
    _store(ledger, wait).grant(_checked_role(role))


def revoke_role(ledger: str, role: str, *, wait: float = 10.0) -> None:
    """Take every right on the ledger from a PostgreSQL role."""
    _store(ledger, wait).revoke(_checked_role(role))


def _store(ledger: str, wait: float) -> PostgresStore:
    store: Any = open_store(ledger, wait=wait)
    if not hasattr(store, "grant"):
        raise OptionError(
            f"ledger={store.location!r} is a file, which one user keeps to themselves; only a "
            "ledger in PostgreSQL has roles"
        )
    found: PostgresStore = store
    return found


def _checked_role(role: Any) -> str:
    """The name of one role: PUBLIC would be everybody who can connect."""
    if not isinstance(role, str) or not role or "\0" in role or role.lower() == "public":
        shown = repr(role)[:60] if isinstance(role, str) else f"of type {type(role).__name__}"
        raise OptionError(
            f"role {shown} is not usable; give the name of one role, such as 'analysts' (PUBLIC "
            "would be everyone who can connect)"
        )
    return role
