"""Many groups with public names, end to end, beside DuckDB's AVG: python -m benchmarks.groups

The whole release is timed: from the call of ``hg.mean`` on a Parquet file until its means are at
hand. AVG is fetched as NumPy's arrays from a connection that is there already. Both read the same
file in the same process, turn by turn; the figures are medians, their ratio, and the peak memory
of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

import hourglass as hg

from .engines import Work, in_turns, ratio
from .figures import Figure, printed

BOUNDS = (0, 100)
#: How many groups there are, and the largest ratio that is wanted.
GOALS = {100_000: 2.0, 1_000_000: 1.8}
#: How SQL makes a name of the number of a group.
NAMES = {"integer": "k", "text": "'group ' || k"}


def written(folder: Path, kind: str, rows: int, groups: int) -> Path:
    """Random doubles, some out of bounds, in so many groups."""
    path = folder / f"{kind}-{rows}-{groups}.parquet"
    if not path.exists():
        duckdb.connect().execute(
            f"COPY (SELECT {NAMES[kind]} AS g, x FROM (SELECT random() * 102 - 1 AS x, "
            f"CAST(floor(random() * {groups}) AS INTEGER) AS k FROM range({rows}))) "
            f"TO '{path}' (FORMAT parquet)"
        )
    return path


def names(kind: str, groups: int) -> Any:
    """The public names of all groups."""
    return range(groups) if kind == "integer" else [f"group {i}" for i in range(groups)]


def compared(path: Path, kind: str, groups: int, turns: int) -> Figure:
    """The release and AVG, turn by turn."""
    keys = names(kind, groups)

    def release() -> Work:
        return lambda: hg.mean(path, "x", bounds=BOUNDS, epsilon=1, by="g", keys=keys).means

    def average() -> Work:
        connection = duckdb.connect()
        text = f"SELECT g, AVG(x) FROM read_parquet('{path}') GROUP BY g"
        return lambda: connection.sql(text).fetchnumpy()

    ours, theirs = in_turns(release, average, turns)
    goal = GOALS[groups] if kind == "integer" else None
    what = f"whole release, {groups:,} public groups, {kind} keys"
    return ratio(what, ours, theirs, goal)


def memory(path: Path, kind: str, groups: int) -> Figure:
    """Peak memory: of the release, and in brackets of AVG."""
    call = f"hg.mean({str(path)!r}, 'x', bounds={BOUNDS}, epsilon=1, by='g', keys=keys).means"
    text = f"SELECT g, AVG(x) FROM read_parquet('{path}') GROUP BY g"
    peaks = []
    for work in (call, f"duckdb.connect().sql({text!r}).fetchnumpy()"):
        program = (
            "import re, duckdb, hourglass as hg\nfrom benchmarks.groups import names\n"
            f"keys = names({kind!r}, {groups})\n{work}\n"
            "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        )
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        peaks.append(int(told.stdout) // 1024)
    ours, theirs = peaks
    return Figure(f"peak memory, {groups:,} groups, {kind} keys", ours, f"MB (AVG {theirs})")


def figures(folder: Path, rows: int, turns: int, kinds: Sequence[str]) -> Iterator[Figure]:
    """Every number of groups, with each kind of keys."""
    for kind in kinds:
        for groups in GOALS:
            path = written(folder, kind, rows, groups)
            yield compared(path, kind, groups, turns)
            yield memory(path, kind, groups)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10**7)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--kinds", nargs="*", choices=list(NAMES), default=list(NAMES))
    options.add_argument("--folder", type=Path, default=None)
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        list(printed(figures(folder, chosen.rows, chosen.turns, chosen.kinds)))


if __name__ == "__main__":
    main()
