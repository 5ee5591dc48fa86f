"""Speed and memory with their goals, in some minutes: python -m benchmarks [name ...]

Each line has the figure, the goal and whether it is met. Without names everything runs, and the
section "Speed" of docs/performance.md is written anew. Each benchmark alone, such as
python -m benchmarks.engines, takes options for longer runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from . import core, engines, files, groups, ledger, servers
from .figures import Figure, machine, printed, replace_section, table

ROWS: Final = 10**7


def _engines() -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        yield from engines.figures(ROWS, 5, engines.PARTS, Path(folder))
        yield from groups.figures(Path(folder), ROWS, 3, ["integer", "text"])


def _servers() -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        yield from servers.figures(Path(folder), 3)


#: The title of each part, and what runs.
ALL: Final[dict[str, tuple[str, Callable[[], Iterator[Figure]]]]] = {
    "core": ("Noise, arrays and small releases", lambda: core.figures(20_000_000)),
    "engines": (f"Engines, {ROWS:,} rows of Parquet", _engines),
    "servers": (
        f"Spark, {servers.SPARK_ROWS:,} rows, and PostgreSQL, {servers.POSTGRES_ROWS:,} rows",
        _servers,
    ),
    "files": ("Text files, 2,000,000 rows", lambda: files.figures(2_000_000, 5)),
    "ledger": ("Budgets", ledger.figures),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(ALL))
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in ALL]:
        parser.error(f"{unknown[0]} is not one of {', '.join(ALL)}")
    start, parts, found = time.monotonic(), [], []
    for name in names or ALL:
        title, work = ALL[name]
        print(f"\n== {title}", flush=True)
        figures = list(printed(work()))
        found += figures
        parts.append(f"**{title}**\n\n{table(figures)}")
    goals = [figure for figure in found if figure.met is not None]
    minutes = (time.monotonic() - start) / 60
    print(f"\n{sum(f.met is True for f in goals)} of {len(goals)} goals met, {minutes:.1f} minutes")
    if not names:
        told = f"`make bench` measured this in {minutes:.0f} minutes: {machine()}."
        replace_section("Speed", "\n\n".join([told, *parts]))


if __name__ == "__main__":
    main()
