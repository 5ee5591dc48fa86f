"""For auditors: all faults of a budget, by entry, and the whole budget as JSON.

The JSON can be checked without hourglass. Each line's hash is the SHA-256 of
``hourglass-ledger-1``, a newline and the line; each line contains the previous hash; the SHA-256 of
a stored answer is in its entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..errors import LedgerCorruptError
from .entries import GENESIS, Anchor, Fault, Row, Verification, digest, read_row
from .replay import View
from .store import Store, Transaction, known_budget

__all__ = ["FORMAT", "exported", "verify"]

FORMAT: Final = "hourglass-ledger/1"


def verify(store: Store, name: str, anchor: Anchor | None = None) -> Verification:
    """Every fault of one budget; a ledger that cannot be read at all is one fault.

    A missing budget, a locked ledger and an unreachable server are errors, not findings.
    """
    faults: list[Fault] = []
    rows: list[Row] = []
    try:
        with known_budget(store, name), store.transaction(name) as transaction:
            try:
                transaction.check()
            except LedgerCorruptError as error:
                faults.append(Fault(None, str(error)))
            for row in transaction.rows(0):
                rows.append(row)  # keep the rows before the one that cannot be read
            if not rows:
                View(name).terms  # noqa: B018 - raises that there is no such budget
            faults += _chain_faults(name, rows)
            faults += _answer_faults(transaction, rows)
    except LedgerCorruptError as error:
        faults.append(Fault(None, str(error)))
    if not faults:
        faults += _move_faults(name, rows)
    faults += _anchor_faults(rows, anchor)
    head = Anchor(name, rows[-1].number, rows[-1].hash) if rows else None
    return Verification(name, len(rows), tuple(faults), head)


def _chain_faults(name: str, rows: list[Row]) -> list[Fault]:
    """Where lines, hashes and links disagree; an edited line causes one or two faults, not more."""
    faults = []
    expected, previous = 0, GENESIS
    for row in rows:
        if row.number != expected:
            missing = (
                f"{expected}" if row.number == expected + 1 else f"{expected}-{row.number - 1}"
            )
            faults.append(Fault(row.number, f"the entries before it are missing ({missing})"))
            previous = ""
        try:
            entry = read_row(row)
            if (entry.budget, entry.number) != (name, row.number):
                faults.append(Fault(row.number, "the line was moved here from another place"))
            elif previous and entry.previous != previous:
                faults.append(Fault(row.number, "it does not continue the entry before it"))
        except ValueError as error:
            faults.append(Fault(row.number, str(error)))
        expected, previous = row.number + 1, row.hash
    return faults


def _answer_faults(transaction: Transaction, rows: list[Row]) -> list[Fault]:
    """Where an answer does not have the hash in its entry."""
    faults = []
    for row in rows:
        try:
            wanted = read_row(row).fields.get("answer")
        except ValueError:
            continue  # already reported
        found = transaction.answer(row.number)
        if (None if found is None else digest(found)) != wanted:
            faults.append(Fault(row.number, "its answer was changed, added or removed"))
    return faults


def _move_faults(name: str, rows: list[Row]) -> list[Fault]:
    """The first transition that was not allowed: too much charged, a key charged twice."""
    view = View(name)
    for row in rows:
        try:
            view.apply(row)
        except LedgerCorruptError as error:
            what = str(error).partition(": ")[2].partition(";")[0]
            return [Fault(row.number, what)]
    return []


def _anchor_faults(rows: list[Row], anchor: Anchor | None) -> list[Fault]:
    if anchor is None:
        return []
    found = {row.number: row.hash for row in rows}.get(anchor.number)
    if found == anchor.hash:
        return []
    what = (
        f"the anchor was taken at entry {anchor.number}, which is not there: an older copy was "
        "put back"
        if found is None
        else "it is not the entry the anchor was taken at: the ledger was rewritten"
    )
    return [Fault(None if found is None else anchor.number, what)]


def exported(name: str, rows: Iterable[tuple[Row, str | None]]) -> dict[str, Any]:
    """Every entry with its hash and its answer, exactly as stored."""
    return {
        "format": FORMAT,
        "budget": name,
        "entries": [
            {"number": row.number, "line": row.body, "hash": row.hash, "answer": answer}
            for row, answer in rows
        ],
    }
