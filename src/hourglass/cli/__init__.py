"""The ``hourglass`` command: one small file a command, gathered here.

Exit codes: 0 done, 1 an audit found the promise broken, 2 bad request, 3 budget refused,
4 source failed.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import click
import typer

from ..errors import HourglassError
from .audit import audit
from .budget import budget_app
from .mean import mean
from .paper import paper
from .plan import plan

__all__ = ["app", "main"]

app = typer.Typer(
    name="hourglass",
    help="Differentially private means that cannot be beaten, on data wherever it lives.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

app.add_typer(budget_app)


@app.callback()
def _root() -> None:
    """Differentially private means that cannot be beaten, on data wherever it lives."""


app.command()(mean)
app.command()(plan)
app.command()(audit)
app.command()(paper)


def main() -> None:
    """Run the command; an error becomes one line on stderr and an exit code.

    Of an error that is not ours only the kind is told: its words may quote data.
    """
    try:
        # Without standalone mode an Exit does not end the process: its code is returned.
        code = app(standalone_mode=False)
        if code:
            sys.exit(code)
    except HourglassError as error:
        _end(str(error), error, error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt) as error:
        _end("interrupted", error.__cause__ or error.__context__ or error, 130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except Exception as error:
        _end(f"unexpected error ({type(error).__name__})", error, 1)


def _end(message: str, error: BaseException, exit_code: int) -> NoReturn:
    """One line, what the ledger has to say of it, and the exit code."""
    for line in (message, *getattr(error, "__notes__", ())):
        print(f"hourglass: {line}", file=sys.stderr)
    sys.exit(exit_code)
