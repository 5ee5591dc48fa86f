"""The ``hourglass`` command, with one module per subcommand.

Exit codes: 0 done, 1 an audit found the promise broken, 2 bad request, 3 budget refused, 4 source
failed, 5 the answer could not be written as asked (it was printed instead).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Final

import typer

from .. import __version__
from ..errors import HourglassError
from ..noise.bits import SECURE, Bits
from .audit import audit
from .bounds import bounds
from .budget import budget_app
from .command import Command, Group
from .count import count
from .mean import mean
from .output import as_options, make_printable, tell_json, tell_line, wants_json
from .paper import paper
from .plan import plan
from .serve import serve_app
from .sum import sum_

__all__ = ["app", "built", "main"]

#: The exit code after Ctrl-C, by the convention of shells.
INTERRUPTED: Final = 130

app = typer.Typer(
    name="hourglass",
    cls=Group,
    help="Differentially private means, sums and counts of files, data frames and databases.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(budget_app)
app.add_typer(serve_app)


def _version(asked: bool) -> None:
    if asked:
        print(f"hourglass {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Differentially private means, sums and counts of files, data frames and databases."""


app.command(cls=Command)(mean)
app.command("sum", cls=Command)(sum_)
app.command(cls=Command)(count)
app.command(cls=Command)(bounds)
app.command(cls=Command)(plan)
app.command(cls=Command)(audit)
app.command(cls=Command)(paper)


@cache
def built() -> Any:
    """The command as Typer builds it from ``app``; building takes longer than a small question."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None, *, bits: Bits = SECURE) -> None:
    """Run the command; an error becomes one line on stderr and an exit code.

    ``arguments`` are those of the process unless given; ``bits`` is for tests and the audit. With
    ``--format json`` the error is printed as JSON.

    Of an unexpected error only the type is shown, because its message may quote data.
    """
    make_printable()
    words = sys.argv[1:] if arguments is None else list(arguments)
    tell = tell_json if wants_json(words) else tell_line
    try:
        code = built()(words, obj=bits, standalone_mode=tell is tell_line)
    except HourglassError as error:
        tell(error, as_options(str(error)), error.exit_code)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error, reported by Typer
            tell(error, error.format_message(), 2)
        tell(error, f"unexpected error ({type(error).__name__})", 1)
    if code == INTERRUPTED:
        tell(KeyboardInterrupt(), "interrupted", code)
    sys.exit(code or 0)
