"""The ``hourglass`` command: one small file a command, gathered here.

Exit codes: 0 done, 1 an audit found the promise broken, 2 bad request, 3 budget refused,
4 source failed, 5 an answer could not be written as asked (it was printed instead).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import __version__
from ..errors import HourglassError
from ..noise.bits import SECURE, Bits
from .audit import audit
from .bounds import bounds
from .budget import budget_app
from .count import count
from .many import ManyValued
from .mean import mean
from .output import as_options, make_printable, print_notes
from .paper import paper
from .plan import plan
from .sum import sum_

__all__ = ["app", "main"]

app = typer.Typer(
    name="hourglass",
    help="Private means, sums and counts with the least error known, on data wherever it lives.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.add_typer(budget_app)


def _version(asked: bool) -> None:
    if asked:
        print(f"hourglass {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Private means, sums and counts with the least error known, on data wherever it lives."""


app.command(cls=ManyValued)(mean)
app.command("sum")(sum_)
app.command()(count)
app.command()(bounds)
app.command()(plan)
app.command()(audit)
app.command()(paper)


def main(arguments: Sequence[str] | None = None, *, bits: Bits = SECURE) -> None:
    """Run the command; an error becomes one line on stderr and an exit code.

    ``arguments`` are those of the process unless given; ``bits`` is for tests and the audit.

    Of an error that is not ours only the kind is told: its words may quote data.
    """
    make_printable()
    try:
        app(arguments, obj=bits)
    except HourglassError as error:
        print(f"hourglass: {as_options(str(error))}", file=sys.stderr)
        print_notes(error)
        sys.exit(error.exit_code)
    except Exception as error:
        print(f"hourglass: unexpected error ({type(error).__name__})", file=sys.stderr)
        print_notes(error)
        sys.exit(1)
