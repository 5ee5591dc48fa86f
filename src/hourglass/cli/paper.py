"""``hourglass paper``: re-run the paper's experiments and draw its figures."""

from __future__ import annotations

import time
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from ..release.rendering import sentence_table
from .delivery import progress

if TYPE_CHECKING:
    from ..paper import Shown

__all__ = ["paper"]


def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Which experiments and figures: e1 to e9, balls, space, density, ...; by "
            "default all."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(help="The number of runs per point; by default 100,000, as in the paper."),
    ] = None,
    records: Annotated[
        int, typer.Option(help="The number of records of the large data sets; 10,000 in the paper.")
    ] = 10_000,
    out: Annotated[Path, typer.Option(help="The folder to write the files to.")] = Path("paper"),
    picture_format: Annotated[
        str, typer.Option("--format", help="png, svg, pdf, or pgf for LaTeX.")
    ] = "png",
    quick: Annotated[bool, typer.Option("--quick", help="Few runs, for a first look.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            help="A seed for reproducible numbers. The output is NOT PRIVATE and says so."
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME",
            help="Your own algorithm, to be measured in e1 to e8; can be repeated.",
        ),
    ] = None,
) -> None:
    """Re-run the paper's experiments, draw its figures, and check which claims hold."""
    from ..paper import EXHIBITS, FULL_RUNS, QUICK_RUNS, Settings, chosen, load_all, run

    if runs is None:
        runs = QUICK_RUNS if quick else FULL_RUNS
    exhibits = chosen(names or [], EXHIBITS)
    settings = Settings(runs, records, seed=seed, own=load_all(algorithm or []))
    start = time.perf_counter()
    with progress({"figures": len(exhibits)}) as tick:
        shown = run(
            exhibits, settings, out, picture_format=picture_format, tick=tick,
            known=EXHIBITS.values(),
        )  # fmt: skip
    _report(shown, out, settings.label, time.perf_counter() - start)


def _report(shown: list[Shown], out: Path, label: str, seconds: float) -> None:
    """Print the table of claims, the user's own algorithms, and a warning if the run is seeded."""
    claims = [(item.exhibit.name, claim) for item in shown for claim in item.claims]
    rows = [(name, claim.text, claim.measured, claim.verdict) for name, claim in claims]
    if rows:
        from ..paper.index import CLAIM_HEAD

        print(sentence_table(CLAIM_HEAD, rows, width=get_terminal_size().columns))
    for item in shown:
        for words in item.own:
            print(f"{item.exhibit.name}: {words}")
    if label:
        print(label)
    held = sum(claim.holds is True for _, claim in claims)
    print(f"{held} of {len(claims)} claims hold; {seconds:.0f} s; open {out / 'index.html'}")
