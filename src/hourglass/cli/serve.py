"""``hourglass serve``: run the service, write and check a catalogue, make tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from .command import Command, Group

__all__ = ["serve_app"]


class _Serving(Group):
    """``hourglass serve FILE`` is short for ``hourglass serve run FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command ``run`` if none is given."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


serve_app = typer.Typer(
    name="serve",
    cls=_Serving,
    help="Serve a web page and a JSON API where people ask questions without seeing a row.\n\n"
    "hourglass serve CATALOGUE is short for hourglass serve run CATALOGUE.",
    no_args_is_help=True,
)

Catalogue = Annotated[Path, typer.Argument(help="The catalogue, a TOML file.", show_default=False)]


@contextmanager
def _told() -> Iterator[None]:
    """Print the problems of a catalogue unchanged: they do not refer to command-line options."""
    from ..serve.reading import CatalogueError

    try:
        yield
    except CatalogueError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(error.exit_code) from None


@serve_app.command(cls=Command)
def run(
    catalogue: Catalogue,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="PERSON",
            help="Print a sign-in link for this person, which works once. Without this option the "
            "first owner gets one, if the service listens only on this machine.",
        ),
    ] = None,
) -> None:
    """Serve a catalogue until the process is stopped. SIGHUP reads the catalogue again.

    The command can be left out: hourglass serve CATALOGUE.
    """
    try:
        from ..serve.server import run as serve
    except ImportError:
        raise OptionError(
            "hourglass serve needs Starlette, uvicorn and Jinja2; install them with: "
            "pip install 'hourglass-dp[serve]'"
        ) from None
    with _told():
        serve(catalogue, link_for=link)


@serve_app.command(cls=Command)
def new(
    catalogue: Annotated[
        Path, typer.Argument(help="The file to write; an existing file is not overwritten.")
    ] = Path("catalogue.toml"),
) -> None:
    """Write a starter catalogue, to be filled in with your own data and people."""
    starter = Path(__file__).parents[1] / "serve" / "templates" / "starter.toml"
    try:
        with catalogue.open("x", encoding="utf-8") as file:
            file.write(starter.read_text(encoding="utf-8"))
    except FileExistsError:
        raise OptionError(f"{str(catalogue)!r} already exists; name another file") from None
    except OSError as error:
        raise OptionError(
            f"{str(catalogue)!r} cannot be written ({error.strerror}); name another file"
        ) from None
    print(f"Wrote {catalogue}. Fill in what you offer, then run: hourglass serve check {catalogue}")


@serve_app.command(cls=Command)
def check(catalogue: Catalogue) -> None:
    """Check a catalogue, the schemas of its data and its budgets, without reading a row."""
    from ..serve.checking import check as checked

    with _told():
        print(checked(catalogue))


@serve_app.command(cls=Command)
def token() -> None:
    """Make an access token; it is printed once, with the line for the catalogue."""
    from ..serve.tokens import hashed
    from ..serve.tokens import token as made

    secret = made()
    print(f"Give this to the person; it is not shown again:\n\n    {secret}\n")
    print(f'Put this under [people.NAME] in the catalogue:\n\n    token = "{hashed(secret)}"')
