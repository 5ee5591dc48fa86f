"""Run exhibits: a CSV file and a picture of each, then the page that gathers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from ..errors import OptionError
from .exhibit import Claim, Exhibit, Settings, Tick
from .index import page
from .style import house_style

__all__ = ["FORMATS", "QUICK_RUNS", "Shown", "chosen", "run"]

FORMATS: Final = ("png", "svg")
#: Runs a point for a first look.
QUICK_RUNS: Final = 2_000

_DPI: Final = 160


@dataclass(frozen=True)
class Shown:
    """An exhibit that was run: its files and what became of its claims."""

    exhibit: Exhibit
    picture: Path
    csv: Path
    claims: tuple[Claim, ...]
    runs: int


def chosen(names: Iterable[str], exhibits: Mapping[str, Exhibit]) -> list[Exhibit]:
    """The exhibits of these names in the order of the page; all if none is named."""
    wanted = {name.lower() for name in names}
    if unknown := sorted(wanted - exhibits.keys()):
        raise OptionError(
            f"no experiment is called {', '.join(unknown)}; there are {', '.join(exhibits)}"
        )
    return [exhibit for name, exhibit in exhibits.items() if not wanted or name in wanted]


def run(
    exhibits: Iterable[Exhibit],
    settings: Settings,
    out: Path,
    *,
    picture_format: str = "png",
    tick: Callable[[str, int], None] = lambda name, steps: None,
) -> list[Shown]:
    """Run each exhibit and write its files into ``out``, then ``index.html``.

    ``tick`` is told of every point that was measured and every figure that was drawn.
    """
    if picture_format not in FORMATS:
        raise OptionError(f"format={picture_format!r} is not one of {', '.join(FORMATS)}")
    out.mkdir(parents=True, exist_ok=True)
    shown = []
    # One object for all: E5 and E7 keep their tables by their arguments.
    on_point = partial(tick, "points", 1)
    for exhibit in exhibits:
        shown.append(_show(exhibit, settings, out, picture_format, on_point))
        tick("figures", 1)
    (out / "index.html").write_text(page(shown, settings), encoding="utf-8")
    return shown


def _show(
    exhibit: Exhibit, settings: Settings, out: Path, picture_format: str, tick: Tick
) -> Shown:
    table = exhibit.table(settings, tick)
    csv, picture = out / f"{exhibit.name}.csv", out / f"{exhibit.name}.{picture_format}"
    table.write(csv)
    with house_style():
        metadata = {"Date": None} if picture_format == "svg" else None
        exhibit.draw(table).savefig(picture, dpi=_DPI, metadata=metadata)
    return Shown(exhibit, picture, csv, exhibit.claims(table), max(p.runs for p in table.points))
