"""The ``hourglass`` command, with one module per subcommand.

Exit codes: 0 done, 1 an unexpected error, or an audit that found the promise broken, 2 bad request,
3 budget refused, 4 source failed, 5 the answer could not be written as asked, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Final, NoReturn

import typer

from .. import __version__
from ..errors import HourglassError
from ..noise.bits import SECURE, Bits
from .audit import audit
from .bounds import bounds
from .budget import budget_app
from .command import Command, Group
from .count import count
from .delivery import NOT_WRITTEN
from .mean import mean
from .output import as_options, discard, make_printable, tell_json, tell_line, wants_json
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


#: Errors of writing: a full disk, a used-up quota, a disk that fails.
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


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
        _check_output(tell)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            # Python does not buffer if PYTHONUNBUFFERED is set: printing itself has failed.
            tell(error, f"the output cannot be written: {os.strerror(error.errno)}", NOT_WRITTEN)
        tell(error, f"unexpected error ({type(error).__name__})", 1)
    finally:
        _check_output(tell)
    if code == INTERRUPTED:
        tell(KeyboardInterrupt(), "interrupted", code)
    sys.exit(code or 0)


def _check_output(tell: Callable[..., NoReturn]) -> None:
    """Exit with code 5 if standard output could not be written."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        tell(error, f"standard output cannot be written: {reason}", NOT_WRITTEN)
