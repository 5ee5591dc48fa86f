"""``hourglass paper``: re-run the paper's experiments and draw its pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..paper import Exhibit, Settings, Shown

__all__ = ["paper"]


def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Which: e1 to e8, balls, space, density, ...; all if none is named."),
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
    from ..paper import EXHIBITS, QUICK_RUNS, Settings, chosen
    from ..paper.exhibit import FULL_RUNS

    settings = Settings(runs or (QUICK_RUNS if quick else FULL_RUNS), records)
    exhibits = chosen(names or [], EXHIBITS)
    start = time.perf_counter()
    shown = _with_progress(exhibits, settings, out, picture_format)
    _report(shown, out, time.perf_counter() - start)


def _with_progress(
    exhibits: list[Exhibit], settings: Settings, out: Path, picture_format: str
) -> list[Shown]:
    """Run with a bar on stderr: one step an exhibit, and the points measured so far."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ..paper import run

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[points]} points"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("paper", total=len(exhibits), points=0)
        started = points = 0

        def on_start(exhibit: Exhibit) -> None:
            nonlocal started
            progress.update(task, description=exhibit.name, completed=started)
            started += 1

        def on_point() -> None:
            nonlocal points
            points += 1
            progress.update(task, points=points)

        shown = run(
            exhibits,
            settings,
            out,
            picture_format=picture_format,
            on_start=on_start,
            on_point=on_point,
        )
        progress.update(task, description="done", completed=started)
    return shown


def _report(shown: list[Shown], out: Path, seconds: float) -> None:
    """The table of claims on stdout."""
    from rich.console import Console
    from rich.table import Table

    table = Table("figure", "claim", "what we measured", "holds?")
    claims = [(item.exhibit.name, claim) for item in shown for claim in item.claims]
    for name, claim in claims:
        table.add_row(name, claim.text, claim.measured, claim.verdict)
    console = Console()
    console.print(table)
    held = sum(claim.holds is True for _, claim in claims)
    console.print(
        f"{held} of {len(claims)} claims hold; {seconds:.0f} s; open {out / 'index.html'}"
    )
