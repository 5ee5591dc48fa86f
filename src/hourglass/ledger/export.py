"""A budget as JSON that an auditor can check without hourglass.

Each line's hash is the SHA-256 of ``hourglass-ledger-1``, a newline and the line; each line
names the hash before it; the SHA-256 of a stored answer stands in its entry.
"""

from __future__ import annotations

from typing import Any, Final

from .budget import Budget

__all__ = ["FORMAT", "exported"]

FORMAT: Final = "hourglass-ledger/1"


def exported(budget: Budget) -> dict[str, Any]:
    """Every entry with its hash and its answer, exactly as stored."""
    rows = budget.rows()
    return {
        "format": FORMAT,
        "budget": budget.name,
        "entries": [
            {"number": row.number, "line": row.body, "hash": row.hash, "answer": answer}
            for row, answer in rows
        ],
    }
