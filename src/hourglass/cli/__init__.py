"""The ``hourglass`` command: one small file a command, gathered here.

Exit codes: 0 done, 2 bad request, 3 budget refused, 4 source failed.
"""

from __future__ import annotations

import sys

import typer

from ..errors import HourglassError
from .audit import audit
from .budget import budget_app
from .paper import paper

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


app.command()(audit)
app.command()(paper)


def main() -> None:
    """Run the command; our own errors become one line on stderr and an exit code."""
    try:
        app()
    except HourglassError as error:
        print(f"hourglass: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
