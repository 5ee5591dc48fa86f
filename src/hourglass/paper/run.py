"""Run exhibits: write a CSV file and a figure for each, then the page with all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import OptionError, one_of
from .exhibit import Claim, Exhibit, Settings, Table, Tick, spread
from .index import page
from .style import house_style
from .sweeps import BASELINE, BOUND
from .tex import pgf_style, save_pgf

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "QUICK_RUNS", "Shown", "chosen", "run"]

FORMATS: Final = ("png", "svg", "pdf", "pgf")
#: Runs per point for a first look.
QUICK_RUNS: Final = 2_000

_DPI: Final = 160
#: Metadata without the date, so that equal numbers give equal files.
_UNDATED: Final[dict[str, dict[str, Any]]] = {
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
_YARDSTICKS: Final = (BOUND, BASELINE, "hourglass")


@dataclass(frozen=True)
class Shown:
    """An exhibit that was run: its files and the results for its claims.

    ``own`` describes the results of the user's own algorithms; ``earlier`` says that the files are
    those of an earlier run, and if that run was not private.
    """

    exhibit: Exhibit
    picture: Path
    csv: Path
    claims: tuple[Claim, ...]
    runs: int
    own: tuple[str, ...] = ()
    earlier: str = ""


def chosen(names: Iterable[str], exhibits: Mapping[str, Exhibit]) -> list[Exhibit]:
    """The exhibits with these names in the order of the page; by default all."""
    wanted = {name.lower() for name in names}
    if unknown := sorted(wanted - exhibits.keys()):
        raise OptionError(
            f"no experiment is called {', '.join(unknown)}; choose from {', '.join(exhibits)}"
        )
    return [exhibit for name, exhibit in exhibits.items() if not wanted or name in wanted]


def run(
    exhibits: Iterable[Exhibit],
    settings: Settings,
    out: Path,
    *,
    picture_format: str = "png",
    tick: Callable[[str, int], None] = lambda name, steps: None,
    known: Iterable[Exhibit] = (),
) -> list[Shown]:
    """Run each exhibit and write its files into ``out``, then ``index.html``.

    The page also has those of the ``known`` exhibits that an earlier run left in ``out``. ``tick``
    is called for every point measured and every figure drawn.
    """
    one_of("format", picture_format, FORMATS)
    shown = []
    # One settings object for all, since E5 and E7 cache their tables by their arguments.
    on_point = partial(tick, "points", 1)
    streams: dict[str, Settings] = {}
    with house_style(), pgf_style() if picture_format == "pgf" else nullcontext():
        out.mkdir(parents=True, exist_ok=True)
        for exhibit in exhibits:
            if exhibit.stream not in streams:
                streams[exhibit.stream] = settings.stream(exhibit.stream)
            shown.append(_show(exhibit, streams[exhibit.stream], out, picture_format, on_point))
            tick("figures", 1)
    found = {item.exhibit.name: item for item in shown}
    every = [found.get(each.name) or _earlier(each, out) for each in known] or [*shown]
    there = [item for item in every if item is not None]
    (out / "index.html").write_text(page(there, settings), encoding="utf-8")
    return shown


def _earlier(exhibit: Exhibit, out: Path) -> Shown | None:
    """An exhibit as an earlier run left it; None if there is none that this version can read."""
    csv = out / f"{exhibit.name}.csv"
    pictures = [out / f"{exhibit.name}.{ending}" for ending in FORMATS]
    picture = next((path for path in pictures if path.is_file()), None)
    if picture is None or not csv.is_file():
        return None
    try:
        table, bits = Table.read(csv)
        claims = exhibit.claims(table)
        runs = max(p.runs for p in table.points)
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError):
        return None
    told = f"From an earlier run{'' if bits == 'secure' else f', {bits}'}."
    return Shown(exhibit, picture, csv, claims, runs, earlier=told)


def _show(
    exhibit: Exhibit, settings: Settings, out: Path, picture_format: str, tick: Tick
) -> Shown:
    table = exhibit.table(settings, tick)
    csv, picture = out / f"{exhibit.name}.csv", out / f"{exhibit.name}.{picture_format}"
    table.write(csv, settings.label or "secure")
    drawn = labelled(exhibit.draw(table), settings.label)
    if picture_format == "pgf":
        save_pgf(drawn, picture)
    else:
        drawn.savefig(picture, dpi=_DPI, **_UNDATED.get(picture_format, {}))
    runs = max(p.runs for p in table.points)
    return Shown(exhibit, picture, csv, exhibit.claims(table), runs, _own(table, settings))


def labelled(drawn: Figure, label: str) -> Figure:
    """The figure with a label at its foot, if there is one."""
    if label:
        drawn.supxlabel(label, x=0.99, ha="right", fontsize=8)
    return drawn


def _own(table: Table, settings: Settings) -> tuple[str, ...]:
    """The errors of the user's own algorithms relative to the bound, or to the closest series."""
    names = table.series_names()
    below = next((name for name in _YARDSTICKS if name in names), "")
    return tuple(
        f"{own.name} / {below}: {spread([p.over(table.at(below, p.x)) for p in points])}"
        for own in settings.own
        if below and (points := table.series(own.name))
    )
