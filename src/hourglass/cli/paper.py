"""``hourglass paper``: re-run the paper's experiments and draw its pictures."""

from __future__ import annotations

import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from ..release.rendering import sentence_table
from .progress import progress

if TYPE_CHECKING:
    from ..paper import Shown

__all__ = ["paper"]


def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Which: e1 to e9, balls, space, density, ...; all if none is named."),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs a point; 100,000 unless given, as in the paper.")
    ] = None,
    records: Annotated[
        int, typer.Option(help="Records of the large data sets; the paper has 10,000.")
    ] = 10_000,
    out: Annotated[Path, typer.Option(help="The folder that the files go to.")] = Path("paper"),
    picture_format: Annotated[str, typer.Option("--format", help="png or svg.")] = "png",
    quick: Annotated[bool, typer.Option("--quick", help="Few runs, for a first look.")] = False,
) -> None:
    """Re-run every experiment of the paper: tables, pictures, and which claims hold."""
    from ..paper import EXHIBITS, FULL_RUNS, QUICK_RUNS, Settings, chosen, run

    if runs is None:
        runs = QUICK_RUNS if quick else FULL_RUNS
    settings = Settings(runs, records)
    exhibits = chosen(names or [], EXHIBITS)
    start = time.perf_counter()
    with progress({"figures": len(exhibits)}) as tick:
        shown = run(exhibits, settings, out, picture_format=picture_format, tick=tick)
    _report(shown, out, time.perf_counter() - start)


def _report(shown: list[Shown], out: Path, seconds: float) -> None:
    """The table of claims on stdout."""
    claims = [(item.exhibit.name, claim) for item in shown for claim in item.claims]
    rows = [(name, claim.text, claim.measured, claim.verdict) for name, claim in claims]
    if rows:
        from ..paper.index import CLAIM_HEAD

        print(sentence_table(CLAIM_HEAD, rows, width=get_terminal_size().columns))
    held = sum(claim.holds is True for _, claim in claims)
    print(f"{held} of {len(claims)} claims hold; {seconds:.0f} s; open {out / 'index.html'}")
