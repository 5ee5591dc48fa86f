"""How budgets, charges and the results of a check are printed: as tables and as JSON."""

from __future__ import annotations

import json
from typing import Any

import typer

from ..ledger import Anchor, Balance, Charge, Sum, Verification
from ..ledger.composition import CONDITION
from ..ledger.entries import shown_number
from ..release.rendering import counted, label, paragraphs, text_table

__all__ = [
    "balance_dict", "charge_dict", "print_anchor", "print_json", "show_table", "show_verification",
    "verification_dict",
]  # fmt: skip


def show_table(balance: Balance, ledger: str, tight: float | None, at_delta: str) -> None:
    """Print a balance; ``tight`` is the tighter total, if there is one."""
    note = f" ({label([balance.terms.description])})" if balance.terms.description else ""
    typer.echo(f"Budget {balance.terms.name}{note}:")
    rule, plain = balance.terms.rule, isinstance(balance.terms.rule, Sum)
    heads = ["limit", "spent", "remaining"] if plain else ["limit", "used", "left"]
    typer.echo(text_table(["", *heads], rule.rows(balance.used)))
    opened = f", {balance.open} without an answer (counted as spent)" if balance.open else ""
    typer.echo(f"{counted(balance.charges, 'charge')}{opened}, in {ledger}.")
    if not plain:
        epsilon, delta = map(shown_number, balance.terms.limit.pair)
        told = f"Whatever is charged, and however it is chosen, is together ({epsilon}, {delta})-DP"
        typer.echo(paragraphs([f"{told}. {balance.left[:1].upper()}{balance.left[1:]}."]))
    sum_ = f"{float(balance.spent.epsilon):.6g}"
    if tight is not None and balance.charges > 1 and f"{tight:.6g}" != sum_:
        told = f"This tighter total holds only if {CONDITION}; the sum above always holds."
        typer.echo(
            f"Together, by optimal composition: epsilon {tight:.6g} at delta {at_delta}.\n"
            + paragraphs([told])
        )
    print_anchor(balance.anchor)


def show_verification(found: Verification) -> None:
    """Print what a check found."""
    if found.sound:
        typer.echo(f"Budget {found.name}: {counted(found.entries, 'entry')}, nothing wrong.")
        if found.anchor is not None:
            print_anchor(found.anchor)
        return
    faults, entries = counted(len(found.faults), "fault"), counted(found.entries, "entry")
    typer.echo(f"Budget {found.name}: {faults} in {entries}:")
    for fault in found.faults:
        typer.echo(f"  {fault}")
    typer.echo("Restore the ledger from a copy at least as new as your last anchor.")


def print_anchor(anchor: Anchor) -> None:
    """Print the line to keep."""
    typer.echo(f"Keep this line; with it you can detect a ledger that was rolled back:\n{anchor}")


def print_json(value: Any) -> None:
    """Print JSON that people can read, too."""
    typer.echo(json.dumps(value, indent=2))


def balance_dict(balance: Balance, ledger: str) -> dict[str, Any]:
    """A balance as JSON."""
    return {
        "name": balance.terms.name,
        "ledger": ledger,
        "description": balance.terms.description,
        "created": balance.terms.created,
        "rule": balance.terms.rule.name,
        **{
            what: {"epsilon": str(amount.epsilon), "delta": str(amount.delta)}
            for what, amount in (
                ("limit", balance.terms.limit),
                ("spent", balance.spent),
                ("remaining", balance.remaining),
            )
        },
        **balance.terms.rule.facts(balance.used),
        "charges": balance.charges,
        "open": balance.open,
        "anchor": str(balance.anchor),
    }


def charge_dict(charge: Charge) -> dict[str, Any]:
    """A charge as JSON."""
    return {
        "number": charge.number,
        "epsilon": str(charge.amount.epsilon),
        "delta": str(charge.amount.delta),
        "status": charge.status,
        "request": charge.request,
        "question_sha256": charge.question,
        "description": charge.description,
        "reserved": charge.reserved,
        "closed": charge.closed,
        "by": charge.by,
    }


def verification_dict(found: Verification) -> dict[str, Any]:
    """The result of a check as JSON."""
    return {
        "name": found.name,
        "sound": found.sound,
        "entries": found.entries,
        "faults": [{"entry": fault.number, "what": fault.what} for fault in found.faults],
        "anchor": None if found.anchor is None else str(found.anchor),
    }
