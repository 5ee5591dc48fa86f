"""``hourglass budget``: create, show, verify and export budgets."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any

import typer

from ..core.exact import exact_delta
from ..core.urls import shown_url
from ..errors import EpsilonError, LedgerMissingError, OptionError
from ..ledger import (
    Anchor,
    Budget,
    Sum,
    create_budget,
    grant_role,
    optimal_epsilon,
    revoke_role,
)
from ..ledger.composition import CONDITION
from ..ledger.entries import shown_numbers
from ..ledger.store import open_store
from ..ledger.verify import exported
from ..ledger.verify import verify as verify_budget
from ..release.rendering import label, sentence_table
from .balances import (
    balance_dict,
    charge_dict,
    print_anchor,
    print_json,
    show_table,
    show_verification,
    verification_dict,
)
from .command import Command, Group
from .files import write_file
from .output import check_targets, encoded

__all__ = ["budget_app"]

budget_app = typer.Typer(
    cls=Group,
    name="budget",
    help="Create, show, verify, export and share privacy budgets.",
    no_args_is_help=True,
)


class Format(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    JSON = "json"


class Filter(StrEnum):
    """A rule that accepts more small releases than their sum."""

    RENYI = "renyi"


Name = Annotated[str, typer.Argument(metavar="NAME", help="The budget's name.")]
Ledger = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="FILE_OR_URL",
        envvar="HOURGLASS_LEDGER",
        help="A SQLite file, or a postgresql:// URL.",
    ),
]
ServerLedger = Annotated[
    str,
    typer.Option("--ledger", metavar="URL", envvar="HOURGLASS_LEDGER", help="A postgresql:// URL."),
]
AnchorLine = Annotated[
    str | None,
    typer.Option(
        "--anchor",
        metavar="LINE",
        help="An anchor line printed earlier; an older ledger is refused.",
    ),
]
Role = Annotated[str, typer.Argument(metavar="ROLE", help="The name of a PostgreSQL role.")]
Printed = Annotated[Format, typer.Option("--format", help="A table, or JSON.")]


@budget_app.command("init", cls=Command)
def init(
    name: Name,
    ledger: Ledger,
    epsilon: Annotated[
        str | None, typer.Option(help="The limit on the total epsilon of all charges.")
    ] = None,
    delta: Annotated[
        str, typer.Option(help="The limit on the total delta; --slots and --filter need one.")
    ] = "0",
    slots: Annotated[
        str | None,
        typer.Option(
            metavar="COUNTxEPSILON",
            help="In place of --epsilon: a fixed number of releases of at most one epsilon each, "
            "such as 100x1/10.",
        ),
    ] = None,
    filter_: Annotated[
        Filter | None,
        typer.Option("--filter", help="Accept many small releases that cost less than their sum."),
    ] = None,
    description: Annotated[
        str, typer.Option(help="A public note, such as which data and which privacy unit.")
    ] = "",
    output: Printed = Format.TABLE,
) -> None:
    """Create a budget, and the ledger if there is none; prints the anchor to keep."""
    pair = None if slots is None else _slots(slots)
    budget = create_budget(
        ledger,
        name,
        epsilon=epsilon,
        delta=delta,
        slots=pair,
        filter=None if filter_ is None else "renyi",
        description=description,
    )
    balance = budget.balance()
    if output is Format.JSON:
        print_json(balance_dict(balance, budget.ledger))
        return
    words = balance.terms.rule.words + (" in all" if isinstance(balance.terms.rule, Sum) else "")
    typer.echo(f"Created budget {name!r} in {budget.ledger}: {words}.")
    print_anchor(balance.anchor)


@budget_app.command("show", cls=Command)
def show(
    ledger: Ledger,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A budget's name; by default all budgets."),
    ] = None,
    anchor: AnchorLine = None,
    at_delta: Annotated[
        str, typer.Option("--at-delta", help="The delta at which the tighter total is computed.")
    ] = "1e-9",
    output: Printed = Format.TABLE,
) -> None:
    """Show the limit, what is spent and left, the tighter total, and the anchor to keep.

    The tighter total holds only if the number of charges and their epsilons were fixed before the
    first answer was seen; the sum always holds. For a budget with slots or a filter it shows what
    is used and what is left.
    """
    delta = _exact(at_delta)
    if name is None and anchor is not None:
        raise OptionError("--anchor belongs to one budget; give its name as well")
    names = _names(ledger) if name is None else [name]
    shown: list[dict[str, Any]] = []
    for each in names:
        budget = Budget(ledger, each, anchor=anchor)
        balance, charges = budget.state()
        tight = None
        facts = balance_dict(balance, budget.ledger)
        if isinstance(balance.terms.rule, Sum):
            tight = optimal_epsilon([c.amount for c in charges if c.status != "void"], delta)
            facts["optimal_composition"] = {
                "delta": str(delta),
                "epsilon": None if tight is None else float(tight),
                "holds_only_if": CONDITION,
            }
        if output is Format.TABLE:
            if shown:
                typer.echo()
            show_table(balance, budget.ledger, None if tight is None else float(tight), at_delta)
        shown.append(facts)
    if output is Format.JSON:
        print_json(shown if name is None else shown[0])


@budget_app.command("history", cls=Command)
def history(
    name: Name, ledger: Ledger, anchor: AnchorLine = None, output: Printed = Format.TABLE
) -> None:
    """List every charge in order: its price, its request key and its state."""
    charges = Budget(ledger, name, anchor=anchor).history()
    if output is Format.JSON:
        print_json([charge_dict(charge) for charge in charges])
        return
    if not charges:
        typer.echo(f"Budget {name} has no charges yet.")
        return
    columns: dict[str, list[str]] = {
        "entry": _to_right("entry", [str(charge.number) for charge in charges]),
        "epsilon": _to_right("epsilon", shown_numbers(charge.amount.epsilon for charge in charges)),
        "delta": _to_right("delta", shown_numbers(charge.amount.delta for charge in charges)),
        "status": [charge.status for charge in charges],
        "request": [label([charge.request]) for charge in charges],
        "charged (UTC)": [label([each.reserved[:19].replace("T", " ")]) for each in charges],
        "by": [label([charge.by or ""]) for charge in charges],
        "about": [label([charge.description]) for charge in charges],
    }
    if not any(columns["by"]):  # a ledger in a file does not say who charged
        del columns["by"]
    rows = list(zip(*columns.values(), strict=True))
    # If the output is not a terminal, a table is as wide as it needs to be.
    width = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    typer.echo(f"Charges of {name}:\n{sentence_table(list(columns), rows, width)}")


def _to_right(head: str, numbers: list[str]) -> list[str]:
    return [each.rjust(max(map(len, [head, *numbers]))) for each in numbers]


@budget_app.command("verify", cls=Command)
def verify(
    ledger: Ledger,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A budget's name; by default all budgets."),
    ] = None,
    anchor: AnchorLine = None,
    output: Printed = Format.TABLE,
) -> None:
    """Check every entry and stored answer, and list all faults; exit code 3 if there are any."""
    parsed = None if anchor is None else Anchor.parse(anchor)
    if parsed is not None and name is not None and parsed.name != name:
        raise OptionError(f"--anchor belongs to budget {parsed.name!r}, not to {name!r}")
    if name is None and parsed is not None:
        name = parsed.name
    store = open_store(ledger, wait=10.0)
    found = [
        verify_budget(store, each, parsed) for each in (_names(ledger) if name is None else [name])
    ]
    if output is Format.JSON:
        results = [verification_dict(each) for each in found]
        print_json(results if name is None else results[0])
    else:
        for each in found:
            show_verification(each)
    if not all(each.sound for each in found):
        raise typer.Exit(3)


@budget_app.command("export", cls=Command)
def export(
    name: Name,
    ledger: Ledger,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="Write to this file; by default to standard output."),
    ] = None,
    anchor: AnchorLine = None,
) -> None:
    """Write all entries, hashes and stored answers as JSON, for an auditor to check."""
    check_targets({"output": output}, [ledger])
    rows = Budget(ledger, name, anchor=anchor).rows()
    text = json.dumps(exported(name, rows), indent=2)
    if output is None:
        typer.echo(text)
    else:
        write_file(output, encoded(f"{text}\n"))


@budget_app.command("grant", cls=Command)
def grant(role: Role, ledger: ServerLedger) -> None:
    """Let a PostgreSQL role charge every budget of a ledger; only its owner can do this."""
    grant_role(ledger, role)
    typer.echo(
        f"Role {role!r} may now read {shown_url(ledger)} and charge every budget in it; it "
        "cannot create, change or delete any."
    )


@budget_app.command("revoke", cls=Command)
def revoke(role: Role, ledger: ServerLedger) -> None:
    """Revoke every right of a PostgreSQL role on a ledger; only its owner can do this."""
    revoke_role(ledger, role)
    typer.echo(f"Role {role!r} no longer has rights of its own on {shown_url(ledger)}.")


def _slots(text: str) -> tuple[int, str]:
    count, times, epsilon = text.partition("x")
    if not times or not (count.isascii() and count.isdigit()) or not epsilon:
        raise OptionError(
            f"--slots {text[:60]!r} is not COUNTxEPSILON; give the number of releases and the "
            "epsilon of each, such as 100x1/10"
        )
    return int(count), epsilon


def _exact(at_delta: str) -> Fraction:
    try:
        return exact_delta(at_delta)
    except EpsilonError as error:
        raise EpsilonError(str(error).replace("delta=", "--at-delta ", 1)) from None


def _names(ledger: str) -> list[str]:
    store = open_store(ledger, wait=10.0)
    names = store.names()
    if not names:
        raise LedgerMissingError(
            f"ledger {store.location!r} holds no budget; create one with `hourglass budget init`"
        )
    return names
